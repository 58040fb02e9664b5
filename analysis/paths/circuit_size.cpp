#include "paths/circuit_size.hpp"

#include <algorithm>
#include <cmath>

#include "paths/sums.hpp"

namespace headscope {
namespace {

/// Points of a pass beyond the number that is enough, each twice as far as the one before.
constexpr Index n_beyond = 4;

/// Points between too few and enough that passes need to divide the widest gap between steps.
Index points_between(Index n_edge) {
  Index gap = 1;
  while (4 * gap <= n_edge) gap *= 2;
  gap = std::max(gap, n_edge - std::min(n_edge, 2 * gap));
  return std::max<Index>(
      1, static_cast<Index>(std::ceil(std::pow(static_cast<double>(gap), 1.0 / n_narrowing_pass))) -
             1);
}

/// Place of the largest circuit that is too small; nothing if there is none.
/// @param curve  faithfulness of circuits by their number of edges; NaN if all edges add nothing.
std::optional<std::size_t> too_few(const std::vector<double>& curve) {
  if (std::isnan(curve.back())) return std::nullopt;
  for (std::size_t place = curve.size() - 1; place-- > 0;) {
    if (!(curve[place] >= kept_share)) return place;
  }
  return std::nullopt;
}

std::vector<double> pairs_of(const Statistics& statistics, std::size_t task) {
  const PathSums names(task);
  if (!statistics.has(names.kept)) return std::vector<double>(n_document_block, 0);
  return statistics.total(names.n_exact).values;
}

}  // namespace

CircuitSize::CircuitSize(const Statistics& statistics, std::size_t task, Index n_edge,
                         const AnalysisSettings& settings)
    : n_edge_(n_edge),
      n_pair_(pairs_of(statistics, task)),
      bootstrap_(settings.bootstrap(n_pair_)) {
  const PathSums names(task);
  if (!statistics.has(names.kept)) return;
  const auto column = [](const Array& sums, const auto&... place) {
    std::vector<double> margin(n_document_block);
    for (std::size_t block = 0; block < margin.size(); ++block)
      margin[block] = sums(block, place...);
    return margin;
  };
  const std::vector<Index> steps = circuit_steps(n_edge);
  const Array kept = statistics.total(names.kept);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    add(steps[step], column(kept, std::size_t{0}, step));
  }
  edge_margin_ = bootstrap_.estimates([&](const BootstrapCounts& weights) {
    return std::vector<double>{(weighted_sum(tried_.back().margin, weights) -
                                weighted_sum(tried_.front().margin, weights)) /
                               weighted_sum(n_pair_, weights)};
  })[0];
  for (int pass = 0; is_known() && pass < n_narrowing_pass; ++pass) {
    if (!statistics.has(names.narrowed(pass))) return;
    const Array narrowed = statistics.total(names.narrowed(pass));
    const std::vector<Index> points = next();
    for (std::size_t i = 0; i < points.size(); ++i) add(points[i], column(narrowed, i));
  }
}

void CircuitSize::add(Index n_edge, std::vector<double> margin) {
  tried_.insert(std::ranges::lower_bound(tried_, n_edge, {}, &Tried::n_edge),
                {n_edge, std::move(margin)});
}

std::vector<double> CircuitSize::curve(const BootstrapCounts& weights) const {
  std::vector<double> curve;
  for (const Tried& circuit : tried_) curve.push_back(weighted_sum(circuit.margin, weights));
  const double none = curve.front(), all = curve.back();
  for (double& margin : curve) margin = faithfulness(margin, none, all);
  return curve;
}

double CircuitSize::crossing(const BootstrapCounts& weights) const {
  const std::vector<double> kept = curve(weights);
  const std::optional<std::size_t> low = too_few(kept);
  if (!low) return static_cast<double>(n_edge_);
  const auto from = static_cast<double>(tried_[*low].n_edge),
             to = static_cast<double>(tried_[*low + 1].n_edge);
  return std::max(from + 1, std::ceil(from + (to - from) * (kept_share - kept[*low]) /
                                                 (kept[*low + 1] - kept[*low])));
}

Estimate CircuitSize::fewest() const {
  if (!is_known()) return {};
  std::vector<double> samples;
  for (std::size_t i = 0; i < bootstrap_.n_resample(); ++i) {
    samples.push_back(crossing(bootstrap_.draw(i)));
  }
  // The last crossing of resampled curves is biased upwards; its percentiles, and the value.
  Estimate fewest = percentile_estimate(crossing(bootstrap_.observed()), std::move(samples));
  fewest.low = std::floor(std::min(fewest.low, fewest.value));
  fewest.high = std::ceil(std::max(fewest.high, fewest.value));
  return fewest;
}

Index CircuitSize::n_point(Index n_edge) {
  return points_between(n_edge) + n_beyond;
}

std::vector<Index> CircuitSize::next() const {
  std::vector<Index> points;
  if (!is_known()) return points;
  const std::optional<std::size_t> place = too_few(curve(bootstrap_.observed()));
  if (!place) return points;
  const Index low = tried_[*place].n_edge, high = tried_[*place + 1].n_edge, gap = high - low,
              n = std::min(points_between(n_edge_), gap - 1);
  for (Index i = 1; i <= n; ++i) {
    points.push_back(low + gap * i / (n + 1));
  }
  for (Index i = 0; i < n_beyond; ++i) {
    const Index beyond = high + (gap << i);
    if (beyond >= n_edge_) break;
    if (!std::ranges::binary_search(tried_, beyond, {}, &Tried::n_edge)) points.push_back(beyond);
  }
  return points;
}

}  // namespace headscope
