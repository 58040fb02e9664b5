#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/head_types.hpp"
#include "report_text.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

/// Deviance explained beyond the sink by head, of a step.
std::vector<double> explained_by(const ResultsGroup& group, const std::string& step) {
  const auto place = group.dimension("step").index_of(step);
  return group.values("deviance_explained_beyond_sink").part(place).values;
}

/// Heads that attend by several families, removed heads left out.
std::size_t n_by_several_families(const Results& results) {
  const ResultsGroup& group = results.group("score_model");
  const std::vector<double> families =
      without_removed_heads(results, group.values("attends_by")).values;
  const auto is_left_and_by_several = [&](std::size_t head_index) {
    return !std::isnan(families[head_index]) && attends_by_several_families(group, head_index);
  };
  return numbers_where(families.size(), is_left_and_by_several).size();
}

/// How many heads attend by each family: `position 20; word class 8`, most first.
/// @param families   of all heads: places among the meanings of attends_by; NaN of removed heads.
/// @param n_several  heads of no single family that attend by several.
/// @param most       of counts; a last one of all remaining heads is among these.
std::string family_counts(const ResultsGroup& group, const std::vector<double>& families,
                          std::size_t n_several, std::size_t most) {
  const std::vector<std::string>& meanings = group.variable("attends_by").flag_meanings;
  std::map<std::pair<double, std::string>, std::size_t> counts;
  std::size_t n_none = 0;
  for (std::size_t head_index = 0; head_index < families.size(); ++head_index) {
    const double family = families[head_index];
    n_none += family == 0;
    if (!(family > 0)) continue;
    const std::string& name = meanings[static_cast<std::size_t>(family)];
    ++counts[{family, family_words_of_head(group, name, head_index)}];
  }
  std::vector<std::pair<std::string, std::size_t>> order;
  for (const auto& [family, n_head] : counts) order.emplace_back(family.second, n_head);
  const auto number = [](const auto& counted) { return counted.second; };
  std::ranges::stable_sort(order, std::ranges::greater(), number);
  order.emplace_back("several families", n_several);
  order.emplace_back("no measurable family", n_none - n_several);
  std::erase_if(order, [](const auto& counted) { return counted.second == 0; });
  if (order.size() > most) {
    std::size_t n_remaining = 0;
    for (const auto& counted : order | std::views::drop(most - 1)) n_remaining += number(counted);
    order.resize(most - 1);
    order.emplace_back("remaining", n_remaining);
  }
  return joined(order, "; ", [](const auto& counted) {
    return counted.first + " " + std::to_string(counted.second);
  });
}

/// Removed heads are left out. @param most  of counts.
std::string counts_sentence(const Results& results, std::size_t most) {
  const ResultsGroup& group = results.group("score_model");
  const std::vector<double> attends_by =
      without_removed_heads(results, group.values("attends_by")).values;
  const std::vector<double> families = finite_values(attends_by);
  const std::string heads = count_text(families.size(), "head") +
                            (families.size() == 1 ? " attends by: " : " attend by: ");
  const bool has_interval = !numbers_where(attends_by.size(), [&](std::size_t head_index) {
                               return has_gain_interval(group, head_index);
                             }).empty();
  if (!has_interval)
    return "The run cannot tell what " + heads + "no family's gain has an interval.";
  return "What " + heads + family_counts(group, attends_by, n_by_several_families(results), most) +
         ".";
}

std::string families_line(const Results& results) {
  return counts_sentence(results, std::numeric_limits<std::size_t>::max()) +
         " A head attends by the family of features that a model of its attention needs most: "
         "without this family the share of the deviance on held-out documents that the model "
         "explains falls by more than " +
         number_text(100 * least_family_gain, 2) + " points (by the whole interval)." +
         (n_by_several_families(results) == 0
              ? ""
              : " A head attends by several families if its model needs none of them alone: "
                "without any one family more than half of what all features explain stays.");
}

std::string explained_sentence(const ResultsGroup& group) {
  const double full = median_of_numbers(explained_by(group, "full"));
  if (std::isnan(full)) return "";
  return "Models explain this share of the deviance from uniform attention on held-out documents, "
         "beyond the first token, in the median head: with position alone " +
         percent(median_of_numbers(explained_by(group, "position"))) +
         ", with all features but the head's score for the two tokens alone " +
         percent(median_of_numbers(explained_by(group, "features"))) + ", with all features " +
         percent(full) + ".";
}

/// Names the features whose coefficients are 0 for all heads; empty if there is none.
std::string idle_features_line(const ResultsGroup& group) {
  if (!group.has("coefficient")) return "";
  const std::vector<std::string>& features = group.labels("feature");
  const Array& coefficient = group.values("coefficient");
  const std::vector<std::size_t> idle = numbers_where(features.size(), [&](std::size_t feature) {
    return std::ranges::all_of(coefficient.part(feature).values,
                               [](double value) { return value == 0; });
  });
  if (idle.empty()) return "";
  return "Hold at no sampled query of the even-numbered documents, to which models are fitted, so "
         "that their coefficients are 0: " +
         joined(idle, ", ", [&](std::size_t feature) { return features[feature]; }) + ".";
}

/// Heads with an effect of which a model of the step keeps at least half; and those with a value.
struct KeptHalf {
  std::size_t n_half = 0, n_head = 0;
};

KeptHalf kept_half(const ResultsGroup& group, const std::string& step) {
  KeptHalf kept;
  const auto place = group.dimension("step").index_of(step);
  for (const double share : group.values("effect_explained").part(place).values) {
    if (std::isnan(share)) continue;
    ++kept.n_head;
    kept.n_half += share >= 0.5 ? 1 : 0;
  }
  return kept;
}

std::string effects_line(const ResultsGroup& group) {
  if (!group.has("effect_explained")) return "";
  const KeptHalf full = kept_half(group, "full"), label = kept_half(group, "label");
  if (full.n_head == 0) {
    const Variable& increase = group.variable("mean_replacement_increase");
    const bool any_interval = !numbers_where(increase.values.size(), [&](std::size_t head_index) {
                                 return increase.estimate(head_index).has_interval();
                               }).empty();
    return std::string("The run cannot tell whether these models keep what heads do: ") +
           (any_interval ? "no head has a measurable effect on the loss."
                         : no_interval_text(group.scalar("effect_documents"), "documents") + ".");
  }
  const std::string labelled =
      label.n_head == 0 ? ""
                        : "; with the features of the label " + std::to_string(label.n_half) +
                              " of " + count_text(label.n_head, "head") + " with a label";
  return "Heads that keep at least half of their effect on the loss, by the estimate, when models "
         "replace their attention in a sample of documents: with all features " +
         std::to_string(full.n_half) + " of " + count_text(full.n_head, "head") +
         " with a measurable effect; with position alone " +
         std::to_string(kept_half(group, "position").n_half) + labelled + ".";
}

/// The heads with the largest effects of which the full model keeps less than half.
std::string unexplained_line(const ResultsGroup& group) {
  if (!group.has("effect_explained")) return "";
  const auto place = group.dimension("step").index_of("full");
  const Array explained = group.values("effect_explained").part(place);
  const Array& increase = group.values("mean_replacement_increase");
  std::vector<Index> heads = numbers_where<Index>(
      explained.size(), [&](Index head) { return explained.values[head] < 0.5; });
  if (heads.empty()) return "";
  std::ranges::stable_sort(heads, std::ranges::greater(),
                           [&](Index head) { return increase.values[head]; });
  const std::size_t n_unexplained = heads.size();
  heads.resize(std::min<std::size_t>(heads.size(), 5));
  const std::size_t n_head = increase.shape[1];
  return "By the estimate, the model with all features keeps less than half of the effect of " +
         count_text(n_unexplained, "head") +
         (n_unexplained > heads.size() ? "; the largest effects: " : ": ") +
         joined(heads, ", ",
                [&](Index head) {
                  return head_text(head, n_head) + " (" + number_text(increase.values[head], 2) +
                         " nats)";
                }) +
         ".";
}

/// The loss with half and all of the heads on their models, and at their means. Half of one head is
/// none.
std::string joint_line(const Results& results) {
  const ResultsGroup& group = results.group("score_model");
  if (!group.has("joint_loss")) return "";
  const std::vector<bool> removed =
      removed_heads(results, {group.dimension("layer").size(), group.dimension("head").size()});
  const auto n_head = std::ranges::count(removed, false);
  const auto loss = [&](const char* replacement, std::size_t share) {
    const auto place = group.dimension("replacement").index_of(replacement);
    return number_text(group.values("joint_loss")(place, share), 3);
  };
  constexpr std::size_t none = 0, half = 2, all = 4;
  const std::string with_none =
      "On " + count_text(static_cast<std::size_t>(group.scalar("joint_documents")), "document") +
      " the loss is " + loss("mean", none) + " nats.";
  if (n_head == 0) return with_none;
  if (n_head == 1) {
    return with_none + " When a model replaces the attention of the only head, the loss is " +
           loss("score_model", all) + "; when the mean output replaces the head's output, " +
           loss("mean", all) + ".";
  }
  return with_none +
         " When models replace the attention of half of the heads, cheapest first, the loss is " +
         loss("score_model", half) + "; of all heads, " + loss("score_model", all) +
         ". When the mean outputs replace the outputs of the same heads, the loss is " +
         loss("mean", half) + " and " + loss("mean", all) + ".";
}

Description score_description(const Results& results) {
  const ResultsGroup& group = results.group("score_model");
  Description description;
  const std::string explained = explained_sentence(group);
  if (explained.empty()) {
    description.add("What heads attend by",
                    has_no_head_left(results, group)
                        ? no_head_left_text
                        : "No head's attention beyond the first token differs enough from uniform "
                          "attention for a model, or there are too few documents.");
    return description;
  }
  constexpr std::size_t most_in_headline = 4;
  description.headline.attend_by = description.found = counts_sentence(results, most_in_headline);
  description.add("What heads attend by", families_line(results));
  description.add("Attention explained", explained);
  description.add("Effects explained", effects_line(group));
  description.add("Effects of which features keep less than half", unexplained_line(group));
  description.add("Many heads at once", joint_line(results));
  description.add("Features that no fit could use", idle_features_line(group));
  return description;
}

}  // namespace

Presentation score_presentation() {
  return {.group = "score_model",
          .describe = score_description,
          .scores = {{"What it attends by", {"deviance_explained_beyond_sink", "family_gain"}}},
          .summaries = {{"attends_text", "Where its model does not expect it", "surprise_text",
                         "surprise_marks"}},
          .auxiliary = {"coefficient_se", "effect_explained_control", "surprise_document",
                        "surprise_query", "surprise_key", "surprise_marks"},
          .label_words = family_words,
          .variables = &score_variables()};
}

}  // namespace headscope
