#include "compute/ops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compute/token_loss.hpp"
#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::Normal;
using test::reference_activation;
using test::relative_error;
using test::widen;

class EveryActivation : public testing::TestWithParam<Activation> {};

TEST_P(EveryActivation, AgreesWithDoublePrecisionRelativeToItself) {
  std::vector<float> grid;
  for (float x = -12; x < 12; x += 0.001F) grid.push_back(x);
  grid.insert(grid.end(), {0.0F, -0.0F, 1e-30F, -1e-30F, 1e10F, -1e10F});
  const Index n = grid.size();
  const Matrix input(grid.data(), n, 1);
  const Vector bias = Normal(3).vector(n);
  const Matrix sum = input + bias;
  Matrix values(n, 1), in_place = input;
  add_bias_activate(input, bias, GetParam(), values);
  add_bias_activate(in_place, bias, GetParam(), in_place);
  EXPECT_TRUE(test::same_values(in_place, values));
  for (Index i = 0; i < n; ++i) {
    const double x = static_cast<double>(sum(i));
    const double expected = reference_activation(x, GetParam());
    // The rounding error of an exponent grows with it: as x, and as x^3 in gelu_new.
    const double allowed = GetParam() == Activation::gelu_new
                               ? 4e-7 * (1 + std::abs(x) + 0.05 * std::abs(x * x * x))
                           : GetParam() == Activation::quick_gelu ? 4e-7 * (1 + std::abs(x))
                                                                  : 1e-6;
    // Factors below 1e-38, the least normal number, lose their digits.
    EXPECT_NEAR(static_cast<double>(values(i)), expected,
                allowed * std::abs(expected) + 1.2e-38 * std::abs(x))
        << x;
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, EveryActivation, testing::ValuesIn(all_activations));

TEST(AddBias, AddsToEveryColumnAndAnEmptyBiasAddsNothing) {
  Matrix X = {{1, 2}, {3, 4}};
  add_bias(X, Vector{10, 20});
  EXPECT_TRUE(arma::approx_equal(X, Matrix{{11, 12}, {23, 24}}, "absdiff", 0));
  add_bias(X, Vector());
  EXPECT_TRUE(arma::approx_equal(X, Matrix{{11, 12}, {23, 24}}, "absdiff", 0));
}

TEST(Copy, CopiesPartsOfLargerMatrices) {
  const Matrix X = Normal(9).matrix(30, 40);
  Matrix Y(50, 60, arma::fill::zeros);
  copy(blas::ConstView(X).rows(3, 20).cols(5, 30), blas::View(Y).rows(1, 20).cols(2, 30));
  EXPECT_TRUE(
      test::same_values(Y.submat(1, 2, arma::size(20, 30)), X.submat(3, 5, arma::size(20, 30))));
  EXPECT_EQ(arma::accu(Y != 0), 600U);
  EXPECT_THROW(copy(X, Y), ShapeError);
}

TEST(Add, SumsElementByElementAlsoInPlace) {
  Matrix X = {{1, 2}, {3, 4}};
  const Matrix Y = {{10, 20}, {30, 40}};
  add(X, Y, X);
  EXPECT_TRUE(arma::approx_equal(X, Matrix{{11, 22}, {33, 44}}, "absdiff", 0));
}

TEST(Softmax, MatchesAHandCase) {
  std::vector<float> scores = {std::log(1.0F), std::log(2.0F), std::log(5.0F)};
  const double expected[] = {0.125, 0.25, 0.625};
  const float log_sum = softmax(scores.data(), scores.size());
  EXPECT_NEAR(log_sum, std::log(8.0), test::rounding_tolerance);
  for (const Index i : {0, 1, 2}) {
    EXPECT_NEAR(scores[i], expected[i], 1e-7);  // two units in the last place
  }
}

TEST(Softmax, IsAccurateAtEveryLength) {
  for (const Index n : {1, 2, 7, 8, 9, 31, 255, 256, 257, 1000, 5000}) {
    const Vector scores = Normal(n).vector(n, 5.0F);
    Vector pattern = scores;
    softmax(pattern.memptr(), n);
    arma::vec expected = arma::exp(widen(scores) - static_cast<double>(scores.max()));
    expected /= arma::accu(expected);
    // The exponential, its sum and the quotient; and the argument's rounding, in proportion to it.
    const arma::vec allowed = 5e-7 + 6e-8 * (static_cast<double>(scores.max()) - widen(scores));
    EXPECT_LT(test::largest_size(arma::mat((widen(pattern) / expected - 1) / allowed)), 1) << n;
    EXPECT_NEAR(arma::accu(widen(pattern)), 1, test::rounding_tolerance) << n;
  }
}

TEST(Softmax, IsUnchangedByAShiftHoweverLarge) {
  std::vector<float> low = {-1e4F, -1e4F + 1, -1e4F + 2}, high = {1e4F, 1e4F + 1, 1e4F + 2};
  softmax(low.data(), 3);
  softmax(high.data(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(low[i], high[i]);
}

TEST(Softmax, MaskedScoresGetNothing) {
  std::vector<float> some = {-INFINITY, 0, -INFINITY, 0};
  softmax(some.data(), some.size());
  EXPECT_EQ(some, (std::vector<float>{0, 0.5F, 0, 0.5F}));
}

TEST(Softmax, SpreadsNaN) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::vector<float> scores :
       {std::vector<float>{1, nan, 2}, {nan, nan, nan}, {-INFINITY, -INFINITY, -INFINITY}}) {
    softmax(scores.data(), scores.size());
    for (const float p : scores) EXPECT_TRUE(std::isnan(p));
  }
}

struct LossCase {
  Matrix normalized, unembedding;
  Vector b_U;
  TokenIds targets;
  arma::mat logits;  // double precision
};

LossCase loss_case(Index d_vocab, Index n_token, bool with_bias) {
  Normal normal(d_vocab + n_token);
  LossCase c{normal.matrix(24, n_token),
             normal.matrix(24, d_vocab),
             with_bias ? normal.vector(d_vocab) : Vector(),
             normal.tokens(n_token, d_vocab),
             {}};
  // An offset common to all logits, as GPT-2 has.
  c.unembedding.row(0) += 3;
  c.normalized.row(0) -= 9;
  c.logits = widen(c.unembedding).t() * widen(c.normalized);
  if (with_bias) c.logits.each_col() += widen(c.b_U);
  // Half of the targets are the most probable token.
  for (Index t = 0; t < n_token; t += 2) {
    c.targets[t] = static_cast<TokenId>(c.logits.col(t).index_max());
  }
  return c;
}

// Vocabularies below one chunk, just above one, and of several; one case has several token blocks.
TEST(TokenLoss, EqualsTheLossOfAllLogits) {
  for (const auto& [d_vocab, n_token] :
       {std::pair<Index, Index>{5, 3}, {1025, 40}, {3001, 40}, {300, 2500}}) {
    for (const bool with_bias : {false, true}) {
      const LossCase c = loss_case(d_vocab, n_token, with_bias);
      const TokenLoss loss =
          token_loss(c.normalized, c.unembedding, c.b_U, c.targets, test::products());
      double total = 0;
      for (Index t = 0; t < n_token; ++t) {
        const auto target = static_cast<Index>(c.targets[t]);
        const double largest = c.logits.col(t).max();
        const double expected = std::log(arma::accu(arma::exp(c.logits.col(t) - largest))) +
                                largest - c.logits(target, t);
        total += loss.nll[t];
        // float32 rounding in proportion to the largest logit.
        EXPECT_NEAR(loss.nll[t], expected, 1e-6 * (arma::abs(c.logits.col(t)).max() + 10))
            << d_vocab << ' ' << t;
        EXPECT_EQ(loss.correct[t] != 0, c.logits.col(t).index_max() == target) << t;
      }
      EXPECT_DOUBLE_EQ(loss.sum(), total);
    }
  }
}

TEST(TokenLoss, DoesNotDependOnTheNumberOfThreads) {
  const LossCase c = loss_case(5000, 60, true);
  const int before = blas::thread_count();
  for (const int threads : {1, 2, 3, 7}) {
    blas::set_thread_count(threads);
    const TokenLoss loss =
        token_loss(c.normalized, c.unembedding, c.b_U, c.targets, test::products());
    for (Index t = 0; t < 60; ++t) {
      const auto target = static_cast<Index>(c.targets[t]);
      EXPECT_EQ(loss.correct[t] != 0, c.logits.col(t).index_max() == target);
      const double largest = c.logits.col(t).max();
      // float32 rounding as above.
      EXPECT_NEAR(loss.nll[t],
                  std::log(arma::accu(arma::exp(c.logits.col(t) - largest))) + largest -
                      c.logits(target, t),
                  1e-6 * (arma::abs(c.logits.col(t)).max() + 10));
    }
  }
  blas::set_thread_count(before);
}

// Each thread takes several chunks and rescales its weighted sums to each new maximum.
TEST(TokenLoss, GradientDoesNotDependOnTheNumberOfThreads) {
  const LossCase c = loss_case(5000, 60, true);
  arma::mat probability = c.logits;
  probability.each_row() -= arma::max(c.logits, 0);
  probability = arma::exp(probability);
  probability.each_row() /= arma::sum(probability, 0);
  for (Index t = 0; t < 60; ++t) probability(static_cast<Index>(c.targets[t]), t) -= 1;
  const arma::mat expected = widen(c.unembedding) * probability;
  const int before = blas::thread_count();
  for (const int threads : {1, 2, 7}) {
    blas::set_thread_count(threads);
    Matrix gradient(24, 60);
    token_loss_with_gradient(c.normalized, c.unembedding, c.b_U, c.targets, gradient,
                             test::products(), test::products());
    // Logits of about 50 are rounded to float32, which sets the relative error of the
    // probabilities, 3e-6 at most.
    EXPECT_LT(relative_error(gradient, expected), 5e-6) << threads;
  }
  blas::set_thread_count(before);
}

TEST(TokenLoss, UniformLogitsCostLogOfTheVocabularyAndTheLowestIdWins) {
  const Index d_vocab = 2100;
  const Matrix normalized(4, d_vocab, arma::fill::zeros), unembedding(4, d_vocab, arma::fill::ones);
  TokenIds every(d_vocab);
  std::iota(every.begin(), every.end(), 0);
  const TokenLoss loss = token_loss(normalized, unembedding, Vector(), every, test::products());
  for (const double nll : loss.nll) EXPECT_NEAR(nll, std::log(2100.0), test::double_rounding);
  EXPECT_EQ(loss.correct.front(), 1);
  EXPECT_EQ(std::count(loss.correct.begin(), loss.correct.end(), 1), 1);
}

TEST(TokenLoss, SaysWhatDoesNotFit) {
  const Matrix normalized(4, 2, arma::fill::zeros), unembedding(4, 10, arma::fill::zeros);
  const auto message = [&](const TokenIds& targets, const Vector& bias) -> std::string {
    return test::message_of<ShapeError>(
        [&] { token_loss(normalized, unembedding, bias, targets, test::products()); });
  };
  EXPECT_EQ(message({1}, {}), "targets: expected 2, got 1");
  EXPECT_EQ(message({1, 10}, {}), "target: expected a token id below 10, got 10");
  EXPECT_EQ(message({1, 2}, Vector(9, arma::fill::zeros)), "unembedding bias: expected 10, got 9");
}

class OpsGolden : public testing::Test {
 protected:
  arma::mat read(const std::string& name) const { return test::read_matrix(file_, name); }
  Matrix read_float(const std::string& name) const { return test::narrow(read(name)); }

  hdf5::InputFile file_{test::data_path("ops_golden.h5")};
};

// PyTorch's own formulas lose relative accuracy near zero, so small values are compared absolutely.
void expect_close(const Matrix& values, const arma::mat& expected, const std::string& name) {
  ASSERT_EQ(values.n_elem, expected.n_elem) << name;
  for (Index i = 0; i < values.n_elem; ++i) {
    EXPECT_NEAR(static_cast<double>(values(i)), expected(i),
                test::rounding_tolerance * std::max(1.0, std::abs(expected(i))))
        << name << ' ' << i;
  }
}

TEST_F(OpsGolden, ActivationsAndTheirGradientsAgreeWithPyTorch) {
  for (const Activation activation : all_activations) {
    const std::string name(activation_name(activation));
    const Matrix input = read_float(name + "/input").t();
    const Vector no_bias(input.n_rows, arma::fill::zeros);
    Matrix output = input, gradient = read_float(name + "/output_gradient").t();
    add_bias_activate(input, no_bias, activation, output);
    expect_close(output, read(name + "/output").t(), name);
    activation_gradient(input, no_bias, activation, gradient, gradient);
    expect_close(gradient, read(name + "/input_gradient").t(), name + " gradient");
  }
}

TEST_F(OpsGolden, SoftmaxAgreesWithPyTorch) {
  for (const std::string kind :
       {"ordinary", "large", "far_from_zero", "all_equal", "one_dominates", "single"}) {
    Matrix pattern = read_float("softmax/" + kind + "/input");
    for (Index q = 0; q < pattern.n_cols; ++q) softmax(pattern.colptr(q), pattern.n_rows);
    EXPECT_LT(relative_error(pattern, read("softmax/" + kind + "/output")),
              test::rounding_tolerance)
        << kind;
  }
}

TEST_F(OpsGolden, LossAndItsGradientAgreeWithPyTorch) {
  for (const std::string kind : {"ordinary", "large", "far_from_zero", "all_equal"}) {
    const std::string name = "loss/" + kind;
    const Matrix logits = read_float(name + "/input");
    const Matrix identity = arma::eye<Matrix>(logits.n_rows, logits.n_rows);
    Matrix gradient(logits.n_rows, logits.n_cols);
    const TokenLoss loss = token_loss_with_gradient(logits, identity, Vector(),
                                                    test::read_tokens(file_, name + "/target"),
                                                    gradient, test::products(), test::products());
    const arma::mat expected = read(name + "/output");
    for (Index t = 0; t < logits.n_cols; ++t) {
      // Subtracting the largest logit rounds to float32 once.
      const double size = static_cast<double>(arma::abs(logits.col(t)).max());
      EXPECT_NEAR(loss.nll[t], expected(t),
                  test::rounding_tolerance * std::max(expected(t), 1.0) + 1e-7 * size)
          << kind << t;
    }
    gradient.each_row() %= read_float(name + "/output_gradient");
    EXPECT_LT(relative_error(gradient, read(name + "/input_gradient")), test::rounding_tolerance)
        << kind;
  }
}

}  // namespace
}  // namespace headscope
