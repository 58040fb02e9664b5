#include "compute/tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "support/double_reference.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using test::Normal;
using test::relative_error;
using test::widen;

// Of a product, relative to its largest element. Rounding to one bfloat16 is within 2^-9 of an
// operand. With two, what is left out of a product is within 3 * 2^-18 of it. Three leave out less
// than float32 sums of thousands of terms add.
double error_of(int n_part) {
  if (n_part == 1) return 8e-3;
  return n_part == 2 ? 1.5e-5 : 2e-6;
}

Tiles columns_of(const Matrix& X, int n_part) {
  Tiles tiles;
  tiles.set_size(X.n_rows, X.n_cols, n_part);
  for (Index c = 0; c < X.n_cols; ++c) tiles.set_column(c, X.colptr(c));
  return tiles;
}

Tiles outputs_of(const Matrix& W, Transpose transpose, int n_part) {
  const blas::ConstView view = W;
  const bool transposed = transpose == Transpose::yes;
  const Index n_in = transposed ? W.n_rows : W.n_cols, n_out = transposed ? W.n_cols : W.n_rows;
  Tiles tiles;
  tiles.set_size(n_in, n_out, n_part);
  for (Index o = 0; o < n_out; o += Tiles::block) {
    const Index count = std::min(Tiles::block, n_out - o);
    tiles.set_outputs(o, transposed ? view.cols(o, count) : view.rows(o, count), transpose);
  }
  return tiles;
}

class TilesTest : public testing::TestWithParam<std::tuple<TileKernel, int>> {
 protected:
  TileKernel kernel_ = std::get<0>(GetParam());
  int n_part_ = std::get<1>(GetParam());

  void SetUp() override {
    if (!std::ranges::count(tile_kernels(), kernel_)) GTEST_SKIP() << "not of this processor";
  }
};

// Less than a block, whole blocks, and neither.
TEST_P(TilesTest, ProductEqualsDoublePrecision) {
  Normal normal(1);
  for (const auto& [n_out, n_in, n] :
       {std::array<Index, 3>{3, 7, 5}, {64, 96, 32}, {37, 61, 70}, {130, 800, 33}}) {
    const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n), W_t = W.t();
    const arma::mat expected = widen(W) * widen(X);
    const Tiles x = columns_of(X, n_part_);
    Matrix Y(n_out, n, arma::fill::value(7));
    multiply_tiles({x}, {outputs_of(W, Transpose::no, n_part_)}, n_in, Y, false, kernel_);
    EXPECT_LT(relative_error(Y, expected), error_of(n_part_));
    multiply_tiles({x}, {outputs_of(W_t, Transpose::yes, n_part_)}, n_in, Y, true, kernel_);
    EXPECT_LT(relative_error(Y, arma::mat(2 * expected)), error_of(n_part_));
  }
}

TEST_P(TilesTest, KernelsDifferByTheOrderOfSumsAlone) {
  Normal normal(2);
  const Tiles x = columns_of(normal.matrix(200, 90), n_part_),
              w = outputs_of(normal.matrix(150, 200), Transpose::no, n_part_);
  Matrix own(150, 90), portable(150, 90);
  multiply_tiles({x}, {w}, 200, own, false, kernel_);
  multiply_tiles({x}, {w}, 200, portable, false, TileKernel::portable);
  EXPECT_LT(relative_error(own, widen(portable)), 1e-6);
}

TEST_P(TilesTest, RangesMakeUpTheWhole) {
  Normal normal(3);
  const Matrix W = normal.matrix(40, 100), X = normal.matrix(100, 80);
  const Tiles x = columns_of(X, n_part_), w = outputs_of(W, Transpose::no, n_part_);
  Matrix Y(40, 80);
  for (const Index column : {0, 32}) {
    for (const Index output : {0, 32}) {
      const blas::View y =
          blas::View(Y).rows(output, output == 0 ? 32 : 8).cols(column, column == 0 ? 32 : 48);
      multiply_tiles({x, column}, {w, output}, 64, y, false, kernel_);
      multiply_tiles({x, column, 64}, {w, output, 64}, 36, y, true, kernel_);
    }
  }
  EXPECT_LT(relative_error(Y, arma::mat(widen(W) * widen(X))), error_of(n_part_));
}

// A part of a larger matrix is written, and nothing beside it.
TEST_P(TilesTest, WritesAView) {
  Normal normal(4);
  const Tiles x = columns_of(normal.matrix(40, 50), n_part_),
              w = outputs_of(normal.matrix(45, 40), Transpose::no, n_part_);
  Matrix around(47, 52, arma::fill::value(7)), expected(45, 50);
  multiply_tiles({x}, {w}, 40, blas::View(around).rows(1, 45).cols(1, 50), false, kernel_);
  multiply_tiles({x}, {w}, 40, expected, false, kernel_);
  EXPECT_TRUE(test::same_values(Matrix(around.submat(1, 1, 45, 50)), expected));
  around.submat(1, 1, 45, 50).fill(7);
  EXPECT_TRUE(arma::all(arma::vectorise(around) == 7));
}

TEST_P(TilesTest, HoldsLessAfterHoldingMore) {
  Normal normal(5);
  const Matrix X = normal.matrix(33, 40), W = normal.matrix(20, 33);
  Tiles x = columns_of(normal.matrix(300, 100), n_part_);
  x.set_size(33, 40, n_part_);
  for (Index c = 0; c < X.n_cols; ++c) x.set_column(c, X.colptr(c));
  Matrix Y(20, 40);
  multiply_tiles({x}, {outputs_of(W, Transpose::no, n_part_)}, 33, Y, false, kernel_);
  EXPECT_LT(relative_error(Y, arma::mat(widen(W) * widen(X))), error_of(n_part_));
}

std::string tiles_test_name(const testing::TestParamInfo<std::tuple<TileKernel, int>>& test) {
  const auto& [kernel, n_part] = test.param;
  std::string name = "portable";
  if (kernel == TileKernel::avx512_bf16) name = "avx512_bf16";
  if (kernel == TileKernel::amx) name = "amx";
  return name + "_" + std::to_string(n_part);
}

INSTANTIATE_TEST_SUITE_P(Kernels, TilesTest,
                         testing::Combine(testing::Values(TileKernel::portable,
                                                          TileKernel::avx512_bf16, TileKernel::amx),
                                          testing::Values(1, 2, 3)),
                         tiles_test_name);

}  // namespace
}  // namespace headscope
