#include "figures/figure_page.hpp"

#include <gtest/gtest.h>

namespace headscope {
namespace {

TEST(Text, IsShortenedAtCharactersNotBytes) {
  EXPECT_EQ(fit_text("größer", 10, 1000), "größer");
  const std::string cut = fit_text("öööööööööö", 10, 40);
  EXPECT_EQ(cut.substr(cut.size() - 3), "…");
  EXPECT_EQ((cut.size() - 3) % 2, 0u);
  EXPECT_LE(text_width(cut, 10), 40 + 10);
}

TEST(Text, IsWrappedAtSpacesWithNothingLost) {
  const auto lines = wrap_text("one two three four five six", 10, 60, 9);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(text_width(line, 10), 60);
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, "one two three four five six");
  EXPECT_EQ(wrap_text("one two three four five six", 10, 60, 2).size(), 2u);
  EXPECT_TRUE(wrap_text("", 10, 60, 2).empty());
}

}  // namespace
}  // namespace headscope
