#include "compute/divergence.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/vector_math.hpp"

namespace headscope {
namespace {

using vector_math::select;

// ((1 + r) ln(1 + r) + (1 - r) ln(1 - r)) / 2 for |r| <= 1/2, from x = r^2.
[[gnu::always_inline]] inline float small_difference(float x) {
  return x *
         (0.5F + x * (0.083328343F + x * (0.033486985F + x * (0.016232312F + x * 0.017776373F))));
}

// ln u for 0 < u <= 1, within 5e-8 or a unit in the last place.
[[gnu::always_inline]] inline float logarithm(float u) {
  // u = 2^exponent (1 + t) with 1 + t from sqrt(1/2) to sqrt(2), whose bits begin at `lowest`.
  constexpr std::uint32_t lowest = 0x3F3504F3U;
  const std::uint32_t shifted = std::bit_cast<std::uint32_t>(u) - lowest;
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(shifted) >> 23);
  const float t = std::bit_cast<float>((shifted & 0x7FFFFFU) + lowest) - 1.0F;
  const float series =
      0.99999983F +
      t * (-0.50000633F +
           t * (0.33336114F +
                t * (-0.24960494F +
                     t * (0.19874431F +
                          t * (-0.17323407F + t * (0.16409942F + t * -0.10119189F))))));
  return exponent * 0.69314718F + t * series;
}

// The same for |r| >= 1/2, from u = 1 - |r|.
[[gnu::always_inline]] inline float large_difference(float u) {
  const float rest =  // (2 - u) ln(2 - u)
      1.3862943F +
      u * (-1.6931450F +
           u * (0.24995014F + u * (0.042073722F + u * (0.0089462849F + u * 0.0054365241F))));
  const float positive = u + std::numeric_limits<float>::min();
  return 0.5F * (rest + positive * logarithm(positive));
}

HEADSCOPE_VECTORISED float divergence_of_part(const float* p, const float* q, Index n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index k = 0; k < n; ++k) {
    const float both = p[k] + q[k], difference = p[k] - q[k];
    const float least = select(difference > 0, q[k], p[k]);
    // Finite where both are zero, and the term is nothing.
    const float inverse = 1.0F / (both + 1e-37F);
    const float r = difference * inverse, x = r * r;
    sum += 0.5F * both *
           select(x < 0.25F, small_difference(x), large_difference(2.0F * least * inverse));
  }
  return sum;
}

}  // namespace

double js_divergence(const float* p, const float* q, Index n) {
  // Short float32 sums, which are added in double.
  constexpr Index at_once = 256;
  double sum = 0;
  for (Index first = 0; first < n; first += at_once) {
    sum +=
        static_cast<double>(divergence_of_part(p + first, q + first, std::min(at_once, n - first)));
  }
  return sum;
}

}  // namespace headscope
