#include <algorithm>

#include "fuzz.hpp"
#include "model/config_fields.hpp"

// A config.json.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  using namespace headscope::fuzz;
  static const MemoryFile file;
  file.fill({reinterpret_cast<const char*>(data), size});
  ConfigFields fields;
  if (!read_or_refuse([&] { fields = ConfigFields::from_json_file(file.path()); })) return 0;
  for (const auto& count : {fields.n_layer, fields.n_head, fields.n_embd, fields.n_inner,
                            fields.n_positions, fields.vocab_size}) {
    require(!count || (*count >= 1 && *count < Index{1} << 31), "counts are from 1 to 2^31 - 1");
  }
  if (fields.pruned_heads) {
    require(std::is_sorted(fields.pruned_heads->begin(), fields.pruned_heads->end()),
            "pruned heads ascend");
  }
  return 0;
}
