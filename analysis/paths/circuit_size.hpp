#pragma once

#include <cmath>
#include <vector>

#include "headscope/analysis.hpp"

namespace headscope {

/// Least faithfulness of a large enough circuit.
inline constexpr double kept_share = 0.9;
/// A circuit of a larger share of all edges is not sparse.
inline constexpr double sparse_share = 0.2;

/// Share of what all edges add to a margin that a circuit keeps; NaN unless they raise it.
/// @param margin  of the circuit. @param none, all  margins without any edge and with all.
inline double faithfulness(double margin, double none, double all) {
  return all > none ? (margin - none) / (all - none) : std::nan("");
}

/// The smallest number of edges from which on circuits keep 0.9 of what the edges add to the
/// margin, found pass by pass. More edges may keep less: a number counts only if all larger ones
/// that were tried keep as much.
class CircuitSize {
 public:
  /// @param statistics  with the sums of the third pass; without them nothing is known.
  CircuitSize(const Statistics& statistics, std::size_t task, Index n_edge,
              const AnalysisSettings& settings);

  /// Margin with all edges minus margin with none, nats per pair; interval over pairs.
  const Estimate& edge_margin() const { return edge_margin_; }
  /// Whether the margin depends on the edges: the interval of edge_margin lies above 0.
  bool is_known() const { return edge_margin_.is_above(0); }
  /// Number of edges, interpolated between those tried and rounded up; NaN unless is_known(). Its
  /// interval: percentiles over resampled pairs with the same order of edges, widened to hold the
  /// number where they do not.
  Estimate fewest() const;
  /// Numbers of edges to try next, between too few and enough, and beyond; at most n_point.
  std::vector<Index> next() const;
  /// Points of a narrowing pass.
  static Index n_point(Index n_edge);

 private:
  /// A circuit's number of edges and the sums of its margin by block.
  struct Tried {
    Index n_edge = 0;
    std::vector<double> margin;
  };
  void add(Index n_edge, std::vector<double> margin);
  /// Faithfulness of the circuits tried; NaN if all edges add nothing.
  std::vector<double> curve(const BootstrapCounts& weights) const;
  double crossing(const BootstrapCounts& weights) const;

  Index n_edge_;
  std::vector<double> n_pair_;  // by block
  Bootstrap bootstrap_;
  Estimate edge_margin_;
  std::vector<Tried> tried_;  // ascending
};

}  // namespace headscope
