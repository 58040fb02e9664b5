#include "headscope/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "compute/causal_attention.hpp"
#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::message_of;
using test::Normal;
using test::reference_attention;
using test::relative_error;
using test::widen;

struct CausalCase {
  Matrix qkv;
  Matrix z;
  Cube pattern;
};

double usual_scale(const Matrix& qkv, Index n_head) {
  return 1 / std::sqrt(static_cast<double>(qkv.n_rows / 3 / n_head));
}

CausalCase run_causal(const Matrix& qkv, Index n_head, Index n_copy,
                      Engine engine = Engine::float32) {
  const Index n_token = qkv.n_cols / n_copy;
  CausalCase c{qkv, Matrix(qkv.n_rows / 3, qkv.n_cols), Cube(n_token, n_token, n_head * n_copy)};
  // Old contents must not affect the result.
  c.z.fill(arma::fdatum::nan);
  c.pattern.fill(arma::fdatum::nan);
  const SequenceBatch::Sequence whole{0, n_token};
  causal_attention(qkv, n_head, usual_scale(qkv, n_head), {&whole, 1}, n_copy, c.z,
                   test::products(engine), &c.pattern);
  return c;
}

// Every head of every sequence against double precision.
void expect_exact(const CausalCase& c, Index n_head, double error) {
  const Index d_head = c.z.n_rows / n_head, n_token = c.pattern.n_cols;
  for (Index slice = 0; slice < c.pattern.n_slices; ++slice) {
    const Index head = slice % n_head, first_column = slice / n_head * n_token;
    const auto part = [&](const Matrix& of, Index which) {
      return Matrix(
          of.submat(which * c.z.n_rows + head * d_head, first_column, arma::size(d_head, n_token)));
    };
    const auto input = [&](Index which) { return widen(part(c.qkv, which)); };
    arma::mat pattern;
    const arma::mat z = reference_attention(
        input(0), input(1), input(2), usual_scale(c.qkv, n_head),
        [](Index q, Index k) { return k <= q; }, &pattern);
    EXPECT_LT(relative_error(c.pattern.slice(slice), pattern), error) << n_token;
    EXPECT_LT(relative_error(part(c.z, 0), z), error) << n_token;
  }
}

// Lengths around the block of 64 queries.
TEST(CausalAttention, AgreesWithDoublePrecisionAtEveryLength) {
  for (const Index n_token : {1, 2, 63, 64, 65, 128, 200}) {
    expect_exact(run_causal(Normal(n_token).matrix(72, n_token), 3, 1), 3,
                 test::rounding_tolerance);
  }
}

// Lengths around whole tiles, and heads of less and more than one. Scores pass through exp, which
// takes their absolute error for a relative one: up to four times an engine's error of one product
// (weight_product_test.cpp).
TEST(CausalAttention, AgreesWithDoublePrecisionByEveryEngine) {
  for (const auto& [engine, error] : {std::pair{Engine::bfloat16_six, test::rounding_tolerance},
                                      {Engine::bfloat16_three, 3e-5},
                                      {Engine::bfloat16_one, 1e-2},
                                      {Engine::int16, 1e-3}}) {
    for (const Index d_head : {8, 40}) {
      for (const Index n_token : {128, 145, 160, 300}) {
        const Matrix qkv = Normal(n_token).matrix(6 * d_head, 2 * n_token);
        expect_exact(run_causal(qkv, 2, 2, engine), 2, error);
      }
    }
  }
}

TEST(CausalAttention, FewQueriesGoBySgemmWhateverTheEngine) {
  for (const Index n_token : {127, 128}) {
    const Matrix qkv = Normal(24).matrix(48, n_token);
    EXPECT_EQ(
        test::same_values(run_causal(qkv, 2, 1).z, run_causal(qkv, 2, 1, Engine::bfloat16_six).z),
        n_token == 127);
  }
}

TEST(CausalAttention, ColumnsSumToOneAndNeverLookAhead) {
  const CausalCase c = run_causal(Normal(20).matrix(96, 150), 4, 1);
  for (Index h = 0; h < 4; ++h) {
    for (Index q = 0; q < 150; ++q) {
      EXPECT_NEAR(arma::accu(widen(Matrix(c.pattern.slice(h).col(q)))), 1,
                  test::rounding_tolerance);
      if (q < 149) {
        EXPECT_EQ(test::largest_size(Matrix(c.pattern.slice(h).col(q).tail(149 - q))), 0);
      }
    }
  }
}

TEST(CausalAttention, LaterTokensDoNotChangeEarlierOnes) {
  const Matrix qkv = Normal(21).matrix(96, 150);
  const CausalCase all = run_causal(qkv, 4, 1), some = run_causal(qkv.cols(0, 69), 4, 1);
  EXPECT_LT(relative_error(some.z, Matrix(all.z.cols(0, 69))), test::rounding_tolerance);
}

TEST(CausalAttention, SequencesSideBySideEqualSeparateOnes) {
  const Matrix qkv = Normal(22).matrix(96, 3 * 70);
  const CausalCase together = run_causal(qkv, 4, 3);
  for (Index s = 0; s < 3; ++s) {
    const CausalCase apart = run_causal(qkv.cols(s * 70, s * 70 + 69), 4, 1);
    EXPECT_LT(relative_error(Matrix(together.z.cols(s * 70, s * 70 + 69)), apart.z),
              test::rounding_tolerance);
    for (Index h = 0; h < 4; ++h) {
      EXPECT_LT(relative_error(together.pattern.slice(s * 4 + h), apart.pattern.slice(h)),
                test::rounding_tolerance);
    }
  }
}

TEST(CausalAttention, IsTheSameWithoutKeepingPatterns) {
  const Matrix qkv = Normal(23).matrix(96, 130);
  Matrix z(32, 130);
  causal_attention(qkv, 4, usual_scale(qkv, 4), z);
  EXPECT_LT(relative_error(z, run_causal(qkv, 4, 1).z), test::rounding_tolerance);
}

// Three tokens, two heads of width two, scale sqrt 2. Weights are written [in, out] and transposed.
TEST(CausalAttention, ReproducesTheWorkedExample) {
  const Matrix tokens = {{1, 3, 5}, {2, 4, 6}};
  const Matrix Q = arma::join_horiz(Matrix{{1, 0}, {0, 1}}, Matrix{{1, 1}, {0, 1}}),
               K = arma::join_horiz(Matrix{{1, 1}, {1, 0}}, Matrix{{0, 1}, {1, 1}}),
               V = arma::join_horiz(Matrix{{0, 1}, {1, 0}}, Matrix{{1, 0}, {0, 1}});
  const Matrix W = arma::join_horiz(Q, K, V).t();
  const Matrix expected = {{2, 3.999998557F, 6}, {1, 2.999998557F, 5}, {1, 3, 5}, {2, 4, 6}};
  EXPECT_LT(relative_error(run_causal(W * tokens, 2, 1).z, expected), test::rounding_tolerance);
}

TEST(CausalAttention, AgreesWithPyTorchMultiheadAttention) {
  const hdf5::InputFile file(test::data_path("multihead_golden.h5"));
  const auto read = [&](const std::string& name) {
    return test::narrow(test::read_matrix(file, name));
  };
  const Matrix W = arma::join_vert(read("W_Q"), read("W_K"), read("W_V")), W_O = read("W_O");
  const Vector b = arma::join_horiz(read("b_Q"), read("b_K"), read("b_V")).t();
  const Vector b_O = read("b_O").t();
  for (const Index n_head : {1, 2, 5, 8}) {
    for (const bool bias : {true, false}) {
      Matrix qkv = W * read("query");
      if (bias) qkv.each_col() += b;
      const CausalCase c = run_causal(qkv, n_head, 1);
      Matrix output = W_O * c.z;
      if (bias) output.each_col() += b_O;
      const std::string group =
          "heads_" + std::to_string(n_head) + (bias ? "/bias" : "/no_bias") + "/self_causal";
      const arma::cube pattern = test::read_slices(file, group + "/pattern", 1);
      ASSERT_EQ(pattern.n_slices, n_head);
      for (Index h = 0; h < n_head; ++h) {
        EXPECT_LT(relative_error(c.pattern.slice(h), pattern.slice(h)), test::float32_tolerance)
            << group;
      }
      EXPECT_LT(relative_error(output, test::read_matrix(file, group + "/output")),
                test::float32_tolerance)
          << group;
    }
  }
}

TEST(CausalAttention, ShapesThatDoNotFitAreNamed) {
  const Matrix qkv(36, 5, arma::fill::ones);
  Matrix z(12, 5);
  Cube pattern(5, 4, 2);
  EXPECT_EQ(message_of<ShapeError>([&] { causal_attention(qkv, 5, 1, z); }),
            "heads: expected a divisor of 12, got 5");
  EXPECT_EQ(message_of<ShapeError>([&] { causal_attention(qkv, 2, 1, z, &pattern); }),
            "pattern queries: expected 5, got 4");
  z.set_size(11, 5);
  EXPECT_EQ(message_of<ShapeError>([&] { causal_attention(qkv, 2, 1, z); }),
            "query, key and value rows: expected 33, got 36");
}

}  // namespace
}  // namespace headscope
