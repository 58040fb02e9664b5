#pragma once

#include <span>
#include <string>

#include "headscope/figure.hpp"

namespace headscope {

/// The values between which colours differ, for panels of a heat map on one scale. Limits that the
/// map does not state are those of the data. A few cells far from the rest, which would make all
/// others of one colour, lie beyond: a limit is the 2nd or 98th percentile (of a diverging scale,
/// the 98th of sizes) where the data reach further beyond it than from one percentile to the other.
AxisRange colour_range(const Heatmap& heatmap, std::span<const HeatmapPanel> panels);

/// Maps of heads that differ much in size: on one scale the smaller ones would be of one colour.
bool has_separate_scales(const Heatmap& heatmap);

/// ` The colours end at 0 and 0.12; 5 of 270 cells lie beyond, the furthest at 3.4.`; empty if the
/// colours reach every cell.
std::string beyond_colours_text(const Heatmap& heatmap);

}  // namespace headscope
