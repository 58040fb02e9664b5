#pragma once

#include "figures/canvas.hpp"
#include "headscope/figure.hpp"

namespace headscope {

/// How gnuplot is to draw the content under `title`.
/// @param data_file  the name the script reads its data from.
/// @throws ShapeError naming the figure if labels, values or intervals do not fit together.
FigureScript heatmap_script(const std::string& name, const std::string& title,
                            const Heatmap& heatmap, const std::string& data_file);
FigureScript chart_script(const std::string& name, const std::string& title, const Chart& chart,
                          const std::string& data_file);

/// Where the panels' cells lie in the picture, in pixels from its top left corner.
std::vector<Rectangle> heatmap_panels(const std::string& title, const Heatmap& heatmap);

}  // namespace headscope
