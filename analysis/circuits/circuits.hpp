#pragma once

#include <vector>

#include "headscope/analysis.hpp"

namespace headscope {

struct CircuitsOptions {
  bool fold_layer_norm = true;  ///< fold LayerNorm into the weights and centre them

  void declare(OptionTable& option) {
    option(fold_layer_norm,
           {"no-fold", "", "use the raw weights; do not fold LayerNorm into them"});
  }
};

/// Analysis `circuits`, from weights alone: copying, subspaces, ranks, composition, and attention
/// from position embeddings.
RegisteredAnalysis circuits_analysis();

/// Figures from the `circuits` group: elhage2021_copying, elhage2021_composition,
/// cordonnier2020_rank; with several heads a layer subspace_overlap; with learned positions
/// position_only and position_only_offsets.
/// @throws Error if the results lack the group.
std::vector<Figure> circuits_figures(const Results& results);

/// Claim 5 on this model, one part per projection, from the finished group `circuits`.
/// @param subspace_rank  projection x layer x head: ranks of the projections.
std::vector<Claim> circuit_claims(const ResultsGroup& group, const Array& subspace_rank,
                                  const ModelConfig& config, const AnalysisSettings& settings);

/// Sentences about this model's circuits.
/// @param induction  heads that are induction heads.
std::string circuit_summary(const ResultsGroup& group, const std::vector<std::size_t>& induction);

Presentation circuits_presentation();

}  // namespace headscope
