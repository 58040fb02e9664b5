#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/number_text.hpp"
#include "circuits/circuits.hpp"
#include "circuits/weights.hpp"
#include "document_estimates.hpp"

namespace headscope {
namespace {

/// Overlap counts as above chance when it exceeds chance by more than this share.
constexpr double margin = 0.1;

/// Overlap of every two heads of a layer, divided by chance.
std::vector<double> ratios_in_layer(const Array& overlap, std::size_t projection, std::size_t layer,
                                    double chance) {
  std::vector<double> ratios;
  for (std::size_t j = 1; j < overlap.shape[3]; ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const double value = overlap(projection, layer, i, j);
      if (std::isfinite(value)) ratios.push_back(value / chance);
    }
  }
  return ratios;
}

double mean(const std::vector<double>& values) {
  return arma::mean(arma::vec(values));
}

/// Mean over layers, with the interval that as many documents would have.
Estimate mean_over_layers(const std::vector<double>& layer_means,
                          const AnalysisSettings& settings) {
  const auto weighted_mean = [&](const BootstrapCounts& weights) {
    const double sum = weighted_sum(layer_means, weights);
    return std::vector<double>{sum / std::accumulate(weights.begin(), weights.end(), 0.0)};
  };
  return estimates_of_documents(std::vector<double>(layer_means.size(), 1), weighted_mean,
                                settings.n_bootstrap, settings.seed)
      .front();
}

Claim subspace_claim(const ResultsGroup& group, const AnalysisSettings& settings,
                     std::size_t projection) {
  Claim claim;
  claim.number = 5;
  claim.source = "Li et al. 2018; Cordonnier et al. 2020";
  claim.statement = "Heads' subspaces are orthogonal, or overlap no more than chance: W_" +
                    std::string(1, "QKVO"[projection]) + ".";
  claim.effect_name =
      "mean overlap of two heads of a layer relative to chance (0: orthogonal, 1: chance); 95 % "
      "interval by layer";

  const Array& overlap = group.values("subspace_overlap");
  const double chance = group.scalar("subspace_overlap_null_mean");
  const double deviation = group.scalar("subspace_overlap_null_std");
  std::vector<double> ratios, layer_means;
  for (std::size_t layer = 0; layer < overlap.shape[1]; ++layer) {
    const std::vector<double> in_layer = ratios_in_layer(overlap, projection, layer, chance);
    if (in_layer.empty()) continue;
    layer_means.push_back(mean(in_layer));
    ratios.insert(ratios.end(), in_layer.begin(), in_layer.end());
  }
  if (ratios.empty() || !std::isfinite(deviation)) {
    claim.evidence = ratios.empty() ? "The layers have no two heads to compare."
                                    : "Without random draws there is no chance to compare with.";
    return claim;
  }

  const auto n_pair = static_cast<double>(ratios.size());
  const double pair_limit = 1 + 3 * deviation / chance;
  const double limit = 1 + std::max(margin, 3 * deviation / chance / std::sqrt(n_pair));
  const auto above =
      std::ranges::count_if(ratios, [&](double value) { return value > pair_limit; });
  const Estimate spread = percentile_estimate(mean(ratios), ratios);
  claim.effect = within(mean_over_layers(layer_means, settings), 0, 1 / chance);
  claim.verdict = verdict_of(claim.effect, Side::at_most, limit);
  claim.evidence =
      "The mean over layers of the mean overlap of two heads (" + std::to_string(ratios.size()) +
      " pairs in all) is " + decimals(claim.effect.value * chance, 3) + " against " +
      decimals(chance, 3) + " for random subspaces. 95 % of the pairs lie between " +
      decimals(spread.low, 2) + " and " + decimals(spread.high, 2) + " times chance; " +
      percent(static_cast<double>(above) / n_pair) +
      " lie more than 3 standard deviations of random pairs above chance. The claim holds when the "
      "interval of the mean lies below " +
      decimals(limit, 2) +
      " times chance and fails when the interval lies above this; else it is undecided. The limit "
      "is a tenth above chance, or what the mean of as many random pairs reaches if that is more.";
  return claim;
}

}  // namespace

std::vector<Claim> circuit_claims(const ResultsGroup& group, const AnalysisSettings& settings) {
  std::vector<Claim> claims;
  for (std::size_t projection = 0; projection < all_projections.size(); ++projection) {
    claims.push_back(subspace_claim(group, settings, projection));
  }
  return claims;
}

}  // namespace headscope
