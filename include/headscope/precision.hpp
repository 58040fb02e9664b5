#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "headscope/config.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Exactness of the products of weights, keys and values with activations, by its effect on the
/// losses of ablated heads.
enum class Precision {
  float32,  ///< as exact as products and sums of float32
  high,     ///< errors of about 0.1 % of a typical effect
  fast,     ///< errors of 1 % of a typical effect in the median, of 5 % at most
};

/// A way to multiply weights, keys and values by activations. Sums are float32; those of
/// int16 are integers for 256 products at a time.
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
                                         ///< that of `gradients`
  Engine differences = Engine::float32;  ///< differences of ablated streams from the clean stream
  Engine logits = Engine::float32;       ///< differences of an ablated model's logits: this engine
                                         ///< moves the loss in second order alone, and not by
                                         ///< probable entries
  Engine gradients = Engine::float32;    ///< backward passes; where `differences` is less exact
                                         ///< than `passes`, also attention of ablated streams and
                                         ///< the MLP's clean hidden units
  Engine screening = Engine::float32;    ///< searches for candidates, which are then computed
                                         ///< exactly: results do not depend on this engine

  bool operator==(const Engines&) const = default;
};

/// How fast an engine multiplies weights and activations on this machine, packing both included, as
/// a multiple of OpenBLAS's speed.
struct EngineSpeed {
  Engine engine;
  double times_float32;
};
using EngineSpeeds = std::vector<EngineSpeed>;

/// A sample of the vocabulary that stands for all entries in the loss of a variant.
struct VocabularySample {
  Index n_probable = 0;    ///< most probable entries of each position; 0 takes the whole vocabulary
  Index n_drawn = 0;       ///< entries drawn from the rest, whose first-order effect is exact
  std::uint64_t seed = 0;  ///< of the entries drawn

  bool is_whole() const { return n_probable == 0; }
};

/// How exact HeadAblation is.
struct AblationPrecision {
  VocabularySample sample = {};
  /// Variants that change the losses, or the stream where they start, by more than this multiple of
  /// a typical variant's change are computed with Engines::passes and all entries of the
  /// vocabulary.
  double exact_above = std::numeric_limits<double>::infinity();
};

/// `float32`, `high`, `fast`.
std::string precision_name(Precision precision);
/// The precision with a name; none for other text.
std::optional<Precision> parse_precision(const std::string& name);

/// `float32`, `bfloat16 x 6`, `bfloat16 x 3`, `bfloat16`, `int16`.
std::string engine_name(Engine engine);
/// The same as one word, for options: `bfloat16x6`.
std::string engine_option(Engine engine);
/// The engine with a name or a word for it; none for other text.
std::optional<Engine> parse_engine(const std::string& name);
/// The words of all engines.
std::vector<std::string> engine_options();

/// Measures the engines that this processor has instructions for, beside OpenBLAS, in rounds of a
/// layer's products at a model's shape, of at most 1024 x 1024 weights and 2048 columns. In each
/// round every engine packs the weights and multiplies 256 columns per thread, whose time counts
/// for all columns; a speed is the median over the rounds of the ratio to OpenBLAS in the same
/// round. Times are processor times of the threads, without those of waiting for other threads;
/// other processes do not lengthen them. Takes a tenth of a second at the shape of GPT-2 small.
/// Empty if there is no other engine.
EngineSpeeds try_engines(const ModelConfig& config);

/// The fastest engines that keep a precision. An engine takes the place of a more exact one only if
/// it is at least a tenth faster; engines without a speed are not taken.
///
/// Forward passes are as exact as float32 at every precision. Gradients are good to about 1e-5 for
/// high and fast. Differences keep `high` only with `ablation_precision`, by which large changes
/// are recomputed.
Engines fastest_engines(Precision precision, const EngineSpeeds& speeds);

/// One engine for everything that it is exact enough for; OpenBLAS for the rest.
/// @throws OptionError if it does not keep the precision for differences.
Engines forced_engines(Precision precision, Engine engine);

/// Refuses an engine if this processor lacks its instructions and portable code rounds differently.
/// Integers are exact on every processor.
/// @param place  where the engines are from, for the error.
/// @throws DataError naming the engine.
void check_engines(const Engines& engines, const std::string& place);

/// How exact HeadAblation must be for an engine of differences to keep a precision.
/// @param d_vocab  size of a vocabulary that may be sampled; 0: losses take all entries.
/// @param seed     of the entries that are drawn.
AblationPrecision ablation_precision(Precision precision, Engine differences, Index d_vocab,
                                     std::uint64_t seed);

/// `int16 1.8 times float32's speed, bfloat16 1.1`; empty without speeds.
std::string speeds_text(const EngineSpeeds& speeds);
/// What each precision means with these speeds, a line each.
std::string precision_summary(const EngineSpeeds& speeds);

}  // namespace headscope
