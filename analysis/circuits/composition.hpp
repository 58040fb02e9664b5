#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "circuits/weights.hpp"

namespace headscope {

/// The input of the later head that reads the earlier head's output.
inline constexpr std::array<std::string_view, 3> composition_kinds{"q", "k", "v"};

/// What one layer's heads write and read, reduced to what composition scores need. Every head's
/// matrices are scaled to Frobenius norm 1, so that a score is the norm of a product.
///
/// With S_M = gram_root(M), OV = W_V W_O is replaced by S_V W_O (d_head x d_model) and a reading
/// matrix A B' by A S_B' (d_model x d_head). Neither changes the norm of a product.
struct WritingFactors {
  Matrix written;            ///< (n_head d_head) x d_model: OV of head h at rows h * d_head
  std::vector<bool> writes;  ///< per head: OV is not zero
};
struct ReadingFactors {
  std::array<Matrix, 3> read;  ///< d_model x (n_head d_head) for q (W_Q W_K'), k (W_K W_Q'), v (OV)
  std::array<std::vector<bool>, 3> reads;  ///< per kind and head: the reading matrix is not zero
};
WritingFactors writing_factors(const CircuitWeights& weights);
ReadingFactors reading_factors(const CircuitWeights& weights);

/// |OV_1 X_2| / (|OV_1| |X_2|), Frobenius norms, for every head of an earlier and a later layer.
/// @param kind  0, 1, 2: q, k, v.
/// @return earlier head x later head, in [0, 1]; NaN where either side is zero.
/// Source: Elhage et al. 2021.
arma::mat composition(const WritingFactors& earlier, const ReadingFactors& later, std::size_t kind);

/// Composition scores of independent Gaussian matrices of the same shapes.
struct CompositionNull {
  std::vector<double> mean, std;  ///< by kind; std over draws (n - 1 in the denominator)
};
/// @param n_null  number of draws of an earlier and a later head; with 0 the result is NaN.
CompositionNull composition_null(Index d_model, Index d_head, std::size_t n_null,
                                 std::uint64_t seed);

}  // namespace headscope
