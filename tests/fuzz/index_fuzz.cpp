#include <filesystem>

#include "fuzz.hpp"
#include "model/model_files.hpp"

// An index of safetensors shards.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  using namespace headscope::fuzz;
  static const MemoryFile file;
  file.fill({reinterpret_cast<const char*>(data), size});
  ShardOfTensor shards;
  if (!read_or_refuse([&] { shards = read_model_index(file.path()); })) return 0;
  require(!shards.empty(), "an index names tensors");
  const auto folder = std::filesystem::path(file.path()).parent_path();
  for (const auto& [tensor, shard] : shards) {
    const std::filesystem::path path = shard;
    require(path.parent_path() == folder && path.has_filename(), "shards lie beside the index");
  }
  return 0;
}
