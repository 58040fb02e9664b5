#include "compute/product/bfloat16.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "compute/product/bfloat16_kernel.hpp"
#include "support/double_reference.hpp"
#include "support/operands.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using test::columns_of;
using test::Normal;
using test::outputs_of;
using test::relative_error;
using test::widen;

// Of a product, relative to its largest element. Rounding to one bfloat16 is within 2^-9 of an
// operand. With two, what is left out of a product is within 3 * 2^-18 of it. Three leave out less
// than float32 sums of thousands of terms add.
double error_of(int n_part) {
  if (n_part == 1) return 8e-3;
  return n_part == 2 ? 1.5e-5 : 2e-6;
}

class Bfloat16Test : public testing::TestWithParam<std::tuple<Bfloat16Kernel, int>> {
 protected:
  Bfloat16Kernel kernel_ = std::get<0>(GetParam());
  int n_part_ = std::get<1>(GetParam());
  Bfloat16Sums sums_{n_part_, kernel_};

  void SetUp() override {
    if (!std::ranges::count(bfloat16_kernels(), kernel_)) GTEST_SKIP() << "not of this processor";
  }
};

// Less than a block, whole blocks, and neither.
TEST_P(Bfloat16Test, ProductEqualsDoublePrecision) {
  Normal normal(1);
  for (const auto& [n_out, n_in, n] :
       {std::array<Index, 3>{3, 7, 5}, {64, 96, 32}, {37, 61, 70}, {130, 800, 33}}) {
    const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n), W_t = W.t();
    const arma::mat expected = widen(W) * widen(X);
    const Operand x = columns_of(X, sums_);
    Matrix Y(n_out, n, arma::fill::value(7));
    sums_.multiply({x}, {outputs_of(W, Transpose::no, sums_)}, n_in, Y, false);
    EXPECT_LT(relative_error(Y, expected), error_of(n_part_));
    sums_.multiply({x}, {outputs_of(W_t, Transpose::yes, sums_)}, n_in, Y, true);
    EXPECT_LT(relative_error(Y, arma::mat(2 * expected)), error_of(n_part_));
  }
}

TEST_P(Bfloat16Test, KernelsDifferByTheOrderOfSumsAlone) {
  Normal normal(2);
  const Operand x = columns_of(normal.matrix(200, 90), sums_),
                w = outputs_of(normal.matrix(150, 200), Transpose::no, sums_);
  Matrix own(150, 90), portable(150, 90);
  sums_.multiply({x}, {w}, 200, own, false);
  Bfloat16Sums(n_part_, Bfloat16Kernel::portable).multiply({x}, {w}, 200, portable, false);
  EXPECT_LT(relative_error(own, widen(portable)), test::rounding_tolerance);
}

TEST_P(Bfloat16Test, KernelsPackAlike) {
  if (kernel_ == Bfloat16Kernel::portable) GTEST_SKIP() << "others are compared with this kernel";
  const Bfloat16Sums portable(n_part_, Bfloat16Kernel::portable);
  for (const Index n : {1, 15, 16, 31, 32, 33, 48, 96, 100}) {
    for (const float size : {1e-20F, 1.0F, 1e30F}) {
      const Vector x = Normal(n).vector(n, size);
      const auto packed_by = [&](const Bfloat16Sums& sums) {
        Operand packed;
        sums.set_size(n, Bfloat16Sums::block, packed);
        sums.pack_column(x.memptr(), 0.3F, 5, packed);
        return packed;
      };
      const Operand own = packed_by(sums_), expected = packed_by(portable);
      // Of each 32 inputs, each part's row; the last is filled up with zeros.
      for (Index row = 0; row < (n + 31) / 32 * static_cast<Index>(n_part_); ++row) {
        const Index first = row * bfloat16::part_size + 5 * bfloat16::tile_inputs;
        for (Index i = first; i < first + bfloat16::tile_inputs; ++i) {
          ASSERT_EQ(own.words[i], expected.words[i]) << n << " " << size << " " << row;
        }
      }
    }
  }
}

TEST_P(Bfloat16Test, RangesMakeUpTheWhole) {
  Normal normal(3);
  const Matrix W = normal.matrix(40, 100), X = normal.matrix(100, 80);
  const Operand x = columns_of(X, sums_), w = outputs_of(W, Transpose::no, sums_);
  Matrix Y(40, 80);
  for (const Index column : {0, 32}) {
    for (const Index output : {0, 32}) {
      const blas::View y =
          blas::View(Y).rows(output, output == 0 ? 32 : 8).cols(column, column == 0 ? 32 : 48);
      sums_.multiply({x, column}, {w, output}, 64, y, false);
      sums_.multiply({x, column, 64}, {w, output, 64}, 36, y, true);
    }
  }
  EXPECT_LT(relative_error(Y, arma::mat(widen(W) * widen(X))), error_of(n_part_));
}

// A part of a larger matrix is written, and nothing beside it.
TEST_P(Bfloat16Test, WritesAView) {
  Normal normal(4);
  const Operand x = columns_of(normal.matrix(40, 50), sums_),
                w = outputs_of(normal.matrix(45, 40), Transpose::no, sums_);
  Matrix around(47, 52, arma::fill::value(7)), expected(45, 50);
  sums_.multiply({x}, {w}, 40, blas::View(around).rows(1, 45).cols(1, 50), false);
  sums_.multiply({x}, {w}, 40, expected, false);
  EXPECT_TRUE(test::same_values(Matrix(around.submat(1, 1, 45, 50)), expected));
  around.submat(1, 1, 45, 50).fill(7);
  EXPECT_TRUE(arma::all(arma::vectorise(around) == 7));
}

TEST_P(Bfloat16Test, HoldsLessAfterHoldingMore) {
  Normal normal(5);
  const Matrix X = normal.matrix(33, 40), W = normal.matrix(20, 33);
  Operand x = columns_of(normal.matrix(300, 100), sums_);
  sums_.set_size(33, 40, x);
  for (Index c = 0; c < X.n_cols; ++c) sums_.pack_column(X.colptr(c), 1, c, x);
  Matrix Y(20, 40);
  sums_.multiply({x}, {outputs_of(W, Transpose::no, sums_)}, 33, Y, false);
  EXPECT_LT(relative_error(Y, arma::mat(widen(W) * widen(X))), error_of(n_part_));
}

std::string bfloat16_test_name(
    const testing::TestParamInfo<std::tuple<Bfloat16Kernel, int>>& test) {
  const auto& [kernel, n_part] = test.param;
  std::string name = "portable";
  if (kernel == Bfloat16Kernel::amx) name = "amx";
  return name + "_" + std::to_string(n_part);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Bfloat16Test,
                         testing::Combine(testing::Values(Bfloat16Kernel::portable,
                                                          Bfloat16Kernel::amx),
                                          testing::Values(1, 2, 3)),
                         bfloat16_test_name);

}  // namespace
}  // namespace headscope
