#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis.hpp"

namespace headscope {

/// What `headscope run` was asked to do.
struct RunOptions {
  std::string model;  ///< empty: the default model in data/
  Index n_head = 0;   ///< for files that do not say; 0: d_model / 64
  std::vector<std::string>
      corpus;             ///< empty: the default stories with the default model, else none
  std::string tokenizer;  ///< folder; empty: the model's own
  std::vector<std::string> analyses;  ///< empty: all that the model and corpus allow
  std::string output;
  bool random_control = false;
  bool prepend_bos = true;
  std::uint64_t max_documents = 0;  ///< 0: all
  int threads = 0;                  ///< 0: all cores
  std::uint64_t memory = 0;         ///< bytes that the run must fit in; 0: not asked
  int shard = 1, n_shard = 1;    ///< shard k of N takes documents k - 1, k - 1 + N, k - 1 + 2 N ...
  bool wait = false;             ///< for other shards' passes, instead of stopping
  bool resume = false;           ///< go on where a run left off
  std::uint64_t save_every = 0;  ///< documents; 0: as often as takes a hundredth of the time
  std::vector<std::string> figure_formats;
  bool quiet = false;
  AnalysisSettings settings;

  std::string command_line;  ///< as typed
  std::string as_json;       ///< every option with the value used

  /// as_json with paths that hold from any folder.
  std::string with_absolute_paths() const;
};

/// Reads the arguments of `headscope run` and its `--config` file; the command line wins.
/// @return none when help was asked for and printed.
/// @throws UsageError
std::optional<RunOptions> parse_run_options(const std::vector<std::string>& arguments);

/// The options of a run from their JSON, some of them changed; as one shard.
RunOptions stored_run_options(const std::string& json,
                              const std::map<std::string, std::vector<std::string>>& changed);

}  // namespace headscope
