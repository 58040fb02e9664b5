#pragma once

#include <string>
#include <vector>

#include "headscope/estimate.hpp"
#include "headscope/figure.hpp"
#include "headscope/results.hpp"

/// Shared by the figures of several analyses.
namespace headscope {

/// Matrices of all pairs of heads, a panel each.
struct PairMap {
  /// Diverging, without titles. With more than 400 heads, too many for a printed page, a cell is a
  /// pair of layers. It shows the value of largest size among its pairs of heads, NaN if none has a
  /// value, and a dot if one of the pairs is named. Rows and columns of heads are labelled
  /// by head up to 64 heads, above that by layer at each layer's middle head.
  Heatmap map;
  bool by_layer = false;
  bool names_heads = false;        ///< whether the labels are of heads, not of layers
  std::vector<std::string> named;  ///< by panel: `L3H0 to L5H1 0.31, L2H2 to L4H7 0.28`
  std::string about;               ///< for the caption: what a cell is, if it is a pair of layers
};

/// Which pairs of a panel are named: the `n_named` with the largest values by size.
struct NamedPairs {
  std::size_t n_named = 0;
  bool symmetric = false;  ///< each pair is named once
  bool positive = false;   ///< only pairs with values above 0
};

/// @param panels  head_index x head_index; NaN: no value.
PairMap pair_map(std::vector<HeatmapPanel> panels, std::size_t n_head, const NamedPairs& naming);

/// Shares of a head's effect beyond these ends are drawn at the ends.
inline constexpr double lowest_share = -1, highest_share = 1.2;
Estimate drawn_share(Estimate share);

/// By head, its name if its value is among the `most` largest by size and not 0; else empty.
std::vector<std::string> furthest_names(const std::vector<double>& values, std::size_t n_head,
                                        std::size_t most);

/// What a map of heads says in its caption if the run's model has removed heads; else empty.
std::string removed_heads_caption(const Results& results, const Figure& figure);

}  // namespace headscope
