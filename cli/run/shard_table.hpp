#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "run/corpus_run.hpp"
#include "run/pass_files.hpp"

namespace headscope {

/// The pass files of every shard of one run.
class ShardTable {
 public:
  /// @param paths  pass files, or folders: all pass files in one, or in its folder `shards`.
  /// @throws DataError naming what is missing, there twice, or of another run, and how it differs.
  explicit ShardTable(const std::vector<std::string>& paths);

  /// What all of them share; its shard and pass do not matter.
  const PassLabel& label() const { return label_; }
  /// A file of the table, for errors.
  const std::string& first_path() const { return paths_.begin()->second; }

  /// Adds what the shards kept in the passes of one model, in shard order.
  /// @param first_pass  the number of its first pass in the whole run.
  void merge_into(CorpusRun& corpus_run, int first_pass) const;

 private:
  PassLabel label_;
  std::map<std::pair<int, int>, std::string> paths_;  // by pass and shard
};

}  // namespace headscope
