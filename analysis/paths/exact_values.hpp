#pragma once

#include <vector>

#include "headscope/analysis.hpp"

namespace headscope {

/// The exact effects of a task's largest edges, and what its circuits keep.
struct ExactValues {
  double n_pair = 0;
  std::vector<Estimate> change;        ///< by edge, nats per pair
  std::vector<double> p, q;            ///< by edge
  std::vector<Estimate> faithfulness;  ///< order x step
  std::vector<Estimate> given;         ///< step, by the order of --paths-ordering
};

/// @param statistics  of all passes.
/// @param n_edge  number of edges ablated exactly.
/// @param n_step  number of circuits tried, by number of edges.
/// @param margin  mean over the task's pairs, nats.
ExactValues exact_values(const Statistics& statistics, std::size_t task, std::size_t n_edge,
                         std::size_t n_step, double margin, const AnalysisSettings& settings);

/// What pruning left of a task's circuit.
struct PrunedCircuit {
  std::vector<double> kept;  ///< by edge, 1 for those left; empty without a circuit
  Estimate faithfulness;     ///< on the pairs that pruning has not seen
};

PrunedCircuit pruned_values(const Statistics& statistics, std::size_t task,
                            const AnalysisSettings& settings);

}  // namespace headscope
