#pragma once

#include <string>
#include <vector>

#include "analysis_settings.hpp"

namespace headscope {

/// The text, or, if it is not UTF-8, the text with its bytes escaped: `caf\xE9`.
std::string recorded_text(const std::string& text);

/// The options of `headscope run`.
struct RunOptions {
  RunOptions();
  // Not copied: the table is bound to the fields.
  RunOptions(const RunOptions&) = delete;
  RunOptions& operator=(const RunOptions&) = delete;

  std::string model;         ///< empty: the default model in data/
  std::uint64_t n_head = 0;  ///< for files that do not state it
  std::vector<std::string>
      corpus;                      ///< empty: the default stories with the default model, else none
  std::vector<std::string> tasks;  ///< empty: the default ones with the default model, else none
  std::uint64_t max_pairs = 0;     ///< of each task; 0: all
  std::string tokenizer;           ///< folder; empty: that of the model's file or folder
  std::string encoding = "utf-8";  ///< of the corpus's text
  bool prepend_bos = true;
  std::uint64_t max_documents = 0;       ///< 0: all
  std::uint64_t document_sentences = 0;  ///< of CoNLL-U without `# newdoc`; 0: one document
  std::vector<std::string> analyses;     ///< empty: all that the model and corpus allow
  std::string control = "none";
  std::uint64_t control_documents = 32;  ///< for each control model; 0: all
  AnalysisSettings settings;
  std::string output;
  std::vector<std::string> figures{"svg", "png"};
  std::uint64_t threads = 0;     ///< 0: all cores
  std::uint64_t memory = 0;      ///< limit in bytes; 0: none
  int shard = 1, n_shard = 1;    ///< shard k of N takes documents k - 1, k - 1 + N, k - 1 + 2 N ...
  bool wait = false;             ///< wait for other shards' passes instead of stopping
  bool resume = false;           ///< continue an unfinished run
  bool force = false;            ///< replace a finished run
  bool mixed = false;            ///< add up sums of other kernels, vectors and numbers of threads
  std::uint64_t save_every = 0;  ///< documents; 0: so often that saving takes 1 % of the time
  bool quiet = false;
  std::string config;  ///< file of options; empty: none

  std::string command_line;  ///< as typed
  OptionTable table;         ///< of all the above

  /// Whether an option is given that a run's shards share, other than the output folder.
  bool any_of_run_given() const;
  bool random_control() const { return control == "random"; }

  /// Every option with its value, as JSON.
  std::string as_json() const;
  /// as_json with absolute paths and the number of threads in use.
  std::string for_merging() const;
  /// Sets the options from the JSON of a run, except those of scope `process`.
  /// @throws OptionError
  void restore(const std::string& json);

 private:
  /// Sets the shard from `K/N`; false if the text has another form.
  bool read_shard(const std::string& text);
};

}  // namespace headscope
