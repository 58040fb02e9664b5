#include "circuits/measures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/thread_errors.hpp"
#include "headscope/error.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

double degrees_of_cosine_squared(double cosine_squared) {
  return std::acos(std::sqrt(std::clamp(cosine_squared, 0.0, 1.0))) * 180 / std::numbers::pi;
}

}  // namespace

arma::mat gram_root(const arma::mat& W) {
  arma::vec values;
  arma::mat vectors;
  if (!arma::eig_sym(values, vectors, arma::mat(W.t() * W))) {
    throw Error("gram_root: the eigenvalues were not found");
  }
  return arma::diagmat(arma::sqrt(arma::clamp(values, 0, arma::datum::inf))) * vectors.t();
}

double ov_copying(const arma::mat& W_V, const arma::mat& W_O) {
  arma::cx_vec eigenvalues;
  if (!arma::eig_gen(eigenvalues, arma::mat(W_O.t() * W_V))) return arma::datum::nan;
  const double size = arma::accu(arma::abs(eigenvalues));
  return size == 0 ? arma::datum::nan : arma::accu(arma::real(eigenvalues)) / size;
}

arma::mat token_circuit(const Model& model, bool fold_layer_norm) {
  if (!model.is_complete()) {
    throw ShapeError("model: expected token embeddings, got attention weights only");
  }
  constexpr Index columns_at_once = 64;
  const Index d = model.config.d_model, d_vocab = model.config.d_vocab;
  const arma::vec gain = arma::conv_to<arma::vec>::from(model.ln_f_gain);
  arma::mat sum(d, d, arma::fill::zeros);
  for (Index first = 0; first < d_vocab; first += circuit_tokens_at_once) {
    const Index last = std::min(d_vocab, first + circuit_tokens_at_once) - 1;
    arma::mat U = arma::conv_to<arma::mat>::from(model.unembedding().cols(first, last));
    arma::mat E = arma::conv_to<arma::mat>::from(model.W_E.cols(first, last));
    if (fold_layer_norm) {
      U.each_col() %= gain;
      for (arma::mat* tokens : {&U, &E}) {
        if (model.config.norm == NormKind::rms_norm) break;
        const arma::rowvec mean = arma::mean(*tokens, 0);
        tokens->each_row() -= mean;
      }
    }
    for_each_in_parallel((d + columns_at_once - 1) / columns_at_once, [&](std::size_t block) {
      const arma::span columns(block * columns_at_once,
                               std::min<Index>(d, (block + 1) * columns_at_once) - 1);
      sum.cols(columns.a, columns.b) += U * E.rows(columns.a, columns.b).t();
    });
  }
  return sum;
}

double ov_copying_full(const arma::mat& W_V, const arma::mat& W_O, const arma::mat& tokens) {
  return ov_copying(tokens * W_V, W_O);
}

Index rank90(arma::vec squares) {
  std::ranges::sort(squares, std::greater<>());
  const double enough = 0.9 * arma::accu(squares);
  double sum = 0;
  Index rank = 0;
  while (rank < squares.n_elem && sum < enough) sum += squares[rank++];
  return rank;
}

Index qk_rank90(const arma::mat& W_Q, const arma::mat& W_K) {
  const arma::vec singular = arma::svd(arma::mat(gram_root(W_Q) * gram_root(W_K).t()));
  return rank90(arma::square(singular));
}

Index qk_rank90_joint(const arma::mat& W_Q, const arma::mat& W_K) {
  const arma::mat product = W_Q * W_K.t();
  arma::vec squares;
  if (!arma::eig_sym(squares, arma::mat(product.t() * product))) {
    throw Error("qk_rank90_joint: the eigenvalues were not found");
  }
  return rank90(arma::clamp(squares, 0, arma::datum::inf));
}

HeadSubspaces head_subspaces(const arma::mat& W, Index n_head) {
  const Index d_head = W.n_cols / n_head;
  HeadSubspaces subspaces{n_head, arma::mat(W.n_rows, W.n_cols, arma::fill::zeros), {}};
  arma::mat Q, R, left, right;
  arma::vec singular;
  for (Index h = 0; h < n_head; ++h) {
    const Index first = h * d_head;
    arma::qr_econ(Q, R, W.cols(first, first + d_head - 1));
    arma::svd(singular, R);
    const double least = singular[0] * std::numeric_limits<float>::epsilon();
    const Index rank = arma::accu(singular > least);
    if (rank == d_head) {
      subspaces.basis.cols(first, first + d_head - 1) = Q;
    } else if (rank > 0) {
      arma::svd(left, singular, right, R);
      subspaces.basis.cols(first, first + rank - 1) = Q * left.head_cols(rank);
    }
    subspaces.rank.push_back(rank);
  }
  return subspaces;
}

SubspaceAngles subspace_angles(const HeadSubspaces& subspaces) {
  const Index n_head = subspaces.n_head;
  const Index d_head = subspaces.basis.n_cols / n_head;
  const arma::mat cosines = subspaces.basis.t() * subspaces.basis;
  SubspaceAngles angles{arma::mat(n_head, n_head), arma::mat(n_head, n_head)};
  arma::vec squares;
  for (Index i = 0; i < n_head; ++i) {
    for (Index j = i; j < n_head; ++j) {
      const Index rank = std::min(subspaces.rank[i], subspaces.rank[j]);
      double overlap = arma::datum::nan, angle = arma::datum::nan;
      if (rank > 0) {
        const arma::mat block = cosines.submat(i * d_head, j * d_head, arma::size(d_head, d_head));
        overlap = arma::accu(arma::square(block)) / static_cast<double>(rank);
        if (i == j) {
          angle = 0;
        } else if (arma::eig_sym(squares, arma::mat(block.t() * block))) {
          angle = degrees_of_cosine_squared(squares.back());
        }
      }
      angles.overlap(i, j) = angles.overlap(j, i) = overlap;
      angles.angle_min(i, j) = angles.angle_min(j, i) = angle;
    }
  }
  return angles;
}

double random_subspace_overlap(Index d_model, Index d_head, bool centred,
                               const CounterRandom& random) {
  arma::mat pair(d_model, 2 * d_head);
  fill_normal(pair.memptr(), pair.n_elem, random);
  if (centred) pair.each_row() -= arma::mean(pair, 0);
  return subspace_angles(head_subspaces(pair, 2)).overlap(0, 1);
}

}  // namespace headscope
