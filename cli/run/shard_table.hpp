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
  /// @param paths  pass files, or folders with pass files in them or in their folder `shards`.
  /// @param mixed  take shards of different arithmetic.
  /// @throws DataError naming what is missing, present twice, or of another run and how it differs.
  ShardTable(const std::vector<std::string>& paths, bool mixed);

  /// The label that all files share; its shard and pass have no meaning.
  const PassLabel& label() const { return label_; }
  /// One of the files, for error messages.
  const std::string& first_path() const { return paths_.begin()->second; }

  /// Adds the shards' statistics from the passes of one model, in shard order.
  /// @param first_pass  number of the model's first pass in the whole run.
  void merge_into(CorpusRun& corpus_run, int first_pass) const;

 private:
  PassLabel label_;
  std::map<std::pair<int, int>, std::string> paths_;  // by pass and shard
};

}  // namespace headscope
