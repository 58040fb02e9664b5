#include "headscope/exact_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "headscope/error.hpp"

namespace headscope {
namespace {

__extension__ typedef unsigned __int128 Wide;
using Word = std::uint64_t;

constexpr std::size_t least_parallel_size = std::size_t{1} << 16;

// The highest word counts units of 2^-6.
int resolution_exponent(std::size_t n_word) {
  return -static_cast<int>(64 * (n_word - 1) + 6);
}

std::int64_t top(const std::int64_t* words, std::size_t n_word) {
  return words[n_word - 1];
}

// A highest word of INT64_MIN, with all others zero, marks NaN.
bool is_not_a_number(const std::int64_t* words, std::size_t n_word) {
  return top(words, n_word) == std::numeric_limits<std::int64_t>::min() &&
         std::all_of(words, words + n_word - 1, [](std::int64_t word) { return word == 0; });
}

void set_not_a_number(std::int64_t* words, std::size_t n_word) {
  std::fill(words, words + n_word, 0);
  words[n_word - 1] = std::numeric_limits<std::int64_t>::min();
}

/// Adds or subtracts `high:low` from word `at` on, with carry.
void add_at(std::int64_t* words, std::size_t n_word, std::size_t at, Word low, Word high,
            bool negative) {
  Word carry = 0;
  for (std::size_t i = at; i < n_word; ++i) {
    const Word addend = i == at ? low : i == at + 1 ? high : 0;
    if (i > at + 1 && carry == 0) break;
    const auto old = static_cast<Word>(words[i]);
    Word sum = 0;
    const bool first = negative ? __builtin_sub_overflow(old, addend, &sum)
                                : __builtin_add_overflow(old, addend, &sum);
    const bool second = negative ? __builtin_sub_overflow(sum, carry, &sum)
                                 : __builtin_add_overflow(sum, carry, &sum);
    carry = first || second ? 1 : 0;
    words[i] = static_cast<std::int64_t>(sum);
  }
}

bool add_real(double value, std::int64_t* words, std::size_t n_word) {
  if (is_not_a_number(words, n_word)) return true;
  if (std::isnan(value)) {
    set_not_a_number(words, n_word);
    return true;
  }
  if (!(std::abs(value) < 0x1p55)) return false;
  const auto bits = std::bit_cast<Word>(value);
  const auto exponent = static_cast<int>((bits >> 52) & 0x7FF);
  const bool negative = (bits >> 63) != 0;
  Word digits = bits & 0xFFFFFFFFFFFFF;
  if (exponent > 0) digits |= Word{1} << 52;
  int shift = std::max(exponent, 1) - 1075 - resolution_exponent(n_word);
  if (shift < 0) {
    digits = shift > -64 ? digits >> -shift : 0;
    shift = 0;
  }
  const Wide placed = static_cast<Wide>(digits) << (shift % 64);
  const bool was_negative = top(words, n_word) < 0;
  add_at(words, n_word, static_cast<std::size_t>(shift / 64), static_cast<Word>(placed),
         static_cast<Word>(placed >> 64), negative);
  const bool overflowed = was_negative == negative && (top(words, n_word) < 0) != negative;
  return (digits == 0 || !overflowed) && !is_not_a_number(words, n_word);
}

bool add_sum(const std::int64_t* theirs, std::int64_t* words, std::size_t n_word) {
  if (is_not_a_number(words, n_word)) return true;
  if (is_not_a_number(theirs, n_word)) {
    set_not_a_number(words, n_word);
    return true;
  }
  const bool negative = top(theirs, n_word) < 0, was_negative = top(words, n_word) < 0;
  Word carry = 0;
  for (std::size_t i = 0; i < n_word; ++i) {
    const Wide sum =
        static_cast<Wide>(static_cast<Word>(words[i])) + static_cast<Word>(theirs[i]) + carry;
    words[i] = static_cast<std::int64_t>(static_cast<Word>(sum));
    carry = static_cast<Word>(sum >> 64);
  }
  const bool overflowed = was_negative == negative && (top(words, n_word) < 0) != negative;
  return !overflowed && !is_not_a_number(words, n_word);
}

}  // namespace

template <typename Real>
bool ExactSums::add_reals(std::span<const Real> values, std::size_t first) {
  if (first > size() || values.size() > size() - first) {
    check_count("sums added to", size() - std::min(first, size()), values.size());
  }
  std::int64_t* const words = words_.data() + n_word_ * first;
  bool fits = true;
#pragma omp parallel for schedule(static) reduction(&& : fits) if (values.size() >= \
                                                                       least_parallel_size)
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    fits = add_real(static_cast<double>(values[i]), words + n_word_ * i, n_word_) && fits;
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
  check_count("words of a sum added", n_word_, other.n_word_);
  check_count("sums added to", size(), other.size());
  bool fits = true;
  for (std::size_t i = 0; i < words_.size(); i += n_word_) {
    fits = add_sum(other.words_.data() + i, words_.data() + i, n_word_) && fits;
  }
  return fits;
}

double ExactSums::value(std::size_t index) const {
  const std::int64_t* const words = words_.data() + n_word_ * index;
  if (is_not_a_number(words, n_word_)) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = top(words, n_word_) < 0;
  std::array<Word, fine> magnitude{};
  std::copy_n(words, n_word_, magnitude.begin());
  if (negative) {
    Word carry = 1;
    for (std::size_t i = 0; i < n_word_; ++i) {
      magnitude[i] = ~magnitude[i] + carry;
      carry = carry == 1 && magnitude[i] == 0 ? 1 : 0;
    }
  }
  std::size_t highest = n_word_ - 1;
  while (highest > 1 && magnitude[highest] == 0) --highest;
  // Rounding needs the two highest words and whether any lower word is not zero.
  Wide digits = (static_cast<Wide>(magnitude[highest]) << 64) | magnitude[highest - 1];
  const auto is_not_zero = [](Word word) { return word != 0; };
  if (std::any_of(magnitude.begin(), magnitude.begin() + highest - 1, is_not_zero)) digits |= 1;
  const double value =
      std::ldexp(static_cast<double>(digits),
                 static_cast<int>(64 * (highest - 1)) + resolution_exponent(n_word_));
  return negative ? -value : value;
}

}  // namespace headscope
