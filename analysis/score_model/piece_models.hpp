#pragma once

#include <memory>
#include <vector>

#include "score_model/fits.hpp"

/// Models of how a piece's queries attend, a layer at a time.
namespace headscope {

/// What the models of a piece's attention are made from; all of it outlives them.
struct ScoreContext {
  const Model& model;
  const FeatureList& features;
  const TokenTraits& traits;
  const ComputeContext& compute;
};

/// The queries q >= 2 of a piece.
PieceQueries queries_of(const Piece& piece, const FeatureList& features);

/// The features of queries of a piece, and its heads' scores out of context, a layer at a time.
class PieceModels {
 public:
  PieceModels(const ScoreContext& context, const Piece& piece, const PieceQueries& queries,
              std::size_t block);

  const FitSample& sample() const { return sample_; }
  /// Goes to the next layer, at first to layer 0.
  void next_layer();
  /// The layer's scores out of context, as lexical_scores.
  void lexical(Index first, std::vector<float>& scores) const;
  /// for_each_attention with a step's models of up to eight heads of the layer.
  /// @param first   the first head.
  /// @param scores  out of context, of `lexical`.
  void attend(const ScoreFits& fits, std::size_t step, Index first,
              const std::vector<float>& scores, const TakeAttention& take) const;

  static std::uint64_t bytes(const ModelConfig& config, Index n_token);

 private:
  const ScoreContext context_;
  FitSample sample_;
  TokenNumbers numbers_;
  std::unique_ptr<LexicalStream> stream_;
  Index n_layer_done_ = 0;
  LexicalLayer of_layer_;
};

/// Whether a head has a model of a step.
bool has_model(const ScoreFits& fits, std::size_t step, Index layer, Index head);

/// to = sum over keys of weight times value.
/// @param values   d_head x at least n_key.
/// @param weights  of the keys, n_logit_lane apart.
/// @param to       d_head.
void mix_values(blas::ConstView values, const double* weights, Index n_key, float* to);

}  // namespace headscope
