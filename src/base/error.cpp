#include "headscope/error.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"

namespace headscope {
namespace {

std::string located(std::string_view file, std::string_view item, std::string_view problem) {
  std::string text(file);
  if (!item.empty()) {
    text += ':';
    text += item;
  }
  text += ": ";
  text += problem;
  return text;
}

}  // namespace

Error::Error(std::string_view text, Remedy remedy)
    : std::runtime_error(one_line(text)), remedy_(remedy) {}

DataError::DataError(std::string_view file, std::string_view item, std::string_view problem,
                     Remedy remedy)
    : Error(located(file, item, problem), remedy) {}

OptionError::OptionError(std::string_view option, std::string_view problem)
    : Error(located(option, "", problem)), option_(option), problem_(problem) {}

std::string shape_text(std::span<const std::size_t> shape) {
  return "[" + joined(shape, ", ", [](std::size_t extent) { return std::to_string(extent); }) + "]";
}

void check_count(std::string_view what, std::size_t expected, std::size_t got) {
  if (expected == got) return;
  throw ShapeError(std::string(what) + ": expected " + std::to_string(expected) + ", got " +
                   std::to_string(got));
}

void check_below(std::string_view what, std::size_t limit, std::size_t got) {
  if (got < limit) return;
  throw ShapeError(std::string(what) + ": expected below " + std::to_string(limit) + ", got " +
                   std::to_string(got));
}

void check_divisor(std::string_view what, std::size_t total, std::size_t got) {
  if (got > 0 && total % got == 0) return;
  throw ShapeError(std::string(what) + ": expected a divisor of " + std::to_string(total) +
                   ", got " + std::to_string(got));
}

}  // namespace headscope
