#include "pruning/costliest.hpp"

#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {

CostliestHead::CostliestHead(const ResultsGroup& group, const std::vector<std::size_t>& heads,
                             std::size_t ablation)
    : n_head_(group.dimension("head").size()) {
  const Variable& increase = group.variable("loss_increase");
  const double baseline = group.scalar("loss_baseline"), rounding = rounding_of(baseline);
  const std::size_t n_head_total = increase.values.shape[1] * increase.values.shape[2];
  std::vector<double> costs, shown;
  bool any_interval = false;
  for (const std::size_t head_index : heads) {
    const Estimate cost = increase.estimate(ablation * n_head_total + head_index);
    any_interval |= cost.has_interval();
    costs.push_back(cost.value > rounding ? cost.value : std::nan(""));
    shown.push_back(is_measurable(cost, baseline) ? cost.value : std::nan(""));
  }
  const std::optional<std::size_t> most = largest(costs), most_shown = largest(shown);
  if (!most) return;
  is_shown_ = most_shown.has_value() || !any_interval;
  const std::size_t place = most_shown.value_or(*most);
  head_ = heads[place];
  rise_ = costs[place];
  is_largest_ = costs[*most] - rise_ <= rounding;
  is_alone_ =
      std::ranges::count_if(costs, [&](double cost) { return rise_ - cost <= rounding; }) == 1;
}

std::string CostliestHead::name() const {
  return head_text(*head_, n_head_);
}

std::string CostliestHead::most() const {
  if (!is_largest_) return "most of the heads shown to matter";
  return is_alone_ ? "most" : "as much as any";
}

std::string CostliestHead::text(
    const std::function<std::string(const CostliestHead&)>& sentence) const {
  if (!is_any()) return "No head's removal raises the loss.";
  if (is_shown_) return sentence(*this);
  return "No head is shown to matter by itself: the costliest, " + name() +
         ", raises the loss by " + number_text(rise_, 3) + " nats, which may be chance.";
}

}  // namespace headscope
