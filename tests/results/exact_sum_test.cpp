#include "headscope/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headscope/error.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool add(ExactSums& sums, const std::vector<double>& values) {
  return sums.add(std::span<const double>(values));
}

/// Values of both signs with magnitudes from 2^-60 to 2^52.
std::vector<double> mixed_values(std::size_t count) {
  const CounterRandom random(5);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto exponent = static_cast<double>(random.below(112, 2 * i)) - 60;
    values[i] = (random.uniform(2 * i + 1) - 0.5) * std::exp2(exponent);
  }
  return values;
}

TEST(ExactSums, DoNotDependOnOrderOrGrouping) {
  std::vector<double> values = mixed_values(500);
  ExactSums forwards(1), backwards(1), first(1), second(1);
  for (const double value : values) ASSERT_TRUE(add(forwards, {value}));
  std::reverse(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(add(backwards, {values[i]}));
    ASSERT_TRUE(add(i % 3 == 0 ? first : second, {values[i]}));
  }
  ASSERT_TRUE(second.add(first));
  EXPECT_EQ(forwards.words(), backwards.words());
  EXPECT_EQ(forwards.words(), second.words());
}

TEST(ExactSums, CancelWithoutRounding) {
  ExactSums sums(1);
  for (const double value : {1e16, 0x1p-149, -1e16}) ASSERT_TRUE(add(sums, {value}));
  EXPECT_EQ(sums.value(0), 0x1p-149);
  ASSERT_TRUE(add(sums, {-0x1p-148}));
  EXPECT_EQ(sums.value(0), -0x1p-149);
}

TEST(ExactSums, KeepAValueToTheLastBitWhereItReachesFarEnough) {
  for (const double value : {0.0, 1.0, -1.0, 0.1, -0.3, 1.0 / 3, 1e15 + 0.125, -3e16, 1e-40,
                             -0x1.fffffep-127, 0x1p-149, 0x1p-198}) {
    ExactSums sums(1);
    ASSERT_TRUE(add(sums, {value}));
    EXPECT_EQ(sums.value(0), value);
    ASSERT_TRUE(add(sums, {1e16}) && add(sums, {-1e16}));
    EXPECT_EQ(sums.value(0), value);
  }
  for (const double value : mixed_values(500)) {
    ExactSums sums(1, ExactSums::coarse);
    ASSERT_TRUE(add(sums, {value}));
    EXPECT_LT(std::abs(sums.value(0) - value), 0x1p-70);  // the last place of coarse sums
    EXPECT_LE(std::abs(sums.value(0)), std::abs(value));
  }
}

TEST(ExactSums, AreTheSameOnSeveralThreads) {
  const std::vector<double> values = mixed_values(200000);
  ExactSums together(values.size());
  ASSERT_TRUE(add(together, values));
  for (std::size_t i = 0; i < values.size(); i += 997) {
    ExactSums alone(1);
    ASSERT_TRUE(add(alone, {values[i]}));
    EXPECT_EQ(together.value(i), alone.value(0));
  }
}

TEST(ExactSums, StayNotANumber) {
  ExactSums sums(2), other(2);
  ASSERT_TRUE(add(sums, {NAN, 1}));
  ASSERT_TRUE(add(sums, {1, 1}));
  EXPECT_TRUE(std::isnan(sums.value(0)));
  EXPECT_EQ(sums.value(1), 2);
  ASSERT_TRUE(other.add(sums));
  EXPECT_TRUE(std::isnan(other.value(0)));
}

TEST(ExactSums, SayWhatTheyCannotHold) {
  for (const double value : {infinity, -infinity, 0x1p55, -0x1p55, 1e300}) {
    ExactSums sums(1);
    EXPECT_FALSE(add(sums, {value})) << value;
  }
  for (const double value : {0x1p54, -0x1p54}) {
    ExactSums sums(1);
    for (int i = 0; i < 7; ++i) ASSERT_TRUE(add(sums, {value}));
    EXPECT_FALSE(add(sums, {value})) << "2^57";
  }
}

TEST(ExactSums, AddFromAPlaceOn) {
  ExactSums sums(3);
  const float values[] = {0.5F, 2};
  ASSERT_TRUE(sums.add(std::span<const float>(values), 1));
  EXPECT_EQ(sums.value(0), 0);
  EXPECT_EQ(sums.value(2), 2);
  EXPECT_THROW(static_cast<void>(sums.add(std::span<const float>(values), 2)), ShapeError);
  EXPECT_THROW(static_cast<void>(sums.add(ExactSums(2))), ShapeError);
}

}  // namespace
}  // namespace headscope
