#pragma once

#include <string>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/blas.hpp"
#include "headscope/config.hpp"
#include "headscope/random.hpp"
#include "headscope/types.hpp"

/// The statistics of the correlation analysis as functions of one document.
namespace headscope {

/// Inner products of heads' outputs, summed over tokens.
struct HeadProducts {
  arma::mat total;   ///< n_head x n_head: sum over tokens of u_i . u_j
  arma::mat cosine;  ///< n_head x n_head: sum over tokens of cos(u_i(t), u_j(t)); a zero vector
                     ///< counts as 0
};

/// Head space: u_i(t) is rows [i d_head, (i + 1) d_head) of column t. Position 0 is left out.
/// @param values  (n_head d_head) x n_token: z, or the values V.
HeadProducts head_space_products(blas::ConstView values, Index n_head);

/// Residual space: u_i(t) = W_O[i] z_i(t), without b_O, for the heads of a layer. Position 0 is
/// left out.
/// @param z    d_z x n_token.
/// @param W_O  d_model x d_z.
HeadProducts residual_space_products(const Matrix& z, const Matrix& W_O, Index n_head);

/// The totals of such products for the heads of all layers.
///
/// Works on a few tokens at a time, so that its memory does not grow with the document; products of
/// matrices, half of n_head_total^2 d_model multiply-adds a token.
/// @param z    per layer, d_z x n_token.
/// @param W_O  per layer, d_model x d_z.
/// @return     n_head_total x n_head_total, head_index = layer * n_head + head.
arma::mat residual_space_totals(const std::vector<Matrix>& z, const std::vector<const Matrix*>& W_O,
                                Index n_head);

/// Bytes that residual_space_totals takes, including its argument z.
std::uint64_t residual_space_bytes(const ModelConfig& config, Index n_token, int n_thread);

/// Sum over queries 1.. and keys of A_i A_j.
/// @param pattern  key x query x head.
/// @return         n_head x n_head.
arma::mat pattern_overlap(const Cube& pattern);

/// Square root of the Jensen-Shannon divergence (nats) between two distributions over n keys.
/// Source: Endres & Schindelin 2003.
double js_distance(const float* p, const float* q, Index n);

/// The sum of z z' over the columns of z, its lower triangle, diagonal included, column after
/// column. What varies little about a large mean is kept: only products of differences from the
/// mean are rounded to float32.
std::vector<double> product_triangle(blas::ConstView z);
arma::mat from_lower_triangle(const std::vector<double>& triangle, Index n);
inline std::uint64_t triangle_size(std::uint64_t n) {
  return n * (n + 1) / 2;
}

/// The name of a layer's sum of z z', its lower triangle: a sum for each layer, so that the totals
/// of one at a time are rounded to doubles and saved.
inline std::string z_product_name(Index layer) {
  return "z_product_" + std::to_string(layer);
}

/// Linear centred kernel alignment of every pair of heads, from the sums of z and of z z'.
/// @param sum      d_z, sum over tokens of z.
/// @param product  d_z x d_z, sum over tokens of z z'.
/// @return         n_head x n_head, in [0, 1]; NaN where a head's output does not vary.
/// Source: Kornblith et al. 2019, "Similarity of Neural Network Representations Revisited".
arma::mat linear_cka(const arma::vec& sum, const arma::mat& product, double n_token, Index n_head);

/// Cosines from inner products: products(i, j) / sqrt(products(i, i) products(j, j)); NaN where a
/// norm is 0.
arma::mat cosines(const arma::mat& products);

/// Mean of |values(i, j)| over i != j, NaN left out.
double mean_abs_off_diagonal(const arma::mat& values);

/// Points in the plane whose distances approximate the given ones: metric multidimensional scaling
/// by majorisation (SMACOF), the best result from the classical solution and several random starts.
/// Signs are chosen so that the coordinate of largest size along each axis is positive.
/// @param distances  n x n, symmetric.
/// @param random     draws the random starts.
/// @return           n x 2.
/// Source: de Leeuw 1977; Borg & Groenen 2005.
arma::mat metric_mds(const arma::mat& distances, const CounterRandom& random);

}  // namespace headscope
