#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headscope/statistics_file.hpp"
#include "run/run_setup.hpp"

/// The files that hold what each shard of a run added in each pass.
///
/// Passes are numbered from 1 over the whole run: those of the model, then those of its control.
namespace headscope {

/// What makes statistics belong together, by name: program version, SHA-256 of model, tokenizer and
/// corpus, analyses, and every option that matters to a number.
using RunIdentity = std::map<std::string, std::string>;
RunIdentity run_identity(const RunSetup& setup);

/// What a pass file says of itself.
struct PassLabel {
  RunIdentity identity;
  int shard = 1, n_shard = 1;
  int pass = 1, n_pass = 1;
  std::uint64_t n_done = 0;  ///< documents of the shard that were run
  std::string options;       ///< the run's, in JSON
};

struct PassFile {
  PassLabel label;
  std::map<std::string, Statistics> statistics;
};

/// @throws DataError `PATH:NAME: expected ..., got ...` for the first thing that differs.
void check_identity(const RunIdentity& expected, const RunIdentity& got, const std::string& path);

/// The label of a file of the same run as `expected`, whatever its shard and pass; of any run
/// without it.
/// @throws DataError if the file is damaged, none, or of another run.
PassLabel read_pass_label(const std::string& path, const PassLabel* expected = nullptr);
/// A file of the same run, shard and pass. @throws DataError as read_pass_label does.
PassFile read_pass_file(const std::string& path, const PassLabel& expected);

/// The pass files of a run in the folder `shards` of its output.
class PassFolder {
 public:
  /// @param label  of this shard's files; its pass and n_done do not matter.
  PassFolder(const std::string& output, PassLabel label);

  const std::string& folder() const { return folder_; }
  /// A finished pass: `shards/2-of-7.pass-1.h5`.
  std::string finished_path(int shard, int pass) const;
  /// A pass that was begun: `shards/2-of-7.pass-1.saved`.
  std::string saved_path(int pass) const;

  bool is_finished(int shard, int pass) const;
  /// The shards whose pass is not finished.
  std::vector<int> unfinished_shards(int pass) const;
  /// A file of this shard of a pass that was begun, and if asked, of one that is finished.
  std::optional<std::string> begun_file(bool or_finished) const;

  /// @throws DataError if it belongs to another run, shard or pass.
  PassFile read_finished(int shard, int pass) const;
  PassFile read_saved(int pass) const;

  /// Saves a pass that goes on after `n_done` documents.
  void save(int pass, std::uint64_t n_done,
            const std::map<std::string, Statistics>& statistics) const;
  /// Saves a pass that is finished.
  void finish(int pass, std::uint64_t n_done,
              const std::map<std::string, Statistics>& statistics) const;

  /// Removes this shard's files, and the folder if nothing else is in it.
  void remove_own() const;

 private:
  PassFile read(const std::string& path, int shard, int pass) const;
  void write(const std::string& path, int pass, std::uint64_t n_done,
             const std::map<std::string, Statistics>& statistics) const;

  std::string folder_;
  PassLabel label_;
};

}  // namespace headscope
