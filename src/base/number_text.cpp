#include "base/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headscope {

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  char buffer[64];
  char* const last = buffer + sizeof buffer;
  const bool is_integer = value == std::round(value) && std::abs(value) < 1e15;
  const auto end = is_integer ? std::to_chars(buffer, last, static_cast<long long>(value)).ptr
                   : digits == 0
                       ? std::to_chars(buffer, last, value).ptr
                       : std::to_chars(buffer, last, value, std::chars_format::general, digits).ptr;
  return {buffer, end};
}

std::string number_text_beside(double value, double other, int digits) {
  constexpr int most_digits = 17;
  while (digits < most_digits && value != other &&
         number_text(value, digits) == number_text(other, digits)) {
    ++digits;
  }
  return number_text(value, digits);
}

std::string decimals(double value, int count) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", count, value);
  return text.data();
}

std::string percent(double share) {
  const double size = std::abs(share);
  constexpr double of_four_digits = 9.995;
  return (size < of_four_digits ? number_text(100 * share, size < 0.1 ? 2 : 3)
                                : decimals(100 * share, 0)) +
         " %";
}

std::string signed_text(const std::string& number) {
  return (number.starts_with('-') ? "" : "+") + number;
}

std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3) {
    text.insert(static_cast<std::size_t>(i), ",");
  }
  return text;
}

std::string count_text(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::optional<std::uint64_t> parse_whole_number(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_memory(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t unit = std::string_view("KMGT").find(text.back());
  const auto count = parse_whole_number(text.substr(0, text.size() - 1), 999'999);
  if (unit == std::string_view::npos || count.value_or(0) == 0) return std::nullopt;
  return *count << 10 * (unit + 1);
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = 1 << 20, gibibyte = 1 << 30;
  const auto in = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  return bytes < gibibyte ? decimals(in(mebibyte), bytes < 10 * mebibyte ? 1 : 0) + " MiB"
                          : decimals(in(gibibyte), 2) + " GiB";
}

}  // namespace headscope
