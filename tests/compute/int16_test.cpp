#include "compute/product/int16.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "support/double_reference.hpp"
#include "support/operands.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using test::columns_of;
using test::Normal;
using test::outputs_of;
using test::widen;

// Rounding moves each of 256 inputs of a column of norm 32700 by 0.29 in the root mean square, so
// sqrt(256) 0.29 / 32700 = 1.4e-4, and half of that for outputs: 1.6e-4 together.
constexpr double expected_error = 1.6e-4;

double norm_error(const Matrix& Y, const arma::mat& expected) {
  return arma::norm(widen(Y) - expected, "fro") / arma::norm(expected, "fro");
}

Matrix product(const Matrix& W, const Matrix& X, const Int16Products& int16) {
  Matrix Y(W.n_rows, X.n_cols, arma::fill::value(7));
  int16.multiply({columns_of(X, int16)}, {outputs_of(W, Transpose::no, int16)}, X.n_rows, Y, false);
  return Y;
}

class Int16Test : public testing::TestWithParam<Int16Kernel> {
 protected:
  Int16Products int16_{GetParam()};

  void SetUp() override {
    if (!std::ranges::count(int16_kernels(), GetParam())) GTEST_SKIP() << "not of this processor";
  }
};

// Less than a block and more; an odd number of inputs; less than a group of inputs and more.
TEST_P(Int16Test, ProductEqualsDoublePrecisionWithinItsRounding) {
  Normal normal(1);
  for (const auto& [n_out, n_in, n] : {std::array<Index, 3>{3, 7, 5},
                                       {64, 96, 32},
                                       {37, 61, 70},
                                       {130, 800, 33},
                                       {40, 3072, 41}}) {
    const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n), W_t = W.t();
    const arma::mat expected = widen(W) * widen(X);
    const Operand x = columns_of(X, int16_);
    Matrix Y(n_out, n, arma::fill::value(7));
    int16_.multiply({x}, {outputs_of(W, Transpose::no, int16_)}, n_in, Y, false);
    EXPECT_LT(norm_error(Y, expected), 1.2 * expected_error) << n_in;
    int16_.multiply({x}, {outputs_of(W_t, Transpose::yes, int16_)}, n_in, Y, true);
    EXPECT_LT(norm_error(Y, arma::mat(2 * expected)), 1.2 * expected_error) << n_in;
  }
}

TEST_P(Int16Test, KernelsGiveTheSameNumbers) {
  Normal normal(2);
  for (const auto& [n_out, n_in, n] : {std::array<Index, 3>{150, 533, 89}, {33, 1, 1}}) {
    const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n);
    EXPECT_TRUE(test::same_values(product(W, X, int16_),
                                  product(W, X, Int16Products(Int16Kernel::portable))));
  }
}

// Whether all numbers have the same bits; NaN equals NaN.
bool same_bits(const Matrix& a, const Matrix& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  });
}

// Random shapes: every remainder of columns, outputs and inputs that a kernel treats apart. Among
// normal values zeros, tiny, huge, infinite and undefined ones; sums are overwritten and added to.
TEST_P(Int16Test, KernelsGiveTheSameBitsForAnyShapeAndValues) {
  std::mt19937_64 generator(7);
  const auto up_to = [&](Index most) { return 1 + generator() % most; };
  constexpr std::array extremes{0.0F, -0.0F, 1e-42F, -1e-20F, 3e4F, -1e30F, 3e38F, INFINITY, NAN};
  const Int16Products portable(Int16Kernel::portable);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Index n_out = up_to(80), n_in = up_to(repeat % 3 == 0 ? 700 : 40), n = up_to(40);
    Normal normal(generator());
    Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n);
    for (Index i = 0; i < (repeat % 2) * up_to(8); ++i) {
      Matrix& either = i % 2 == 0 ? X : W;
      either(generator() % either.n_elem) = extremes[generator() % extremes.size()];
    }
    X.col(generator() % n).fill(extremes[generator() % extremes.size()]);
    const Operand x = columns_of(X, int16_), w = outputs_of(W, Transpose::no, int16_);
    Matrix Y(n_out, n), expected(n_out, n);
    for (const bool add : {false, true}) {
      int16_.multiply({x}, {w}, n_in, Y, add);
      portable.multiply({x}, {w}, n_in, expected, add);
      EXPECT_TRUE(same_bits(Y, expected)) << n_out << " x " << n_in << " x " << n << ", " << add;
    }
  }
}

// Shards of a run may be computed by several processors.
TEST_P(Int16Test, ProductHasTheSameBitsOnEveryProcessor) {
  std::minstd_rand generator;  // whose numbers the C++ standard states
  const auto numbers = [&](Index n_row, Index n_col) {
    Matrix values(n_row, n_col);
    for (float& value : values) value = static_cast<float>(generator()) * 0x1p-30F - 1;
    return values;
  };
  const Matrix W = numbers(75, 533), X = numbers(533, 49);
  std::uint32_t hash = 0;
  for (const float y : product(W, X, int16_)) hash = 31 * hash + std::bit_cast<std::uint32_t>(y);
  EXPECT_EQ(hash, 2866406295U);
}

// A column a thousand times as large as the others would leave them eight bits if all shared a
// scale by the largest number.
TEST_P(Int16Test, OutliersCostNothing) {
  Normal normal(3);
  Matrix W = normal.matrix(64, 768), X = normal.matrix(768, 40);
  X.row(7) *= 30;
  const arma::mat expected = widen(W) * widen(X);
  EXPECT_LT(norm_error(product(W, X, int16_), expected), 1.2 * expected_error);
}

// Operands that make every product of a sum the largest possible one, of equal signs, and those
// with one input alone: no sum may wrap around. All inputs of a column round alike, so that their
// errors do not cancel.
TEST_P(Int16Test, NoSumOverflows) {
  for (const Index n_in : {1, 2, 3, 255, 256, 257, 3072}) {
    for (const bool one_input : {false, true}) {
      Matrix W(33, n_in, arma::fill::value(one_input ? 0 : -3)), X(n_in, 7);
      X.fill(one_input ? 1e-4F : 5.0F);
      W.col(0).fill(-3);
      X.row(0).fill(5);
      const arma::mat expected = widen(W) * widen(X);
      EXPECT_LT(norm_error(product(W, X, int16_), expected), 4 * expected_error) << n_in;
    }
  }
}

TEST_P(Int16Test, RangesMakeUpTheWhole) {
  Normal normal(4);
  const Matrix W = normal.matrix(40, 612), X = normal.matrix(612, 80);
  const Operand x = columns_of(X, int16_), w = outputs_of(W, Transpose::no, int16_);
  Matrix Y(40, 80);
  for (const Index column : {0, 32}) {
    for (const Index output : {0, 32}) {
      const blas::View y =
          blas::View(Y).rows(output, output == 0 ? 32 : 8).cols(column, column == 0 ? 32 : 48);
      int16_.multiply({x, column}, {w, output}, 512, y, false);
      int16_.multiply({x, column, 512}, {w, output, 512}, 100, y, true);
    }
  }
  EXPECT_TRUE(test::same_values(Y, product(W, X, int16_)));
}

TEST_P(Int16Test, WritesAViewAndNothingBesideIt) {
  Normal normal(5);
  const Matrix X = normal.matrix(40, 50), W = normal.matrix(45, 40);
  Matrix around(47, 52, arma::fill::value(7));
  int16_.multiply({columns_of(X, int16_)}, {outputs_of(W, Transpose::no, int16_)}, 40,
                  blas::View(around).rows(1, 45).cols(1, 50), false);
  EXPECT_TRUE(test::same_values(Matrix(around.submat(1, 1, 45, 50)), product(W, X, int16_)));
  around.submat(1, 1, 45, 50).fill(7);
  EXPECT_TRUE(arma::all(arma::vectorise(around) == 7));
}

std::string int16_test_name(const testing::TestParamInfo<Int16Kernel>& test) {
  constexpr std::array names{"portable", "avx2", "avx_vnni", "avx512_vnni", "neon"};
  return names[static_cast<std::size_t>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(Kernels, Int16Test,
                         testing::Values(Int16Kernel::portable, Int16Kernel::avx2,
                                         Int16Kernel::avx_vnni, Int16Kernel::avx512_vnni,
                                         Int16Kernel::neon),
                         int16_test_name);

}  // namespace
}  // namespace headscope
