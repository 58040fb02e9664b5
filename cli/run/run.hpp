#pragma once

#include <optional>

#include "run/pass_files.hpp"
#include "run/progress.hpp"
#include "run/run_setup.hpp"
#include "run/shard_table.hpp"

namespace headscope {

/// The label of the pass files of this run's shard.
PassLabel pass_label(const RunSetup& setup);

/// Runs all passes of the shard that can run now, and finishes a run of one shard.
/// @return nullopt for one of several shards; `headscope merge` finishes those.
/// @throws Interrupted after SIGINT or SIGTERM, once the statistics are saved.
std::optional<Results> run_shard(const RunSetup& setup, PassFolder folder, Progress& progress);

/// Finishes a run whose shards ran separately.
/// @throws DataError if the shards belong to another run than `setup`.
Results merge_shards(const RunSetup& setup, const ShardTable& shards, Progress& progress);

}  // namespace headscope
