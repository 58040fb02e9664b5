#pragma once

#include <span>
#include <vector>

#include "compute/activations.hpp"
#include "compute/difference.hpp"
#include "compute/layer.hpp"
#include "compute/loss_difference.hpp"
#include "compute/sampled_loss.hpp"
#include "compute/sequence_batch.hpp"
#include "compute/variant_change.hpp"

namespace headscope {

/// How the losses of variants are computed.
struct DifferenceMethod {
  DifferenceProducts products;
  bool is_sampled = false;  ///< whether losses come from the sample of the vocabulary
};

/// A pass of the differences of variants' streams from the clean stream, side by side, through the
/// layers after their starts. Keeps its memory between calls.
class DifferencePass {
 public:
  DifferencePass(const Model& model, Activations& clean, const VocabularySample& sample)
      : model_(model), config_(model.config), clean_(clean), sample_(sample) {}

  /// Losses of any number of variants, in order.
  /// @param batch       the clean one.
  /// @param clean_loss  of its predictions.
  std::vector<TokenLoss> losses(const SequenceBatch& batch, const TokenLoss& clean_loss,
                                std::span<const VariantChange> changes,
                                const DifferenceMethod& method);

  /// By change, how far it moves the clean stream where it starts: the root mean square over
  /// columns of |difference| / |stream|, which counts as 0 where the stream is 0.
  std::vector<double> first_moves(std::span<const VariantChange> changes, const Products& products);

  /// Call it when the clean activations are those of another batch.
  void forget_batch() {
    draw_.reset();
    vocabulary_ = {};
  }

  /// Columns of the streams that are computed together, at most.
  static Index stacked_columns(Index n_token);
  static std::uint64_t bytes(const ModelConfig& config, Index n_token, int n_thread,
                             const Engines& engines, const VocabularySample& sample);

 private:
  class Streams;

  std::vector<TokenLoss> losses_together(const SequenceBatch& batch, const TokenLoss& clean_loss,
                                         std::span<const VariantChange> changes,
                                         const DifferenceMethod& method);
  void start(StartPoint point, std::span<const VariantChange> changes, const Products& differences,
             std::span<const Index> columns, blas::View stream);
  void add_attention(Index l, std::span<const VariantChange> changes, blas::ConstView read,
                     blas::View stream);
  std::vector<TokenLoss> losses_of(const PredictingColumns& predicting, const TokenLoss& clean_loss,
                                   const Streams& streams, const DifferenceMethod& method);
  Matrix clean_of(const Matrix& X, std::span<const Index> columns);

  const Model& model_;
  const ModelConfig& config_;
  Activations& clean_;
  const VocabularySample sample_;
  AttentionDifference attention_;  // of one layer
  MlpDifference mlp_;
  Vector mean_unembedding_;                // empty until it is needed
  CleanVocabulary vocabulary_;             // of the clean batch; empty until it is needed
  std::optional<CentredEntries> entries_;  // empty until they are needed
  std::optional<VocabularyDraw> draw_;     // of the clean batch
  Buffer z_, read_, first_;                // of the variants
  Buffer clean_chosen_, clean_normalized_;
};

}  // namespace headscope
