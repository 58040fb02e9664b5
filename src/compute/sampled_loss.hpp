#pragma once

#include <span>
#include <vector>

#include "compute/product/weight_product.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"
#include "headscope/token_loss.hpp"

namespace headscope {

/// The unembedding less its mean over the vocabulary, which moves all logits alike and is left out
/// of their differences. An engine that packs has all of it packed, ready for any entries.
class CentredEntries {
 public:
  /// @param unembedding  d_model x d_vocab. It and its mean must outlive this object.
  CentredEntries(const Matrix& unembedding, const Vector& mean, const Products& products);

  const Vector& mean() const { return mean_; }

  /// Y = D' W, on the calling thread.
  /// @param D        d_model x n_variant.
  /// @param entries  of the vocabulary, the columns of W.
  /// @param Y        n_variant x entries.
  void multiply(blas::ConstView D, std::span<const TokenId> entries, blas::View Y) const;

  static std::uint64_t bytes(Index d_model, Index d_vocab, Index n_variant, int n_thread,
                             Engine engine);

 private:
  const Matrix& unembedding_;
  const Vector& mean_;
  Products products_;
  PackedColumns packed_;  // empty unless the engine packs
};

/// Estimates a variant's losses from some vocabulary entries instead of all: they are chosen once
/// for each column of the clean batch.
///
/// With clean probabilities p and differences of logits d, measured from their mean under p, the
/// loss of a variant differs from the clean one by
///
///   ln(1 + sum over all entries of p_v (e^d_v - 1 - d_v)) - d_target.
///
/// The mean and the target's difference are exact: the mean needs only the sum of p_v W_v, one
/// vector. The most probable entries and the column's targets count as probable, all others are the
/// tail. The sum takes all probable entries. Over the tail it is estimated without bias from
/// entries drawn by their probability, at even steps of the cumulative sum from a random start,
/// once for all variants. If a drawn logit rises by more than 2, the loss is computed from all
/// entries. Else the loss lacks what undrawn entries with such a rise would have added.
class VocabularyDraw {
 public:
  struct Column {
    std::vector<TokenId> entries;  ///< probable ones first, then those drawn
    std::vector<float> weights;    ///< p; of those drawn, their share of the tail's probability
    std::vector<float> logits;     ///< clean log probabilities
    Index n_probable = 0;
    std::vector<Index> predictions;  ///< their numbers in the batch
    std::vector<Index> targets;      ///< of each prediction, its place among the entries
  };

  /// @param entries     must outlive this object.
  /// @param passes      products of the clean logits.
  /// @param normalized  d_model x n_column, ln_f of the clean stream.
  /// @param predictions  at least one from each column.
  /// Memory while it works: the logits of 256 columns.
  VocabularyDraw(const Model& model, const CentredEntries& entries, const Products& passes,
                 blas::ConstView normalized, std::span<const SequenceBatch::Prediction> predictions,
                 const VocabularySample& sample);

  /// Losses of variants of the batch.
  /// @param D      d_model x (n_column n_variant), differences of the normalized final stream.
  /// @param clean        losses of the predictions.
  /// @param predictions  as given before.
  /// @return       one per variant, in the order of the predictions. `correct` compares the entries
  ///               chosen.
  std::vector<TokenLoss> losses(blas::ConstView normalized, blas::ConstView D,
                                const TokenLoss& clean,
                                std::span<const SequenceBatch::Prediction> predictions) const;

  static std::uint64_t bytes(Index d_model, Index d_vocab, Index n_column, Index n_variant,
                             int n_thread, const VocabularySample& sample);

 private:
  void choose(Column& column, std::span<const SequenceBatch::Prediction> predictions, float* p,
              const VocabularySample& sample);

  const Model& model_;
  const CentredEntries& entries_;
  Products passes_;
  std::vector<Column> columns_;
  Matrix expected_entry_;  // d_model x n_column, sum of p_v (W_v - mean)
};

}  // namespace headscope
