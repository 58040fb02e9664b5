#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headscope {

/// Sums that are bit-identical for any order and grouping of the additions.
///
/// Each sum is a fixed-point number, because integer addition is associative; its magnitude must
/// stay below 2^57. A value is rounded towards zero to a multiple of the resolution when it is
/// added. Adding a NaN makes the sum NaN permanently.
class ExactSums {
 public:
  /// 64-bit words per sum. The resolution is 2^-198 for `fine`, which holds every sum of float32
  /// exactly, and 2^-70 (8.5e-22) for `coarse`.
  static constexpr std::size_t fine = 4, coarse = 2;

  explicit ExactSums(std::size_t size = 0, std::size_t n_word = fine)
      : n_word_(n_word), words_(size * n_word, 0) {}
  /// @param words  as returned by `words()`, `n_word` per sum.
  ExactSums(std::vector<std::int64_t> words, std::size_t n_word)
      : n_word_(n_word), words_(std::move(words)) {}

  std::size_t size() const { return words_.size() / n_word_; }
  std::size_t n_word() const { return n_word_; }

  /// Adds values[i] to sum first + i.
  /// @return false if a value reaches 2^55 (3.6e16) in magnitude, or a sum 2^57; the sums are then
  /// invalid.
  [[nodiscard]] bool add(std::span<const double> values, std::size_t first = 0);
  [[nodiscard]] bool add(std::span<const float> values, std::size_t first = 0);
  /// Adds each sum of `other`, which has the same size and resolution.
  [[nodiscard]] bool add(const ExactSums& other);

  /// The sum, rounded to double.
  double value(std::size_t index) const;

  /// Two's complement, the lowest word first.
  const std::vector<std::int64_t>& words() const { return words_; }

 private:
  template <typename Real>
  bool add_reals(std::span<const Real> values, std::size_t first);

  std::size_t n_word_;
  std::vector<std::int64_t> words_;
};

}  // namespace headscope
