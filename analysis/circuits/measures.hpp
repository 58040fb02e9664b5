#pragma once

#include <vector>

#include "circuits/weights.hpp"
#include "headscope/random.hpp"

namespace headscope {

/// Tokens of which token_circuit holds embeddings and unembeddings in double.
inline constexpr Index circuit_tokens_at_once = 2048;

/// A small matrix S with S'S = W'W. It can replace the tall W wherever only inner products of its
/// columns matter: A W' and A S' have the same norm and singular values.
/// @param W  d_model x d_head.
/// @return   d_head x d_head.
arma::mat gram_root(const arma::mat& W);

/// How much a head's OV circuit copies what it reads, in [-1, 1].
///
///   Re(sum of eigenvalues) / sum of |eigenvalues|   of W_O' W_V, d_head x d_head
///
/// These are also the nonzero eigenvalues of the d_model x d_model matrix W_V W_O.
/// @param W_V, W_O  d_model x d_head, residual stream along the rows.
/// @return NaN when all eigenvalues are zero.
/// Source: Elhage et al. 2021.
double ov_copying(const arma::mat& W_V, const arma::mat& W_O);

/// W_U W_E', the sum over the vocabulary of each token's unembedding times its embedding:
/// d_model x d_model, rows along the unembedding, columns along the embedding. Takes
/// circuit_tokens_at_once tokens at a time.
/// @param fold_layer_norm  scale the rows of W_U by ln_f's gain and subtract from each token's
/// column of W_U and of W_E its mean over d_model, which RMSNorm leaves.
/// @throws ShapeError if the model is attention-only.
arma::mat token_circuit(const Model& model, bool fold_layer_norm);

/// ov_copying of the circuit from token to token, by the eigenvalues of W_O' C W_V, d_head x
/// d_head: they are its eigenvalues other than 0.
/// @param circuit  C, from token_circuit.
double ov_copying_full(const arma::mat& W_V, const arma::mat& W_O, const arma::mat& circuit);

/// A head counts as copying above this OV copying, and as writing the opposite below its negative.
inline constexpr double least_copying = 0.5;

/// How many singular values carry 90 % of the squared sum.
/// @param squares  squared singular values in any order.
/// @return 0 when all are zero.
Index rank90(arma::vec squares);

/// rank90 of W_Q W_K' for one head; W_Q, W_K d_model x d_head.
/// Source: Cordonnier et al. 2020.
Index qk_rank90(const arma::mat& W_Q, const arma::mat& W_K);

/// rank90 of the sum over heads of W_Q W_K', from matrices that hold all heads side by side.
Index qk_rank90_joint(const arma::mat& W_Q, const arma::mat& W_K);

/// Column spaces of the heads of one projection, as orthonormal bases.
struct HeadSubspaces {
  Index n_head = 0;
  arma::mat basis;          ///< d_model x (n_head d_head); columns beyond a head's rank are zero
  std::vector<Index> rank;  ///< per head, singular values above 2^-23 of the largest: the weights
                            ///< are float32
};
HeadSubspaces head_subspaces(const arma::mat& W, Index n_head);

/// Angles between the subspaces of every two heads.
struct SubspaceAngles {
  /// n_head x n_head: mean cos^2 of the principal angles, |U_i' U_j|^2 / r, where r is d_head or
  /// the smaller rank of the two heads; NaN for a head of rank 0.
  arma::mat overlap;
  arma::mat angle_min;  ///< n_head x n_head, smallest principal angle, degrees; 0 on the diagonal
};
SubspaceAngles subspace_angles(const HeadSubspaces& subspaces);

/// How much the column spaces of two independent Gaussian matrices overlap, d_model x d_head: one
/// draw. Its expectation is d_head / d_model.
/// @param centred  subtract each column's mean, as folding does; expectation d_head / (d_model -
/// 1).
double random_subspace_overlap(Index d_model, Index d_head, bool centred,
                               const CounterRandom& random);

}  // namespace headscope
