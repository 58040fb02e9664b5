#pragma once

#include <limits>
#include <optional>
#include <string>

#include "headscope/processor.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Exactness of the products of weights, keys and values with activations, by its effect on the
/// losses of ablated heads.
enum class Precision {
  float32,  ///< as exact as products and sums of float32
  high,     ///< within 0.1 % of a typical effect
  fast,     ///< within 1 % of a typical effect
};

/// A way to multiply weights, keys and values by activations. Every engine adds up in float32.
enum class Engine {
  float32,         ///< OpenBLAS
  bfloat16_six,    ///< each operand is the sum of three bfloat16; six of the nine products are
                   ///< taken, the others lie below float32's rounding: as exact as float32
  bfloat16_three,  ///< each operand is the sum of two bfloat16; the product of the low parts is
                   ///< left out: good to 1e-5
  bfloat16_one,    ///< each operand is rounded to bfloat16: good to 4e-3
  int16,           ///< each operand is rounded to 16-bit integers scaled by its norm, with exact
                   ///< sums of 256 products: good to 2e-4
};

/// The engines of a computation, by what they multiply.
struct Engines {
  Engine passes = Engine::float32;       ///< forward passes, their losses, and all attention but
                                         ///< that of backward passes
  Engine differences = Engine::float32;  ///< differences of ablated streams from the clean stream
  Engine gradients = Engine::float32;    ///< backward passes
};

/// A sample of the vocabulary that stands for all entries in the loss of a variant.
struct VocabularySample {
  Index n_probable = 0;    ///< most probable entries of each position; 0 takes the whole vocabulary
  Index n_drawn = 0;       ///< entries drawn from the rest; the rest adds its first order exactly
  std::uint64_t seed = 0;  ///< of the entries drawn

  bool is_whole() const { return n_probable == 0; }
};

/// What HeadAblation computes exactly.
struct AblationPrecision {
  VocabularySample sample = {};
  /// Variants that change the losses by more than this multiple of a typical variant's change are
  /// computed again, with Engines::passes and the whole vocabulary.
  double exact_above = std::numeric_limits<double>::infinity();
};

/// `float32`, `high`, `fast`.
std::string precision_name(Precision precision);
/// The precision with a name; none for other text.
std::optional<Precision> parse_precision(const std::string& name);

/// `float32`, `bfloat16 x 6`, `bfloat16 x 3`, `bfloat16`, `int16`.
std::string engine_name(Engine engine);

/// The fastest engines on a processor, by speeds measured, that keep a precision; float32 where
/// none is known to be faster.
///
/// Forward passes are as exact as float32 at every precision. Gradients are good to about 1e-5 for
/// high and fast. Differences keep `high` only with `ablation_precision`, which has large changes
/// computed again.
Engines fastest_engines(Precision precision, const Processor& processor);

/// What HeadAblation computes exactly, with `fastest_engines`, to keep a precision.
/// @param d_vocab  size of a vocabulary that may be sampled; 0: losses take all entries.
/// @param seed     of the entries that are drawn.
AblationPrecision ablation_precision(Precision precision, const Processor& processor, Index d_vocab,
                                     std::uint64_t seed);

/// What each precision means on a processor, a line each.
std::string precision_summary(const Processor& processor);

}  // namespace headscope
