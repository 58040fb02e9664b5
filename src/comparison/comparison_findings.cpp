#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "comparison/change_tests.hpp"
#include "comparison/comparison_group.hpp"
#include "headscope/comparison.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_named = 4;
/// Of fewer heads, chance alone makes the order agree or disagree.
constexpr std::size_t least_ordered_heads = 5;
constexpr double same_order = 1 - 1e-9;

/// Something said of the runs, and what it is ranked by.
struct Ranked {
  double value;
  std::string text;
};

std::string runs_line(const ResultsGroup& group) {
  const std::vector<std::string>& runs = group.labels("run");
  std::string notes = group.summary.empty() ? "" : " " + group.summary;
  std::ranges::replace(notes, '\n', ' ');
  return count_text(runs.size(), "run") + " in the order of " + ordering_of(group) + ": " +
         joined(runs, ", ") + "." +
         (runs.size() == 2 ? " The second is compared" : " Each is compared") +
         " with the first, " + runs[0] + "." + notes;
}

/// Whether a run has few enough values of the variable for the table of runs.
bool is_in_overview(const Variable& variable) {
  constexpr std::size_t most_columns = 2;
  const Shape& shape = variable.values.shape;
  return shape.size() == 1 || shape[1] <= most_columns;
}

/// `loss higher by 0.08 to 0.13`, the interval of the difference on the same documents; where there
/// is none `entropy lower`, with both values unless the table of runs has them.
std::string change_of(const std::string& measure, const Estimate& first, const Estimate& later,
                      const Estimate& difference, bool in_overview) {
  if (difference.has_interval()) {
    const bool higher = difference.value > 0;
    const double least = higher ? difference.low : -difference.high,
                 most = higher ? difference.high : -difference.low;
    return measure + (higher ? " higher by " : " lower by ") + number_text(least, 3) + " to " +
           number_text(most, 3);
  }
  return measure + (later.value > first.value ? " higher" : " lower") +
         (in_overview ? ""
                      : " (" + number_text(later.value, 3) + " against " +
                            number_text(first.value, 3) + ")");
}

/// Whether shares of heads of the first run and another, which has another number of heads, differ
/// by at most one head of the smaller model: a model may have no share nearer to the other's.
bool is_within_one_head(const ResultsGroup& group, std::size_t run, double first, double later) {
  const Variable* const n_head_left = group.find("n_head_left");
  if (n_head_left == nullptr) return false;
  const double n_first = n_head_left->values(0), n_later = n_head_left->values(run);
  constexpr double rounding = 1e-9;
  return n_first != n_later && std::abs(later - first) * std::min(n_first, n_later) <= 1 + rounding;
}

/// Says that a run was not compared by intervals: one without width shows nothing.
std::string without_intervals(const std::string& what, const std::string& run,
                              const std::string& first) {
  return "No " + what + " has intervals of some width in both " + run + " and " + first + ".";
}

std::string measures_line(const ResultsGroup& group, const std::vector<Measure>& measures) {
  const std::vector<std::string>& runs = group.labels("run");
  std::vector<std::vector<std::string>> changes(runs.size()), within_one_head(runs.size());
  std::set<std::string> names;
  for (const Measure& measure : measures) names.insert(measure.variable);
  bool is_any = false;
  std::vector<bool> has_intervals(runs.size());
  for (const Measure& measure : measures) {
    const Variable* const measured = group.find(measure.variable);
    if (measured == nullptr || !measured->interval) continue;
    is_any = true;
    const Variable& variable = *measured;
    const Variable* const differences =
        with_suffix(group, variable, difference_suffix(measure.variable, names));
    for (const ComparedSlice& slice : compared_slices(group, variable)) {
      const Estimate first = variable.estimate(slice.at[0][0]);
      for (std::size_t run = 1; run < runs.size(); ++run) {
        const Estimate later = variable.estimate(slice.at[run][0]),
                       difference = differences == nullptr
                                        ? Estimate()
                                        : differences->estimate(slice.at[run][0]);
        if (first.has_interval() && later.has_interval() &&
            (first.has_width() || later.has_width())) {
          has_intervals[run] = true;
        }
        if (!is_changed(first, later, difference)) continue;
        const std::string name = in_words(measure.name, slice.label);
        if (measure.is_share_of_heads && is_within_one_head(group, run, first.value, later.value)) {
          within_one_head[run].push_back(name);
          continue;
        }
        changes[run].push_back(change_of(name + (slice.label.empty() ? "" : ","), first, later,
                                         difference, is_in_overview(variable)));
      }
    }
  }
  if (!is_any) return "";
  std::vector<std::string> sentences;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    if (!has_intervals[run]) {
      sentences.push_back(without_intervals("measure", runs[run], runs[0]));
      continue;
    }
    sentences.push_back(changes[run].empty()
                            ? runs[run] + " differs from " + runs[0] +
                                  " in no measure beyond its interval."
                            : runs[run] + " differs from " + runs[0] +
                                  " beyond the intervals: " + joined(changes[run], "; ") + ".");
    if (within_one_head[run].empty()) continue;
    sentences.push_back(
        "Not counted, since the numbers of heads differ and the shares by at most "
        "one head: " +
        joined(within_one_head[run], "; ") + ".");
  }
  return joined(sentences, " ");
}

/// `37 of 192 values differ beyond their intervals, where chance alone gives up to one of twenty on
/// average.`
std::string beyond_intervals(std::size_t n_changed, std::size_t n_tested) {
  return std::to_string(n_changed) + " of " + count_text(n_tested, "value") +
         (n_changed == 1 ? " differs beyond its interval" : " differ beyond their intervals") +
         ", where chance alone gives up to one of twenty on average.";
}

/// `classification sink (12 of 32 heads in pruned)`, those with the largest share first.
/// @param auxiliary  as is_score.
std::string changed_line(const ResultsGroup& group, const std::set<std::string>& auxiliary) {
  constexpr double largest_q = 0.05;
  const std::string beyond_chance = " (q < 0.05 over all heads and scores)";
  std::vector<Ranked> found;
  std::size_t n_slice = 0, n_tested = 0, n_changed = 0;
  const ComparedHeads compared(group);
  const std::vector<std::string>& runs = group.labels("run");
  std::vector<bool> has_tests(runs.size());
  for (const Variable& variable : group.variables) {
    const Variable* const changed = with_suffix(group, variable, "_changed");
    const Variable* const q = with_suffix(group, variable, "_changed_q");
    if (changed == nullptr || q == nullptr || !is_score(variable, auxiliary)) continue;
    for (const ComparedSlice& slice : compared_slices(group, variable)) {
      ++n_slice;
      for (std::size_t run = 1; run < runs.size(); ++run) {
        std::size_t n = 0, n_head = 0;
        for (std::size_t head_index = 0; head_index < slice.at[run].size(); ++head_index) {
          if (!compared.has(run, head_index)) continue;
          ++n_head;
          const std::size_t at = slice.at[run][head_index];
          if (std::isnan(q->values.values[at])) continue;
          has_tests[run] = true;
          ++n_tested;
          if (changed->values.values[at] == 1) ++n_changed;
          if (q->values.values[at] < largest_q) ++n;
        }
        if (n == 0) continue;
        found.push_back({static_cast<double>(n) / static_cast<double>(n_head),
                         in_words(variable.name, slice.label) + " (" + std::to_string(n) + " of " +
                             count_text(n_head, "head") + " in " + runs[run] + ")"});
      }
    }
  }
  if (n_slice == 0) return "";
  std::vector<std::string> sentences;
  std::ranges::stable_sort(found, std::greater<>(), &Ranked::value);
  if (!found.empty()) {
    sentences.push_back("Scores in which the most heads differ from " + runs[0] + beyond_chance +
                        ": " + joined(found | std::views::take(most_named), "; ", &Ranked::text) +
                        ". In all, " + beyond_intervals(n_changed, n_tested));
  } else if (n_tested > 0) {
    sentences.push_back("No head differs from " + runs[0] + " beyond chance" + beyond_chance +
                        "; " + beyond_intervals(n_changed, n_tested));
  }
  for (std::size_t run = 1; run < runs.size(); ++run) {
    if (!has_tests[run]) {
      sentences.push_back(without_intervals("score of a head", runs[run], runs[0]));
    }
  }
  return joined(sentences, " ");
}

/// Heads that have a value in both the first run and this one.
std::size_t n_with_values(const Variable& variable, const ComparedSlice& slice, std::size_t run) {
  const auto has_value = [&](std::size_t at) { return !std::isnan(variable.values.values[at]); };
  std::size_t n = 0;
  for (std::size_t i = 0; i < slice.at[run].size(); ++i) {
    if (has_value(slice.at[0][i]) && has_value(slice.at[run][i])) ++n;
  }
  return n;
}

/// @param auxiliary  as is_score.
std::string order_line(const ResultsGroup& group, const std::set<std::string>& auxiliary) {
  std::vector<Ranked> found;
  const std::vector<std::string>& runs = group.labels("run");
  for (const Variable& variable : group.variables) {
    const Variable* const correlation = group.find(variable.name + "_rank_correlation");
    if (correlation == nullptr || !is_score(variable, auxiliary)) continue;
    const std::vector<ComparedSlice> of_heads = compared_slices(group, variable),
                                     correlations = compared_slices(group, *correlation);
    if (of_heads.size() != correlations.size()) continue;
    for (std::size_t i = 0; i < correlations.size(); ++i) {
      const ComparedSlice& slice = correlations[i];
      for (std::size_t run = 1; run < runs.size(); ++run) {
        const double value = correlation->values.values[slice.at[run][0]];
        if (std::isnan(value) || n_with_values(variable, of_heads[i], run) < least_ordered_heads) {
          continue;
        }
        found.push_back({value, in_words(variable.name, slice.label) + " (" +
                                    number_text(value, 2) + " in " + runs[run] + ")"});
      }
    }
  }
  if (found.empty()) return "";
  const std::string least = std::to_string(least_ordered_heads) + " heads or more";
  std::erase_if(found, [](const Ranked& score) { return score.value > same_order; });
  if (found.empty())
    return "By every score that " + least + " have, the order of heads is that in " + runs[0] + ".";
  std::ranges::stable_sort(found, {}, &Ranked::value);
  return "Scores whose order of heads agrees least with that in " + runs[0] +
         ", by Spearman's rho over " + least + ": " +
         joined(found | std::views::take(most_named), "; ", &Ranked::text) + ".";
}

/// `; 2 more heads were removed`, with the place behind it; empty without a head.
std::string removed_text(double n_removed, const std::string& place = "") {
  if (n_removed == 0) return "";
  return "; " + count_text(static_cast<std::size_t>(n_removed), "more head") +
         (n_removed == 1 ? " was" : " were") + " removed" + place;
}

std::string types_line(const ResultsGroup& group) {
  const Variable* const transition = type_transition_of(group);
  if (transition == nullptr) return "";
  const std::vector<std::string>& runs = group.labels("run");
  const std::vector<std::string>& types = group.labels("type_from");
  std::vector<std::string> parts;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    double n_all = 0, n_changed = 0, n_most = 0, n_removed = 0, n_removed_first = 0;
    std::vector<std::string> most;  // the most frequent changes
    for (std::size_t from = 0; from < types.size(); ++from) {
      for (std::size_t to = 0; to < types.size(); ++to) {
        const double n = transition->values(run, from, to);
        const bool lost_first = types[from] == removed_type, lost = types[to] == removed_type;
        if (lost_first && !lost) n_removed_first += n;
        if (lost && !lost_first) n_removed += n;
        if (lost_first || lost) continue;
        n_all += n;
        if (from == to) continue;
        n_changed += n;
        if (n < n_most || n == 0) continue;
        if (n > n_most) most.clear();
        n_most = n;
        most.push_back(in_words(types[from], "") + " to " + in_words(types[to], ""));
      }
    }
    if (n_all == 0) {
      parts.push_back("No head is in both " + runs[run] + " and " + runs[0] + ".");
      continue;
    }
    const std::string changed =
        number_text(n_changed, 0) + " of " + count_text(static_cast<std::size_t>(n_all), "head") +
        (n_changed == 1 ? " has" : " have") + " another main type than in " + runs[0];
    const std::string kind =
        most.size() != 1
            ? ""
            : " (" + std::string(n_most == n_changed ? "" : "most often ") + most[0] + ")";
    parts.push_back("In " + runs[run] + " " + changed + kind + removed_text(n_removed) +
                    removed_text(n_removed_first, " in " + runs[0]) + ".");
  }
  return joined(parts, " ");
}

/// The table of runs: the numbers of their shapes that differ, and the measures of few values.
OverviewTable overview(const ResultsGroup& group, const std::vector<Measure>& measures) {
  OverviewTable table{"Runs", "run", "report", {}};
  for (const char* const name : {"n_layer", "n_head", "d_model"}) {
    const std::vector<double>& values = group.values(name).values;
    const bool differs = std::ranges::any_of(values, [&](double v) { return v != values[0]; });
    if (differs) table.variables.emplace_back(name);
  }
  for (const Measure& measure : measures) {
    const Variable* const variable = group.find(measure.variable);
    if (variable != nullptr && is_in_overview(*variable)) {
      table.variables.push_back(measure.variable);
    }
  }
  return table;
}

}  // namespace

Presentation comparison_presentation(const std::vector<Presentation>& presentations) {
  Presentation comparison{.group = comparison_group,
                          .summaries = {{removed_text_variable, "", "", ""}},
                          .auxiliary = auxiliary_variables(presentations)};
  for (const Presentation& presentation : presentations) {
    for (const Measure& measure : presentation.measures) {
      comparison.measures.push_back({measure.name, measure.name, "", measure.is_share_of_heads});
    }
    for (ScoreSection section : presentation.scores) {
      section.prefix = joined_name(presentation.group, "");
      for (std::string& variable : section.variables) {
        variable = joined_name(presentation.group, variable);
      }
      comparison.scores.push_back(std::move(section));
    }
  }
  comparison.describe = [measures = comparison.measures,
                         auxiliary = comparison.auxiliary](const Results& results) {
    const ResultsGroup& group = results.group(comparison_group);
    Description description;
    description.add("Runs", runs_line(group));
    description.add("The model as a whole", measures_line(group, measures));
    description.add("Heads", changed_line(group, auxiliary));
    description.add("Order of heads", order_line(group, auxiliary));
    description.add("Types", types_line(group));
    description.overview = overview(group, measures);
    return description;
  };
  return comparison;
}

}  // namespace headscope
