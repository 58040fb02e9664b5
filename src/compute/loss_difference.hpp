#pragma once

#include "compute/model_products.hpp"
#include "headscope/ops.hpp"
#include "headscope/pack.hpp"

namespace headscope {

/// Losses of variants of one pack, from the difference of their normalized final stream.
///
///   nll' - nll = log(sum over v of p_v exp(d_v)) - d_target,   d = W_U D
///
/// The clean probabilities p are computed a chunk of the vocabulary at a time, once for all
/// variants.
///
/// @param products    the model's, of any engine, for the differences.
/// @param passes      engine of the clean logits, as multiply_streamed() takes it.
/// @param normalized  d_model x n_column, ln_f of the clean stream.
/// @param D           d_model x (n_column n_variant), differences of the same; given back
///                    once they are split for a low-precision engine.
/// @param clean       losses of the predictions.
/// @return            one per variant, in the order of the predictions.
std::vector<TokenLoss> losses_of_differences(const Model& model,
                                             const PackedModel::Products& products, Engine passes,
                                             blas::ConstView normalized, Matrix D,
                                             const TokenLoss& clean,
                                             std::span<const Pack::Prediction> predictions);

/// Bytes of its work space for at most `n_column` columns of D.
std::uint64_t loss_difference_bytes(Index n_token, Index n_column, int n_thread);

}  // namespace headscope
