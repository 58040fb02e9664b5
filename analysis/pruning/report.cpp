#include <armadillo>
#include <cmath>
#include <numeric>

#include "base/number_text.hpp"
#include "headscope/head_types.hpp"
#include "pruning/costliest.hpp"
#include "pruning/phases.hpp"
#include "pruning/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

std::string one_head_line(const ResultsGroup& group, const CostliestHead& costliest) {
  const double baseline = group.scalar("loss_baseline");
  const std::string text = costliest.text([&](const CostliestHead& head) {
    return "Setting " + head.name() + " to zero costs " + head.most() + ": the loss rises by " +
           number_text(head.rise(), 3) + " nats (" + percent(head.rise() / baseline) + " of " +
           number_text(baseline, 3) + ", the loss on the documents of this analysis).";
  });
  const double n_interval = group.values("n_interval")(0);
  if (n_interval == 0) {
    return text +
           " Without intervals the run cannot tell which heads can be pruned without a measurable "
           "increase.";
  }
  return text + " Heads that can each be pruned without a measurable increase: " +
         number_text(group.values("n_harmless")(0), 0) + " of " + number_text(n_interval, 0) + ".";
}

/// @param set_to_mean  the costliest head of the other ablation; it may be another head.
std::string matter_text(const ResultsGroup& group, const CostliestHead& costliest,
                        const CostliestHead& set_to_mean) {
  const double n_interval = group.values("n_interval")(0);
  const auto by_mean = [&] {
    return "set to its mean, " + set_to_mean.name() + " costs " + set_to_mean.most() + " (" +
           number_text(set_to_mean.rise(), 3) + " nats).";
  };
  const std::string of_zero = costliest.text([&](const CostliestHead& head) {
    const std::string rise = number_text(head.rise(), 3) + " nats";
    if (!set_to_mean.is_shown() || set_to_mean.name() == head.name()) {
      return head.name() + " matters " + head.most() + ": without it the loss rises by " + rise +
             ".";
    }
    return "Set to zero, " + head.name() + " costs " + head.most() + " (" + rise + "); " +
           by_mean();
  });
  const bool is_shown_by_mean_alone = !costliest.is_shown() && set_to_mean.is_shown();
  const std::string text = is_shown_by_mean_alone
                               ? "Set to zero, no head is shown to matter by itself; " + by_mean()
                               : of_zero;
  if (n_interval == 0) {
    return text + (costliest.is_any() || set_to_mean.is_any()
                       ? " Without intervals this may be chance."
                       : "");
  }
  return text + " " + harmless_heads_text(group) + " be pruned without measurable loss.";
}

std::string many_heads_line(const ResultsGroup& group) {
  if (!group.has("prunable_share")) return "";
  const Array& share = group.values("prunable_share");
  std::string text;
  for (std::size_t i = 0; i < share.size(); ++i) {
    text += (text.empty() ? "Heads that can be pruned together, least important first, "
                            "interpolated between the steps of the curve: "
                          : ", ") +
            percent(share(i)) + " with a loss increase of at most " +
            percent(group.dimension("tolerance").values[i]);
  }
  return text + ".";
}

/// How exact ablation of some documents and the gradient of more were combined; empty if heads were
/// ablated on all.
std::string phases_line(const ResultsGroup& group) {
  const double n_ablated = group.scalar("n_document_ablated"),
               n_first_order = group.scalar("n_document_first_order");
  if (n_ablated == n_first_order) return "";
  std::string text = "Heads were ablated on " + number_text(n_ablated, 0) +
                     " documents. The gradient predicted the loss increase on " +
                     number_text(n_first_order, 0) + " documents, and ";
  if (n_ablated < least_regressed) {
    return text + "the mean difference on the ablated documents corrected the prediction.";
  }
  text += "regression combined both";
  const std::vector<double> r2 = finite_values(group.values("first_order_r2").values);
  if (r2.empty()) return text + ".";
  const double median = arma::median(arma::vec(r2));
  // The variance of the estimate is s2 (1 - r2) / n_ablated + s2 r2 / n_first_order.
  const double as_good_as = 1 / ((1 - median) / n_ablated + median / n_first_order);
  return text + ". Prediction and ablation agree over documents with r² = " + decimals(median, 2) +
         " (median over heads); with this r² the standard errors are those of ablation on " +
         number_text(std::floor(as_good_as), 0) + " documents.";
}

/// What the intervals of loss increases are about; empty if there are none.
std::string population_line(const ResultsGroup& group) {
  if (!group.has("loss_increase_corpus_half_width")) return "";
  const Variable& increase = group.variable("loss_increase");
  const Array half_widths = group.values("loss_increase_corpus_half_width").part(0);
  std::vector<double> shares;
  for (std::size_t i = 0; i < half_widths.size(); ++i) {
    const Estimate of_head = increase.estimate(i);
    const double share = half_widths.values[i] / ((of_head.high - of_head.low) / 2);
    if (std::isfinite(share)) shares.push_back(share);
  }
  if (shares.empty()) return "";
  const std::string n_document =
      count_text(static_cast<std::size_t>(group.scalar("n_document")), "document");
  const std::string text =
      "Intervals of loss increases are about all text of which the corpus is a sample. ";
  const double median = arma::median(arma::vec(shares));
  if (median == 0) {
    return text + "Of the corpus's " + n_document +
           ", all of which were ablated, the increases of zero and mean ablation are exact.";
  }
  return text + "For the mean over the corpus's " + n_document + " they are " +
         decimals(median, 2) +
         " times as wide (zero ablation, median over heads; loss_increase_corpus_half_width).";
}

/// How far resampled z depends on the documents that it is from; empty if that is not known.
std::string donor_line(const ResultsGroup& group) {
  if (!group.has("donor_error_sum")) return "";
  const double error = group.scalar("donor_error_sum");
  if (std::isnan(error)) return "";
  const Array& increases = group.values("loss_increase").part(resample_place);
  const double sum = std::accumulate(increases.values.begin(), increases.values.end(), 0.0);
  return "With z of other documents (resample) the loss increases of all heads add up to " +
         number_text(sum, 3) +
         " nats. The choice of those documents gives this sum a standard error of " +
         number_text(error, 2) + " nats" +
         (error < std::abs(sum) ? " (" + percent(error / std::abs(sum)) + ")." : ".");
}

std::string precision_line(const ResultsGroup& group) {
  if (!group.has("precision_error")) return "";
  const Array& error = group.values("precision_error");
  return "Losses of ablated heads come from low-precision products. On a sample of heads they "
         "differ from float32 by " +
         number_text(100 * error(0), 2) + " % of a head's loss increase (median), at most " +
         number_text(100 * error(1), 2) + " % of a typical one.";
}

/// Adds what the run found about the heads that the model has not lost.
void add_heads(const Results& results, const ResultsGroup& group, Description& description) {
  const HeadShape shape{group.dimension("layer").size(), group.dimension("head").size()};
  const std::vector<bool> is_removed = removed_heads(results, shape);
  const std::vector<std::size_t> left = numbers_where(
      shape.n_head_total(), [&](std::size_t head_index) { return !is_removed[head_index]; });
  if (left.empty()) {
    description.headline.matter = description.found = no_head_left_text;
    return;
  }
  const CostliestHead costliest(group, left, zero_place);
  description.headline.matter = description.found =
      matter_text(group, costliest, CostliestHead(group, left, mean_place));
  description.add("Pruning one head", one_head_line(group, costliest));
  description.add("Pruning many", many_heads_line(group));
  description.add("Two phases", phases_line(group));
  description.add("Population", population_line(group));
  description.add("Donors", donor_line(group));
  description.add("Precision", precision_line(group));
}

Description description(const Results& results) {
  const ResultsGroup& group = results.group("pruning");
  Description description;
  add_heads(results, group, description);
  description.model_loss =
      "its loss is " + number_text(group.scalar("loss"), 3) + " nats per token";
  if (const std::optional<std::int64_t> d_vocab = results.integer("d_vocab")) {
    description.warning = loss_warning(group, static_cast<std::uint64_t>(*d_vocab));
  }
  if (description.warning.empty()) description.warning = halves_warning(group);
  return description;
}

}  // namespace

std::string harmless_heads_text(const ResultsGroup& group) {
  const auto count = [&](const char* name) {
    return static_cast<std::size_t>(group.values(name)(0));
  };
  const std::size_t n_head = count("n_interval");
  return std::to_string(count("n_harmless")) + " of " + count_text(n_head, "head") +
         (n_head == 1 ? " can" : " can each");
}

std::string halves_warning(const ResultsGroup& group) {
  if (!group.has("loss_by_half")) return "";
  constexpr double least_share = 0.05;  // of the loss; smaller differences decide no verdict
  const Variable& loss = group.variable("loss_by_half");
  const Estimate even = loss.estimate(0), odd = loss.estimate(1);
  const bool are_apart = even.high < odd.low || odd.high < even.low;
  if (!are_apart || std::abs(even.value - odd.value) < least_share * group.scalar("loss"))
    return "";
  return "even- and odd-numbered documents are of different kinds: their losses are " +
         number_text(even.value, 3) + " and " + number_text(odd.value, 3) +
         " nats per token. Even ones choose heads and orders, odd ones judge them, so results are "
         "of one kind of text on another. Shuffle the documents.";
}

std::string loss_warning(const ResultsGroup& group, std::uint64_t d_vocab) {
  const double loss = group.variable("loss").estimate(0).value;
  const double chance = std::log(static_cast<double>(d_vocab));
  // Of a model that guesses, the loss differs from chance by float32's rounding.
  if (!(loss > chance * (1 + 1e-6))) return "";
  return "the loss of " + number_text_beside(loss, chance, 3) + " nats per token is above " +
         number_text_beside(chance, loss, 3) + ", the loss of guessing among the " +
         std::to_string(d_vocab) + " tokens: tokenizer, corpus or model may be the wrong one.";
}

Presentation pruning_presentation() {
  return {.group = "pruning",
          .describe = description,
          .scores = {{"What pruning it costs",
                      {"loss_increase", "loss_all_but_one", "importance", "direct_effect"}}},
          .measures = {{"loss", "loss", ""}, {"prunable_share", "prunable_share", "", true}},
          .auxiliary = {"loss_increase_corpus_half_width", "donor_error"},
          .variables = &pruning_variables()};
}

}  // namespace headscope
