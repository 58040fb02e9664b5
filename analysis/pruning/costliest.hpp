#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// What is said where no head's loss increase is above 0 by more than rounding.
inline constexpr const char* no_head_costs = "No head's removal raises the loss.";

/// The head that costs most to set to zero, of those shown to cost something where the run has
/// intervals.
class CostliestHead {
 public:
  /// @param group  `pruning`.
  /// @param heads  those that the model has not lost.
  CostliestHead(const ResultsGroup& group, const std::vector<std::size_t>& heads);

  /// Whether a head raises the loss. The other functions ask for one.
  bool is_any() const { return head_.has_value(); }
  /// False: the run has intervals, and no head's lies above 0.
  bool is_shown() const { return is_shown_; }
  std::string name() const;
  double rise() const { return rise_; }  ///< of the loss, nats per token
  /// `most`; `as much as any` where another head costs the same; `most of the heads shown to
  /// matter` where a larger cost may be chance.
  std::string most() const;
  /// What is said where no head is shown to cost something.
  std::string chance_text() const;

 private:
  std::optional<std::size_t> head_;
  std::size_t n_head_ = 0;
  double rise_ = 0;
  bool is_shown_ = false, is_largest_ = false, is_alone_ = false;
};

}  // namespace headscope
