#pragma once

#include <vector>

#include "headscope/direct_effect.hpp"
#include "headscope/forward.hpp"
#include "pair_batches.hpp"

namespace headscope {

/// Where the pairs of a batch first differ, those left out whose first word differs or of which a
/// side ends there.
struct FirstDifferences {
  std::vector<std::size_t> pairs;  ///< in the batch
  arma::uvec columns;              ///< of the last shared tokens in the sequences
  LogitDirections directions;      ///< of logit(good's token) - logit(bad's token), one per column
};

FirstDifferences first_differences(const LogitAttribution& attribution, const Task& task,
                                   const PairBatch& batch);

/// Observes the direct effects of all heads on the logits at the pairs' first differences.
class FirstDifferenceEffects : public LayerObserver {
 public:
  /// @param model, first  must outlive the observer.
  FirstDifferenceEffects(const Model& model, const FirstDifferences& first)
      : model_(model), first_(first) {}
  void observe_layer(const LayerView& view) override;
  /// @param scales  of the final norm, by pair. @return head_index x pair, logits.
  arma::mat divided(const std::vector<double>& scales) const;

 private:
  const Model& model_;
  const FirstDifferences& first_;
  std::vector<arma::mat> of_layer_;  // n_head x pair, before the division by the scale
};

}  // namespace headscope
