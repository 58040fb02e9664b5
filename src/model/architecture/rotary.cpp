#include <array>
#include <nlohmann/json.hpp>

#include "base/number_text.hpp"
#include "model/architecture/architecture.hpp"
#include "model/json_fields.hpp"

namespace headscope {
namespace {

/// Fields that only a scaling has.
constexpr std::array scaling_fields{"factor", "low_freq_factor", "high_freq_factor",
                                    "original_max_position_embeddings"};

/// @throws DataError if a scaling is described whose type is not stated.
std::string scaling_type(const JsonFields& parameters) {
  const auto type = parameters.text(parameters.has("rope_type") ? "rope_type" : "type");
  if (type) return *type;
  for (const char* const field : scaling_fields) {
    if (!parameters.has(field)) continue;
    throw DataError(
        parameters.file(), parameters.full_name("rope_type"),
        std::string("expected linear or llama3, since ") + field + " is given, got none");
  }
  return "default";
}

RotaryNames read_parameters(const JsonFields& config, const char* name, Rotary& rotary) {
  const auto parameters = config.object(name);
  if (!parameters) return {};
  for (const char* const kind : {"full_attention", "sliding_attention"}) {
    if (!parameters->has(kind)) continue;
    throw config.wrong(name, "the same parameters for all layers", kind);
  }
  RotaryNames names;
  const auto set = [&](const char* field, double Rotary::*member, double value) {
    names.emplace_back(member, parameters->full_name(field));
    if (!(value > 0)) {
      throw DataError(config.file(), names.back().second,
                      "expected a positive number, got " + number_text(value, 0));
    }
    rotary.*member = value;
  };
  const auto read = [&](const char* field, double Rotary::*member) {
    if (const auto given = parameters->real(field)) set(field, member, *given);
  };
  read("rope_theta", &Rotary::theta);
  read("partial_rotary_factor", &Rotary::share);
  const std::string type = scaling_type(*parameters);
  if (type == "default") return names;
  if (type != "linear" && type != "llama3") {
    throw config.wrong(name, "rope_type default, linear or llama3", type);
  }
  rotary.scaling = type == "linear" ? RotaryScaling::linear : RotaryScaling::llama3;
  const auto require = [&](const char* field, double Rotary::*member) {
    const auto given = parameters->real(field);
    if (!given) {
      throw DataError(config.file(), parameters->full_name(field),
                      "expected a number, since rope_type is " + type + ", got none");
    }
    set(field, member, *given);
  };
  require("factor", &Rotary::factor);
  if (type == "linear") return names;
  require("low_freq_factor", &Rotary::low_frequency_factor);
  require("high_freq_factor", &Rotary::high_frequency_factor);
  require("original_max_position_embeddings", &Rotary::original_n_ctx);
  if (rotary.low_frequency_factor < rotary.high_frequency_factor) return names;
  throw DataError(
      config.file(), parameters->full_name("low_freq_factor"),
      "expected less than high_freq_factor = " + number_text(rotary.high_frequency_factor, 0) +
          ", got " + number_text(rotary.low_frequency_factor, 0));
}

}  // namespace

RotaryNames read_rotary(const JsonFields& config, Rotary& rotary) {
  if (!config.has("rope_parameters")) return read_parameters(config, "rope_scaling", rotary);
  RotaryNames names = read_parameters(config, "rope_parameters", rotary);
  Rotary of_scaling = rotary;
  of_scaling.scaling = RotaryScaling::none;
  const RotaryNames other_names = read_parameters(config, "rope_scaling", of_scaling);
  for (const auto& [member, name] : other_names) {
    const bool is_of_scaling = member != &Rotary::theta && member != &Rotary::share;
    if (is_of_scaling || of_scaling.*member == rotary.*member) continue;
    throw DataError(config.file(), name,
                    "expected " + number_text(rotary.*member, 0) + " as in rope_parameters, got " +
                        number_text(of_scaling.*member, 0));
  }
  const std::string scaling = rotary_scaling_text(rotary), other = rotary_scaling_text(of_scaling);
  if (config.has("rope_scaling") && scaling != other) {
    throw DataError(config.file(), config.full_name("rope_scaling"),
                    "expected the scaling of rope_parameters, " +
                        (scaling.empty() ? "none" : scaling) + ", got " +
                        (other.empty() ? "none" : other));
  }
  return names;
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
