#pragma once

#include <span>
#include <string>

#include "headscope/figure.hpp"

namespace headscope {

/// The values between which colours differ, for panels of a heat map on one scale. Limits that the
/// map does not state are those of the data. Cells far from the rest, which would make all others
/// of one colour, lie beyond: those above the 90th percentile, or below the 10th, by more than
/// twice the distance between both (of a diverging scale, sizes of more than three times the 90th).
AxisRange colour_range(const Heatmap& heatmap, std::span<const HeatmapPanel> panels);

/// Maps of heads that differ much in size: on one scale the smaller ones would be of one colour.
bool has_separate_scales(const Heatmap& heatmap);

/// ` The colours end at 0 and 0.12; 5 of 270 cells lie beyond, the furthest at 3.4.`; empty if the
/// colours reach every cell.
std::string beyond_colours_text(const Heatmap& heatmap);

}  // namespace headscope
