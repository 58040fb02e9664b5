#include <algorithm>
#include <cmath>

#include "headscope/figure.hpp"
#include "headscope/results.hpp"

namespace headscope {

Series Series::line(std::string label, const std::vector<double>& y) {
  Series series{.label = std::move(label)};
  for (std::size_t i = 0; i < y.size(); ++i) series.add(static_cast<double>(i), y[i]);
  return series;
}

Series Series::line(std::string label, const Variable& variable, std::size_t first, std::size_t n) {
  Series series{.label = std::move(label)};
  for (std::size_t i = 0; i < n; ++i) {
    series.add(static_cast<double>(i), variable.estimate(first + i));
  }
  return series;
}

Series Series::points(std::string label, std::optional<std::size_t> colour) {
  return {.label = std::move(label), .style = Style::points, .colour = colour};
}

Series Series::points(std::string label, const Array& by_layer) {
  Series series = points(std::move(label));
  for (std::size_t layer = 0; layer < by_layer.shape[0]; ++layer) {
    for (const double value : by_layer.part(layer).values) {
      if (!std::isnan(value)) series.add(static_cast<double>(layer), value);
    }
  }
  return series;
}

void Series::add(double at, double value) {
  x.push_back(at);
  y.push_back(value);
}

void Series::add(double at, const Estimate& value) {
  add(at, value.value);
  low.push_back(value.low);
  high.push_back(value.high);
}

void Series::drop_partial_intervals() {
  const auto is_missing = [](double bound) { return std::isnan(bound); };
  if (std::ranges::none_of(low, is_missing) && std::ranges::none_of(high, is_missing)) return;
  low.clear();
  high.clear();
}

Chart rows_chart(std::string row_title, std::string value_title, std::vector<std::string> rows,
                 std::vector<Series> series, std::vector<ReferenceLine> lines) {
  std::erase_if(series, [](const Series& one) { return one.x.empty(); });
  return {.panels = {{"", std::move(series), std::move(lines)}},
          .x_title = std::move(row_title),
          .y_title = std::move(value_title),
          .x_labels = std::move(rows),
          .horizontal = true};
}

std::size_t panels_in_whole_rows(std::size_t count) {
  return count <= 3 ? count : count - count % (count < 6 ? 2 : 3);
}

}  // namespace headscope
