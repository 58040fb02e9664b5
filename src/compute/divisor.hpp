#pragma once

#include <string>

#include "headscope/error.hpp"

namespace headscope {

/// @throws ShapeError unless `count`, which is named, divides `total`; gives both.
inline void check_divisor(const char* name, std::size_t total, std::size_t count) {
  if (count > 0 && total % count == 0) return;
  throw ShapeError(std::string(name) + ": expected a divisor of " + std::to_string(total) +
                   ", got " + std::to_string(count));
}

}  // namespace headscope
