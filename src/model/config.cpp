#include "headscope/config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/number_text.hpp"
#include "headscope/error.hpp"

namespace headscope {

std::string_view activation_name(Activation activation) {
  static constexpr std::array<std::string_view, all_activations.size()> names{
      "gelu_new", "gelu", "relu", "silu", "quick_gelu"};
  return names.at(static_cast<std::size_t>(activation));
}

Activation parse_activation(std::string_view name) {
  for (const Activation known : all_activations) {
    if (name == activation_name(known)) return known;
  }
  using Named = std::pair<std::string_view, Activation>;
  for (const auto& [other, activation] :
       {Named{"gelu_pytorch_tanh", Activation::gelu_new}, Named{"gelu_fast", Activation::gelu_new},
        Named{"gelu_accurate", Activation::gelu_new}, Named{"gelu_python", Activation::gelu},
        Named{"swish", Activation::silu}}) {
    if (name == other) return activation;
  }
  throw OptionError("activation_function",
                    "expected gelu_new, gelu_pytorch_tanh, gelu_fast, gelu_accurate, gelu, "
                    "gelu_python, relu, silu, swish or quick_gelu, got \"" +
                        std::string(name) + "\"");
}

double ModelConfig::score_scale(Index layer) const {
  const double scale = scale_by_width ? 1 / std::sqrt(static_cast<double>(d_head())) : 1.0;
  return scale_by_inverse_layer ? scale / static_cast<double>(layer + 1) : scale;
}

std::string_view ModelConfig::context_bound() const {
  return window_bounds_context ? "the model's sliding window" : "the model's context";
}

std::vector<Index> ModelConfig::heads_left() const {
  std::vector<Index> left;
  for (Index layer = 0; layer < n_layer; ++layer) {
    for (const Index head : heads_left_in(layer))
      left.push_back(HeadIndex{layer, head}.flat(n_head));
  }
  return left;
}

std::vector<Index> ModelConfig::heads_left_in(Index layer) const {
  std::vector<Index> left;
  for (Index head = 0; head < n_head; ++head) {
    if (!std::ranges::binary_search(pruned_heads, HeadIndex{layer, head})) left.push_back(head);
  }
  return left;
}

Index ModelConfig::d_rotary() const {
  if (positions != PositionKind::rotary) return 0;
  return static_cast<Index>(static_cast<double>(d_head()) * rotary.share);
}

std::vector<double> ModelConfig::rotary_rates() const {
  const Index d = d_rotary();
  std::vector<double> rates(d / 2);
  for (Index i = 0; i < rates.size(); ++i) {
    double& rate = rates[i];
    rate = std::pow(rotary.theta, -2 * static_cast<double>(i) / static_cast<double>(d));
    double kept = 1;  // the share of the rate that scaling leaves as it was
    if (rotary.scaling == RotaryScaling::linear) kept = 0;
    if (rotary.scaling == RotaryScaling::llama3) {
      const double turns = rotary.original_n_ctx * rate / (2 * std::numbers::pi);
      kept = std::clamp((turns - rotary.low_frequency_factor) /
                            (rotary.high_frequency_factor - rotary.low_frequency_factor),
                        0.0, 1.0);
    }
    rate *= kept + (1 - kept) / rotary.factor;
  }
  return rates;
}

namespace {

void check_positive(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return;
  throw OptionError(field, "expected a positive number, got " + number_text(value, 0));
}

using NameOf = std::function<std::string(std::string_view)>;

void check_rotary(const ModelConfig& config, const NameOf& name_of) {
  const Rotary& rotary = config.rotary;
  check_positive(name_of("rotary theta"), rotary.theta);
  check_positive(name_of("rotary factor"), rotary.factor);
  check_positive(name_of("rotary original_n_ctx"), rotary.original_n_ctx);
  if (rotary.share == 1 && config.d_head() % 2 != 0) {
    throw OptionError(name_of(config.head_width != 0 ? "head_width" : "d_model"),
                      "expected heads of an even number of dimensions, which turn in pairs, got " +
                          std::to_string(config.d_head()) + " dimensions");
  }
  if (!(rotary.share > 0 && rotary.share <= 1) || config.d_rotary() % 2 != 0) {
    throw OptionError(name_of("rotary share"),
                      "expected an even number of the " + std::to_string(config.d_head()) +
                          " dimensions of a head, got " + number_text(rotary.share, 0));
  }
  if (rotary.scaling == RotaryScaling::llama3 &&
      !(rotary.low_frequency_factor < rotary.high_frequency_factor)) {
    throw OptionError(name_of("rotary low_frequency_factor"),
                      "expected less than " + name_of("high_frequency_factor") + " = " +
                          number_text(rotary.high_frequency_factor, 0) + ", got " +
                          number_text(rotary.low_frequency_factor, 0));
  }
}

void check_heads(const ModelConfig& config, const NameOf& name_of) {
  const auto divides = [&](std::string_view field, Index divisor, std::string_view of, Index n) {
    if (n % divisor == 0) return;
    throw OptionError(name_of(field), "expected a divisor of " + name_of(of) + " = " +
                                          std::to_string(n) + ", got " + std::to_string(divisor));
  };
  if (config.head_width == 0) divides("n_head", config.n_head, "d_model", config.d_model);
  divides("n_kv_head", config.n_group(), "n_head", config.n_head);
  if (config.positions == PositionKind::rotary) check_rotary(config, name_of);
}

}  // namespace

void ModelConfig::check() const {
  check([](std::string_view member) { return std::string(member); });
}

void ModelConfig::check(const NameOf& name_of) const {
  const auto at_least_one = [&](std::string_view field, Index value) {
    if (value < 1) throw OptionError(name_of(field), "expected at least 1, got 0");
  };
  at_least_one("n_layer", n_layer);
  at_least_one("n_head", n_head);
  at_least_one("d_model", d_model);
  at_least_one("d_mlp", d_mlp);
  at_least_one("n_ctx", n_ctx);
  const auto at_most = [&](std::string_view field, Index value, Index most) {
    if (value <= most) return;
    throw OptionError(name_of(field), "expected at most " + std::to_string(most) + ", got " +
                                          std::to_string(value));
  };
  at_most("n_layer", n_layer, 10'000);
  at_most("n_head", n_head, 10'000);
  at_most("d_model", d_model, 1'000'000);
  at_most("d_mlp", d_mlp, 10'000'000);
  at_most("n_ctx", n_ctx, 10'000'000);
  at_most("d_vocab", d_vocab, 100'000'000);
  at_most("head_width", head_width, 1'000'000);
  check_heads(*this, name_of);
  check_positive(name_of("layer_norm_epsilon"), layer_norm_epsilon);
  for (std::size_t i = 0; i < pruned_heads.size(); ++i) {
    const HeadIndex head = pruned_heads[i];
    if (head.layer >= n_layer || head.head >= n_head) {
      throw OptionError("pruned_heads", "expected heads of a model with " +
                                            count_text(n_layer, "layer") + " of " +
                                            count_text(n_head, "head") + ", got " + head.text());
    }
    if (i > 0 && head <= pruned_heads[i - 1]) {
      throw OptionError("pruned_heads", "expected each head once, in ascending order, got " +
                                            head.text() + " after " + pruned_heads[i - 1].text());
    }
  }
}

std::span<const NamedArchitecture> named_architectures() {
  static constexpr std::array<NamedArchitecture, 8> architectures{{
      {"gpt2", 768, 12, true},
      {"gpt2-medium", 1024, 16, true},
      {"gpt2-large", 1280, 20, true},
      {"gpt2-xl", 1600, 25, true},
      {"gpt3", 12288, 96, true},
      {"llama-7b", 4096, 32, true},
      {"babygpt-v3", 32, 1, false},
      {"babygpt-v4", 32, 4, false},
  }};
  return architectures;
}

}  // namespace headscope
