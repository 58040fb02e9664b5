#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace headscope {
namespace {

TEST(OneLine, HasNoCharacterThatControlsATerminalOrSetsADirection) {
  EXPECT_EQ(one_line("a\x1b[31m\nb\x7f"), "a [31m b ");
  EXPECT_EQ(one_line("\u009B31m"), " 31m");
  for (const char* const direction : {"\u202A", "\u202B", "\u202C", "\u202D", "\u202E", "\u2066",
                                      "\u2067", "\u2068", "\u2069", "\u2028", "\u2029"}) {
    EXPECT_EQ(one_line(std::string("x") + direction + "y"), "x y");
  }
}

TEST(OneLine, KeepsWords) {
  for (const char* const word : {"caf\u00E9", "\u05E9\u05DC\u05D5\u05DD", "\u200F\u0645", "\u2065",
                                 "\u2027x", "\u202F", "\U0001F600", "\u00A0"}) {
    EXPECT_EQ(one_line(word), word);
  }
}

TEST(Shortened, KeepsBothEndsAndWholeCharacters) {
  const std::string middle(96, 'x'), accents = "\u00E9\u00E9\u00E9\u00E9";
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("ab" + middle + "ij", 4), "ab [... 96 bytes ...] ij");
  EXPECT_EQ(shortened(accents + middle + accents, 2), " [... 110 bytes ...] \u00E9");
}

TEST(Shortened, LeavesATextAsItIsThatTheMarkWouldLengthen) {
  EXPECT_EQ(shortened("abcdefghij", 4), "abcdefghij");
}

TEST(CutAtWord, CutsATextOfOneWordAtACharacter) {
  EXPECT_EQ(cut_at_word("the cat", 7), "the cat");
  EXPECT_EQ(cut_at_word("the cat sat", 7), "the cat …");
  EXPECT_EQ(cut_at_word("the  cat sat", 6), "the …");
  EXPECT_EQ(cut_at_word("\u00E9\u00E9\u00E9", 3), "\u00E9…");
  EXPECT_EQ(cut_at_word("   cat", 3), "   …");
}

}  // namespace
}  // namespace headscope
