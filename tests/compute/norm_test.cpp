#include "compute/norm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::Normal;
using test::reference_norm;
using test::relative_error;
using test::widen;

ModelConfig config_with(NormKind kind, double epsilon) {
  ModelConfig config;
  config.norm = kind;
  config.layer_norm_epsilon = epsilon;
  return config;
}

Norm norm_of(const Vector& gain, const Vector& bias, double epsilon = 1e-5) {
  return {config_with(NormKind::layer_norm, epsilon), gain, bias};
}

TEST(LayerNorm, NormalisesEachTokenByItself) {
  const Matrix X = {{1, 10}, {3, 10}};
  Matrix Y(2, 2);
  const Vector gain{2, 2}, bias{0, 1};
  norm_of(gain, bias, 1e-12).apply(X, Y);
  // The first column has mean 2 and deviation 1; the second is constant and gives the bias alone.
  EXPECT_NEAR(Y(0, 0), -2, test::rounding_tolerance);
  EXPECT_NEAR(Y(1, 0), 3, test::rounding_tolerance);
  EXPECT_NEAR(Y(0, 1), 0, test::rounding_tolerance);
  EXPECT_NEAR(Y(1, 1), 1, test::rounding_tolerance);
}

// Real residual streams have a large common offset and one huge feature.
TEST(LayerNorm, KeepsAccuracyBesideLargeFeatures) {
  Normal normal(1);
  Matrix X = normal.matrix(769, 150, 1.0F, 20.0F);
  X.row(138) += 3000.0F;
  const Vector gain = normal.vector(769), bias = normal.vector(769);
  Matrix Y(769, 150);
  norm_of(gain, bias).apply(X, Y);
  EXPECT_LT(relative_error(Y, reference_norm(ModelConfig(), widen(X), gain, bias)),
            test::rounding_tolerance);
}

TEST(LayerNorm, WorksInPlaceAndOnViews) {
  Normal normal(2);
  Matrix X = normal.matrix(40, 9);
  const Matrix before = X;
  const Vector gain = normal.vector(20), bias = normal.vector(20);
  const blas::View part = blas::View(X).rows(10, 20).cols(2, 5);
  norm_of(gain, bias).apply(part, part);
  Matrix expected = before;
  expected.submat(10, 2, 29, 6) = arma::conv_to<Matrix>::from(
      reference_norm(ModelConfig(), widen(Matrix(before.submat(10, 2, 29, 6))), gain, bias));
  EXPECT_LT(relative_error(X, expected), test::rounding_tolerance);
}

TEST(LayerNorm, RefusesAGainOfAnotherWidth) {
  Matrix X(4, 2, arma::fill::ones);
  const Vector gain(3, arma::fill::ones), bias(4, arma::fill::ones);
  EXPECT_EQ(test::message_of<ShapeError>([&] { norm_of(gain, bias).apply(X, X); }),
            "norm gain: expected 4, got 3");
}

class EveryNorm : public testing::TestWithParam<NormKind> {
 protected:
  const ModelConfig config_ = config_with(GetParam(), 1e-3);
  Normal normal_{11};
  const Index d_model_ = 70, n_token_ = 6;
  const Vector gain_ = normal_.vector(d_model_, 0.5F, 1), bias_ = normal_.vector(d_model_);
  const Matrix X_ = normal_.matrix(d_model_, n_token_, 2, 0.5F);
  const Norm norm_{config_, gain_, bias_};

  arma::mat reference(const arma::mat& X) const { return reference_norm(config_, X, gain_, bias_); }
};

TEST_P(EveryNorm, AgreesWithDoublePrecision) {
  Matrix Y(d_model_, n_token_);
  norm_.apply(X_, Y);
  EXPECT_LT(relative_error(Y, reference(widen(X_))), test::rounding_tolerance);
}

// Differences a million times smaller than the stream keep their digits.
TEST_P(EveryNorm, DifferenceIsExactRelativeToItself) {
  for (const float size : {1.0F, 1e-3F, 1e-6F}) {
    const Matrix D = normal_.matrix(d_model_, 2 * n_token_, size);
    Matrix Y(d_model_, 2 * n_token_);
    norm_.difference(X_, D, Y);
    const arma::mat twice = arma::join_rows(widen(X_), widen(X_));
    const arma::mat expected = reference(twice + widen(D)) - reference(twice);
    EXPECT_LT(relative_error(Y, expected), 1e-6) << size;
  }
}

// Central differences in double precision.
TEST_P(EveryNorm, GradientIsTheSlope) {
  const Matrix dY = normal_.matrix(d_model_, n_token_);
  Matrix dX(d_model_, n_token_, arma::fill::ones);
  norm_.gradient(X_, dY, dX);
  constexpr double step = 1e-5;
  arma::mat expected(d_model_, n_token_);
  for (Index i = 0; i < d_model_; ++i) {
    arma::mat more = widen(X_), less = widen(X_);
    more.row(i) += step;
    less.row(i) -= step;
    expected.row(i) =
        1 + arma::sum(widen(dY) % (reference(more) - reference(less)), 0) / (2 * step);
  }
  EXPECT_LT(relative_error(dX, expected), 1e-6);
}

TEST_P(EveryNorm, WithItsScaleHeldFixedIsLinear) {
  const arma::vec u = widen(normal_.vector(d_model_));
  const std::vector<double> scales = norm_.scales(X_);
  const arma::mat Y = reference(widen(X_));
  for (Index t = 0; t < n_token_; ++t) {
    EXPECT_NEAR(arma::dot(u, Y.col(t)),
                arma::dot(norm_.direction(u), widen(X_).col(t)) / scales[t] + norm_.constant(u),
                test::double_rounding * d_model_);
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, EveryNorm,
                         testing::Values(NormKind::layer_norm, NormKind::rms_norm));

TEST(RmsNorm, SubtractsNoMeanAndReadsNoBias) {
  const Vector gain{1, 2}, none;
  const ModelConfig config = config_with(NormKind::rms_norm, 1e-12);
  const Matrix X(Vector{3, 4});
  Matrix Y(2, 1);
  Norm(config, gain, none).apply(X, Y);
  // The root of the mean square of 3 and 4 is 5 / sqrt(2).
  EXPECT_NEAR(Y(0), 3 * std::sqrt(2.0) / 5, test::rounding_tolerance);
  EXPECT_NEAR(Y(1), 8 * std::sqrt(2.0) / 5, test::rounding_tolerance);
}

TEST(NormGolden, LayerNormAndItsGradientAgreeWithPyTorch) {
  const hdf5::InputFile file(test::data_path("ops_golden.h5"));
  const auto read = [&](const std::string& name) { return test::read_matrix(file, name); };
  const auto read_float = [&](const std::string& name) { return test::narrow(read(name)); };
  const Vector gain = read_float("layer_norm/gamma").t(), bias = read_float("layer_norm/beta").t();
  for (const std::string kind : {"ordinary", "large_epsilon", "large", "tiny", "far_from_zero",
                                 "one_outlier", "all_equal"}) {
    const std::string name = "layer_norm/" + kind;
    const double epsilon = std::get<double>(file.attribute(name, "epsilon").value());
    const Matrix input = read_float(name + "/input");
    Matrix output(input.n_rows, input.n_cols);
    const Norm norm = norm_of(gain, bias, epsilon);
    norm.apply(input, output);
    EXPECT_LT(relative_error(output, read(name + "/output")), test::rounding_tolerance) << kind;
    Matrix gradient(input.n_rows, input.n_cols, arma::fill::zeros);
    norm.gradient(input, read_float(name + "/output_gradient"), gradient);
    EXPECT_LT(relative_error(gradient, read(name + "/input_gradient")), test::rounding_tolerance)
        << kind;
  }
}

}  // namespace
}  // namespace headscope
