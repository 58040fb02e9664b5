#pragma once

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
  std::vector<std::string> figure_formats;
  bool quiet = false;
  AnalysisSettings settings;

  std::string command_line;  ///< as typed
  std::string as_json;       ///< every option with the value used
};

/// Reads the arguments of `headscope run` and its `--config` file; the command line wins.
/// @return none when help was asked for and printed.
/// @throws UsageError
std::optional<RunOptions> parse_run_options(const std::vector<std::string>& arguments);

}  // namespace headscope
