#include "compute/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vector_math.hpp"
#include "compute/ops.hpp"

namespace headscope {
HEADSCOPE_VECTORISED float maximum(const float* values, Index count) {
  float largest = -infinity;
#pragma omp simd reduction(max : largest)
  for (Index i = 0; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
  // OpenMP's reductions may start from the lowest finite number.
  return largest == std::numeric_limits<float>::lowest() ? -infinity : largest;
}

HEADSCOPE_VECTORISED double exponentiate(float* values, Index count, float shift) {
  // Short float sums, added up in double: the speed of float with the accuracy of double.
  constexpr Index stretch = 256;
  double total = 0;
  for (Index first = 0; first < count; first += stretch) {
    const Index end = std::min(first + stretch, count);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = first; i < end; ++i) {
      const float e = vector_math::normal_exponential(values[i] - shift);
      values[i] = e;
      sum += e;
    }
    total += static_cast<double>(sum);
  }
  return total;
}

HEADSCOPE_VECTORISED void scale(float* values, Index count, float factor) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) values[i] *= factor;
}

float softmax(float* scores, Index count) {
  const float largest = maximum(scores, count);
  // No score is a number above -infinity: no pattern follows from them.
  if (largest == -infinity) {
    std::fill_n(scores, count, std::numeric_limits<float>::quiet_NaN());
    return -infinity;
  }
  const double sum = exponentiate(scores, count, largest);
  scale(scores, count, static_cast<float>(1.0 / sum));
  return largest + static_cast<float>(std::log(sum));
}

}  // namespace headscope
