#include "compute/product/weight_product.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using test::Normal;
using test::relative_error;
using test::widen;

struct EngineCase {
  Engine engine;
  double error;  // of a product, relative to its largest element; see bfloat16_ and int16_test.cpp
};

constexpr EngineCase engine_cases[] = {{Engine::float32, 1e-6},
                                       {Engine::bfloat16_six, 1e-6},
                                       {Engine::bfloat16_three, 1.5e-5},
                                       {Engine::bfloat16_one, 4e-3},
                                       {Engine::int16, 3e-4}};

class WeightProductTest : public testing::TestWithParam<EngineCase> {
 protected:
  const Products products_ = test::products(GetParam().engine);
  double error_ = GetParam().error;
};

TEST_P(WeightProductTest, TakesColumnsInAnyOrder) {
  if (!products_.packs()) GTEST_SKIP() << "OpenBLAS multiplies columns as they lie";
  Normal normal(9);
  const Matrix W = normal.matrix(37, 610), X = normal.matrix(610, 70);
  PackedColumns every, some;
  every.set_size(X.n_rows, X.n_cols, products_);
  for (Index c = 0; c < X.n_cols; ++c) every.set_column(c, X.colptr(c));
  TokenIds chosen{69, 3, 3, 0};
  for (TokenId c = 0; c < 60; ++c) chosen.push_back(c);
  some.take(every, chosen);
  Matrix expected_X(X.n_rows, chosen.size());
  for (Index i = 0; i < chosen.size(); ++i) {
    expected_X.col(i) = X.col(static_cast<Index>(chosen[i]));
  }
  Matrix Y(37, chosen.size()), expected(37, chosen.size());
  some.multiply_serial(W, Transpose::no, Y);
  PackedColumns(expected_X, products_).multiply_serial(W, Transpose::no, expected);
  EXPECT_TRUE(test::same_values(Y, expected));
}

// Few columns; odd sizes; one part and more of inputs, outputs and columns.
TEST_P(WeightProductTest, EqualsDoublePrecision) {
  Normal normal(1);
  for (const auto& [n_out, n_in, n] : {std::array<Index, 3>{37, 61, 5},
                                       {40, 30, 131},
                                       {3, 7, 300},
                                       {900, 64, 129},
                                       {130, 1700, 600}}) {
    const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n), W_t = W.t();
    const arma::mat expected = widen(W) * widen(X);
    Matrix Y(n_out, n, arma::fill::value(7));
    products_.multiply(W, Transpose::no, X, Y);
    EXPECT_LT(relative_error(Y, expected), error_);
    products_.multiply(W_t, Transpose::yes, X, Y, true);
    EXPECT_LT(relative_error(Y, arma::mat(2 * expected)), error_);
    const PackedColumns columns(X, products_);
    Matrix serial(n_out, n, arma::fill::value(7));
    columns.multiply_serial(W, Transpose::no, serial);
    EXPECT_LT(relative_error(serial, expected), error_);
    columns.multiply_serial(W_t, Transpose::yes, serial, true);
    EXPECT_LT(relative_error(serial, arma::mat(2 * expected)), error_);
  }
}

// Also where single numbers stand out, and where rounding errs the same way everywhere.
TEST_P(WeightProductTest, ErrsLessThanItsBound) {
  Normal normal(11);
  for (const Index n_in : {5, 256, 1600}) {
    Matrix W = normal.matrix(40, n_in), X = normal.matrix(n_in, 130);
    W.row(0).fill(1.0F + 0x1.7fp-8F);
    X.col(0).fill(1.0F + 0x1.7fp-8F);
    W(1, 2) = 300;
    X(3, 1) = -500;
    const arma::mat wide_W = widen(W), wide_X = widen(X), expected = wide_W * wide_X;
    Matrix Y(40, 130);
    products_.multiply(W, Transpose::no, X, Y);
    const double bound = error_bound(GetParam().engine, n_in);
    for (Index o = 0; o < Y.n_rows; ++o) {
      for (Index t = 0; t < Y.n_cols; ++t) {
        const double norms = arma::norm(wide_W.row(o)) * arma::norm(wide_X.col(t));
        ASSERT_LE(std::abs(Y(o, t) - expected(o, t)), bound * norms)
            << n_in << " " << o << " " << t;
      }
    }
  }
}

TEST_P(WeightProductTest, KeepsWeightsForSeveralActivations) {
  Normal normal(2);
  WeightProduct product;
  for (const auto& [n_out, n_in] : {std::array<Index, 2>{70, 1600}, {40, 96}}) {
    const Matrix W = normal.matrix(n_out, n_in);
    product.set(W, Transpose::no, products_);
    for (const Index n : {200, 3}) {
      const Matrix X = normal.matrix(n_in, n);
      const arma::mat expected = widen(W) * widen(X);
      Matrix Y(n_out, n);
      product.multiply(X, Y);
      EXPECT_LT(relative_error(Y, expected), error_);
      const PackedColumns columns(X, products_);
      for (Index first = 0; first < n; first += 64) {
        product.multiply_serial(columns, first,
                                blas::View(Y).cols(first, std::min<Index>(64, n - first)));
      }
      EXPECT_LT(relative_error(Y, expected), error_);
    }
  }
}

TEST_P(WeightProductTest, PackedWeightsMultiplyByTheirFirstOutputsAndInputs) {
  Normal normal(8);
  const Matrix W = normal.matrix(70, 130), W_t = W.t();
  PackedWeights weights, transposed;
  weights.set(W, Transpose::no, products_);
  transposed.set(W_t, Transpose::yes, products_);
  for (const auto& [n_out, n_in, n] :
       {std::array<Index, 3>{70, 130, 40}, {70, 64, 40}, {33, 33, 5}, {1, 1, 1}}) {
    const Matrix X = normal.matrix(n_in, n);
    const arma::mat expected =
        -0.5 * widen(Matrix(W.submat(0, 0, arma::size(n_out, n_in)))) * widen(X);
    PackedColumns columns;
    columns.set(X, products_, -0.5F);
    Matrix Y(n_out, n, arma::fill::value(7));
    weights.multiply(columns, Y);
    EXPECT_LT(relative_error(Y, expected), error_);
    transposed.multiply(columns, Y, true);
    EXPECT_LT(relative_error(Y, arma::mat(2 * expected)), error_);
  }
}

// Tokens and outputs differ in size: each number has an exponent of its own.
TEST_P(WeightProductTest, KeepsSmallColumnsAndOutputsBesideLargeOnes) {
  Normal normal(3);
  Matrix W = normal.matrix(40, 64), X = normal.matrix(64, 140);
  W.row(3) *= 1e-6F;
  X.col(5) *= 1e-8F;
  X.col(6).zeros();
  W.row(4).zeros();
  const arma::mat expected = widen(W) * widen(X);
  Matrix Y(40, 140);
  products_.multiply(W, Transpose::no, X, Y);
  EXPECT_LT(relative_error(Matrix(Y.col(5)), arma::mat(expected.col(5))), error_);
  EXPECT_LT(relative_error(Matrix(Y.row(3)), arma::mat(expected.row(3))), error_);
  EXPECT_EQ(test::largest_size(Matrix(Y.col(6))), 0);
  EXPECT_EQ(test::largest_size(Matrix(Y.row(4))), 0);
}

TEST_P(WeightProductTest, AColumnDoesNotDependOnItsPlace) {
  if (!products_.packs()) GTEST_SKIP() << "sgemm's rounding does";
  Normal normal(4);
  const Matrix W = normal.matrix(70, 130);
  const Matrix X = arma::repmat(normal.matrix(130, 1), 1, 300);
  Matrix Y(70, 300);
  products_.multiply(W, Transpose::no, X, Y);
  for (Index c = 1; c < Y.n_cols; ++c)
    ASSERT_TRUE(arma::approx_equal(Y.col(c), Y.col(0), "absdiff", 0));
}

// An infinite or undefined activation must not become a number.
TEST_P(WeightProductTest, InfinityAndNaNStayVisible) {
  Normal normal(6);
  const Matrix W = normal.matrix(40, 64);
  Matrix X = normal.matrix(64, 140);
  X(5, 7) = std::numeric_limits<float>::infinity();
  X(6, 8) = std::numeric_limits<float>::quiet_NaN();
  X(6, 9) = std::bit_cast<float>(0x7FFFFFFFU);
  X(6, 10) = std::bit_cast<float>(0xFFFFFFFFU);
  Matrix Y(40, 140);
  products_.multiply(W, Transpose::no, X, Y);
  EXPECT_FALSE(std::isfinite(Y(0, 7)));
  EXPECT_TRUE(std::isnan(Y(0, 8)));
  EXPECT_TRUE(std::isnan(Y(0, 9)));
  EXPECT_TRUE(std::isnan(Y(0, 10)));
  EXPECT_TRUE(std::isfinite(Y(0, 11)));
}

TEST_P(WeightProductTest, NaNAmongTheWeightsStaysVisible) {
  Normal normal(6);
  Matrix W = normal.matrix(40, 64);
  W(3, 5) = std::numeric_limits<float>::quiet_NaN();
  W(4, 6) = std::bit_cast<float>(0x7FFFFFFFU);
  W(5, 7) = std::bit_cast<float>(0xFFFFFFFFU);
  const Matrix X = normal.matrix(64, 140);
  Matrix Y(40, 140);
  products_.multiply(W, Transpose::no, X, Y);
  for (const Index o : {3, 4, 5}) EXPECT_TRUE(std::isnan(Y(o, 7)));
  EXPECT_TRUE(std::isfinite(Y(6, 7)));
}

TEST_P(WeightProductTest, RefusesShapesThatDoNotFit) {
  for (const Index n : {3, 200}) {
    const Matrix W(10, 20, arma::fill::zeros), X(19, n, arma::fill::zeros);
    Matrix Y(10, n);
    EXPECT_THROW(products_.multiply(W, Transpose::no, X, Y), ShapeError);
    EXPECT_THROW(PackedColumns(X, products_).multiply_serial(W, Transpose::no, Y), ShapeError);
    WeightProduct product;
    product.set(W, Transpose::no, products_);
    EXPECT_THROW(product.multiply_serial(PackedColumns(X, products_), 0, Y), ShapeError);
    PackedWeights weights;
    const Matrix fewer = W.cols(0, 17);
    weights.set(fewer, Transpose::no, products_);
    EXPECT_THROW(weights.multiply(PackedColumns(X, products_), Y), ShapeError);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, WeightProductTest, testing::ValuesIn(engine_cases),
                         [](const auto& test) { return test::label_of(test.param.engine); });

// Of numbers of all sizes; as activations, as weights and as their transpose.
TEST(WeightProduct, SixProductsWithTheIdentityChangeNoBit) {
  constexpr Index n = 150;
  Normal normal(9);
  Matrix X = normal.matrix(n, n);
  X.for_each([&](float& x) { x = std::ldexp(x, static_cast<int>(normal.vector(1, 20)(0))); });
  const Matrix identity(n, n, arma::fill::eye), X_t = X.t();
  Matrix Y(n, n);
  test::products(Engine::bfloat16_six).multiply(identity, Transpose::no, X, Y);
  EXPECT_TRUE(test::same_values(Y, X));
  test::products(Engine::bfloat16_six).multiply(X, Transpose::no, identity, Y);
  EXPECT_TRUE(test::same_values(Y, X));
  test::products(Engine::bfloat16_six).multiply(X_t, Transpose::yes, identity, Y);
  EXPECT_TRUE(test::same_values(Y, X));
}

// The claim behind bfloat16_six, at the shapes of GPT-2 small.
TEST(WeightProduct, SixProductsAreAsExactAsOpenBlas) {
  Normal normal(7);
  for (const auto& [n_out, n_in] : {std::array<Index, 2>{768, 768}, {768, 3072}}) {
    const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, 128);
    const arma::mat expected = widen(W) * widen(X);
    Matrix six(n_out, 128), sgemm(n_out, 128);
    test::products(Engine::bfloat16_six).multiply(W, Transpose::no, X, six);
    test::products().multiply(W, Transpose::no, X, sgemm);
    EXPECT_LT(arma::norm(widen(six) - expected, "fro"),
              1.2 * arma::norm(widen(sgemm) - expected, "fro"));
  }
}

TEST(Precision, NamesAreReadBack) {
  for (const Precision precision : {Precision::float32, Precision::high, Precision::fast}) {
    EXPECT_EQ(parse_precision(precision_name(precision)), precision);
  }
  EXPECT_EQ(parse_precision("double"), std::nullopt);
  for (const std::string& word : engine_options()) {
    EXPECT_EQ(engine_option(parse_engine(word).value()), word);
    EXPECT_EQ(word.find(' '), std::string::npos);
  }
  EXPECT_EQ(parse_engine("bfloat16 x 3"), Engine::bfloat16_three);
  EXPECT_EQ(parse_engine("trial"), std::nullopt);
}

}  // namespace
}  // namespace headscope
