#pragma once

#include <optional>

#include "run/pass_files.hpp"
#include "run/run_setup.hpp"
#include "run/shard_table.hpp"

namespace headscope {

/// The label of the pass files of the shard that a run's options name.
PassLabel pass_label(const RunSetup& setup);

/// Takes the shard through all passes that can be run now, and a run of one shard to its results.
/// @return none for a shard of several; `headscope merge` finishes those.
/// @throws Interrupted after saving, when SIGINT or SIGTERM came.
std::optional<Results> run_shard(const RunSetup& setup, const PassFolder& folder);

/// Finishes a run whose shards were run apart.
/// @throws DataError if the shards are of another run than `setup`.
Results merge_shards(const RunSetup& setup, const ShardTable& shards);

}  // namespace headscope
