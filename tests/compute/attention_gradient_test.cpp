#include "compute/attention_gradient.hpp"

#include <gtest/gtest.h>

#include "support/double_reference.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::Normal;
using test::relative_error;
using test::widen;

constexpr double gradient_scale = 0.2;

// Backpropagation of each sequence's queries over its prefix and itself, in double precision.
arma::mat reference_gradient(const Matrix& qkv, Index n_head,
                             std::span<const SequenceBatch::Sequence> sequences, const Matrix& dz) {
  const Index d_model = dz.n_rows, d_head = d_model / n_head;
  arma::mat gradient(qkv.n_rows, qkv.n_cols, arma::fill::zeros);
  const auto columns = [](Index first, Index count) {
    return arma::uvec(arma::regspace<arma::uvec>(0, 1, count - 1) + first);
  };
  for (Index h = 0; h < n_head; ++h) {
    const auto rows = [&](Index which) {
      return arma::uvec(arma::regspace<arma::uvec>(0, 1, d_head - 1) + which * d_model +
                        h * d_head);
    };
    for (const SequenceBatch::Sequence& sequence : sequences) {
      const arma::uvec own = columns(sequence.first, sequence.count);
      arma::uvec keys = own;
      if (sequence.prefix_count > 0) {
        keys.insert_rows(0, columns(sequence.prefix_first, sequence.prefix_count));
      }
      const auto part = [&](const Matrix& of, Index which, const arma::uvec& chosen) {
        return arma::mat(widen(of).submat(rows(which), chosen));
      };
      const arma::mat Q = part(qkv, 0, own), K = part(qkv, 1, keys), V = part(qkv, 2, keys),
                      d = part(dz, 0, own);
      arma::mat A;
      test::reference_attention(
          Q, K, V, gradient_scale, [&](Index q, Index k) { return k <= sequence.prefix_count + q; },
          &A);
      arma::mat dS = V.t() * d;
      dS.each_row() -= arma::sum(A % dS, 0);
      dS = A % dS * gradient_scale;
      gradient.submat(rows(0), own) = K * dS;
      gradient.submat(rows(1), keys) += Q * dS.t();
      gradient.submat(rows(2), keys) += d * A.t();
    }
  }
  return gradient;
}

Matrix gradient_of(const Matrix& qkv, Index n_head,
                   std::span<const SequenceBatch::Sequence> sequences, const Matrix& dz,
                   Engine engine) {
  Matrix dqkv(qkv.n_rows, qkv.n_cols, arma::fill::value(arma::fdatum::nan));
  causal_attention_gradient(qkv, n_head, gradient_scale, sequences, dz, dqkv,
                            test::products(engine));
  return dqkv;
}

struct GradientCase {
  Engine engine;
  double error;
};

class AttentionGradient : public testing::TestWithParam<GradientCase> {};

// Four products follow one another: scores, dA, and those of dQ, dK or dV. Twice an engine's error
// of one product (weight_product_test.cpp), since errors add up at random.
INSTANTIATE_TEST_SUITE_P(Engines, AttentionGradient,
                         testing::Values(GradientCase{Engine::float32, 2e-6},
                                         GradientCase{Engine::bfloat16_six, 2e-6},
                                         GradientCase{Engine::bfloat16_three, 3e-5}),
                         [](const auto& test) { return test::label_of(test.param.engine); });

// Heads of less than a tile, of more and of two; whole blocks of queries and not; short sequences
// and long ones that share a long prefix.
TEST_P(AttentionGradient, AgreesWithDoublePrecision) {
  const std::vector<std::vector<SequenceBatch::Sequence>> batches{
      {{0, 160}}, {{0, 301}}, {{0, 140}, {140, 130, 0, 140}, {270, 5, 0, 140}, {275, 129, 0, 139}}};
  for (const Index d_head : {8, 40, 64}) {
    for (const auto& sequences : batches) {
      const Index n_column = sequences.back().first + sequences.back().count;
      Normal normal(d_head + n_column);
      const Matrix qkv = normal.matrix(6 * d_head, n_column),
                   dz = normal.matrix(2 * d_head, n_column);
      EXPECT_LT(relative_error(gradient_of(qkv, 2, sequences, dz, GetParam().engine),
                               reference_gradient(qkv, 2, sequences, dz)),
                GetParam().error)
          << d_head << " " << n_column;
    }
  }
}

TEST_P(AttentionGradient, FewQueriesGoBySgemmWhateverTheEngine) {
  if (GetParam().engine == Engine::float32) GTEST_SKIP() << "this is sgemm";
  for (const Index n_token : {127, 128}) {
    Normal normal(n_token);
    const Matrix qkv = normal.matrix(96, n_token), dz = normal.matrix(32, n_token);
    const std::vector<SequenceBatch::Sequence> whole{{0, n_token}};
    EXPECT_EQ(test::same_values(gradient_of(qkv, 2, whole, dz, GetParam().engine),
                                gradient_of(qkv, 2, whole, dz, Engine::float32)),
              n_token == 127);
  }
}

}  // namespace
}  // namespace headscope
