#pragma once

#include "run/corpus_run.hpp"
#include "run/interrupt.hpp"
#include "run/pass_files.hpp"
#include "run/progress.hpp"

namespace headscope {

/// Runs analyses over their input, or over a shard of it, and saves each pass in a file.
///
/// A finished pass is not repeated; an unfinished one continues after the last item saved. Sums
/// are exact, so that interrupted, resumed and sharded runs end in the same numbers.
class PassRunner {
 public:
  /// @param folder  holds the pass files.
  /// @throws DataError without `--resume` if the folder has files of an unfinished run.
  PassRunner(const RunSetup& setup, PassFolder& folder);

  /// Runs all passes of one model's analyses.
  /// @param first_pass  number of the model's first pass in the whole run.
  /// @return false if other shards must finish a pass first; true when all passes are done. The
  /// statistics of a run of one shard are then in `corpus_run`, those of a shard in the folder.
  /// @throws Interrupted after SIGINT or SIGTERM, once the statistics are saved.
  bool run(CorpusRun& corpus_run, int first_pass, const std::string& task);

 private:
  void run_pass(CorpusRun& corpus_run, int pass, const std::string& task);
  bool wait_for_others(int pass) const;
  void stop_if_interrupted(const std::string& saved) const;

  const RunOptions& options_;
  PassFolder& folder_;
  Progress::Style progress_style_;
  InterruptNote interrupt_;
};

}  // namespace headscope
