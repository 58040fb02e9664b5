#include "circuits_claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "circuits_composition.hpp"
#include "circuits_weights.hpp"
#include "headscope/statistics.hpp"
#include "number_text.hpp"

namespace headscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> overlaps_of_pairs(const Array& overlap, std::size_t projection) {
  std::vector<double> pairs;
  for (std::size_t layer = 0; layer < overlap.shape[1]; ++layer) {
    for (std::size_t j = 1; j < overlap.shape[3]; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const double value = overlap(projection, layer, i, j);
        if (std::isfinite(value)) pairs.push_back(value);
      }
    }
  }
  return pairs;
}

Claim subspace_claim(const ResultsGroup& group, std::size_t projection) {
  Claim claim;
  claim.number = 5;
  std::string name(projection_names[projection]);
  name[0] = static_cast<char>(std::toupper(name[0]));
  claim.statement =
      "Heads' subspaces are orthogonal, or overlap no more than chance: W_" + name + ".";
  claim.effect_name =
      "mean overlap of two heads of a layer relative to chance (0: orthogonal, 1: chance); "
      "interval: central 95 % of the head pairs";

  const double chance = group.variable("subspace_overlap_null_mean").values.values[0];
  const double deviation = group.variable("subspace_overlap_null_std").values.values[0];
  std::vector<double> ratios =
      overlaps_of_pairs(group.variable("subspace_overlap").values, projection);
  if (ratios.empty() || !std::isfinite(deviation)) {
    claim.effect = claim.ci_low = claim.ci_high = nan;
    claim.evidence = ratios.empty() ? "The layers have no two heads to compare."
                                    : "Without random draws there is no chance to compare with.";
    return claim;
  }
  for (double& value : ratios) value /= chance;
  const double limit = 1 + 3 * deviation / chance;
  const auto above =
      std::ranges::count_if(ratios, [&](double value) { return value > limit; });
  const double share_above = static_cast<double>(above) / static_cast<double>(ratios.size());
  const Interval interval = percentile_interval(ratios);
  claim.effect = arma::mean(arma::vec(ratios));
  claim.ci_low = interval.low;
  claim.ci_high = interval.high;
  if (interval.high <= limit) claim.verdict = Verdict::holds;
  if (interval.low > limit) claim.verdict = Verdict::does_not_hold;
  claim.evidence = "Over " + std::to_string(ratios.size()) + " head pairs the overlap averages " +
                   decimals(claim.effect * chance, 3) + " against " + decimals(chance, 3) +
                   " of random subspaces; " + percent(share_above) +
                   " of the pairs lie above what random subspaces reach (mean + 3 standard "
                   "deviations, " +
                   decimals(limit, 2) + " times chance).";
  return claim;
}

}  // namespace

std::vector<Claim> circuit_claims(const ResultsGroup& group) {
  std::vector<Claim> claims;
  for (std::size_t projection = 0; projection < projections.size(); ++projection) {
    claims.push_back(subspace_claim(group, projection));
  }
  return claims;
}

}  // namespace headscope
