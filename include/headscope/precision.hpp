#pragma once

#include <optional>
#include <string>

#include "headscope/processor.hpp"

namespace headscope {

/// How exact the products of weights and activations are, by their effect on the losses of ablated
/// heads.
enum class Precision {
  float32,
  high,  ///< within 0.1 % of a typical effect
  fast,  ///< within 1 % of a typical effect
};

/// A way to multiply weights by activations. All add up in float32 or in whole numbers.
enum class Engine {
  float32,         ///< OpenBLAS
  bfloat16_three,  ///< both operands as the sum of two bfloat16, without the product of the low
                   ///< parts: good to 1e-5
  int8_three,      ///< both operands in 16-bit fixed point, scaled by token and by output, as two
                   ///< int8, without the product of the low parts: good to 1e-4
  bfloat16_one,    ///< both operands rounded to bfloat16: good to 4e-3
};

/// `float32`, `high`, `fast`.
std::string precision_name(Precision precision);
/// The precision with a name; none for other text.
std::optional<Precision> parse_precision(const std::string& name);

/// `float32`, `bfloat16 x 3`, `int8 x 3`, `bfloat16`.
std::string engine_name(Engine engine);

/// Whether this build has low-precision products (oneDNN).
bool has_low_precision_products();

/// The fastest engine of a precision on a processor, for a build with low-precision products;
/// float32 if no other is faster.
Engine fastest_engine(Precision precision, const Processor& processor);

/// The same for whole forward and backward passes, whose activations and gradients are then good to
/// 5e-5 of the largest, 1e-5 typically, where float32's are to 5e-6.
Engine fastest_pass_engine(Precision precision, const Processor& processor);

}  // namespace headscope
