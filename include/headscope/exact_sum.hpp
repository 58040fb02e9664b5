#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headscope {

/// Sums that come out the same to the last bit in whatever order and grouping they are added up.
///
/// Each is a fixed-point number of 128 bits, a multiple of 2^-70 (8.5e-22): whole-number addition
/// is associative. A value is cut to that multiple, towards zero, when it is added. One that is not
/// a number makes its sum not a number for good.
class ExactSums {
 public:
  explicit ExactSums(std::size_t size = 0) : limbs_(2 * size, 0) {}
  /// @param limbs  what `limbs()` gave.
  explicit ExactSums(std::vector<std::int64_t> limbs) : limbs_(std::move(limbs)) {}

  std::size_t size() const { return limbs_.size() / 2; }

  /// Adds each value to the sum of its place, counted from `first`.
  /// @return false if a value reaches 2^55 (3.6e16) in magnitude, or a sum 2^57; the sums are then
  /// of no use.
  [[nodiscard]] bool add(std::span<const double> values, std::size_t first = 0);
  [[nodiscard]] bool add(std::span<const float> values, std::size_t first = 0);
  /// Adds sums of the same size.
  [[nodiscard]] bool add(const ExactSums& other);

  /// The sum, rounded once.
  double value(std::size_t index) const;

  /// Each sum's low and high 64 bits, two's complement.
  const std::vector<std::int64_t>& limbs() const { return limbs_; }

 private:
  template <typename Real>
  bool add_reals(std::span<const Real> values, std::size_t first);

  std::vector<std::int64_t> limbs_;
};

}  // namespace headscope
