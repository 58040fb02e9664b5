#include "headscope/pass_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "files/hdf5_file.hpp"
#include "files/pending_file.hpp"
#include "headscope/output_lock.hpp"
#include "results/statistics_file.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> texts_of(const PassLabel& label) {
  return {{"identity", nlohmann::json(label.identity).dump()},
          {"arithmetic", nlohmann::json(label.arithmetic).dump()},
          {"shard", std::to_string(label.shard)},
          {"n_shard", std::to_string(label.n_shard)},
          {"pass", std::to_string(label.pass)},
          {"n_pass", std::to_string(label.n_pass)},
          {"n_done", std::to_string(label.n_done)},
          {"place", label.place},
          {"options", label.options}};
}

constexpr std::uint64_t most_of_a_kind = 999'999;  // shards or passes

PassLabel label_of(const std::map<std::string, std::string>& texts, const std::string& path) {
  try {
    const auto number = [&](const char* name) {
      return static_cast<int>(parse_whole_number(texts.at(name), most_of_a_kind).value());
    };
    PassLabel label;
    label.identity = nlohmann::json::parse(texts.at("identity"));
    label.arithmetic = nlohmann::json::parse(texts.at("arithmetic"));
    label.shard = number("shard");
    label.n_shard = number("n_shard");
    label.pass = number("pass");
    label.n_pass = number("n_pass");
    label.n_done = std::stoull(texts.at("n_done"));
    label.place = texts.at("place");
    label.options = texts.at("options");
    const bool fits = 1 <= label.shard && label.shard <= label.n_shard && 1 <= label.pass &&
                      label.pass <= label.n_pass;
    if (fits) return label;
  } catch (const std::exception&) {
    // As numbers that do not fit.
  }
  throw DataError(path, "", "expected the statistics of a run, got others");
}

/// Whether the file can be opened, but not as an HDF5 file with the bytes that were written.
bool is_damaged(const std::string& path) try {
  if (std::ifstream(path)) hdf5::InputFile{path};
  return false;
} catch (const DataError&) {
  return true;
}

/// Returns `load(path)`. @throws DataError that, if a saved file is damaged, says what helps.
template <typename Load>
auto loaded(const std::string& path, const Load& load) try {
  return load(path);
} catch (const DataError&) {
  const fs::path file(path);
  if (file.extension() != ".saved" || !is_damaged(path)) throw;
  const std::string name = file.stem().string();
  throw DataError(path, "",
                  "cannot be read: the file is damaged or cut short; remove it to repeat pass " +
                      name.substr(name.rfind('-') + 1));
}

/// @throws DataError `b.h5: --seed is 0, but 3 in a.h5` if they differ.
void check_same(const std::string& path, const std::string& name, const std::string& got,
                const PassLabel& other, const std::string& value) {
  if (got == value) return;
  throw DataError(path, "", name + " is " + got + ", but " + value + " " + other.where);
}

void check_run(const PassLabel& expected, const PassLabel& got, const std::string& path) {
  check_identity(expected, got, path);
  check_same(path, "the number of shards", std::to_string(got.n_shard), expected,
             std::to_string(expected.n_shard));
  check_same(path, "the number of passes", std::to_string(got.n_pass), expected,
             std::to_string(expected.n_pass));
  check_arithmetic(expected, got, path);
}

/// Paths of the pass files in a folder, in order; none if there is no such folder.
/// @param of_shards  what their names contain: `-of-`, or `-of-7.` for those of seven shards.
std::vector<std::string> files_in(const fs::path& folder, const std::set<fs::path>& extensions,
                                  const std::string& of_shards = "-of-") {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& path = entry.path();
    if (extensions.contains(path.extension()) &&
        path.filename().string().find(of_shards) != std::string::npos) {
      paths.push_back(path.string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

/// @param arguments  pass files, or folders with pass files in them or in their folder `shards`.
std::vector<std::string> finished_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      paths.push_back(argument);
      continue;
    }
    const fs::path below = fs::path(argument) / "shards";
    const auto found = files_in(fs::is_directory(below) ? below : fs::path(argument), {".h5"});
    if (found.empty())
      throw DataError(argument, "", "expected shards (K-of-N.pass-P.h5), got none");
    paths.insert(paths.end(), found.begin(), found.end());
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

void merge(StatisticsByName& sum, StatisticsByName part) {
  for (auto& [name, statistics] : part) sum[name].merge(std::move(statistics));
}

PassLabel read_pass_label(const std::string& path, const PassLabel* expected) {
  PassLabel label = label_of(loaded(path, load_statistics_texts), path);
  if (expected != nullptr) check_run(*expected, label, path);
  return label;
}

PassFile read_pass_file(const std::string& path, const PassLabel& expected) {
  StatisticsFile file = loaded(path, load_statistics);
  PassLabel label = label_of(file.texts, path);
  check_run(expected, label, path);
  if (label.shard != expected.shard || label.pass != expected.pass) {
    throw DataError(path, "",
                    "expected " + pass_and_shard(expected.pass, expected.shard) + ", got " +
                        pass_and_shard(label.pass, label.shard));
  }
  return {std::move(label), std::move(file.parts)};
}

std::string pass_and_shard(int pass, int shard) {
  return "pass " + std::to_string(pass) + " of shard " + std::to_string(shard);
}

void check_identity(const PassLabel& expected, const PassLabel& got, const std::string& path) {
  RunIdentity names = expected.identity;
  names.insert(got.identity.begin(), got.identity.end());
  const auto value = [](const RunIdentity& identity, const std::string& name) {
    const auto found = identity.find(name);
    return found == identity.end() ? "none" : found->second;
  };
  const auto check = [&](const std::string& name) {
    check_same(path, name, value(got.identity, name), expected, value(expected.identity, name));
  };
  // These explain other differences.
  for (const char* const name : {"version", "model SHA-256", "corpus SHA-256"}) check(name);
  for (const auto& entry : names) check(entry.first);
}

void check_arithmetic(const PassLabel& expected, const PassLabel& got, const std::string& path) {
  if (expected.mixed || std::ranges::includes(expected.arithmetic, got.arithmetic)) return;
  throw RunError(RunObstacle::other_arithmetic,
                 path + ": the arithmetic is " + arithmetic_text(got.arithmetic) + ", but " +
                     arithmetic_text(expected.arithmetic) + " " + expected.where +
                     "; other kernels, vectors or numbers of threads round differently");
}

std::string arithmetic_text(const std::set<std::string>& arithmetic) {
  return joined(arithmetic, "; ");
}

std::vector<std::string> find_pass_files(const std::string& output, std::optional<int> n_shard) {
  return files_in(fs::path(output) / "shards", {".h5", ".saved"},
                  n_shard ? "-of-" + std::to_string(*n_shard) + "." : "-of-");
}

PassFolder::PassFolder(const std::string& output, PassLabel label)
    : folder_((fs::path(output) / "shards").string()), label_(std::move(label)) {}

std::string PassFolder::pattern() const {
  const std::string output = fs::path(folder_).parent_path().string();
  return find_pass_files(output).size() == find_pass_files(output, label_.n_shard).size()
             ? ""
             : "/*-of-" + std::to_string(label_.n_shard) + ".pass-*.h5";
}

std::string PassFolder::name_of_shard(int shard) const {
  return std::to_string(shard) + "-of-" + std::to_string(label_.n_shard);
}

std::string PassFolder::finished_path(int shard, int pass) const {
  return folder_ + "/" + name_of_shard(shard) + ".pass-" + std::to_string(pass) + ".h5";
}

std::string PassFolder::saved_path(int pass) const {
  return fs::path(finished_path(label_.shard, pass)).replace_extension(".saved").string();
}

bool PassFolder::is_finished(int shard, int pass) const {
  return fs::exists(finished_path(shard, pass));
}

std::vector<int> PassFolder::unfinished_shards(int pass) const {
  std::vector<int> unfinished;
  for (int shard = 1; shard <= label_.n_shard; ++shard) {
    if (!is_finished(shard, pass)) unfinished.push_back(shard);
  }
  return unfinished;
}

bool PassFolder::is_abandoned(int shard) const {
  const LockState lock = lock_state(folder_ + "/" + lock_name(shard));
  if (lock != LockState::absent) return lock == LockState::abandoned;
  for (int pass = 1; pass <= label_.n_pass; ++pass) {
    const fs::path finished = finished_path(shard, pass);
    if (fs::exists(finished) || fs::exists(fs::path(finished).replace_extension(".saved"))) {
      return true;
    }
  }
  return false;
}

std::optional<std::string> PassFolder::begun_file(bool or_finished) const {
  for (int pass = 1; pass <= label_.n_pass; ++pass) {
    if (is_finished(label_.shard, pass)) {
      if (or_finished) return finished_path(label_.shard, pass);
    } else if (fs::exists(saved_path(pass))) {
      return saved_path(pass);
    }
  }
  return std::nullopt;
}

PassFile PassFolder::read(const std::string& path, int shard, int pass) {
  PassLabel expected = label_;
  expected.shard = shard;
  expected.pass = pass;
  PassFile file = read_pass_file(path, expected);
  label_.arithmetic.insert(file.label.arithmetic.begin(), file.label.arithmetic.end());
  return file;
}

PassFile PassFolder::read_finished(int shard, int pass) {
  return read(finished_path(shard, pass), shard, pass);
}

PassFile PassFolder::read_saved(int pass) {
  return read(saved_path(pass), label_.shard, pass);
}

void PassFolder::save(int pass, std::uint64_t n_done, const StatisticsByName& statistics,
                      const std::string& place) const {
  write(saved_path(pass), pass, n_done, statistics, place);
}

void PassFolder::finish(int pass, std::uint64_t n_done, const StatisticsByName& statistics) const {
  write(finished_path(label_.shard, pass), pass, n_done, statistics, "finished");
  remove_saved(pass);
}

void PassFolder::remove_saved(int pass) const {
  remove_file(saved_path(pass));
}

void PassFolder::write(const std::string& path, int pass, std::uint64_t n_done,
                       const StatisticsByName& statistics, const std::string& place) const {
  PassLabel label = label_;
  label.pass = pass;
  label.n_done = n_done;
  label.place = place;
  make_folder(folder_);
  save_statistics(texts_of(label), statistics, path);
}

void PassFolder::remove_files() const {
  for (int pass = 1; pass <= label_.n_pass; ++pass) {
    remove_file(finished_path(label_.shard, pass));
    remove_saved(pass);
  }
  std::error_code ignored;
  if (fs::is_empty(folder_, ignored)) fs::remove(folder_, ignored);
}

ShardTable::ShardTable(const std::vector<std::string>& paths, bool mixed) {
  for (const std::string& path : finished_files(paths)) {
    const PassLabel label = read_pass_label(path, paths_.empty() ? nullptr : &label_);
    if (paths_.empty()) {
      label_ = label;
      label_.where = "in " + path;
    }
    label_.mixed = mixed;
    label_.arithmetic.insert(label.arithmetic.begin(), label.arithmetic.end());
    const auto [place, is_new] = paths_.try_emplace({label.pass, label.shard}, path);
    if (!is_new) {
      throw DataError(path, "",
                      "expected each shard once, got " + pass_and_shard(label.pass, label.shard) +
                          " here and in " + place->second);
    }
  }
  if (paths_.empty()) throw OptionError("shards", "expected pass files, got none");
  std::vector<std::string> missing;
  for (int pass = 1; pass <= label_.n_pass; ++pass) {
    for (int shard = 1; shard <= label_.n_shard; ++shard) {
      if (!paths_.contains({pass, shard})) missing.push_back(pass_and_shard(pass, shard));
    }
  }
  if (!missing.empty()) {
    throw DataError(fs::path(first_path()).parent_path().string(), "",
                    "expected " + std::to_string(label_.n_pass) + " passes of " +
                        std::to_string(label_.n_shard) + " shards, missing " +
                        joined(missing, ", "));
  }
}

void ShardTable::merge_into(StatisticsByName& sum, int pass) const {
  // Checks the label again: the file may have been replaced.
  PassLabel expected = label_;
  expected.pass = pass;
  for (int shard = 1; shard <= label_.n_shard; ++shard) {
    expected.shard = shard;
    merge(sum, read_pass_file(paths_.at({pass, shard}), expected).statistics);
  }
}

}  // namespace headscope
