#include <nlohmann/json.hpp>

#include "base/number_text.hpp"
#include "model/architecture/architecture.hpp"
#include "model/json_fields.hpp"

namespace headscope {

void read_rotary(const JsonFields& config, Rotary& rotary) {
  const char* const name = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const auto parameters = config.object(name);
  if (!parameters) return;
  for (const char* const kind : {"full_attention", "sliding_attention"}) {
    if (!parameters->has(kind)) continue;
    throw config.wrong(name, "the same parameters for all layers", kind);
  }
  const auto positive = [&](const char* field, double value) {
    if (value > 0) return value;
    throw DataError(config.file(), std::string(name) + "." + field,
                    "expected a positive number, got " + number_text(value, 0));
  };
  const auto read = [&](const char* field, double& value) {
    if (const auto given = parameters->real(field)) value = positive(field, *given);
  };
  read("rope_theta", rotary.theta);
  read("partial_rotary_factor", rotary.share);
  const std::string type =
      parameters->text(parameters->has("rope_type") ? "rope_type" : "type").value_or("default");
  if (type == "default") return;
  if (type != "linear" && type != "llama3") {
    throw config.wrong(name, "rope_type default, linear or llama3", type);
  }
  rotary.scaling = type == "linear" ? RotaryScaling::linear : RotaryScaling::llama3;
  const auto require = [&](const char* field, double& value) {
    const auto given = parameters->real(field);
    if (!given) {
      throw DataError(config.file(), std::string(name) + "." + field,
                      "expected a number, since rope_type is " + type + ", got none");
    }
    value = positive(field, *given);
  };
  require("factor", rotary.factor);
  if (type == "linear") return;
  require("low_freq_factor", rotary.low_frequency_factor);
  require("high_freq_factor", rotary.high_frequency_factor);
  require("original_max_position_embeddings", rotary.original_n_ctx);
  if (rotary.low_frequency_factor < rotary.high_frequency_factor) return;
  throw DataError(
      config.file(), std::string(name) + ".low_freq_factor",
      "expected less than high_freq_factor = " + number_text(rotary.high_frequency_factor, 0) +
          ", got " + number_text(rotary.low_frequency_factor, 0));
}

std::string rotary_scaling_text(const Rotary& rotary) {
  if (rotary.scaling == RotaryScaling::none) return "";
  const bool is_linear = rotary.scaling == RotaryScaling::linear;
  nlohmann::json scaling{{"factor", rotary.factor}, {"rope_type", is_linear ? "linear" : "llama3"}};
  if (!is_linear) {
    scaling["low_freq_factor"] = rotary.low_frequency_factor;
    scaling["high_freq_factor"] = rotary.high_frequency_factor;
    scaling["original_max_position_embeddings"] = rotary.original_n_ctx;
  }
  return scaling.dump();
}

}  // namespace headscope
