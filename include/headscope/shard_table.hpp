#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headscope/pass_files.hpp"

namespace headscope {

/// The pass files of every shard of one run.
class ShardTable {
 public:
  /// @param paths  pass files, or folders with pass files in them or in their folder `shards`.
  /// @param mixed  take shards of different arithmetic.
  /// @throws DataError naming what is missing, present twice, or of another run and how it differs;
  /// RunError
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
