#include "corpus/alignment.hpp"

#include <gtest/gtest.h>

namespace headscope {
namespace {

using Owners = std::vector<std::optional<Index>>;
const std::optional<Index> none;

TEST(Align, TokenBelongsToTheWordItShares) {
  //                 0123456789
  EXPECT_EQ(align("the lamp .", {{0, 3}, {3, 6}, {6, 8}, {8, 10}}, {{0, 3}, {4, 8}, {9, 10}}),
            (Owners{0, 1, 1, 2}));
}

TEST(Align, TokenAcrossWordsGoesToTheLargerShareThenTheFirst) {
  // Words "do" and "n't"; the token "don" holds two characters of "do".
  EXPECT_EQ(align("don't", {{0, 3}, {3, 5}}, {{0, 2}, {2, 5}}), (Owners{0, 1}));
  // The token ")." holds one character of each word: a tie.
  EXPECT_EQ(align(").", {{0, 2}}, {{0, 1}, {1, 2}}), (Owners{0}));
  // The token "an't" holds three characters of the second word.
  EXPECT_EQ(align("an't", {{0, 4}}, {{0, 1}, {1, 4}}), (Owners{1}));
}

TEST(Align, SpacesDoNotCount) {
  // A word's form may contain spaces; the token "  bcd" and the word "a  b" share only "b".
  EXPECT_EQ(align("a  bcd", {{0, 1}, {1, 6}}, {{0, 4}, {4, 6}}), (Owners{0, 1}));
  EXPECT_EQ(align("a   b", {{0, 1}, {1, 3}, {3, 5}}, {{0, 1}, {4, 5}}), (Owners{0, none, 1}));
  EXPECT_EQ(align("a b", {{0, 1}, {1, 2}, {2, 3}}, {{0, 3}}), (Owners{0, none, 0}));
}

TEST(Align, CharactersCountNotBytes) {
  // The token ".é" holds one character of each word, but two bytes of the second.
  EXPECT_EQ(align(".\xC3\xA9", {{0, 3}}, {{0, 1}, {1, 3}}), (Owners{0}));
  // All byte pieces of an emoji belong to its word.
  EXPECT_EQ(align("\xF0\x9F\x98\x80", {{0, 2}, {2, 3}, {3, 4}}, {{0, 4}}), (Owners{0, 0, 0}));
}

TEST(Align, WordsThatShareTheirTextGiveItToTheFirst) {
  EXPECT_EQ(align("du", {{0, 2}}, {{0, 2}, {0, 2}}), (Owners{0}));
}

TEST(Align, TokensOutsideWordsBelongToNone) {
  EXPECT_EQ(align("x y", {{0, 1}, {1, 3}}, {{0, 1}}), (Owners{0, none}));
  EXPECT_EQ(align("", {}, {}), Owners{});
}

TEST(SpansWithin, AreConsecutiveWhenTheFormsSpellTheToken) {
  EXPECT_EQ(spans_within({10, 15}, "don't", {"do", "n't"}),
            (std::vector<ByteSpan>{{10, 12}, {12, 15}}));
}

TEST(SpansWithin, AreTheWholeTokenOtherwise) {
  const std::vector<ByteSpan> both{{4, 6}, {4, 6}};
  EXPECT_EQ(spans_within({4, 6}, "du", {"de", "le"}), both);
  EXPECT_EQ(spans_within({4, 6}, "du", {"d", "ux"}), both);
  EXPECT_EQ(spans_within({4, 6}, "du", {"d", ""}), both);
}

}  // namespace
}  // namespace headscope
