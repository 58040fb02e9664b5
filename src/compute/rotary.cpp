#include "compute/rotary.hpp"

#include <algorithm>
#include <cmath>

#include "base/vector_math.hpp"
#include "compute/column_loop.hpp"

namespace headscope {
namespace {

// Cosines and sines of the angles by which each pair of dimensions turns at each position. In
// double before they are rounded: an angle of thousands of radians would lose its digits in float.
struct RotaryTable {
  std::vector<double> rates;
  Matrix cosines, sines;  // pair x position

  void prepare(const std::vector<double>& new_rates, Index n_position) {
    if (rates == new_rates && n_position <= cosines.n_cols) return;
    rates = new_rates;
    cosines.set_size(rates.size(), n_position);
    sines.set_size(rates.size(), n_position);
#pragma omp parallel for schedule(static)
    for (Index position = 0; position < n_position; ++position) {
      for (Index i = 0; i < rates.size(); ++i) {
        const double angle = static_cast<double>(position) * rates[i];
        cosines(i, position) = static_cast<float>(std::cos(angle));
        sines(i, position) = static_cast<float>(std::sin(angle));
      }
    }
  }
};

HEADSCOPE_VECTORISED void turn_head(const float* cosines, const float* sines, float sign,
                                    Index n_pair, float* x) {
  float* const second = x + n_pair;
#pragma omp simd
  for (Index i = 0; i < n_pair; ++i) {
    const float a = x[i], b = second[i], sine = sign * sines[i];
    x[i] = a * cosines[i] - b * sine;
    second[i] = b * cosines[i] + a * sine;
  }
}

}  // namespace

void turn(const ModelConfig& config, std::span<const SequenceBatch::Sequence> sequences,
          Turn direction, blas::View rows, Scratch& scratch) {
  const std::vector<double> rates = config.rotary_rates();
  if (rates.empty() || sequences.empty()) return;
  const std::vector<Index> positions = positions_of(sequences);
  auto& table = scratch.shared<RotaryTable>();
  table.prepare(rates, *std::ranges::max_element(positions) + 1);
  const float sign = direction == Turn::forward ? 1 : -1;
  const Index d_head = config.d_head();
  for_each_column(rows.n_row, rows.n_col, [&](Index c) {
    const Index position = positions[c % positions.size()];
    for (Index row = 0; row < rows.n_row; row += d_head) {
      turn_head(table.cosines.colptr(position), table.sines.colptr(position), sign, rates.size(),
                rows.column(c) + row);
    }
  });
}

std::uint64_t turn_bytes(const ModelConfig& config, Index n_token) {
  return config.d_rotary() * n_token * sizeof(float);
}

}  // namespace headscope
