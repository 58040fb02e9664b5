#pragma once

#include <optional>
#include <string>

#include "headscope/processor.hpp"

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
};

/// `float32`, `high`, `fast`.
std::string precision_name(Precision precision);
/// The precision with a name; none for other text.
std::optional<Precision> parse_precision(const std::string& name);

/// `float32`, `bfloat16 x 6`, `bfloat16 x 3`, `bfloat16`.
std::string engine_name(Engine engine);

/// The fastest engine of a precision on a processor; float32 if no other is faster.
Engine fastest_engine(Precision precision, const Processor& processor);

/// The same for gradients: for high and fast good to about 1e-5.
Engine fastest_gradient_engine(Precision precision, const Processor& processor);

}  // namespace headscope
