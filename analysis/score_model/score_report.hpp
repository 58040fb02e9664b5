#pragma once

#include <vector>

#include "headscope/figure.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"

namespace headscope {

std::vector<Figure> score_figures(const Results& results);
Presentation score_presentation();

}  // namespace headscope
