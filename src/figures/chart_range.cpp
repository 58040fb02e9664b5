#include "figures/chart_range.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "figures/gnuplot.hpp"

namespace headscope {
namespace {

// The numbers in the range that are a power of ten times a factor, at least 1 and below 10.
std::vector<double> multiples(const Range& range, const std::vector<double>& factors) {
  std::vector<double> numbers;
  const double first = std::floor(std::log10(range.low)), last = std::log10(range.high);
  for (double exponent = first; exponent <= last; ++exponent) {
    for (const double factor : factors) {
      const double number = factor * std::pow(10, exponent);
      if (number >= range.low && number <= range.high) numbers.push_back(number);
    }
  }
  return numbers;
}

// 1, 1 + 1 / n_part, 1 + 2 / n_part and so on, below 10; without 1.
std::vector<double> factors_between(int n_part) {
  std::vector<double> factors;
  for (int part = n_part + 1; part < 10 * n_part; ++part) {
    factors.push_back(static_cast<double>(part) / n_part);
  }
  return factors;
}

}  // namespace

void Range::include(double value) {
  if (!std::isfinite(value) || (log && value <= 0)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::include(const std::vector<double>& values) {
  for (const double value : values) include(value);
}

Range Range::widened(double share, double factor, bool past_zero) const {
  if (low > high) return {log, log ? 1.0 : 0.0, log ? 10.0 : 1.0};
  if (log) return {log, low / factor, high * factor};
  const double room = high > low ? share * (high - low) : std::max(std::abs(low) * 0.1, 0.5);
  return {log, low == 0 && !past_zero ? 0 : low - room, high == 0 && !past_zero ? 0 : high + room};
}

double Range::share_of(double value) const {
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

double Range::value_at(double share) const {
  return log ? low * std::pow(high / low, share) : low + share * (high - low);
}

std::string log_ticks(const Range& range) {
  if (range.high >= 100 * range.low) return "autofreq";
  const std::size_t n_power = multiples(range, {1}).size();
  std::vector<double> between = multiples(range, {2, 5});
  for (const int n_part : {1, 2, 5, 10}) {
    if (n_power + between.size() >= 2) break;
    between = multiples(range, factors_between(n_part));
  }
  return between.empty() ? "autofreq"
                         : "autofreq add (" + joined(between, ", ", gnuplot_number) + ")";
}

bool is_bars(const Series& series) {
  return series.style == Series::Style::bars;
}

Range vertical_range(const Chart& chart, std::span<const ChartPanel> panels) {
  Range range{chart.log_y};
  double near = 0.3;
  for (const ChartPanel& panel : panels) {
    for (const ReferenceLine& line : panel.reference_lines) range.include(line.y);
    for (const Series& series : panel.series) {
      if (is_bars(series)) near = 1;
      for (const auto* values : {&series.y, &series.low, &series.high}) range.include(*values);
    }
  }
  const auto [least, most] = std::minmax({std::abs(range.low), std::abs(range.high)});
  if (least <= near * most) range.include(0);
  range = range.widened(0.06, 1.3, false);
  range = {range.log, chart.y_low.value_or(range.low), chart.y_high.value_or(range.high)};
  if (!(range.high > range.low)) range.high = range.low + (range.log ? range.low : 1);
  return range;
}

Range horizontal_range(const Chart& chart, std::span<const ChartPanel> panels) {
  const auto n_label = static_cast<double>(chart.x_labels.size());
  if (n_label > 0) return {false, -0.6, n_label - 0.4};
  Range range{chart.log_x};
  bool bars = false;
  double shift = 0;
  for (const ChartPanel& panel : panels) {
    for (const Series& series : panel.series) {
      bars = bars || is_bars(series);
      range.include(series.x);
      shift = std::max(shift, std::abs(series.shift));
    }
  }
  if (bars && range.low <= range.high) return {false, range.low - 0.6, range.high + 0.6};
  range = range.widened(0.03, 1.15, true);
  return {range.log, range.low - shift, range.high + shift};
}

}  // namespace headscope
