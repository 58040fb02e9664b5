#include "headscope/exact_sum.hpp"

#include <cmath>
#include <limits>

#include "headscope/error.hpp"

namespace headscope {
namespace {

__extension__ typedef __int128 Int128;

// 2^70 = 2^8 * 2^62: a value is taken apart at 2^-8, so that each part fits 64 bits.
constexpr double high_scale = 0x1p8, low_scale = 0x1p62, unit = 0x1p-70;
constexpr std::size_t least_parallel_size = std::size_t{1} << 16;
constexpr Int128 not_a_number = Int128{std::numeric_limits<std::int64_t>::min()} << 64;

Int128 load(const std::int64_t* limbs) {
  return (Int128{limbs[1]} << 64) | static_cast<std::uint64_t>(limbs[0]);
}

void store(Int128 sum, std::int64_t* limbs) {
  limbs[0] = static_cast<std::int64_t>(sum);
  limbs[1] = static_cast<std::int64_t>(sum >> 64);
}

bool add_fixed(Int128 addend, std::int64_t* limbs) {
  Int128 sum = load(limbs);
  if (sum == not_a_number) return true;
  if (addend == not_a_number) {
    sum = not_a_number;
  } else if (__builtin_add_overflow(sum, addend, &sum) || sum == not_a_number) {
    return false;
  }
  store(sum, limbs);
  return true;
}

bool add_real(double value, std::int64_t* limbs) {
  const double scaled = value * high_scale;
  if (std::isnan(scaled)) return add_fixed(not_a_number, limbs);
  if (!(std::abs(scaled) < 0x1p63)) return false;
  const auto high = static_cast<std::int64_t>(scaled);
  const auto low = static_cast<std::int64_t>((scaled - static_cast<double>(high)) * low_scale);
  return add_fixed((Int128{high} << 62) + low, limbs);
}

}  // namespace

template <typename Real>
bool ExactSums::add_reals(std::span<const Real> values, std::size_t first) {
  if (first > size() || values.size() > size() - first) {
    check_count("sums added to", size() - first, values.size());
  }
  std::int64_t* const limbs = limbs_.data() + 2 * first;
  bool fits = true;
#pragma omp parallel for schedule(static) reduction(&& : fits) if (values.size() >= \
                                                                       least_parallel_size)
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    fits = add_real(static_cast<double>(values[i]), limbs + 2 * i) && fits;
  }
  return fits;
}

bool ExactSums::add(std::span<const double> values, std::size_t first) {
  return add_reals(values, first);
}

bool ExactSums::add(std::span<const float> values, std::size_t first) {
  return add_reals(values, first);
}

bool ExactSums::add(const ExactSums& other) {
  check_count("sums added to", size(), other.size());
  bool fits = true;
  for (std::size_t i = 0; i < size(); ++i) {
    fits = add_fixed(load(other.limbs_.data() + 2 * i), limbs_.data() + 2 * i) && fits;
  }
  return fits;
}

double ExactSums::value(std::size_t index) const {
  const Int128 sum = load(limbs_.data() + 2 * index);
  if (sum == not_a_number) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(sum) * unit;
}

}  // namespace headscope
