#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headscope/figure.hpp"

namespace headscope {

/// The part of an axis that is drawn.
struct Range {
  bool log = false;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  /// Numbers that the axis cannot show are left out.
  void include(double value);
  void include(const std::vector<double>& values);
  /// With a margin on both sides; an end at zero gets one only with `past_zero`. Without data, a
  /// default range.
  /// @param share   of the range, on a linear axis.
  /// @param factor  on a logarithmic axis.
  Range widened(double share, double factor, bool past_zero) const;
  /// A value's position along the axis, from 0 to 1.
  double share_of(double value) const;
  /// The value at a position from 0 to 1.
  double value_at(double share) const;
  AxisRange axis() const { return {low, high, log}; }
};

/// The numbers along a logarithmic axis, as `set xtics` takes them: at least two.
std::string log_ticks(const Range& range);

bool is_bars(const Series& series);

/// The vertical range of panels with a common axis. It reaches zero if there are bars or the data
/// come near zero.
Range vertical_range(const Chart& chart, std::span<const ChartPanel> panels);
Range horizontal_range(const Chart& chart, std::span<const ChartPanel> panels);

}  // namespace headscope
