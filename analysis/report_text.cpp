#include "report_text.hpp"

#include <cmath>

#include "headscope/types.hpp"

namespace headscope {

std::optional<std::size_t> largest(const std::vector<double>& values) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i]) && (!best || values[i] > values[*best])) best = i;
  }
  return best;
}

std::string head_text(std::size_t head_index, std::size_t n_head) {
  return HeadIndex::of(head_index, n_head).text();
}

}  // namespace headscope
