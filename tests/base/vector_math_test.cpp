#include "base/vector_math.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace headscope {
namespace {

const float nan = std::numeric_limits<float>::quiet_NaN();

HEADSCOPE_VECTORISED void exponentials(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::exponential(x[i]);
}
HEADSCOPE_VECTORISED void normal_exponentials(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::normal_exponential(x[i]);
}
HEADSCOPE_VECTORISED void exponential_changes(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::exponential_change(x[i]);
}
HEADSCOPE_VECTORISED void logistics(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::logistic(x[i]);
}
HEADSCOPE_VECTORISED void logistic_values(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::logistic_and_slope(x[i]).value;
}
HEADSCOPE_VECTORISED void logistic_slopes(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::logistic_and_slope(x[i]).slope;
}
HEADSCOPE_VECTORISED void gaussians(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::gaussian(x[i]);
}
HEADSCOPE_VECTORISED void normal_cdfs(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_math::normal_cdf(x[i]);
}

double exact_logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double exact_logistic_slope(double x) {
  return exact_logistic(x) * exact_logistic(-x);
}
double exact_gaussian(double x) {
  return std::exp(-x * x / 2);
}
double exact_normal_cdf(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

// Every `stride`-th float32, values between 0 and saturation, and those where a formula switches.
std::vector<float> floats_of_all_sizes() {
  std::vector<float> values;
  constexpr std::uint32_t stride = 4099;
  for (std::uint64_t bits = 0; bits < (1ULL << 32); bits += stride) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(value)) values.push_back(value);
  }
  // Most floats are tiny or huge; in this range the functions are neither 0 nor 1.
  for (double x = -110; x < 110; x += 1.0 / 4096) values.push_back(static_cast<float>(x));
  for (const float x : {0.0F,
                        -0.0F,
                        1.0F,
                        88.722F,
                        88.723F,
                        88.73F,
                        89.0F,
                        -87.33F,
                        -87.34F,
                        -103.0F,
                        -103.97F,
                        -104.0F,
                        14.0F,
                        -14.0F,
                        30.0F,
                        -30.0F,
                        std::numeric_limits<float>::denorm_min(),
                        INFINITY,
                        -INFINITY,
                        std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::lowest()}) {
    values.push_back(x);
  }
  return values;
}

std::vector<float> floats_between(float least, float most) {
  std::vector<float> values = floats_of_all_sizes();
  std::erase_if(values, [&](float value) { return value < least || value > most; });
  return values;
}

// Largest error in units in the last place of the exact result; for a subnormal result, in those of
// the smallest normal number.
template <typename Approximate, typename Exact>
double largest_error(Approximate approximate, Exact exact,
                     const std::vector<float>& x = floats_of_all_sizes()) {
  std::vector<float> y(x.size());
  approximate(x.data(), x.size(), y.data());
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(static_cast<double>(x[i]));
    const auto nearest = static_cast<float>(expected);
    if (y[i] == nearest) continue;
    if (!std::isfinite(y[i]) || std::isinf(nearest)) return INFINITY;
    const int exponent = std::max(std::ilogb(expected), -126);
    largest = std::max(
        largest, std::abs(static_cast<double>(y[i]) - expected) / std::ldexp(1.0, exponent - 23));
  }
  return largest;
}

// The bounds are those that vector_math.hpp states.
TEST(VectorMath, ExponentialIsWithinTwoUnitsOverAllFloats) {
  EXPECT_LE(largest_error(exponentials, [](double x) { return std::exp(x); }), 2);
}
TEST(VectorMath, NormalExponentialIsWithinTwoUnitsAndZeroBelow) {
  EXPECT_LE(largest_error(
                normal_exponentials, [](double x) { return x < -87 ? 0 : std::exp(x); },
                floats_between(-INFINITY, 88)),
            2);
}
TEST(VectorMath, ExponentialChangeIsWithinThreeUnits) {
  EXPECT_LE(
      largest_error(
          exponential_changes, [](double x) { return std::expm1(x); }, floats_between(-87, 88)),
      3);
}
TEST(VectorMath, LogisticIsWithinFourUnitsOverAllFloats) {
  EXPECT_LE(largest_error(logistics, exact_logistic), 4);
}
TEST(VectorMath, LogisticAndSlopeAreWithinFiveAndTenUnitsOverAllFloats) {
  EXPECT_LE(largest_error(logistic_values, exact_logistic), 5);
  EXPECT_LE(largest_error(logistic_slopes, exact_logistic_slope), 10);
}
TEST(VectorMath, GaussianIsWithinSixUnitsOverAllFloats) {
  EXPECT_LE(largest_error(gaussians, exact_gaussian), 6);
}
TEST(VectorMath, NormalDistributionIsWithinEightUnitsOverAllFloats) {
  EXPECT_LE(largest_error(normal_cdfs, exact_normal_cdf), 8);
}

TEST(VectorMath, ExponentialReachesDenormalsZeroAndInfinity) {
  EXPECT_EQ(vector_math::exponential(-INFINITY), 0.0F);
  EXPECT_EQ(vector_math::exponential(INFINITY), INFINITY);
  EXPECT_EQ(vector_math::exponential(0.0F), 1.0F);
  EXPECT_GT(vector_math::exponential(-103.0F), 0.0F);
}

TEST(VectorMath, NaNGoesInAndNaNComesOut) {
  std::vector<float> x(19, nan), y(19);
  for (const auto function : {exponentials, normal_exponentials, exponential_changes, logistics,
                              logistic_values, logistic_slopes, gaussians, normal_cdfs}) {
    function(x.data(), x.size(), y.data());
    for (const float value : y) EXPECT_TRUE(std::isnan(value));
  }
}

// The vector body and the scalar remainder of a loop must agree, to one or two units in the last
// place: they may fuse a product and a sum differently.
TEST(VectorMath, ResultsDoNotDependOnThePositionInTheLoop) {
  const float x = -1.2345F;
  for (const auto function : {exponentials, normal_exponentials, exponential_changes, logistics,
                              logistic_values, logistic_slopes, gaussians, normal_cdfs}) {
    std::vector<float> values(37, x), y(37);
    function(values.data(), values.size(), y.data());
    for (const float value : y) EXPECT_NEAR(value, y[0], 2e-7F * std::abs(y[0]));
  }
}

}  // namespace
}  // namespace headscope
