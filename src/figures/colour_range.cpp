#include "figures/colour_range.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "base/number_text.hpp"
#include "base/utf8.hpp"

namespace headscope {
namespace {

std::vector<double> numbers_of(std::span<const HeatmapPanel> panels) {
  std::vector<double> numbers;
  for (const HeatmapPanel& panel : panels) {
    std::ranges::copy_if(panel.values.values, std::back_inserter(numbers),
                         [](double value) { return std::isfinite(value); });
  }
  return numbers;
}

/// @param sorted  at least one number.
double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

/// The range of the numbers, without those that lie far from the rest.
/// @param numbers  at least one.
/// @param low      in place of that of the numbers.
AxisRange common_range(std::vector<double> numbers, std::optional<double> low) {
  constexpr double few = 0.1, most_widths = 2;
  std::ranges::sort(numbers);
  const AxisRange most{low.value_or(quantile(numbers, few)), quantile(numbers, 1 - few)};
  const double room = most_widths * (most.high - most.low);
  if (!(room > 0)) return {low.value_or(numbers.front()), numbers.back()};
  return {low.value_or(*std::ranges::lower_bound(numbers, most.low - room)),
          *std::prev(std::ranges::upper_bound(numbers, most.high + room))};
}

AxisRange data_range(const Heatmap& heatmap, std::span<const HeatmapPanel> panels) {
  std::vector<double> numbers = numbers_of(panels);
  if (numbers.empty()) return {};
  if (heatmap.scale != ColourScale::diverging) {
    return common_range(std::move(numbers), heatmap.low);
  }
  for (double& number : numbers) number = std::abs(number);
  const double reach = common_range(std::move(numbers), 0).high;
  return {-reach, reach};
}

/// `0 and 0.12; 5 of 270 cells lie beyond, the furthest at 3.4`; empty if none does. Cells of
/// nearly the last colour do not count.
std::string beyond_text(const Heatmap& heatmap, std::span<const HeatmapPanel> panels) {
  const AxisRange range = colour_range(heatmap, panels);
  const std::vector<double> numbers = numbers_of(panels);
  const double nearly = 0.01 * (range.high - range.low);
  std::size_t n_beyond = 0;
  double furthest = 0, distance = 0;
  for (const double number : numbers) {
    const double beyond = std::max(range.low - number, number - range.high);
    if (beyond <= nearly) continue;
    ++n_beyond;
    if (beyond > distance) furthest = number;
    distance = std::max(distance, beyond);
  }
  if (n_beyond == 0) return "";
  return number_text(range.low, 2) + " and " + number_text(range.high, 2) + "; " +
         std::to_string(n_beyond) + " of " + count_text(numbers.size(), "cell") +
         (n_beyond == 1 ? " lies beyond, at " : " lie beyond, the furthest at ") +
         number_text(furthest, 2);
}

}  // namespace

AxisRange colour_range(const Heatmap& heatmap, std::span<const HeatmapPanel> panels) {
  if (heatmap.scale == ColourScale::categorical) {
    return {-0.5, static_cast<double>(heatmap.categories.size()) - 0.5};
  }
  AxisRange range = data_range(heatmap, panels);
  range = {heatmap.low.value_or(range.low), heatmap.high.value_or(range.high)};
  if (heatmap.scale == ColourScale::diverging) {
    const double reach = std::max(std::abs(range.low), std::abs(range.high));
    range = {-reach, reach};
  }
  if (!(range.high > range.low)) {
    const double room = std::max(std::abs(range.low) * 0.01, 0.5);
    range = {heatmap.low.value_or(range.low - room), heatmap.high.value_or(range.high + room)};
    if (!(range.high > range.low)) range = {range.low - room, range.high + room};
  }
  return range;
}

bool has_separate_scales(const Heatmap& heatmap) {
  if (!heatmap.heads || heatmap.scale == ColourScale::categorical || heatmap.high) return false;
  constexpr double most_times = 2;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const HeatmapPanel& panel : heatmap.panels) {
    const AxisRange range = colour_range(heatmap, std::span(&panel, 1));
    least = std::min(least, range.high - range.low);
    most = std::max(most, range.high - range.low);
  }
  return most > most_times * least;
}

std::string beyond_colours_text(const Heatmap& heatmap) {
  if (heatmap.scale == ColourScale::categorical) return "";
  const std::span panels(heatmap.panels);
  std::string text;
  if (!has_separate_scales(heatmap)) {
    text = beyond_text(heatmap, panels);
    return text.empty() ? "" : " The colours end at " + text + ".";
  }
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::string of_panel = beyond_text(heatmap, panels.subspan(i, 1));
    if (of_panel.empty()) continue;
    text += " In the panel " + one_line(panels[i].title) + " the colours end at " + of_panel + ".";
  }
  return text;
}

}  // namespace headscope
