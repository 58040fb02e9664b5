#pragma once

#include <memory>
#include <vector>

#include "headscope/run.hpp"

namespace headscope {

/// A pass of a run over documents of the corpus, or over the batches of an analysis of tasks.
struct Pass {
  struct Part {
    const RegisteredAnalysis* analysis;
    int pass;  ///< of the analysis's own, from 0
  };
  int number = 1;  ///< in the run, from 1: of its pass file
  /// The number of the control model that the pass runs, untrained ones first; 0: the model.
  int control = 0;
  bool is_last = false;  ///< of its model
  AnalysisInput input = AnalysisInput::corpus;
  std::vector<Part> parts = {};                                      ///< one of tasks
  std::shared_ptr<const std::vector<std::uint64_t>> documents = {};  ///< of the corpus; null: all
};

/// The passes of a run. First those over the corpus; an analysis with fewer passes starts later, so
/// that all share the last pass. Then the passes of each analysis of tasks. Then one pass for each
/// control model, in which analyses run only their `control_pass`.
std::vector<Pass> plan_passes(const RunInput& input);

/// Whether the control model of this number, from 1, is untrained; else its weights are permuted.
inline bool is_untrained(int control) {
  return control <= static_cast<int>(n_control_per_kind);
}

/// The analyses that are repeated on the control model of this number; none without a control.
std::vector<const RegisteredAnalysis*> controlled_analyses(const RunInput& input, int control);

/// The documents that every control model reads: pairs of an even and an odd one, drawn at random
/// and spread evenly over the corpus, in order.
std::vector<std::uint64_t> control_documents(const RunInput& input);

}  // namespace headscope
