#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "headscope/array.hpp"
#include "headscope/error.hpp"

namespace headscope {

/// @throws DataError naming file, item and the index of the first NaN or infinity.
/// @param shape  of the values, row-major.
inline void check_finite(std::span<const float> values, const Shape& shape, std::string_view file,
                         std::string_view item) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const char* const text = std::isnan(values[i]) ? "NaN" : values[i] > 0 ? "inf" : "-inf";
    throw DataError(file, item,
                    std::string("expected finite numbers, got ") + text + " at " +
                        shape_text(unravelled(i, shape)));
  }
}

}  // namespace headscope
