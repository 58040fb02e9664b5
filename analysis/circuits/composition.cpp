#include "circuits/composition.hpp"

#include <cmath>

#include "base/thread_errors.hpp"
#include "circuits/measures.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

/// Scales A to norm 1; leaves a zero matrix alone and returns false.
bool normalize(arma::mat& A) {
  const double norm = std::sqrt(arma::accu(arma::square(A)));
  if (norm == 0) return false;
  A /= norm;
  return true;
}

double block_norm(const Matrix& product, Index first_row, Index first_col, Index d_head) {
  double sum = 0;
  for (Index col = first_col; col < first_col + d_head; ++col) {
    const float* const block = product.colptr(col) + first_row;
    for (Index row = 0; row < d_head; ++row) sum += static_cast<double>(block[row]) * block[row];
  }
  return std::sqrt(sum);
}

/// A random earlier and later head, side by side in each matrix. Streams: 4 draw + projection.
CircuitWeights random_heads(Index d_model, Index d_head, std::uint64_t seed, std::size_t draw) {
  const auto gaussian = [&](std::size_t projection) {
    arma::mat W(d_model, 2 * d_head);
    fill_normal(W.memptr(), W.n_elem, CounterRandom(seed, 4 * draw + projection));
    return W;
  };
  return {2, gaussian(0), gaussian(1), gaussian(2), gaussian(3)};
}

}  // namespace

WritingFactors writing_factors(const CircuitWeights& weights) {
  const Index d_head = weights.d_head();
  WritingFactors factors;
  factors.written.set_size(weights.W_Q.n_cols, weights.W_Q.n_rows);
  for (Index h = 0; h < weights.n_head; ++h) {
    arma::mat written = gram_root(weights.of(Projection::v, h)) * weights.of(Projection::o, h).t();
    factors.writes.push_back(normalize(written));
    factors.written.rows(h * d_head, (h + 1) * d_head - 1) = arma::conv_to<Matrix>::from(written);
  }
  return factors;
}

ReadingFactors reading_factors(const CircuitWeights& weights) {
  const Index d_head = weights.d_head();
  ReadingFactors factors;
  for (Matrix& read : factors.read) read.set_size(weights.W_Q.n_rows, weights.W_Q.n_cols);
  for (Index h = 0; h < weights.n_head; ++h) {
    const arma::mat W_Q = weights.of(Projection::q, h);
    const arma::mat W_K = weights.of(Projection::k, h);
    std::array<arma::mat, 3> read{
        W_Q * gram_root(W_K).t(), W_K * gram_root(W_Q).t(),
        weights.of(Projection::v, h) * gram_root(weights.of(Projection::o, h)).t()};
    for (std::size_t kind = 0; kind < read.size(); ++kind) {
      factors.reads[kind].push_back(normalize(read[kind]));
      factors.read[kind].cols(h * d_head, (h + 1) * d_head - 1) =
          arma::conv_to<Matrix>::from(read[kind]);
    }
  }
  return factors;
}

arma::mat composition(const WritingFactors& earlier, const ReadingFactors& later,
                      std::size_t kind) {
  const Index n_head = earlier.writes.size();
  const Index d_head = earlier.written.n_rows / n_head;
  const Matrix product = earlier.written * later.read[kind];
  arma::mat scores(n_head, n_head);
  for (Index i = 0; i < n_head; ++i) {
    for (Index j = 0; j < n_head; ++j) {
      scores(i, j) = earlier.writes[i] && later.reads[kind][j]
                         ? block_norm(product, i * d_head, j * d_head, d_head)
                         : arma::datum::nan;
    }
  }
  return scores;
}

CompositionNull composition_null(Index d_model, Index d_head, std::size_t n_null,
                                 std::uint64_t seed) {
  arma::mat scores(n_null, composition_kinds.size());
  for_each_in_parallel(n_null, [&](std::size_t draw) {
    const CircuitWeights heads = random_heads(d_model, d_head, seed, draw);
    const WritingFactors earlier = writing_factors(heads);
    const ReadingFactors later = reading_factors(heads);
    for (std::size_t kind = 0; kind < composition_kinds.size(); ++kind) {
      scores(draw, kind) = composition(earlier, later, kind)(0, 1);
    }
  });
  CompositionNull null;
  for (std::size_t kind = 0; kind < composition_kinds.size(); ++kind) {
    null.mean.push_back(n_null > 0 ? arma::mean(scores.col(kind)) : arma::datum::nan);
    null.std.push_back(n_null > 1 ? arma::stddev(scores.col(kind)) : arma::datum::nan);
  }
  return null;
}

}  // namespace headscope
