#include "model/architecture/architecture.hpp"
#include "model/json_fields.hpp"

namespace headscope {

/// Yang et al. 2024, "Qwen2 Technical Report", and Qwen2.5: Llama with biases of queries, keys and
/// values.
const Architecture& qwen2() {
  static const Architecture architecture = [] {
    Architecture derived = llama();
    derived.title = "Qwen2";
    derived.defaults.architecture = "qwen2";
    derived.defaults.qkv_bias = true;
    std::erase_if(derived.fields,
                  [](const ConfigField& field) { return field.name.ends_with("_bias"); });
    derived.window = [](const JsonFields& config) {
      const bool used = config.flag("use_sliding_window").value_or(false);
      return used ? config.count("sliding_window") : std::nullopt;
    };
    return derived;
  }();
  return architecture;
}

}  // namespace headscope
