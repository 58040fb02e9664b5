#include "base/head_range.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headscope {
namespace {

using testing::ElementsAre;

TEST(HeadRange, NamesTheHeadsThatShareKeysAndValues) {
  EXPECT_THAT(heads_in("L2H3-5"), ElementsAre("L2H3", "L2H4", "L2H5"));
  EXPECT_THAT(heads_in("L27H9-10"), ElementsAre("L27H9", "L27H10"));
}

TEST(HeadRange, OfAnotherNameIsTheName) {
  for (const char* const name : {"L2H3", "MLP4", "logits", "embed", "L2H3-", "L2H-5", "L2H3-x"}) {
    EXPECT_THAT(heads_in(name), ElementsAre(name));
  }
}

}  // namespace
}  // namespace headscope
