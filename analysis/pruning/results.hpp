#pragma once

#include <algorithm>
#include <vector>

#include "headscope/analysis.hpp"
#include "pruning/document_rows.hpp"

namespace headscope {

/// Rows of the statistics, in the order of the arrays.
inline constexpr std::size_t n_ablation_row = 4;  ///< zero, mean, all but one, resample
inline constexpr std::size_t resample_row = 3;    ///< NaN where there is no other document
/// Places among the ablations of the results.
inline constexpr std::size_t zero_place = 0, mean_place = 1, resample_place = 2;
/// Elements of `donor_variance` after those of heads: how the summed loss over heads varies with
/// the donor, and pieces with fewer than two donors.
enum DonorPart : std::size_t { donor_sum_over_heads, donor_n_without, n_donor_part };
/// Sum of |z.g|; sums of (z - what replaces z).g for zero, mean and resampled z.
inline constexpr std::size_t n_importance_row = 4;
inline constexpr std::size_t n_first_order = 3;  ///< zero, mean, resample
inline constexpr std::size_t n_importance = 3;   ///< per token, per example, signed
inline constexpr std::size_t n_random_order = 5;
inline constexpr std::size_t n_curve_order =
    2 + n_random_order;                          ///< ablation, importance, random orders
inline constexpr std::size_t n_curve_step = 11;  ///< 0, 0.1 ... 1 of the heads

inline constexpr Index n_precision_sample = 8;

/// Units (layer * n_head + head) ablated by float32 products too, spread evenly; all if they are
/// few.
inline std::vector<Index> precision_sample(Index n_head_total) {
  const Index count = std::min(n_precision_sample, n_head_total);
  std::vector<Index> head_indices;
  for (Index i = 0; i < count; ++i) head_indices.push_back(i * n_head_total / count);
  return head_indices;
}

/// Heads set to zero at a curve step: floor(step / 10 * n_head).
/// @param n_head  heads that the model has not lost.
inline Index n_pruned_at(std::size_t step, Index n_head) {
  return step * n_head / (n_curve_step - 1);
}

/// Share of heads set to zero at a curve step: n_pruned_at / n_head.
inline double pruned_share_at(std::size_t step, Index n_head) {
  return static_cast<double>(n_pruned_at(step, n_head)) / static_cast<double>(n_head);
}

/// The orders of the pruning curves: by zero ablation, by importance, and random orders.
/// @param statistics  with the rows `baseline`, `ablated` and `importance`.
std::vector<std::vector<Index>> pruning_orders(const Statistics& statistics,
                                               const ModelConfig& config, std::uint64_t seed);

/// Group `pruning` from the summed statistics.
ResultsGroup pruning_results(const Statistics& statistics, const ModelConfig& config,
                             const AnalysisSettings& settings);

/// Adds the pruning curves, the share of heads that can go by tolerance, and a claim about each.
/// Heads that the model has lost are left out.
void add_pruning_curves(const DocumentRows& rows, const ModelConfig& config,
                        const AnalysisSettings& settings, ResultsGroup& group);

/// `4 of 5 heads can each`: how many of the heads with an interval have no measurable loss
/// increase.
std::string harmless_heads_text(const ResultsGroup& group);

/// Why halves of the corpus say little about one another: the losses of even- and odd-numbered
/// documents lie apart; empty if they do not.
std::string halves_warning(const ResultsGroup& group);

/// Why losses say nothing: the model does worse than guessing; empty if it does not.
/// @param d_vocab  tokens to guess among.
std::string loss_warning(const ResultsGroup& group, std::uint64_t d_vocab);

Presentation pruning_presentation();

std::vector<Figure> pruning_figures(const Results& results);

const VariableTable& pruning_variables();

}  // namespace headscope
