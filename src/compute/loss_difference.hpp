#pragma once

#include "compute/difference.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"
#include "headscope/token_loss.hpp"

namespace headscope {

/// Entries of the vocabulary whose logits are computed at once.
inline constexpr Index vocabulary_chunk = 1024;

/// What the losses of variants need of the clean document and the vocabulary.
struct CleanVocabulary {
  /// Entries with at least this probability are multiplied exactly: their errors do not average
  /// out.
  static constexpr float probable_from = 1.0F / 256;

  struct Entry {
    TokenId id = 0;
    float probability = 0;
  };

  Matrix expected_entry;  ///< d_model x n_column, sum over v of p_v (W_v - mean); may be empty
  std::vector<std::vector<Entry>> probable;  ///< by column, ascending

  /// Memory for `n_column` columns.
  static std::uint64_t bytes(Index d_model, Index d_vocab, Index n_column);
};

/// Losses of variants of one batch, from the difference of their normalized final stream.
///
///   nll' - nll = E d + log(1 + sum over v of p_v (exp(x_v) - 1 - x_v)) - d_target,
///   d = W_U D,   x = d - E d
///
/// The expected difference E d = sum over v of p_v d_v = (sum over v of p_v W_v) D and that of the
/// target are float32 products of vectors. What is left is of second order in x: so are the errors
/// of the engine that multiplies the unembedding. The x of probable entries are products of vectors
/// too.
///
/// The clean probabilities p are computed a chunk of the vocabulary at a time, once for all
/// variants.
///
/// @param mean_unembedding  d_model, the unembedding's mean over the vocabulary.
/// @param normalized   d_model x n_column, ln_f of the clean stream.
/// @param D            d_model x (n_column n_variant), variant minus clean.
/// @param clean        losses of the predictions.
/// @param predictions  at least one from each column.
/// @param vocabulary   of the clean batch; computed if it is empty.
/// @return             one per variant, in the order of the predictions.
std::vector<TokenLoss> losses_of_differences(const Model& model, const Vector& mean_unembedding,
                                             const DifferenceProducts& products,
                                             blas::ConstView normalized, blas::ConstView D,
                                             const TokenLoss& clean,
                                             std::span<const SequenceBatch::Prediction> predictions,
                                             CleanVocabulary& vocabulary);

/// One of the predictions of one of the variants.
struct VariantPrediction {
  Index variant = 0, prediction = 0;
};

/// Computes some losses anew, from the sums of clean stream and difference.
/// @param D       d_model x (n_column n_variant).
/// @param losses  of the variants, of all predictions.
void replace_losses(const Model& model, const Products& passes, blas::ConstView normalized,
                    blas::ConstView D, std::span<const SequenceBatch::Prediction> predictions,
                    std::span<const VariantPrediction> which, std::vector<TokenLoss>& losses);

/// Bytes that losses_of_differences uses. @param n_column  most columns of D. @param engine  for d.
std::uint64_t loss_difference_bytes(Index d_model, Index n_token, Index n_column, int n_thread,
                                    Engine engine);

}  // namespace headscope
