#pragma once

#include <optional>
#include <vector>

#include "run_options.hpp"

namespace headscope {

/// What a run works on, opened from its options.
class RunSetup {
 public:
  /// Fills in the default model and stories where the user named none, and sets the threads.
  /// @throws DataError, UsageError if something cannot be opened, an analysis asked for cannot be
  /// run on it, or it needs more than `options.memory`.
  explicit RunSetup(const RunOptions& options);
  RunSetup(const RunSetup&) = delete;
  RunSetup& operator=(const RunSetup&) = delete;

  const RunOptions& options() const { return options_; }
  const Model& model() const { return model_; }
  /// Null for a weights-only run.
  const Corpus* corpus() const { return corpus_ ? &*corpus_ : nullptr; }
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  /// The analyses to run, in the order of the registry.
  const std::vector<const RegisteredAnalysis*>& analyses() const { return analyses_; }
  /// Those to repeat on an untrained model; none unless asked for.
  std::vector<const RegisteredAnalysis*> controlled_analyses() const;

 private:
  RunOptions options_;
  Model model_;
  std::optional<Tokenizer> tokenizer_;
  std::vector<const RegisteredAnalysis*> analyses_;
  std::optional<Corpus> corpus_;
};

}  // namespace headscope
