#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/label_text.hpp"
#include "base/text.hpp"
#include "comparison/comparison_group.hpp"
#include "headscope/comparison.hpp"
#include "headscope/error.hpp"
#include "headscope/types.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_panels = 12;
/// From this ratio of the largest to the smallest place on, the axis of places is logarithmic.
constexpr double least_log_ratio = 8;

/// A measure's name as a title; the variable's name in words where there is no other.
std::string measure_title(const std::string& name) {
  static const std::map<std::string, std::string> titles{
      {"disagreement", "Disagreement of heads"},
      {"entropy_median", "Median entropy of attention"},
      {"mean_abs_cosine", "Likeness of heads"},
      {"mean_abs_cosine_difference", "Likeness of heads above untrained"},
      {"prunable_share", "Share of heads that can be pruned"},
      {"qk_rank90_median", "Median rank of the query-key products"},
      {"sink_mean", "Attention on the first token"},
      {"task_accuracy", "Accuracy on tasks"},
      {"type_share", "Share of heads of each type"},
  };
  const auto found = titles.find(name);
  return found == titles.end() ? capitalised(in_words(name, "")) : found->second;
}

std::string with_units(const std::string& name, const std::string& units) {
  return units == "1" ? name : name + " (" + units + ")";
}

std::string file_stem(const std::string& name) {
  return plain_name("comparison_" + name, '-');
}

/// Where the runs stand along the x axis: at numbers, or in a row under their labels.
struct Places {
  std::vector<double> x;
  std::vector<std::string> labels;  ///< empty: x are numbers
  std::string title;
  bool log = false, distinct = true;
};

Places places_of(const ResultsGroup& group) {
  const Variable& ordering = group.variable("ordering");
  Places places{ordering.values.values, {}, ordering_of(group), false, true};
  if (places.title == command_line_order) {
    places.labels = group.labels("run");
    places.title = "run";
    places.distinct = false;
    return places;
  }
  const auto [low, high] = std::ranges::minmax(places.x);
  places.log = low > 0 && high >= least_log_ratio * low;
  places.distinct = std::set<double>(places.x.begin(), places.x.end()).size() == places.x.size();
  return places;
}

/// `, with 95 % intervals (documents resampled)`; empty where no value has an interval.
std::string interval_text(const Variable& variable) {
  for (std::size_t i = 0; i < variable.values.size(); ++i) {
    if (!variable.estimate(i).has_interval()) continue;
    return ", with 95 % intervals (" + variable.resampling + ")";
  }
  return "";
}

Figure measure_figure(const ResultsGroup& group, const Variable& variable) {
  const Places places = places_of(group);
  ChartPanel panel;
  std::size_t colour = 0;  // by place among all labels: types have those of the report
  for (const ComparedSlice& slice : compared_slices(group, variable)) {
    Series series{.label = in_words(slice.label, ""),
                  .style = places.distinct ? Series::Style::line : Series::Style::points,
                  .colour = colour++};
    bool is_all_zero = true;
    for (std::size_t run = 0; run < slice.at.size(); ++run) {
      const Estimate estimate = variable.estimate(slice.at[run][0]);
      is_all_zero &= std::isnan(estimate.value) || estimate.value == 0;
      if (variable.interval) {
        series.add(places.x[run], estimate);
      } else {
        series.add(places.x[run], estimate.value);
      }
    }
    if (!is_all_zero || variable.dimensions.size() == 1) panel.series.push_back(std::move(series));
  }
  if (!places.labels.empty()) {
    // Side by side: points of equal value hide one another. On an axis of numbers points stay at
    // their numbers.
    const double step = std::min(0.06, 0.6 / static_cast<double>(panel.series.size()));
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
      panel.series[i].shift =
          step * (static_cast<double>(i) - static_cast<double>(panel.series.size() - 1) / 2);
    }
  }
  return {.name = file_stem(variable.name),
          .group = group.name,
          .title = measure_title(variable.name),
          .caption = capitalised(variable.long_name) + ", by run" + interval_text(variable) + ".",
          .source = variable.references,
          .content = Chart{.panels = {panel},
                           .x_title = places.title,
                           .y_title = with_units(measure_title(variable.name), variable.units),
                           .x_labels = places.labels,
                           .log_x = places.log}};
}

/// Adds a heat map of a number for each variable of the head panel (rows) that has one and each run
/// (columns).
/// @param what   the number: `changed` for variables `NAME_changed`.
/// @param value  of such a variable in a run, given a slice of it and the run.
template <typename Value>
void add_by_variable(const ResultsGroup& group, const std::vector<ScoreSection>& scores,
                     const std::string& what, Value value, Heatmap map, const std::string& title,
                     const std::string& caption, std::vector<Figure>& figures) {
  const std::vector<std::string>& runs = group.labels("run");
  std::vector<double> values;  // row-major
  for (const ScoreSection& section : scores) {
    for (const std::string& name : section.variables) {
      const Variable* const variable = group.find(name + "_" + what);
      if (variable == nullptr) continue;
      for (const ComparedSlice& slice : compared_slices(group, *variable)) {
        map.row_labels.push_back(in_words(name.substr(section.prefix.size()), slice.label));
        for (std::size_t run = 1; run < slice.at.size(); ++run) {
          values.push_back(value(*variable, slice, run));
        }
      }
    }
  }
  if (map.row_labels.empty()) return;
  map.column_labels = {runs.begin() + 1, runs.end()};
  map.column_title = "run";
  map.panels.push_back({"", Array({map.row_labels.size(), runs.size() - 1}, std::move(values))});
  figures.push_back({.name = file_stem(what),
                     .group = group.name,
                     .title = title,
                     .caption = caption,
                     .source = headscope_definition,
                     .content = std::move(map)});
}

void add_correlations_and_changes(const ResultsGroup& group,
                                  const std::vector<ScoreSection>& scores,
                                  std::vector<Figure>& figures) {
  const std::string first = group.labels("run")[0];
  add_by_variable(
      group, scores, "rank_correlation",
      [](const Variable& variable, const ComparedSlice& slice, std::size_t run) {
        return variable.estimate(slice.at[run][0]).value;
      },
      {.value_title = "rank correlation", .scale = ColourScale::diverging, .low = -1, .high = 1},
      "Does the order of heads stay?",
      "Spearman's rank correlation over heads with the first run, " + first +
          ", for the variables of the head panel.",
      figures);
  const ComparedHeads compared(group);
  const std::string suffix = "_changed";
  add_by_variable(
      group, scores, "changed",
      [&](const Variable& variable, const ComparedSlice& slice, std::size_t run) {
        const Variable& compared_variable =
            group.variable(variable.name.substr(0, variable.name.size() - suffix.size()));
        const auto has_interval = [&](std::size_t at) {
          return compared_variable.estimate(at).has_interval();
        };
        double n = 0, n_changed = 0;
        for (std::size_t i = 0; i < slice.at[run].size(); ++i) {
          const std::size_t at = slice.at[run][i];
          if (!compared.has(run, i) || !has_interval(slice.at[0][i]) || !has_interval(at)) continue;
          ++n;
          n_changed += variable.values.values[at];
        }
        return n_changed / n;  // NaN where no head has an interval in both runs
      },
      {.value_title = "share of heads", .low = 0, .high = 1}, "How many heads changed?",
      "Share of heads, without removed ones, that differ from the first run, " + first +
          ": the 95 % interval of the difference excludes 0; where it has none, the 95 % "
          "intervals of both runs lie apart. Chance alone gives up to 0.05 on average. For the "
          "variables of the head panel and the heads that have intervals in both runs; empty "
          "where no head has.",
      figures);
}

std::string shown_runs(std::size_t n_run, std::size_t n_shown) {
  return n_shown < n_run
             ? " The first " + std::to_string(n_shown) + " of " + std::to_string(n_run) + " runs."
             : "";
}

void add_types(const ResultsGroup& group, std::vector<Figure>& figures) {
  const Variable* const transition = type_transition_of(group);
  if (transition == nullptr) return;
  const std::vector<std::string>& runs = group.labels("run");
  const std::vector<std::string>& types = group.labels("type_from");
  const std::size_t n_type = types.size(), n_shown = std::min(runs.size(), most_panels + 1);
  std::vector<std::size_t> present;  // types that a head has in some run
  for (std::size_t type = 0; type < n_type; ++type) {
    double n = 0;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      for (std::size_t from = 0; from < n_type; ++from) n += transition->values(run, from, type);
    }
    if (n > 0) present.push_back(type);
  }
  Heatmap map{
      .row_title = "type in " + runs[0], .column_title = "type", .value_title = "heads", .low = 0};
  for (const std::size_t type : present) map.row_labels.push_back(in_words(types[type], ""));
  map.column_labels = map.row_labels;
  for (std::size_t run = 1; run < n_shown; ++run) {
    Array heads({present.size(), present.size()});
    for (std::size_t i = 0; i < present.size(); ++i) {
      for (std::size_t j = 0; j < present.size(); ++j) {
        heads(i, j) = transition->values(run, present[i], present[j]);
      }
    }
    map.panels.push_back({runs[run], std::move(heads)});
  }
  figures.push_back({.name = file_stem("type_transition"),
                     .group = group.name,
                     .title = "Which heads change their type?",
                     .caption = "Heads by main type in the first run, " + runs[0] +
                                " (rows), and in the run of the panel (columns)." +
                                shown_runs(runs.size(), n_shown),
                     .source = headscope_definition,
                     .content = std::move(map)});
}

/// The sum of the sizes of the differences of compared heads.
double summed_size(const Variable& difference, const ComparedSlice& slice,
                   const ComparedHeads& compared) {
  double sum = 0;
  for (std::size_t run = 1; run < slice.at.size(); ++run) {
    for (std::size_t i = 0; i < slice.at[run].size(); ++i) {
      const double value = difference.values.values[slice.at[run][i]];
      if (compared.has(run, i) && std::isfinite(value)) sum += std::abs(value);
    }
  }
  return sum;
}

/// Differences from the first run by head, for each variable of the head panel.
void add_differences(const ResultsGroup& group, const std::vector<ScoreSection>& scores,
                     std::vector<Figure>& figures) {
  const std::vector<std::string>& runs = group.labels("run");
  const std::size_t n_shown = std::min(runs.size(), most_panels + 1);
  const Shape heads{group.dimension("layer").size(), group.dimension("head").size()};
  const ComparedHeads compared(group);
  for (const ScoreSection& section : scores) {
    for (const std::string& name : section.variables) {
      const Variable* const difference = group.find(name + "_difference");
      if (difference == nullptr) continue;
      const std::vector<ComparedSlice> all = compared_slices(group, *difference);
      if (all.front().at[0].size() != element_count(heads)) continue;
      const ComparedSlice& slice = *std::ranges::max_element(
          all, {},
          [&](const ComparedSlice& one) { return summed_size(*difference, one, compared); });
      Heatmap map = head_map(with_units("difference", difference->units), {});
      map.scale = ColourScale::diverging;
      double largest_value = 0, largest_difference = 0;
      for (const double value : group.values(name).values) {
        if (std::isfinite(value)) largest_value = std::max(largest_value, std::abs(value));
      }
      bool any_lost = false;
      for (std::size_t run = 1; run < n_shown; ++run) {
        std::vector<double> values;
        for (std::size_t i = 0; i < slice.at[run].size(); ++i) {
          const bool is_compared = compared.has(run, i);
          any_lost |= !is_compared;
          const double value = difference->values.values[slice.at[run][i]];
          values.push_back(is_compared ? value : arma::datum::nan);
          largest_difference = std::fmax(largest_difference, std::abs(values.back()));
        }
        map.panels.push_back({runs[run], Array(heads, std::move(values))});
      }
      // Differences of rounding alone are drawn as none.
      constexpr double rounding = 1e-5;
      if (largest_difference < rounding * largest_value) map.high = rounding * largest_value;
      const std::string words = in_words(name.substr(section.prefix.size()), slice.label);
      figures.push_back(
          {.name = file_stem(name + "_difference"),
           .group = group.name,
           .title = capitalised(words) + ": difference from " + runs[0],
           .caption = difference->long_name + "." +
                      (all.size() > 1 && largest_difference > 0
                           ? " Shown is " + spaced(slice.label) + ", which differs most."
                           : "") +
                      (any_lost ? " Removed heads are left empty." : "") +
                      shown_runs(runs.size(), n_shown),
           .source = group.variable(name).references,
           .content = std::move(map)});
    }
  }
}

}  // namespace

std::vector<Figure> comparison_figures(const Results& results, const Presentation& presentation) {
  const ResultsGroup& group = results.group(comparison_group);
  check_count("results comparison runs", group.values("ordering").size(),
              group.labels("run").size());
  std::vector<Figure> figures;
  for (const Measure& measure : presentation.measures) {
    const Variable* const variable = group.find(measure.variable);
    if (variable != nullptr) figures.push_back(measure_figure(group, *variable));
  }
  if (!head_shape(results)) return figures;
  add_types(group, figures);
  add_correlations_and_changes(group, presentation.scores, figures);
  add_differences(group, presentation.scores, figures);
  return figures;
}

}  // namespace headscope
