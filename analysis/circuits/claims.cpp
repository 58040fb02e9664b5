#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/number_text.hpp"
#include "circuits/circuits.hpp"
#include "circuits/weights.hpp"
#include "document_estimates.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// Overlap counts as above chance when it exceeds chance by more than this share.
constexpr double margin = 0.1;

bool is_shared(const ModelConfig& config, std::size_t projection) {
  const Projection compared = all_projections[projection];
  return config.n_group() != config.n_head &&
         (compared == Projection::k || compared == Projection::v);
}

/// The heads left of a layer; of those that share keys and values, the first.
std::vector<Index> compared_heads(const ModelConfig& config, std::size_t projection,
                                  std::size_t layer) {
  std::vector<Index> heads = config.heads_left_in(layer);
  if (!is_shared(config, projection)) return heads;
  const auto of_group = [&](Index head) { return config.group(head); };
  const auto later = std::ranges::unique(heads, {}, of_group);
  heads.erase(later.begin(), later.end());
  return heads;
}

/// Pairs of heads of a layer.
struct LayerPairs {
  std::vector<double> ratios;  ///< overlap divided by chance, of projections of full rank
  std::size_t n_lesser = 0;    ///< pairs left out: a rank is below the full one, and none is 0
};

LayerPairs pairs_in_layer(const ResultsGroup& group, const Array& rank, const ModelConfig& config,
                          std::size_t projection, std::size_t layer) {
  const Array& overlap = group.values("subspace_overlap");
  const double chance = group.scalar("subspace_overlap_null_mean");
  const auto full = static_cast<double>(std::min(config.d_head(), config.d_model));
  const std::vector<Index> heads = compared_heads(config, projection, layer);
  LayerPairs pairs;
  for (std::size_t b = 1; b < heads.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const double value = overlap(projection, layer, heads[a], heads[b]);
      if (!std::isfinite(value)) continue;
      if (std::min(rank(projection, layer, heads[a]), rank(projection, layer, heads[b])) < full) {
        ++pairs.n_lesser;
      } else {
        pairs.ratios.push_back(value / chance);
      }
    }
  }
  return pairs;
}

/// Why no two heads are compared.
std::string nothing_to_compare_text(const ModelConfig& config, std::size_t projection,
                                    std::size_t n_lesser) {
  std::size_t most_left = 0, most_compared = 0;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    most_left = std::max(most_left, config.heads_left_in(layer).size());
    most_compared = std::max(most_compared, compared_heads(config, projection, layer).size());
  }
  if (most_left < 2) return "The layers have no two heads to compare.";
  if (most_compared < 2) {
    return "The heads of a layer share one " + matrix_name(projection) + ".";
  }
  return n_lesser > 0 ? "No two heads of a layer have projections of full rank."
                      : "No two heads of a layer have a projection that is not zero.";
}

/// `; 3 more have less than full rank and are left out`.
std::string lesser_rank_text(std::size_t n_lesser) {
  if (n_lesser == 0) return "";
  return "; " + std::to_string(n_lesser) +
         (n_lesser == 1 ? " more has less than full rank and is left out"
                        : " more have less than full rank and are left out");
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

Claim subspace_claim(const ResultsGroup& group, const Array& subspace_rank,
                     const ModelConfig& config, const AnalysisSettings& settings,
                     std::size_t projection) {
  Claim claim;
  claim.number = 5;
  claim.source = "Li et al. 2018; Cordonnier et al. 2020";
  claim.statement = "Heads' subspaces are orthogonal, or overlap no more than chance: " +
                    matrix_name(projection) + ".";
  claim.effect_name =
      "mean overlap of two heads of a layer relative to chance (0: orthogonal, 1: chance); 95 % "
      "interval by layer";

  const double chance = group.scalar("subspace_overlap_null_mean");
  const double deviation = group.scalar("subspace_overlap_null_std");
  std::vector<double> ratios, layer_means;
  std::size_t n_lesser = 0;
  for (std::size_t layer = 0; layer < config.n_layer; ++layer) {
    const LayerPairs pairs = pairs_in_layer(group, subspace_rank, config, projection, layer);
    n_lesser += pairs.n_lesser;
    if (pairs.ratios.empty()) continue;
    layer_means.push_back(arma::mean(arma::vec(pairs.ratios)));
    ratios.insert(ratios.end(), pairs.ratios.begin(), pairs.ratios.end());
  }
  if (ratios.empty() || !std::isfinite(deviation)) {
    claim.evidence = ratios.empty()
                         ? nothing_to_compare_text(config, projection, n_lesser)
                         : "Without two random draws (--nulls) there is no chance to compare with.";
    return claim;
  }

  const auto n_pair = static_cast<double>(ratios.size());
  const double pair_limit = 1 + 3 * deviation / chance;
  const double limit = 1 + std::max(margin, 3 * deviation / chance / std::sqrt(n_pair));
  const auto above =
      std::ranges::count_if(ratios, [&](double value) { return value > pair_limit; });
  const Estimate spread = percentile_estimate(arma::mean(arma::vec(ratios)), ratios);
  claim.effect = within(mean_over_layers(layer_means, settings), 0, 1 / chance);
  claim.verdict = verdict_of(claim.effect, Side::at_most, limit);
  claim.evidence =
      "The mean over layers of the mean overlap of two heads (" +
      count_text(ratios.size(), "pair") + " in all" +
      (is_shared(config, projection)
           ? ", one of two groups of heads that share a " + matrix_name(projection)
           : "") +
      lesser_rank_text(n_lesser) + ") is " + decimals(claim.effect.value * chance, 3) +
      " against " + decimals(chance, 3) + " for random subspaces. 95 % of the pairs lie between " +
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

std::vector<Claim> circuit_claims(const ResultsGroup& group, const Array& subspace_rank,
                                  const ModelConfig& config, const AnalysisSettings& settings) {
  std::vector<Claim> claims;
  for (std::size_t projection = 0; projection < all_projections.size(); ++projection) {
    claims.push_back(subspace_claim(group, subspace_rank, config, settings, projection));
  }
  return claims;
}

}  // namespace headscope
