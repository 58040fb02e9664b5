#include "compute/streamed_product.hpp"

#include <gtest/gtest.h>

#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using test::Normal;
using test::relative_error;
using test::widen;

struct StreamedShape {
  Index n_out, n_in, n;
};

class StreamedProduct : public testing::TestWithParam<std::tuple<Engine, StreamedShape>> {
 protected:
  // float32 sums in another order, or what three bfloat16 products leave out.
  static double error() { return std::get<0>(GetParam()) == Engine::float32 ? 1e-6 : 1.5e-5; }
};

TEST_P(StreamedProduct, EqualsDoublePrecision) {
  const auto& [engine, shape] = GetParam();
  const auto& [n_out, n_in, n] = shape;
  Normal normal(1);
  const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n), W_t = W.t();
  const arma::mat expected = widen(W) * widen(X);
  Matrix Y(n_out, n, arma::fill::value(7));
  multiply_streamed(engine, W, Transpose::no, X, Y);
  EXPECT_LT(relative_error(Y, expected), error());
  multiply_streamed(engine, W_t, Transpose::yes, X, Y, true);
  EXPECT_LT(relative_error(Y, arma::mat(2 * expected)), error());
  const StreamedColumns columns(X, engine);
  Matrix serial(n_out, n, arma::fill::value(7));
  columns.multiply_serial(W, Transpose::no, serial);
  EXPECT_LT(relative_error(serial, expected), error());
  columns.multiply_serial(W_t, Transpose::yes, serial, true);
  EXPECT_LT(relative_error(serial, arma::mat(2 * expected)), error());
}

// A part of a larger matrix is written, and nothing beside it.
TEST_P(StreamedProduct, WritesAView) {
  const auto& [engine, shape] = GetParam();
  const auto& [n_out, n_in, n] = shape;
  Normal normal(2);
  const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n);
  Matrix around(n_out + 2, n + 2, arma::fill::value(7));
  multiply_streamed(engine, W, Transpose::no, X, blas::View(around).rows(1, n_out).cols(1, n));
  const Matrix inside = around.submat(1, 1, n_out, n);
  EXPECT_LT(relative_error(inside, arma::mat(widen(W) * widen(X))), error());
  around.submat(1, 1, n_out, n).fill(7);
  EXPECT_TRUE(arma::all(arma::vectorise(around) == 7));
}

// Few columns; odd sizes; one part and more of inputs, outputs and columns.
INSTANTIATE_TEST_SUITE_P(
    Engines, StreamedProduct,
    testing::Combine(testing::Values(Engine::float32, Engine::bfloat16_three),
                     testing::Values(StreamedShape{40, 30, 5}, StreamedShape{37, 61, 131},
                                     StreamedShape{3, 7, 300}, StreamedShape{900, 64, 129},
                                     StreamedShape{130, 1700, 260})));

TEST(StreamedProduct, RefusesShapesThatDoNotFit) {
  for (const Engine engine : {Engine::float32, Engine::bfloat16_three}) {
    for (const Index n : {3, 200}) {
      const Matrix W(10, 20, arma::fill::zeros), X(19, n, arma::fill::zeros);
      Matrix Y(10, n);
      EXPECT_THROW(multiply_streamed(engine, W, Transpose::no, X, Y), ShapeError);
      EXPECT_THROW(StreamedColumns(X, engine).multiply_serial(W, Transpose::no, Y), ShapeError);
    }
  }
}

}  // namespace
}  // namespace headscope
