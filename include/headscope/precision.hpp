#pragma once

#include <limits>
#include <optional>
#include <string>

#include "headscope/processor.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// How exact the products of weights, keys and values with activations are, by their effect on the
/// losses of ablated heads.
enum class Precision {
  float32,  ///< as exact as products and sums of float32
  high,     ///< within 0.1 % of a typical effect
  fast,     ///< within 1 % of a typical effect
};

/// A way to multiply weights, keys and values by activations. All add up in float32.
enum class Engine {
  float32,         ///< OpenBLAS
  bfloat16_six,    ///< both operands as the sum of three bfloat16, without the products below
                   ///< float32's rounding: as exact as float32
  bfloat16_three,  ///< both operands as the sum of two bfloat16, without the product of the low
                   ///< parts: good to 1e-5
  bfloat16_one,    ///< both operands rounded to bfloat16: good to 4e-3
  int16,  ///< both operands rounded to 16-bit integers that are scaled by their norms, with
          ///< exact sums of 256 products: good to 2e-4
};

/// Entries of the vocabulary from which the loss of a variant is computed.
struct VocabularySample {
  Index n_probable = 0;    ///< most probable ones of each position; 0 takes the whole vocabulary
  Index n_drawn = 0;       ///< drawn from the rest, which adds its first order exactly
  std::uint64_t seed = 0;  ///< of those drawn

  bool is_whole() const { return n_probable == 0; }
};

/// How HeadAblation computes the losses of variants.
struct AblationPrecision {
  Engine engine = Engine::float32;  ///< of the differences from the clean stream
  Engine passes = Engine::float32;  ///< of the clean stream, and of attention
  VocabularySample sample = {};
  /// Variants that change the losses by more than this multiple of a typical variant's change are
  /// computed again in float32.
  double exact_above = std::numeric_limits<double>::infinity();

  /// Whether losses may differ from those by `passes` alone.
  bool is_lower() const { return engine != passes || !sample.is_whole(); }
};

/// `float32`, `high`, `fast`.
std::string precision_name(Precision precision);
/// The precision with a name; none for other text.
std::optional<Precision> parse_precision(const std::string& name);

/// `float32`, `bfloat16 x 6`, `bfloat16 x 3`, `bfloat16`, `int16`.
std::string engine_name(Engine engine);

/// The fastest engine, of those that keep a precision in every product, on a processor, by speeds
/// measured; float32 if none is known to be faster.
Engine fastest_engine(Precision precision, const Processor& processor);

/// The same for gradients: for high and fast good to about 1e-5.
Engine fastest_gradient_engine(Precision precision, const Processor& processor);

/// The fastest way to compute the losses of ablated heads that keeps a precision.
/// @param d_vocab  of which losses may take a sample; 0: they take all entries.
/// @param seed     of the entries that are drawn.
AblationPrecision ablation_precision(Precision precision, const Processor& processor, Index d_vocab,
                                     std::uint64_t seed);

/// What each precision means on a processor, a line each.
std::string precision_summary(const Processor& processor);

}  // namespace headscope
