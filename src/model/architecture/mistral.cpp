#include "model/architecture/architecture.hpp"
#include "model/json_fields.hpp"

namespace headscope {

/// Jiang et al. 2023, "Mistral 7B": Llama without biases, in some versions with sliding windows.
const Architecture& mistral() {
  static const Architecture architecture = [] {
    Architecture derived = llama();
    derived.title = "Mistral";
    derived.defaults.architecture = "mistral";
    std::erase_if(derived.fields,
                  [](const ConfigField& field) { return field.name.ends_with("_bias"); });
    derived.window = [](const JsonFields& config) { return config.count("sliding_window"); };
    return derived;
  }();
  return architecture;
}

}  // namespace headscope
