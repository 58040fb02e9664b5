#pragma once

#include <vector>

#include "headscope/figure.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"

namespace headscope::test {

/// Results of a model of this shape with random scores, types, likeness and attention on 60 tokens.
Results large_results(std::size_t n_layer, std::size_t n_head);

/// What its head panel shows.
std::vector<Presentation> large_presentations();

/// A map of its heads, and a matrix of all heads by all heads.
std::vector<Figure> large_figures(const Results& results);

}  // namespace headscope::test
