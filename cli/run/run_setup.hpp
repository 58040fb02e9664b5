#pragma once

#include <optional>
#include <vector>

#include "analysis.hpp"
#include "run/run_options.hpp"

namespace headscope {

/// The model given, or the default one.
std::string model_path(const RunOptions& options);

/// The tokenizer given, or the model's own; nothing if it has none.
/// @throws DataError if it cannot be read or does not fit the model.
std::optional<Tokenizer> open_tokenizer(const RunOptions& options, const Model& model);

/// A run's model, corpus, tasks and analyses, opened from its options.
class RunSetup {
 public:
  /// Also sets the number of threads.
  /// @param options  outlive this object.
  /// @throws DataError, UsageError if a file cannot be opened, an analysis asked for cannot run on
  /// this model and corpus, or the run needs more than `options.memory`.
  explicit RunSetup(const RunOptions& options);
  RunSetup(const RunSetup&) = delete;
  RunSetup& operator=(const RunSetup&) = delete;

  const RunOptions& options() const { return options_; }
  const Model& model() const { return model_; }
  /// The paths given, or the default stories with the default model.
  const std::vector<std::string>& corpus_paths() const { return corpus_paths_; }
  /// The task files given, or the default ones with the default model.
  const std::vector<std::string>& task_paths() const { return task_paths_; }
  /// Null if no analysis needs it.
  const Corpus* corpus() const { return corpus_ ? &*corpus_ : nullptr; }
  /// Null if no analysis needs them.
  const TaskFiles* tasks() const { return tasks_ ? &*tasks_ : nullptr; }
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  /// The analyses to run, in the order of the registry.
  const std::vector<const RegisteredAnalysis*>& analyses() const { return analyses_; }
  /// What the user may not expect: analyses that model and corpus do not allow, a corpus that none
  /// reads, files of a folder that are left. One line each.
  std::vector<std::string> notes() const;
  /// The analyses to repeat on untrained models; empty unless a control was asked for.
  std::vector<const RegisteredAnalysis*> controlled_analyses() const;
  /// The documents that every untrained model reads: pairs of an even and an odd one, spread evenly
  /// over the corpus, in order.
  std::vector<std::uint64_t> control_documents() const;

 private:
  const RunOptions& options_;
  std::vector<std::string> corpus_paths_, task_paths_;
  Model model_;
  std::vector<const RegisteredAnalysis*> analyses_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<Corpus> corpus_;
  std::optional<TaskFiles> tasks_;
};

}  // namespace headscope
