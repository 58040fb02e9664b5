#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "score_model/lexical.hpp"

/// All models of all heads, fitted on even documents and judged on odd ones.
namespace headscope {

/// Features of a model.
enum class ScoreStep {
  sink,
  label,     ///< sink, log_distance, distance, and the features that the head's types name
  position,  ///< sink and position
  lexical,   ///< sink, position and lexical
  features,  ///< all but lexical
  full,      ///< all
};

inline constexpr std::size_t n_score_step = 6;
inline constexpr std::array<const char*, n_score_step> score_step_names{
    "sink", "label", "position", "lexical", "features", "full"};

/// What the statistics hold of one half of the corpus.
struct ScoreHalf {
  FitSample sample;
  std::vector<double> n_query, n_document;  ///< by block
  /// By query, layer and head: attention to the sink.
  std::vector<float> sink;
  /// By block, layer, head and feature: sums over queries of sum over k of A x.
  std::vector<Array> attended;
  /// By block, layer and head: sums of sum A ln A, over all keys and over keys >= 1 renormalised,
  /// there weighted by 1 - A[q,0].
  std::vector<Array> entropy;

  /// Frees what only fits need.
  void forget_pairs() { sample = FitSample{.queries = std::move(sample.queries)}; }
};

/// Both halves, and what their features are made of.
struct ScoreData {
  FeatureList features;
  ScoreHalf even, odd;
};

/// Fitted coefficients and divergences.
struct ScoreFits {
  std::vector<FeatureFamily> families;  ///< those left out in turn
  Array theta;                          ///< step, layer, head, feature; NaN without a model
  Array se;                             ///< layer, head, feature: of the step full
  /// layer, head, feature: theta times the feature's mean under the attention less its mean under
  /// uniform attention; of the step full, even documents.
  Array pull;
  double largest_gradient = 0;  ///< of all fits
  // By model (the steps, then model_without each family), block x layer x head: sums of KL over
  // the sampled queries of odd documents, nats.
  std::vector<Array> divergence, divergence_beyond;
  Array uniform, uniform_beyond, weight;

  std::size_t model_without(std::size_t family) const { return n_score_step + family; }
};

/// @param first   the first token of the run.
/// @param labels  by head, names of features separated by blanks; empty: no labels are known.
ScoreFits fit_scores(const Model& model, std::optional<TokenId> first, const ScoreData& data,
                     const std::vector<std::string>& labels, const ComputeContext& context);

/// Bytes of the fits and of the samples, for `n_query` queries of each half.
std::uint64_t score_fit_bytes(const ModelConfig& config, Index n_token, std::uint64_t n_query,
                              std::size_t n_feature);

}  // namespace headscope
