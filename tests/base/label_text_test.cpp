#include "base/label_text.hpp"

#include <gmock/gmock.h>

namespace headscope {
namespace {

TEST(Spaced, WritesUnderscoresAsSpaces) {
  EXPECT_EQ(spaced("long_range_head"), "long range head");
  EXPECT_EQ(spaced(""), "");
  EXPECT_THAT(spaced(std::vector<std::string>{"a_b", "c"}), testing::ElementsAre("a b", "c"));
}

TEST(CharacterCount, CountsCharactersRatherThanBytes) {
  EXPECT_EQ(character_count("“mat” é"), 7U);
}

}  // namespace
}  // namespace headscope
