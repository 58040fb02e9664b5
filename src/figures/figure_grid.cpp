#include "figures/figure_grid.hpp"

#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

constexpr double wanted_aspect = 1.45;

double widest(const std::vector<std::string>& labels, std::size_t stride = 1) {
  double width = 0;
  for (std::size_t i = 0; i < labels.size(); i += stride) {
    width = std::max(width, text_width(labels[i], tick_size));
  }
  return width;
}

// A stride that divides the count reads better; among many labels a wide one, so that of 144 heads
// every twelfth is named, the first of its layer.
std::size_t stride_for(std::size_t count, double needed, double step) {
  const auto least = static_cast<std::size_t>(std::max(1.0, std::ceil(needed / step)));
  const bool many = count > 40;
  std::size_t chosen = least;
  for (std::size_t stride = 3 * least; stride >= least; --stride) {
    if (count % stride != 0) continue;
    chosen = stride;
    if (many) break;
  }
  return chosen;
}

}  // namespace

std::size_t grid_columns(std::size_t n_panel, double panel_width, double panel_height,
                         std::size_t most) {
  std::size_t best = 1;
  double best_cost = 1e300;
  for (std::size_t columns = 1; columns <= std::min(n_panel, most); ++columns) {
    const std::size_t rows = (n_panel + columns - 1) / columns;
    const double aspect =
        static_cast<double>(columns) * panel_width / (static_cast<double>(rows) * panel_height);
    const double empty = static_cast<double>(columns * rows - n_panel);
    const double cost =
        std::abs(std::log(aspect / wanted_aspect)) + 1.5 * empty / static_cast<double>(n_panel);
    if (cost < best_cost) {
      best_cost = cost;
      best = columns;
    }
  }
  return best;
}

double Grid::total_width() const {
  return static_cast<double>(n_column) * (width + column_gap) - column_gap;
}

double Grid::total_height() const {
  return static_cast<double>(n_row()) * (height + row_gap) - row_gap;
}

Rectangle Grid::panel(std::size_t index) const {
  return {x + static_cast<double>(index % n_column) * (width + column_gap),
          y + static_cast<double>(index / n_column) * (height + row_gap), width, height};
}

std::vector<Tick> AxisLabels::ticks() const {
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < labels.size(); i += stride) {
    ticks.push_back({static_cast<double>(i), labels[i]});
  }
  return ticks;
}

AxisLabels horizontal_axis_labels(std::vector<std::string> labels, double step, double longest) {
  AxisLabels axis;
  for (std::string& label : labels) label = fit_text(label, tick_size, longest);
  axis.labels = std::move(labels);
  const double height = tick_size * line_height;
  const double width = widest(axis.labels);
  const bool short_labels = width <= text_width("000", tick_size);
  if (width + 5 <= step || short_labels) {
    axis.stride = stride_for(axis.labels.size(), width + 5, step);
    axis.extent = height;
    return axis;
  }
  axis.stride = stride_for(axis.labels.size(), height, step);
  const bool upright = step * static_cast<double>(axis.stride) < 2 * height;
  axis.rotation = upright ? 90 : 40;
  const double shown = widest(axis.labels, axis.stride);
  axis.extent = upright ? shown : shown * std::sin(40 * M_PI / 180) + height;
  return axis;
}

AxisLabels vertical_axis_labels(std::vector<std::string> labels, double step, double longest) {
  AxisLabels axis;
  for (std::string& label : labels) label = fit_text(label, tick_size, longest);
  axis.labels = std::move(labels);
  axis.stride = stride_for(axis.labels.size(), tick_size * 1.1, step);
  axis.extent = widest(axis.labels, axis.stride);
  return axis;
}

std::vector<std::string> labels_or_numbers(const std::vector<std::string>& labels,
                                           std::size_t count) {
  if (!labels.empty()) return labels;
  std::vector<std::string> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::to_string(i);
  return numbers;
}

double TitleBlock::height() const {
  return page_margin + static_cast<double>(lines.size()) * title_size * line_height + 4;
}

void TitleBlock::draw(Canvas& canvas) const {
  double y = page_margin + title_size * line_height / 2;
  for (const std::string& line : lines) {
    canvas.text(page_margin, y, line, title_size, Align::left);
    y += title_size * line_height;
  }
}

}  // namespace headscope
