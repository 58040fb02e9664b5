#include <filesystem>

#include "fuzz.hpp"
#include "model/model_files.hpp"

namespace headscope::fuzz {

// An index of safetensors shards.
void test_input(Bytes bytes) {
  const std::string& path = file_with(bytes.rest());
  ShardOfTensor shards;
  if (!read_or_refuse([&] { shards = read_model_index(path); })) return;
  require(!shards.empty(), "an index names tensors");
  const auto folder = std::filesystem::path(path).parent_path();
  for (const auto& [tensor, shard] : shards) {
    const std::filesystem::path path = shard;
    require(path.parent_path() == folder && path.has_filename(), "shards lie beside the index");
  }
}

}  // namespace headscope::fuzz
