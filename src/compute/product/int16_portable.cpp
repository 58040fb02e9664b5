#include <algorithm>
#include <cmath>

#include "base/vector_math.hpp"
#include "compute/product/int16_kernel.hpp"

namespace headscope::int16 {
namespace {

// One column times 16 outputs.
HEADSCOPE_VECTORISED void multiply_column(const std::int16_t* x, float x_scale,
                                          const std::int16_t* w, const float* w_scale, Index n_pair,
                                          float* y) {
  std::uint32_t sums[outputs_together] = {};  // unsigned, because products of NaN may overflow
  for (Index p = 0; p < n_pair; ++p) {
    const std::int32_t even = x[2 * p], odd = x[2 * p + 1];
    const std::int16_t* const pair = w + 2 * p * outputs_together;
#pragma omp simd
    for (Index o = 0; o < outputs_together; ++o) {
      sums[o] += static_cast<std::uint32_t>(pair[2 * o] * even) +
                 static_cast<std::uint32_t>(pair[2 * o + 1] * odd);
    }
  }
#pragma omp simd
  for (Index o = 0; o < outputs_together; ++o) {
    y[o] = std::fma(static_cast<float>(static_cast<std::int32_t>(sums[o])), x_scale * w_scale[o],
                    y[o]);
  }
}

}  // namespace

void multiply_portable(const Group& g, float* y, Index stride, bool add) {
  for (Index c = 0; c < g.n_column; ++c) {
    float* const column = y + c * stride;
    if (!add) std::fill_n(column, 2 * outputs_together, 0.0F);
    for (Index half = 0; half < 2; ++half) {
      multiply_column(g.x + c * g.x_stride, g.x_scale[c * g.x_scale_stride],
                      g.w + half * g.w_stride, g.w_scale + half * g.w_scale_stride, g.n_pair,
                      column + half * outputs_together);
    }
  }
}

}  // namespace headscope::int16
