#include "excerpt.hpp"

#include <gtest/gtest.h>

#include "scores/pattern.hpp"

namespace headscope {
namespace {

/// `Once a 😀 so naïve .`, in which two characters span tokens.
const std::vector<std::string> tokens{"<|endoftext|>", "Once", " a",  " \xF0\x9F",
                                      "\x98\x80",      " so",  " na", "\xC3",
                                      "\xAF",          "ve",   " ."};

using Place = std::pair<double, double>;

Place place_of(const Excerpt& excerpt, Index token) {
  return {excerpt.start(token), excerpt.end(token)};
}

TEST(Excerpt, ShowsACharacterThatTokensShare) {
  const Excerpt excerpt(tokens, 1, tokens.size());
  EXPECT_EQ(excerpt.text(), "Once a 😀 so naïve .");
  for (const Index token : {Index{3}, Index{4}})
    EXPECT_EQ(place_of(excerpt, token), (Place{7, 8})) << token;
  for (const Index token : {Index{7}, Index{8}})
    EXPECT_EQ(place_of(excerpt, token), (Place{14, 15})) << token;
  EXPECT_EQ(place_of(excerpt, 5), (Place{9, 11}));
  EXPECT_EQ(excerpt.text_of(3), " 😀");
  EXPECT_EQ(excerpt.text_of(4), "😀");
  EXPECT_EQ(excerpt.text_of(8), "ï");
}

TEST(Excerpt, TakesInCharactersAtItsEnds) {
  EXPECT_EQ(Excerpt(tokens, 4, 6).text(), "😀 so");
  EXPECT_EQ(Excerpt(tokens, 8, 9).text_of(8), "ï");
}

TEST(Excerpt, TakesInWordsAtItsEnds) {
  EXPECT_EQ(Excerpt(tokens, 4, 8).text(), "😀 so naïve");
  EXPECT_EQ(Excerpt(tokens, 9, tokens.size()).text(), "naïve .");
  EXPECT_EQ(Excerpt({"<|endoftext|>", "On", "ce"}, 2, 3).text(), "Once");
}

TEST(Excerpt, TakesInAFewTokensOfATextWithoutBlanks) {
  std::vector<std::string> letters(40, "a");
  for (std::size_t i = 20; i < letters.size(); ++i) letters[i] = "b";
  EXPECT_EQ(Excerpt(letters, 20, 21).text(), "aaaaaaaabbbbbbbbb");
}

TEST(Excerpt, GivesTheEndOfTheWordThatATokenBegins) {
  const Excerpt excerpt(tokens, 5, tokens.size());
  EXPECT_EQ(excerpt.text(), "so naïve .");
  EXPECT_EQ(excerpt.word_end(6), 8);
  EXPECT_EQ(excerpt.end(6), 5);
  EXPECT_EQ(excerpt.word_end(5), 2);
  EXPECT_EQ(excerpt.word_end(10), 10);
}

TEST(Excerpt, HasNoPlaceForTokensThatItDoesNotShow) {
  const Excerpt excerpt(tokens, 5, 6);
  for (const Index token : {Index{0}, Index{4}, Index{6}, no_position}) {
    EXPECT_EQ(place_of(excerpt, token), (Place{-1, -1})) << token;
    EXPECT_EQ(excerpt.word_end(token), -1) << token;
  }
}

}  // namespace
}  // namespace headscope
