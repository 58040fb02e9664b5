#include "number_text.hpp"

#include <array>
#include <cstdio>

namespace headscope {
namespace {

std::string printed(const char* format, int precision, double value) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, precision, value);
  return text.data();
}

}  // namespace

std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3) {
    text.insert(static_cast<std::size_t>(i), ",");
  }
  return text;
}

std::string decimals(double value, int count) {
  return printed("%.*f", count, value);
}

std::string significant(double value) {
  return printed("%.*g", 3, value);
}

std::string percent(double share) {
  return decimals(100 * share, 1) + " %";
}

}  // namespace headscope
