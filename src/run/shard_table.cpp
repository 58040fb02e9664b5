#include "headscope/shard_table.hpp"

#include <algorithm>
#include <filesystem>

#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> pass_file_paths(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      paths.push_back(argument);
      continue;
    }
    const fs::path below = fs::path(argument) / "shards";
    const std::size_t n_before = paths.size();
    for (const auto& entry :
         fs::directory_iterator(fs::is_directory(below) ? below : fs::path(argument))) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".h5" && name.find("-of-") != std::string::npos) {
        paths.push_back(entry.path().string());
      }
    }
    if (paths.size() == n_before) {
      throw DataError(argument, "", "expected shards (K-of-N.pass-P.h5), got none");
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

ShardTable::ShardTable(const std::vector<std::string>& paths, bool mixed) {
  for (const std::string& path : pass_file_paths(paths)) {
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
  std::string missing;
  for (int pass = 1; pass <= label_.n_pass; ++pass) {
    for (int shard = 1; shard <= label_.n_shard; ++shard) {
      if (paths_.contains({pass, shard})) continue;
      missing += (missing.empty() ? "" : ", ") + pass_and_shard(pass, shard);
    }
  }
  if (!missing.empty()) {
    throw DataError(fs::path(first_path()).parent_path().string(), "",
                    "expected " + std::to_string(label_.n_pass) + " passes of " +
                        std::to_string(label_.n_shard) + " shards, missing " + missing);
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
