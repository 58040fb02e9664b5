#include "report_text.hpp"

#include <cmath>

#include "base/number_text.hpp"
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

std::string margin_text(const Estimate& margin) {
  return number_text(margin.value, 2) + " nats, interval " + number_text(margin.low, 2) + " to " +
         number_text(margin.high, 2);
}

}  // namespace headscope
