#pragma once

#include <optional>
#include <vector>

#include "inputs.hpp"
#include "run/engine_record.hpp"
#include "run_options.hpp"

namespace headscope {

/// A run's model, corpus, tasks and analyses, opened from its options.
class RunSetup {
 public:
  /// Also sets the number of threads, and `options.settings.engines` unless the options have them.
  /// @param options  outlive this object.
  /// @throws DataError, UsageError if a file cannot be opened, an analysis asked for cannot run on
  /// this model and corpus, or the run needs more than `options.memory`.
  explicit RunSetup(RunOptions& options);
  RunSetup(const RunSetup&) = delete;
  RunSetup& operator=(const RunSetup&) = delete;

  /// Records the engines in the output folder. Shards and resumed runs take recorded ones.
  /// @throws DataError if the folder has pass files of a run with another request.
  void keep_engines();
  /// What the library runs. This object must outlive it.
  RunInput input() const;
  const Model& model() const { return model_; }
  /// The analyses to run, in the order of the registry.
  const std::vector<const RegisteredAnalysis*>& analyses() const { return analyses_; }
  /// What the user may not expect: analyses that model and corpus do not allow, a corpus that none
  /// reads, options that nothing uses, files of a folder that are left. One line each.
  std::vector<std::string> notes() const;

 private:
  /// What the analyses read.
  AnalysisContext context() const;

  RunOptions& options_;
  std::vector<std::string> corpus_paths_, task_paths_;
  Model model_;
  Index context_;                        // most tokens of a piece
  std::optional<EngineRecord> engines_;  // none if the options had them
  std::vector<const RegisteredAnalysis*> analyses_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<Corpus> corpus_;
  std::optional<TaskFiles> tasks_;
};

}  // namespace headscope
