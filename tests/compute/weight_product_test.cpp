#include "compute/weight_product.hpp"

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
using Means = WeightProduct::Means;

struct EngineCase {
  Engine engine;
  double error;  // of a product, relative to its largest element
};

// Rounding to one bfloat16 is within 2^-9 of an operand. With two, what is left out of a product is
// within 3 * 2^-18 of it. 16-bit fixed point rounds to 2^-16 of the largest operand, and the
// products of low parts left out are as large. float32 sums add 1e-6.
constexpr EngineCase engine_cases[] = {{Engine::float32, 1e-6},
                                       {Engine::bfloat16_three, 1.5e-5},
                                       {Engine::int8_three, 1e-4},
                                       {Engine::bfloat16_one, 4e-3}};

std::string engine_case_name(const testing::TestParamInfo<EngineCase>& test) {
  std::string name = engine_name(test.param.engine);
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

class WeightProductTest : public testing::TestWithParam<EngineCase> {
 protected:
  static WeightProduct product(const Matrix& W, Means means = Means::automatic) {
    return {W, Transpose::no, GetParam().engine, means};
  }
};

// Odd sizes, more columns than a block, a model's, and more weights than one int8 product takes.
TEST_P(WeightProductTest, EqualsDoublePrecisionWithinTheErrorOfItsEngine) {
  Normal normal(1);
  for (const auto& [n_out, n_in, n] : {std::array<Index, 3>{37, 61, 5},
                                       {130, 96, 301},
                                       {3, 7, 33},
                                       {192, 64, 128},
                                       {520, 1200, 70}}) {
    const Matrix W = normal.matrix(n_out, n_in), X = normal.matrix(n_in, n);
    const arma::mat expected = widen(W) * widen(X);
    for (const Means means : {Means::automatic, Means::emulated}) {
      const WeightProduct made = product(W, means);
      Matrix Y(n_out, n, arma::fill::value(7));
      made.multiply(X, Y);
      EXPECT_LT(relative_error(Y, expected), GetParam().error);
      Matrix serial(n_out, n, arma::fill::value(7));
      made.multiply_serial(X, serial);
      EXPECT_LT(relative_error(serial, expected), GetParam().error);
      made.multiply(X, Y, true);
      EXPECT_LT(relative_error(Y, arma::mat(2 * expected)), GetParam().error);
      const Matrix W_t = W.t();
      WeightProduct(W_t, Transpose::yes, GetParam().engine, means).multiply(X, Y);
      EXPECT_LT(relative_error(Y, expected), GetParam().error);
    }
  }
}

TEST_P(WeightProductTest, EmulationGivesTheSameNumbersToRounding) {
  Normal normal(2);
  const Matrix W = normal.matrix(150, 200), X = normal.matrix(200, 90);
  Matrix native(150, 90), emulated(150, 90);
  product(W).multiply(X, native);
  product(W, Means::emulated).multiply(X, emulated);
  // float32 sums of 200 terms in another order.
  EXPECT_LT(relative_error(native, widen(emulated)), 1e-6);
}

// Tokens and outputs differ in size: each has its own scale, or exponents of its own.
TEST_P(WeightProductTest, KeepsSmallColumnsAndOutputsBesideLargeOnes) {
  Normal normal(3);
  Matrix W = normal.matrix(40, 64), X = normal.matrix(64, 40);
  W.row(3) *= 1e-6F;
  X.col(5) *= 1e-8F;
  X.col(6).zeros();
  W.row(4).zeros();
  const arma::mat expected = widen(W) * widen(X);
  Matrix Y(40, 40);
  product(W).multiply(X, Y);
  EXPECT_LT(relative_error(Matrix(Y.col(5)), arma::mat(expected.col(5))), GetParam().error);
  EXPECT_LT(relative_error(Matrix(Y.row(3)), arma::mat(expected.row(3))), GetParam().error);
  EXPECT_EQ(arma::abs(Y.col(6)).max(), 0);
  EXPECT_EQ(arma::abs(Y.row(4)).max(), 0);
}

TEST_P(WeightProductTest, AColumnDoesNotDependOnItsPlace) {
  if (GetParam().engine == Engine::float32) GTEST_SKIP() << "sgemm's rounding does";
  Normal normal(4);
  const Matrix W = normal.matrix(70, 130);
  const Matrix X = arma::repmat(normal.matrix(130, 1), 1, 300);
  Matrix Y(70, 300);
  product(W).multiply(X, Y);
  for (Index c = 1; c < Y.n_cols; ++c)
    ASSERT_TRUE(arma::approx_equal(Y.col(c), Y.col(0), "absdiff", 0));
}

TEST_P(WeightProductTest, SplitColumnsAddUpToTheirColumns) {
  Normal normal(5);
  const Matrix X = normal.matrix(70, 12);
  const SplitColumns split(X, GetParam().engine);
  Matrix joined(70, 12);
  for (Index c = 0; c < X.n_cols; ++c) split.join(c, joined.colptr(c));
  EXPECT_LT(relative_error(joined, X), GetParam().error);
  EXPECT_EQ(relative_error(joined, X) == 0, GetParam().engine == Engine::float32);
}

TEST_P(WeightProductTest, RefusesShapesThatDoNotFit) {
  const Matrix W(10, 20, arma::fill::zeros), X(19, 3, arma::fill::zeros);
  Matrix Y(10, 3);
  EXPECT_THROW(product(W).multiply(X, Y), ShapeError);
  EXPECT_THROW(product(W).multiply_serial(X, Y), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Engines, WeightProductTest, testing::ValuesIn(engine_cases),
                         engine_case_name);

TEST(Precision, TakesTheFastestEngineThatIsExactEnough) {
  Processor avx512, bf16, amx, amx_bf16;
  avx512.avx2 = avx512.avx512 = true;
  bf16 = avx512;
  bf16.avx512_bf16 = true;
  amx_bf16 = bf16;
  amx_bf16.amx_bf16 = true;
  amx = amx_bf16;
  amx.amx_int8 = true;
  for (const Processor& processor : {Processor(), avx512, bf16, amx_bf16, amx}) {
    EXPECT_EQ(fastest_engine(Precision::float32, processor), Engine::float32);
  }
  for (const Processor& processor : {Processor(), avx512}) {
    EXPECT_EQ(fastest_engine(Precision::high, processor), Engine::float32);
    EXPECT_EQ(fastest_engine(Precision::fast, processor), Engine::float32);
  }
  EXPECT_EQ(fastest_engine(Precision::high, bf16), Engine::float32);
  EXPECT_EQ(fastest_engine(Precision::high, amx_bf16), Engine::bfloat16_three);
  EXPECT_EQ(fastest_engine(Precision::high, amx), Engine::int8_three);
  for (const Processor& processor : {bf16, amx_bf16, amx}) {
    EXPECT_EQ(fastest_engine(Precision::fast, processor), Engine::bfloat16_one);
  }
}

TEST(Precision, TakesForPassesTheFastestEngineAsExactAsFloat32) {
  Processor bf16, amx;
  bf16.avx512_bf16 = true;
  amx = bf16;
  amx.amx_bf16 = true;
  for (const Precision precision : {Precision::high, Precision::fast}) {
    EXPECT_EQ(fastest_pass_engine(precision, bf16), Engine::float32);
    EXPECT_EQ(fastest_pass_engine(precision, amx), Engine::bfloat16_three);
  }
  EXPECT_EQ(fastest_pass_engine(Precision::float32, amx), Engine::float32);
}

TEST(Precision, NamesAreReadBack) {
  for (const Precision precision : {Precision::float32, Precision::high, Precision::fast}) {
    EXPECT_EQ(parse_precision(precision_name(precision)), precision);
  }
  EXPECT_EQ(parse_precision("double"), std::nullopt);
}

}  // namespace
}  // namespace headscope
