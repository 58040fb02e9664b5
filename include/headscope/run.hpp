#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/pass_files.hpp"

/// Running analyses. A run may be divided into shards, which are run separately and merged; a run
/// that was stopped continues after its last save. Sums are exact, so that interrupted, resumed and
/// sharded runs give the same numbers.
namespace headscope {

class ModelRun;
struct Pass;

/// What is run. All of it outlives the run.
struct RunInput {
  AnalysisContext context;
  std::vector<const RegisteredAnalysis*> analyses;
  /// Repeats analyses that have a control on control models (untrained, permuted).
  bool has_control = false;
  /// Number of documents that control models read, spread evenly over the corpus in pairs of an
  /// even and an odd one, so rounded up to an even number; 0: all.
  std::uint64_t n_control_document = 0;
  /// Settings, by name, that change the numbers, besides model, corpus, tasks and analyses. Shards
  /// and resumed runs must agree on them; errors name them.
  std::map<std::string, std::string> identity = {};
  /// Recorded in the results beside what the run itself knows.
  std::map<std::string, AttributeValue> attributes = {};
};

/// How a run is shared out and saved.
struct RunFiles {
  std::string output = {};       ///< folder; the pass files lie in its folder `shards`
  int shard = 1, n_shard = 1;    ///< shard k of N takes documents k - 1, k - 1 + N, k - 1 + 2 N ...
  bool wait = false;             ///< wait for other shards' passes instead of stopping
  bool resume = false;           ///< continue an unfinished run
  bool mixed = false;            ///< add up sums of other kernels, vectors and numbers of threads
  std::uint64_t save_every = 0;  ///< documents; 0: each 30 s, or less often
  std::string options = {};      ///< text of the caller, kept in the pass files
};

/// Watches a run: shows its progress, and may stop it. By default only `save` acts.
class RunMonitor {
 public:
  virtual ~RunMonitor() = default;

  /// @param name  of work without steps to count: `results of pruning`.
  virtual void phase(const std::string& /*name*/) {}
  /// @param cost       of all passes, in any unit.
  /// @param has_saved  whether an earlier process saved some of the run.
  virtual void begin_passes(double /*cost*/, bool /*has_saved*/) {}
  /// Called for work that an earlier process did.
  virtual void skip(double /*cost*/) {}
  /// @param name      what the pass does: `ablating heads`.
  /// @param item      what it goes through: `document` or `batch`.
  /// @param n_before  of n_item, done by an earlier process.
  virtual void begin_pass(const std::string& /*name*/, const std::string& /*item*/,
                          std::uint64_t /*n_item*/, std::uint64_t /*n_before*/) {}
  /// Counts a piece that was just run.
  virtual void advance(bool /*ends_item*/, double /*cost*/, std::uint64_t /*n_token*/) {}
  /// Called after the last pass, and before the results are made.
  virtual void end_passes() {}

  /// Whether to save and stop: asked after every piece, and while waiting.
  virtual bool wants_stop() const { return false; }
  /// Runs an action that must not be interrupted. If the run is to stop, throws after the action.
  /// @param state  what is saved once `action` has run: `saved after document 5 of 8, pass 1`.
  virtual void save(const std::function<void()>& action, const std::string& /*state*/) { action(); }
  /// @param text     names the missing shards and their pass.
  /// @param waiting  whether the run waits for these; else it stops.
  virtual void report_missing_shards(const std::string& /*text*/, bool /*waiting*/) {}
};

/// One shard of a run; the whole run if there is one shard.
class ShardRun {
 public:
  /// Keeps other processes from running the shard while this object exists.
  /// @throws DataError if another process does.
  ShardRun(RunInput input, RunFiles files);

  /// Runs all passes of the shard that can run now. A finished pass is not repeated; an unfinished
  /// one continues after the last document saved.
  /// @return the results; nullopt if the run has several shards, whose pass files `merge_shards`
  /// turns into results.
  /// @throws RunError if another run's pass files are in the folder, a shard has other arithmetic,
  /// or no process runs a shard that this one waits for.
  std::optional<Results> results(RunMonitor& monitor);

  /// Whether all passes of the shard are finished.
  bool is_finished() const { return folder_.is_finished(files_.shard, label_.n_pass); }
  const PassFolder& folder() const { return folder_; }
  /// Removes the pass files, once the results are stored.
  void remove_files() const { folder_.remove_files(); }

 private:
  bool complete(const Pass& pass, ModelRun& model, const ModelRun& trained, RunMonitor& monitor);
  void run_pass(const Pass& pass, ModelRun& model, const ModelRun& trained, RunMonitor& monitor);
  /// @throws DataError if the first pass of another shard is of another run.
  void check_other_shards() const;
  bool wait_for_shards(int pass, RunMonitor& monitor);

  RunInput input_;
  RunFiles files_;
  PassLabel label_;
  PassFolder folder_;
  OutputLock lock_;
};

/// The results of a run whose shards ran separately.
/// @throws DataError if the shards belong to another run, RunError if their arithmetic differs.
Results merge_shards(const RunInput& input, const ShardTable& shards, RunMonitor& monitor);

/// The results of one-pass analyses on a single piece that belongs to no corpus.
std::vector<ResultsGroup> results_of_piece(const std::vector<const RegisteredAnalysis*>& analyses,
                                           const AnalysisContext& context, const Piece& piece);

}  // namespace headscope
