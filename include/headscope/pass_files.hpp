#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headscope/error.hpp"
#include "headscope/statistics.hpp"

/// Pass files: the statistics of one shard from one pass.
///
/// Passes are numbered from 1 through the run: the model's, then its controls'.
namespace headscope {

/// What must be equal for statistics to be merged, by name: program version, SHA-256 of model and
/// its config, corpus and its layout, and tasks, analyses, and what the caller adds.
using RunIdentity = std::map<std::string, std::string>;

/// The description stored in a pass file.
struct PassLabel {
  RunIdentity identity;
  /// `blas::arithmetic_in_use()` of every process that added to the statistics.
  std::set<std::string> arithmetic;
  bool mixed = false;                 ///< take files of other arithmetic too; not stored
  std::string where = "in this run";  ///< origin of the label, for errors; not stored
  int shard = 1, n_shard = 1;
  int pass = 1, n_pass = 1;
  std::uint64_t n_done = 0;  ///< pieces of the shard's documents done so far
  std::string place;         ///< `n_done` for people: `after document 5 of 8`
  std::string options;       ///< the run's, in JSON
};

/// By name of analysis; `corpus` holds the sum `n_token`, the number of tokens run.
using StatisticsByName = std::map<std::string, Statistics>;
/// Adds the statistics of another part of the corpus.
void merge(StatisticsByName& sum, StatisticsByName part);

struct PassFile {
  PassLabel label;
  StatisticsByName statistics;
};

/// Why a run cannot go on as it is.
enum class RunObstacle {
  unfinished,        ///< the folder holds files of a run that was not finished
  other_arithmetic,  ///< sums were made by other kernels, vectors or numbers of threads
  abandoned_shard,   ///< no process runs a shard that has begun and is needed
};

/// The run cannot go on with these options or files; `obstacle` says why, so that a program can
/// name the option that helps.
class RunError : public Error {
 public:
  RunError(RunObstacle obstacle, const std::string& text, int shard = 0)
      : Error(text), obstacle_(obstacle), shard_(shard) {}
  RunObstacle obstacle() const { return obstacle_; }
  /// The abandoned shard.
  int shard() const { return shard_; }

 private:
  RunObstacle obstacle_;
  int shard_;
};

/// `pass 1 of shard 2`.
std::string pass_and_shard(int pass, int shard);

/// @throws DataError `b.h5: --seed is 0, but 3 in a.h5` for the first thing that differs.
void check_identity(const PassLabel& expected, const PassLabel& got, const std::string& path);

/// `OpenBLAS 0.3.21 Haswell, AVX2, 1 thread; OpenBLAS 0.3.21 Haswell, AVX2, 2 threads`.
std::string arithmetic_text(const std::set<std::string>& arithmetic);
/// @throws RunError if `expected.mixed` is false and `got` has arithmetic that `expected` lacks.
void check_arithmetic(const PassLabel& expected, const PassLabel& got, const std::string& path);

/// Reads the label of a pass file of any shard and pass.
/// @param expected  a label of the run that the file must belong to; null: any run.
/// @throws DataError if the file is damaged, not a pass file, or of another run.
PassLabel read_pass_label(const std::string& path, const PassLabel* expected = nullptr);
/// Reads a file of the same run, shard and pass as `expected`. @throws DataError otherwise.
PassFile read_pass_file(const std::string& path, const PassLabel& expected);

/// The pass files below a run's output folder, finished or saved, sorted by name.
/// @param n_shard  of the run; none: any number.
std::vector<std::string> find_pass_files(const std::string& output,
                                         std::optional<int> n_shard = std::nullopt);

/// The pass files of a run in the folder `shards` of its output.
class PassFolder {
 public:
  /// @param label  of this shard's files; pass and n_done are ignored.
  PassFolder(const std::string& output, PassLabel label);

  const std::string& folder() const { return folder_; }
  /// What follows the folder in a pattern for this run's files: empty, or `/*-of-7.pass-*.h5` if
  /// the folder also holds runs with other numbers of shards.
  std::string pattern() const;
  /// Of this process and of all files read.
  const std::set<std::string>& arithmetic() const { return label_.arithmetic; }
  /// `2-of-7`, the beginning of its files' names.
  std::string name_of_shard(int shard) const;
  /// File of a finished pass: `shards/2-of-7.pass-1.h5`.
  std::string finished_path(int shard, int pass) const;
  /// File of an unfinished pass: `shards/2-of-7.pass-1.saved`.
  std::string saved_path(int pass) const;

  bool is_finished(int shard, int pass) const;
  /// The shards that have not finished this pass.
  std::vector<int> unfinished_shards(int pass) const;
  /// The lock of a process that runs the shard: `2-of-7.lock`.
  std::string lock_name(int shard) const { return name_of_shard(shard) + ".lock"; }
  /// Whether the shard has begun and no process runs it now.
  bool is_abandoned(int shard) const;
  /// A file of this shard from an unfinished pass or, with `or_finished`, from any pass. The saved
  /// file of a finished pass, left by a process that was killed, does not count.
  std::optional<std::string> begun_file(bool or_finished) const;

  /// @throws DataError if the file is of another run, shard or pass.
  PassFile read_finished(int shard, int pass);
  PassFile read_saved(int pass);

  /// Saves an unfinished pass after `n_done` pieces.
  /// @param place  `after document 5 of 8`, for people.
  void save(int pass, std::uint64_t n_done, const StatisticsByName& statistics,
            const std::string& place = "") const;
  /// Saves a finished pass.
  void finish(int pass, std::uint64_t n_done, const StatisticsByName& statistics) const;

  /// Removes the file of an unfinished pass, if there is one.
  void remove_saved(int pass) const;

  /// Removes this shard's files, and the folder if nothing else is in it.
  void remove_files() const;

 private:
  PassFile read(const std::string& path, int shard, int pass);
  void write(const std::string& path, int pass, std::uint64_t n_done,
             const StatisticsByName& statistics, const std::string& place) const;

  std::string folder_;
  PassLabel label_;
};

/// The pass files of every shard of one run.
class ShardTable {
 public:
  /// @param paths  pass files, or folders with pass files in them or in their folder `shards`.
  /// @param mixed  take shards of different arithmetic.
  /// @throws DataError naming a shard that is missing or present twice, or a file of another run
  /// and what differs; RunError if arithmetic differs and `mixed` is false; OptionError without
  /// files.
  ShardTable(const std::vector<std::string>& paths, bool mixed);

  /// The label that all files share; its shard and pass have no meaning.
  const PassLabel& label() const { return label_; }
  /// One of the files, for error messages.
  const std::string& first_path() const { return paths_.begin()->second; }

  /// Adds the shards' statistics from one pass, in shard order.
  void merge_into(StatisticsByName& sum, int pass) const;

 private:
  PassLabel label_;
  std::map<std::pair<int, int>, std::string> paths_;  // by pass and shard
};

}  // namespace headscope
