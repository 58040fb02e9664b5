#pragma once

#include <functional>
#include <string>

#include "run/corpus_run.hpp"
#include "run/interrupt.hpp"
#include "run/pass_files.hpp"
#include "run/progress.hpp"
#include "run/shard_pieces.hpp"

namespace headscope {

/// Runs analyses over their input, or over a shard of it, and saves each pass in a file.
///
/// A finished pass is not repeated; an unfinished one continues after the last item saved. Sums
/// are exact, so that interrupted, resumed and sharded runs end in the same numbers.
class PassRunner {
 public:
  /// @param folder  holds the pass files.
  /// @throws DataError without `--resume` if the folder has files of an unfinished run.
  PassRunner(const RunSetup& setup, PassFolder& folder, Progress& progress);

  /// Cost of all passes of one model's analyses, those included that are finished.
  double cost(CorpusRun& corpus_run) const;

  /// Runs all passes of one model's analyses.
  /// @param first_pass  number of the model's first pass in the whole run.
  /// @param model       named in the progress: `untrained control`; may be empty.
  /// @return false if other shards must finish a pass first; true when all passes are done. The
  /// statistics of a run of one shard are then in `corpus_run`, those of a shard in the folder.
  /// @throws Interrupted after SIGINT or SIGTERM, once the statistics are saved. Where a piece goes
  /// on for more than a second, the program ends with what was saved before.
  bool run(CorpusRun& corpus_run, int first_pass, const std::string& model);

 private:
  ShardPieces pieces(CorpusRun& corpus_run, int own_pass) const;
  double cost(CorpusRun& corpus_run, int own_pass) const;
  /// @param own_pass  of the model's analyses; `pass` is its number in the whole run.
  void run_pass(CorpusRun& corpus_run, int own_pass, int pass, const std::string& model);
  /// @throws Error if no process runs a shard that has begun and is missing.
  bool wait_for_others(int pass) const;
  /// @param saved  what a run that is stopped afterwards says of the state: `saved after pass 1`.
  void save(const std::function<void()>& action, const std::string& saved);
  void stop_if_interrupted() const;
  std::string resume_command() const;

  const RunOptions& options_;
  PassFolder& folder_;
  Progress& progress_;
  std::string state_;
  InterruptNote interrupt_;
};

}  // namespace headscope
