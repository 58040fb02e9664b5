#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// The head that costs most to ablate, of those shown to cost something where the run has
/// intervals.
class CostliestHead {
 public:
  /// @param group     `pruning`.
  /// @param heads     those that the model has not lost.
  /// @param ablation  zero_place or mean_place.
  CostliestHead(const ResultsGroup& group, const std::vector<std::size_t>& heads,
                std::size_t ablation);

  /// Whether a head raises the loss.
  bool is_any() const { return head_.has_value(); }
  /// Whether the cost is no chance, or the run has no intervals.
  bool is_shown() const { return is_shown_; }
  /// What `sentence` says of the head; where there is none, or its cost may be chance, that.
  std::string text(const std::function<std::string(const CostliestHead&)>& sentence) const;

  // For sentences.
  std::string name() const;
  double rise() const { return rise_; }  ///< of the loss, nats per token
  /// `most`; `as much as any` where another head costs the same; `most of the heads shown to
  /// matter` where a larger cost may be chance.
  std::string most() const;

 private:
  std::optional<std::size_t> head_;
  std::size_t n_head_ = 0;
  double rise_ = 0;
  /// Not shown: the run has intervals, and no head's lies above 0.
  bool is_shown_ = false, is_largest_ = false, is_alone_ = false;
};

}  // namespace headscope
