#pragma once

#include <vector>

#include "headscope/figure.hpp"

namespace headscope::test {

/// Figures that are hard to draw well: many cells, long labels, gaps, intervals.
std::vector<Figure> figure_samples();

}  // namespace headscope::test
