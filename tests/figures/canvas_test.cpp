#include "figures/canvas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headscope {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

TEST(Ticks, AreRoundNumbersWithinTheRange) {
  EXPECT_THAT(labels(nice_ticks(0, 1, 5)), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(labels(nice_ticks(-0.31, 0.3, 3)), ElementsAre("−0.2", "0", "0.2"));
  EXPECT_THAT(labels(nice_ticks(3, 26, 5)), ElementsAre("5", "10", "15", "20", "25"));
  EXPECT_THAT(labels(nice_ticks(0, 2.5e6, 3)), ElementsAre("0", "1·10⁶", "2·10⁶"));
  EXPECT_THAT(labels(nice_ticks(0, 2e-5, 2)), ElementsAre("0", "1·10⁻⁵", "2·10⁻⁵"));
  for (const Tick& tick : nice_ticks(0.05, 0.98, 3)) {
    EXPECT_GE(tick.position, 0.05);
    EXPECT_LE(tick.position, 0.98);
  }
}

TEST(Ticks, OfALogarithmicAxisArePlainOrPowersThroughout) {
  EXPECT_THAT(labels(log_ticks(0.8, 2000)), ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(labels(log_ticks(900, 2e6)), ElementsAre("10³", "10⁴", "10⁵", "10⁶"));
  EXPECT_THAT(labels(log_ticks(1, 60)), ElementsAre("1", "2", "5", "10", "20", "50"));
  EXPECT_THAT(labels(log_ticks(0.004, 0.3)),
              ElementsAre("0.005", "0.01", "0.02", "0.05", "0.1", "0.2"));
}

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
