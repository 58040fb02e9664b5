#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "headscope/pass_files.hpp"
#include "headscope/run.hpp"
#include "inputs.hpp"
#include "run_output.hpp"

namespace headscope {

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
  TextOptions reading;
  std::uint64_t context = 0;          ///< most tokens of a piece; 0: default_context
  CorpusOptions documents;            ///< without what `reading`, `context` and the model say
  std::vector<std::string> analyses;  ///< empty: all that the model and corpus allow
  std::string control = "none";
  std::uint64_t control_documents = 32;  ///< for each control model; 0: all
  AnalysisSettings settings;
  std::string restored_from;  ///< file that holds the options and engines; empty: given or chosen
  OutputOptions output;
  RunFiles files;             ///< `run_files` sets its output and options
  std::uint64_t threads = 0;  ///< 0: all cores
  std::uint64_t memory = 0;   ///< limit in bytes; 0: none
  bool force = false;         ///< replace a finished run
  std::string config;         ///< file of options; empty: none

  std::string command_line;  ///< as typed
  OptionTable table;         ///< of all the above

  /// Checks the options against each other.
  /// @throws UsageError naming two that exclude or contradict each other, or one that needs
  /// another.
  void check() const;

  /// Whether any option common to all shards is given, other than the output folder.
  bool has_option_of_all_shards() const;
  bool random_control() const { return control == "random"; }
  RunFiles run_files() const;
  /// Continues the run once it was stopped.
  std::string resume_command() const;

  /// Every option with its value, as JSON.
  std::string as_json() const;
  /// as_json with absolute paths, the number of threads in use and the engines.
  std::string for_merging() const;
  /// The first option that names files and has a value in the JSON of a run, but was not given
  /// here; empty if there is none.
  std::string missing_input(const std::string& json) const;
  /// Sets the options and engines from the JSON of a run, except options of scope `process`.
  /// @param path  file that the JSON comes from.
  /// @throws DataError that names the file if the text is not of such a form; OptionError
  void restore(const std::string& json, const std::string& path);

 private:
  /// Sets the shard from `K/N`; false if the text has another form.
  bool read_shard(const std::string& text);
};

/// The attribute of the results that holds the SHA-256 of an option's file: `features_sha256`.
std::string sha256_attribute(const Option& option);
/// The options that change numbers, as the results record them: by name, as typed; of a file, the
/// beginning of its SHA-256. Empty if they record none.
std::map<std::string, std::string> recorded_settings(const Results& results);
/// The options of analyses that the results lack, by name.
std::set<std::string> idle_options(const Results& results);

/// The command that resumes a shard; with `--shard` if there are several shards.
std::string resume_command_of(const std::string& folder, int shard, int n_shard);

/// The command that merges the shards in a folder.
std::string merge_command_of(const PassFolder& folder);

/// The error with the options that help.
Error with_advice(const RunError& error, const RunOptions& options);

}  // namespace headscope
