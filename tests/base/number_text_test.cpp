#include "base/number_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace headscope {
namespace {

TEST(NumberText, IsShortAndReadsBack) {
  EXPECT_EQ(number_text(2359296, 4), "2359296");
  EXPECT_EQ(number_text(1.0 / 3, 4), "0.3333");
  EXPECT_EQ(number_text(1.23456e-9, 3), "1.23e-09");
  EXPECT_EQ(std::stod(number_text(0.1 + 0.2, 0)), 0.1 + 0.2);
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN(), 4), "NaN");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity(), 4), "inf");
}

TEST(Percent, RoundsASmallShareToTwoDigitsAndALargeOneToThree) {
  EXPECT_EQ(percent(0.0833), "8.3 %");
  EXPECT_EQ(percent(0.00034), "0.034 %");
  EXPECT_EQ(percent(0.10234), "10.2 %");
  EXPECT_EQ(percent(0.1), "10 %");
  EXPECT_EQ(percent(0.99999), "100 %");
  EXPECT_EQ(percent(12.34), "1234 %");
  EXPECT_EQ(percent(9.997), "1000 %");
  EXPECT_EQ(percent(-12.34), "-1234 %");
  EXPECT_EQ(percent(1.01), "101 %");
  EXPECT_EQ(percent(0), "0 %");
}

TEST(NumberText, BesideAnotherHasAsManyDigitsAsTellThemApart) {
  EXPECT_EQ(number_text_beside(0.30012, 0.3, 3), "0.3001");
  EXPECT_EQ(number_text_beside(0.3, 0.30012, 3), "0.3");
  EXPECT_EQ(number_text_beside(0.3, 0.3, 3), "0.3");
}

TEST(NumberText, Decimals) {
  EXPECT_EQ(decimals(0.08333, 3), "0.083");
}

TEST(NumberText, EveryNumberHasTheSameMinusSign) {
  EXPECT_EQ(number_text(-0.5, 2), "-0.5");
  EXPECT_EQ(decimals(-0.5, 2), "-0.50");
  EXPECT_EQ(percent(-0.005), "-0.5 %");
  EXPECT_EQ(signed_text(decimals(-0.5, 2)), "-0.50");
  EXPECT_EQ(signed_text(number_text(0.5, 2)), "+0.5");
}

TEST(ParseWholeNumber, TakesDigitsAloneUpToTheMost) {
  EXPECT_EQ(parse_whole_number("007"), 7U);
  EXPECT_EQ(parse_whole_number("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(parse_whole_number("12", 12), 12U);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(parse_whole_number(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_whole_number("13", 12), std::nullopt);
}

TEST(CountText, GroupsDigitsAndKnowsOneFromMany) {
  EXPECT_EQ(grouped(124439808), "124,439,808");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(count_text(1, "document"), "1 document");
  EXPECT_EQ(count_text(0, "head"), "0 heads");
  EXPECT_EQ(count_text(12, "head"), "12 heads");
}

TEST(MemoryText, SizesAreReadInPowersOf1024) {
  EXPECT_EQ(parse_memory("3K"), 3072U);
  EXPECT_EQ(parse_memory("900M"), 900U << 20);
  EXPECT_EQ(parse_memory("8G"), std::uint64_t{8} << 30);
  EXPECT_EQ(parse_memory("2T"), std::uint64_t{2} << 40);
  for (const char* text :
       {"", "8", "G", "-1G", "0G", "00M", "8GB", "1.5G", "8 G", "8g", "9999999G"}) {
    EXPECT_EQ(parse_memory(text), std::nullopt) << text;
  }
  EXPECT_EQ(memory_text(std::uint64_t{5} << 19), "2.5 MiB");
  EXPECT_EQ(memory_text(std::uint64_t{310} << 20), "310 MiB");
  EXPECT_EQ(memory_text(std::uint64_t{33} << 28), "8.25 GiB");
}

}  // namespace
}  // namespace headscope
