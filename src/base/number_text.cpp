#include "headscope/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headscope {

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  char buffer[64];
  char* const last = buffer + sizeof buffer;
  const bool whole = value == std::round(value) && std::abs(value) < 1e15;
  const auto end = whole ? std::to_chars(buffer, last, static_cast<long long>(value)).ptr
                   : digits == 0
                       ? std::to_chars(buffer, last, value).ptr
                       : std::to_chars(buffer, last, value, std::chars_format::general, digits).ptr;
  return {buffer, end};
}

std::string decimals(double value, int count) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", count, value);
  return text.data();
}

std::string percent(double share) {
  const double size = std::abs(share);
  return (share < 0 ? "−" : "") + number_text(100 * size, size < 0.1 ? 2 : 3) + " %";
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

}  // namespace headscope
