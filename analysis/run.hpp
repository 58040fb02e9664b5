#pragma once

#include "corpus_run.hpp"
#include "pass_files.hpp"
#include "run_setup.hpp"

namespace headscope {

/// How many passes a run has: over the corpus by its model, then by its control.
struct PassCounts {
  int trained = 0, control = 0;
};
PassCounts count_passes(const RunSetup& setup);

/// The label of the pass files of the shard that the options name.
PassLabel pass_label(const RunSetup& setup);

/// The analyses of a run's control and the untrained model they run on.
class ControlRun {
 public:
  explicit ControlRun(const RunSetup& setup);
  CorpusRun& corpus_run() { return corpus_run_; }

 private:
  Model model_;
  CorpusRun corpus_run_;
};

}  // namespace headscope
