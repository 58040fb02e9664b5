#pragma once

/// Tolerances that several tests share, each with what sets it. EXPECT_DOUBLE_EQ and
/// EXPECT_FLOAT_EQ allow four units in the last place, which is what a few operations round to.
namespace headscope::test {

/// Absolute error allowed to some tens of operations in double on numbers of about 1. Each rounds
/// to 1e-16 of its result.
constexpr double double_rounding = 1e-14;

/// Relative error allowed to a few operations in float32, or to the same operations in another
/// order. Each rounds to 6e-8 of its result; the errors of a product's up to some thousand terms
/// add up at random to a few times that, relative to the largest element.
constexpr double rounding_tolerance = 1e-6;

/// Relative error allowed to float32 after a few layers, against double precision. Each layer adds
/// the rounding of its products; after three of them it is about 1e-6.
constexpr double float32_tolerance = 1e-5;

}  // namespace headscope::test
