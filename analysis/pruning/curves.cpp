#include <array>
#include <cmath>

#include "base/number_text.hpp"
#include "pruning/results.hpp"

namespace headscope {
namespace {

/// Loss (part 0) and accuracy (part 1) per predicted token: part x order x step.
/// @param odd  over odd documents, which score; else over even ones, which choose the order.
Array curve_means(const DocumentRows& rows, const BootstrapCounts& all_weights, bool odd = true) {
  const BootstrapCounts weights = weights_of_parity(rows, all_weights, odd);
  const double n_predicted = weighted_sum(rows.n_predicted, weights);
  return weighted(rows.curve, weights).mapped([&](double sum) { return sum / n_predicted; });
}

/// The curves of both informed orders, and the random orders' mean curve: 3 x step.
/// @param of_orders  order x step.
Array shown_curves(const arma::mat& of_orders) {
  arma::rowvec random(of_orders.n_cols, arma::fill::zeros);
  for (std::size_t order = 2; order < n_curve_order; ++order) {
    random += of_orders.row(order) / n_random_order;
  }
  Array shown({3, of_orders.n_cols});
  shown.set(arma::join_cols(of_orders.rows(0, 1), random));
  return shown;
}

void add_curves(const DocumentRows& rows, ResultsGroup& group) {
  const Array means = curve_means(rows, every_document_once(rows));
  const arma::mat of_orders = means.matrix(0);
  const Array loss = shown_curves(of_orders);
  arma::rowvec squares(n_curve_step, arma::fill::zeros);
  for (std::size_t order = 2; order < n_curve_order; ++order) {
    squares += arma::square(of_orders.row(order) - loss.matrix().row(2));
  }
  group.add(pruning_variables()["curve_held_out"], has_both_parities(rows) ? 1.0 : 0.0);
  group.add(pruning_variables()["curve"], loss);
  group.add(pruning_variables()["curve_random_std"],
            arma::conv_to<std::vector<double>>::from(arma::sqrt(squares / (n_random_order - 1))));
  group.add(pruning_variables()["curve_accuracy"], shown_curves(means.matrix(1)));
}

/// The share of heads up to which the loss stays at most (1 + tolerance) times the whole model's,
/// interpolated between the steps of the curve of an order.
/// NaN for a model that has lost all its heads.
double prunable_share(const Array& means, std::size_t order, double tolerance, Index n_head) {
  if (n_head == 0) return std::nan("");
  const double limit = (1 + tolerance) * means(0, order, 0);
  std::size_t step = 1;
  while (step < n_curve_step && means(0, order, step) <= limit) ++step;
  if (step == n_curve_step) return 1;
  const double before = means(0, order, step - 1);
  return std::lerp(pruned_share_at(step - 1, n_head), pruned_share_at(step, n_head),
                   (limit - before) / (means(0, order, step) - before));
}

constexpr std::array<double, 2> tolerances{0.01, 0.05};

void add_prunable_share(const DocumentRows& rows, const ModelConfig& config,
                        const AnalysisSettings& settings, ResultsGroup& group) {
  const Index n_head = config.heads_left().size();
  const auto share_of = [&](const Array& means, std::size_t order, std::size_t tolerance) {
    return prunable_share(means, order, tolerances[tolerance], n_head);
  };
  // Of ablation and importance the order under which more heads can go on even documents.
  const Array even = curve_means(rows, every_document_once(rows), false);
  std::array<std::size_t, tolerances.size()> orders{};
  for (std::size_t i = 0; i < tolerances.size(); ++i) {
    orders[i] = share_of(even, 1, i) > share_of(even, 0, i) ? 1 : 0;
  }
  std::vector<Estimate> shares =
      bootstrap_of(rows, settings).estimates([&](const BootstrapCounts& weights) {
        const Array means = curve_means(rows, weights);
        std::vector<double> resampled;
        resampled.reserve(tolerances.size());
        for (std::size_t i = 0; i < tolerances.size(); ++i) {
          resampled.push_back(share_of(means, orders[i], i));
        }
        return resampled;
      });
  for (Estimate& share : shares) share = within(std::move(share), 0, 1);
  group.add_dimension(Dimension::numbers("tolerance", {tolerances.begin(), tolerances.end()}));
  group.add(pruning_variables()["prunable_share"], shares);
}

/// @param i  index along the dimension tolerance.
Claim prunable_claim(const ResultsGroup& group, std::size_t i) {
  constexpr double many = 0.2;
  const double tolerance = tolerances[i];
  Claim claim;
  claim.number = 9;
  claim.source = "Michel et al. 2019; Voita et al. 2019";
  claim.statement =
      "Many heads can be pruned at little cost (within " + percent(tolerance) + " of the loss).";
  claim.effect_name = "share of heads that can be set to zero within " + percent(tolerance) +
                      " of the baseline loss";
  claim.effect = group.variable("prunable_share").estimate(i);
  claim.verdict = verdict_of(claim.effect, Side::at_least, many);
  if (std::isnan(claim.effect.value)) {
    claim.evidence = "The model has no head left to prune.";
    return claim;
  }
  const bool is_held_out = group.scalar("curve_held_out") == 1;
  claim.evidence = "About " + percent(claim.effect.value) +
                   " of the heads, interpolated between steps, can be pruned before the loss" +
                   (is_held_out ? " on odd-numbered documents exceeds " : " exceeds ") +
                   percent(1 + tolerance) + " of the baseline. " +
                   (is_held_out ? "Even-numbered documents" : "The same documents") +
                   " make and choose the order, the better of two. The claim holds when the "
                   "interval lies at or above " +
                   percent(many) + " and fails when it lies below.";
  return claim;
}

}  // namespace

void add_pruning_curves(const DocumentRows& rows, const ModelConfig& config,
                        const AnalysisSettings& settings, ResultsGroup& group) {
  add_curves(rows, group);
  add_prunable_share(rows, config, settings, group);
  for (std::size_t i = 0; i < tolerances.size(); ++i) {
    group.claims.push_back(prunable_claim(group, i));
  }
}

}  // namespace headscope
