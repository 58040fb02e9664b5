#pragma once

#include "run/corpus_run.hpp"
#include "run/interrupt.hpp"
#include "run/pass_files.hpp"
#include "run/progress.hpp"

namespace headscope {

/// Takes analyses through the corpus, or a shard's part of it, keeping in files what each pass
/// gave.
///
/// A pass whose file is there is not repeated, and one that was saved goes on behind the last
/// document saved. Sums are exact, so that whatever was cut off, resumed or run apart ends in the
/// same numbers.
class PassRunner {
 public:
  /// @param folder  keeps the pass files.
  /// @throws DataError without `--resume`, if there are files of a run that was not finished.
  PassRunner(const RunSetup& setup, const PassFolder& folder);

  /// Runs all passes of one model's analyses.
  /// @param first_pass  the number of its first pass in the whole run.
  /// @return false if other shards must finish a pass first; true when all is done. The statistics
  /// are then complete for a run of one shard, and in the folder for one of several.
  /// @throws Interrupted after saving, when SIGINT or SIGTERM came.
  bool run(CorpusRun& corpus_run, int first_pass, const std::string& task);

 private:
  void run_pass(CorpusRun& corpus_run, int pass, const std::string& task);
  bool wait_for_others(int pass) const;
  void stop_if_interrupted(const std::string& saved) const;

  const RunOptions& options_;
  const Corpus* corpus_;
  const PassFolder& folder_;
  Progress::Style progress_style_;
  InterruptNote interrupt_;
};

}  // namespace headscope
