#pragma once

#include <vector>

#include "headscope/figure.hpp"

namespace headscope::test {

/// One figure of every kind that is hard to draw well: many cells, long labels, gaps, intervals.
std::vector<Figure> figure_samples();

}  // namespace headscope::test
