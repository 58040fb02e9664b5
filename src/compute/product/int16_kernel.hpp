#pragma once

#include <cstdint>

#include "compute/product/arithmetic.hpp"

/// The layout of operands of 16-bit integers, and the kernels that multiply them, one file for each
/// instruction set.
///
/// A column's inputs lie side by side. Outputs lie in blocks of 16: inputs 0 and 1
/// of each output, then inputs 2 and 3 of each. An odd number of inputs is padded with a zero. Each
/// column and output has one scale for each group of `group` inputs: a group's product is a 32-bit
/// integer times both scales. Scales of outputs lie 16 by 16 too.
namespace headscope::int16 {

inline constexpr Index outputs_together = 16;
/// Inputs with a common scale.
inline constexpr Index group = 256;

/// Some columns times 32 outputs, over one group of inputs.
struct Group {
  const std::int16_t* x;  ///< of the first column
  Index x_stride;         ///< between columns
  const float* x_scale;
  Index x_scale_stride;
  const std::int16_t* w;  ///< of the first 16 outputs
  Index w_stride;         ///< to the other 16
  const float* w_scale;   ///< of the first 16 outputs
  Index w_scale_stride;   ///< to the other 16
  Index n_pair;           ///< pairs of inputs
  Index n_column;
};

/// y += each column's and output's integer product times their scales, rounded once; `add` false
/// overwrites y. All kernels give the same numbers.
/// @param stride  of y's columns.
using Kernel = void (*)(const Group& g, float* y, Index stride, bool add);

void multiply_portable(const Group& g, float* y, Index stride, bool add);
#if defined(__x86_64__)
void multiply_avx2(const Group& g, float* y, Index stride, bool add);
void multiply_avx_vnni(const Group& g, float* y, Index stride, bool add);
void multiply_avx512_vnni(const Group& g, float* y, Index stride, bool add);
#elif defined(__aarch64__)
void multiply_neon(const Group& g, float* y, Index stride, bool add);
#endif

}  // namespace headscope::int16
