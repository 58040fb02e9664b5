#include <algorithm>

#include "fuzz.hpp"
#include "model/config_fields.hpp"

namespace headscope::fuzz {

// A config.json.
void test_input(Bytes bytes) {
  const std::string& path = file_with(bytes.rest());
  ConfigFields fields;
  if (!read_or_refuse([&] { fields = ConfigFields::from_json_file(path); })) return;
  for (const auto& count : {fields.n_layer, fields.n_head, fields.n_embd, fields.n_inner,
                            fields.n_positions, fields.vocab_size}) {
    require(!count || (*count >= 1 && *count < Index{1} << 31), "counts are from 1 to 2^31 - 1");
  }
  if (fields.pruned_heads) {
    require(std::is_sorted(fields.pruned_heads->begin(), fields.pruned_heads->end()),
            "pruned heads ascend");
  }
}

}  // namespace headscope::fuzz
