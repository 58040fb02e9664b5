#include <algorithm>
#include <cmath>
#include <functional>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/explained/explained.hpp"
#include "classification/results.hpp"
#include "classification/types/registry.hpp"
#include "headscope/head_types.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_types_named = 4, most_heads_named = 3;

std::string attend_by_text(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  const LearnedTypes types = learned_types(results);
  if (types.n_head == 0) return no_head_left_text;
  const std::vector<std::string> names = spaced(group.labels("head_type"));
  const std::string text =
      specialised_heads_text(types) +
      (group.has("control_type_heads") ? " by a type that untrained models have less often" : "");
  if (types.learned.empty()) return text + ".";
  std::string list =
      joined(types.learned | std::views::take(most_types_named), ", ", [&](const TypeCount& count) {
        return names[count.type] + " (" + count_text(count.n_head, "head") + ")";
      });
  if (const std::size_t n_type = types.learned.size(); n_type > most_types_named) {
    list += " and " + count_text(n_type - most_types_named, "more type");
  }
  const auto n_document = results.integer("n_document");
  const bool may_be_chance = n_document && *n_document < std::int64_t{least_documents};
  return text + ": " + list + "." +
         (may_be_chance ? " On fewer than " + std::to_string(least_documents) +
                              " documents a type may be chance."
                        : "");
}

std::string explained_text(const ResultsGroup& group) {
  if (!group.has("explained_verdict")) return "";
  const std::vector<double>& verdicts = group.values("explained_verdict").values;
  const auto n_of = [&](LabelVerdict verdict) {
    return static_cast<std::size_t>(std::ranges::count(verdicts, static_cast<double>(verdict)));
  };
  const std::size_t n_explained = n_of(explained), n_other = n_of(unexplained);
  if (n_explained + n_other == 0) return "";
  return "Of " + count_text(n_explained + n_other, "label") +
         " on heads with measurable effects, " + std::to_string(n_explained) +
         (n_explained == 1 ? " is" : " are") + " shown to explain part or all of the effect, " +
         std::to_string(n_other) + (n_other == 1 ? " is" : " are") + " not.";
}

/// The heads of largest cost that no label explains. Only measurable costs count, and no head with
/// a label of which the run cannot tell whether it explains the effect.
std::string look_next_text(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  if (!group.has("explained_verdict") || !results.has("pruning")) return "";
  const ResultsGroup& pruning = results.group("pruning");
  if (!pruning.has("loss_increase")) return "";
  const Array& verdicts = group.values("explained_verdict");
  const std::vector<std::string>& texts = group.texts("explained_text");  // of labels that were run
  const Variable& cost = pruning.variable("loss_increase");
  const double baseline = pruning.scalar("loss_baseline");
  const std::size_t n_head = verdicts.shape[2], n_head_total = verdicts.shape[1] * n_head;
  std::vector<std::size_t> heads;
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    const Estimate estimate = cost.estimate(head_index);
    bool may_be_explained = false;
    for (std::size_t type = 0; type < verdicts.shape[0]; ++type) {
      const std::size_t place = type * n_head_total + head_index;
      const auto verdict = static_cast<LabelVerdict>(verdicts.values[place]);
      may_be_explained |=
          verdict == explained || (verdict == not_measured && !texts[place].empty());
    }
    if (!may_be_explained && is_measurable(estimate, baseline)) heads.push_back(head_index);
  }
  if (heads.empty()) return "";
  std::ranges::stable_sort(heads, std::greater(),
                           [&](std::size_t head_index) { return cost.estimate(head_index).value; });
  const std::size_t n_named = std::min(most_heads_named, heads.size());
  return "Look next at " +
         joined(heads | std::views::take(n_named), ", ",
                [&](std::size_t head_index) { return head_text(head_index, n_head); }) +
         (n_named == 1 ? ", the costliest head" : ", the costliest heads") +
         " whose effect no label explains.";
}

}  // namespace

double most_untrained(const ResultsGroup& group, std::size_t type) {
  const Array& heads = group.values("control_type_heads");
  double most = 0;
  for (std::size_t control = 0; control < heads.shape[0]; ++control) {
    if (std::isnan(heads(control, type))) return std::nan("");
    most = std::max(most, heads(control, type));
  }
  return most;
}

LearnedTypes learned_types(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  const Array& flags = group.values("type");
  const std::vector<std::string>& names = group.labels("head_type");
  const bool has_control = group.has("control_type_heads");
  std::vector<bool> is_specialised(flags.shape[1] * flags.shape[2]), is_apart(is_specialised);
  LearnedTypes types;
  for (std::size_t type = 0; type < flags.shape[0]; ++type) {
    const std::vector<double> has_type = flags.part(type).values;
    const auto n_head = static_cast<std::size_t>(std::ranges::count(has_type, 1.0));
    if (n_head == 0) {
      types.absent.push_back(type);
    } else if (has_control && !(most_untrained(group, type) < static_cast<double>(n_head))) {
      types.not_learned.push_back({type, n_head});
    } else {
      const bool counts = counts_as_specialised(names[type]);
      (counts ? types.learned : types.apart).push_back({type, n_head});
      std::vector<bool>& heads = counts ? is_specialised : is_apart;
      for (std::size_t head_index = 0; head_index < heads.size(); ++head_index) {
        if (has_type[head_index] == 1) heads[head_index] = true;
      }
    }
  }
  std::ranges::stable_sort(types.learned, std::greater(), &TypeCount::n_head);
  types.n_specialised = static_cast<std::size_t>(std::ranges::count(is_specialised, true));
  types.n_apart = numbers_where(is_apart.size(), [&](std::size_t head_index) {
                    return is_apart[head_index] && is_specialised[head_index];
                  }).size();
  types.n_head = static_cast<std::size_t>(
      std::ranges::count(removed_heads(results, {flags.shape[1], flags.shape[2]}), false));
  return types;
}

std::string specialised_heads_text(const LearnedTypes& types) {
  return std::to_string(types.n_specialised) + " of " + count_text(types.n_head, "head") +
         (types.n_head == 1 ? " is" : " are") + " specialised";
}

Headline classification_headline(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  return {.attend_by = attend_by_text(results),
          .matter = "",
          .explained = explained_text(group),
          .look_next = look_next_text(results)};
}

}  // namespace headscope
