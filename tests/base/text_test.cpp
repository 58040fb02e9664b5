#include "base/text.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace headscope {
namespace {

TEST(FirstJoined, SaysHowManyMoreThereAre) {
  const auto text_of = [](int number) { return std::to_string(number); };
  EXPECT_EQ(first_joined(std::vector{1, 2, 3}, 2, text_of), "1, 2 and 1 more");
  EXPECT_EQ(first_joined(std::vector{1, 2}, 2, text_of), "1, 2");
}

}  // namespace
}  // namespace headscope
