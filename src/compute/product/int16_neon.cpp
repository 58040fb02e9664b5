#include "compute/product/int16_kernel.hpp"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <utility>

namespace headscope::int16 {
namespace {

// The sums of one column and 16 outputs, by fours.
struct NeonSums {
  int32x4_t a, b, c, d;
};

// sums += 16 outputs' weights of one input, times x[lane].
template <int lane>
[[gnu::always_inline]] inline void neon_add(int16x8_t low, int16x8_t high, int16x8_t x,
                                            NeonSums& sums) {
  sums.a = vmlal_laneq_s16(sums.a, vget_low_s16(low), x, lane);
  sums.b = vmlal_high_laneq_s16(sums.b, low, x, lane);
  sums.c = vmlal_laneq_s16(sums.c, vget_low_s16(high), x, lane);
  sums.d = vmlal_high_laneq_s16(sums.d, high, x, lane);
}

[[gnu::always_inline]] inline int16x8_t neon_pair(const std::int16_t* x) {
  return vsetq_lane_s16(x[1], vdupq_n_s16(x[0]), 1);
}

[[gnu::always_inline]] inline void neon_store(int32x4_t sum, float x_scale, const float* w_scale,
                                              float* y, bool add) {
  const float32x4_t scale = vmulq_n_f32(vld1q_f32(w_scale), x_scale);
  const float32x4_t before = add ? vld1q_f32(y) : vdupq_n_f32(0);
  vst1q_f32(y, vfmaq_f32(before, vcvtq_f32_s32(sum), scale));
}

// Some columns times 16 outputs. The columns are written out by their indices, so that all sums
// stay in registers.
template <Index... c>
void neon_columns(const Group& g, const std::int16_t* x, const float* x_scale,
                  const std::int16_t* w, const float* w_scale, float* y, Index stride, bool add,
                  std::integer_sequence<Index, c...> /*columns*/) {
  NeonSums sums[sizeof...(c)];
  ((sums[c].a = sums[c].b = sums[c].c = sums[c].d = vdupq_n_s32(0)), ...);
  int16x8_t inputs[sizeof...(c)];
  // A pair of inputs; of each column it stands in lanes 2 `pair` and 2 `pair` + 1.
  const auto add_pair = [&]<int pair>(std::integral_constant<int, pair> /*lane*/) {
    const int16x8x2_t low = vld2q_s16(w), high = vld2q_s16(w + outputs_together);
    (neon_add<2 * pair>(low.val[0], high.val[0], inputs[c], sums[c]), ...);
    (neon_add<2 * pair + 1>(low.val[1], high.val[1], inputs[c], sums[c]), ...);
    w += 2 * outputs_together;
  };
  Index p = 0;
  for (; p + 4 <= g.n_pair; p += 4) {
    ((inputs[c] = vld1q_s16(x + c * g.x_stride + 2 * p)), ...);
    add_pair(std::integral_constant<int, 0>());
    add_pair(std::integral_constant<int, 1>());
    add_pair(std::integral_constant<int, 2>());
    add_pair(std::integral_constant<int, 3>());
  }
  for (; p < g.n_pair; ++p) {
    ((inputs[c] = neon_pair(x + c * g.x_stride + 2 * p)), ...);
    add_pair(std::integral_constant<int, 0>());
  }
  const auto store = [&](const NeonSums& of, float scale, float* to) {
    neon_store(of.a, scale, w_scale, to, add);
    neon_store(of.b, scale, w_scale + 4, to + 4, add);
    neon_store(of.c, scale, w_scale + 8, to + 8, add);
    neon_store(of.d, scale, w_scale + 12, to + 12, add);
  };
  (store(sums[c], x_scale[c * g.x_scale_stride], y + c * stride), ...);
}

}  // namespace

void multiply_neon(const Group& g, float* y, Index stride, bool add) {
  for (Index half = 0; half < 2; ++half) {
    Index first = 0;
    const auto multiply = [&](auto columns) {
      for (; first + columns.size() <= g.n_column; first += columns.size()) {
        neon_columns(g, g.x + first * g.x_stride, g.x_scale + first * g.x_scale_stride,
                     g.w + half * g.w_stride, g.w_scale + half * g.w_scale_stride,
                     y + first * stride + half * outputs_together, stride, add, columns);
      }
    };
    multiply(std::make_integer_sequence<Index, 4>());
    multiply(std::make_integer_sequence<Index, 1>());
  }
}

}  // namespace headscope::int16

#endif
