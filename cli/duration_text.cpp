#include "duration_text.hpp"

#include <cmath>

namespace headscope {

std::string duration_text(double seconds) {
  const auto rounded = static_cast<long long>(std::llround(seconds));
  if (rounded < 60) return std::to_string(rounded) + " s";
  if (rounded < 3600)
    return std::to_string(rounded / 60) + " min " + std::to_string(rounded % 60) + " s";
  return std::to_string(rounded / 3600) + " h " + std::to_string(rounded % 3600 / 60) + " min";
}

}  // namespace headscope
