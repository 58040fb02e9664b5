#include "comparison/comparison_findings.hpp"

#include <algorithm>
#include <cmath>

#include "comparison/head_comparison.hpp"
#include "headscope/error.hpp"
#include "headscope/label_text.hpp"
#include "headscope/number_text.hpp"
#include "report/head_variables.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_named = 4;

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string runs_line(const Comparison& comparison, const std::string& ordering) {
  const std::vector<std::string>& runs = comparison.group.dimensions.at("run").text;
  std::string text = count_text(runs.size(), "run") + " in the order of " + ordering + ": " +
                     joined(runs, ", ") + ". The others are compared with the first.";
  for (const std::string& note : comparison.notes) text += " " + note + ".";
  return text;
}

std::string measures_line(const ResultsGroup& group) {
  const std::vector<std::string>& runs = group.dimensions.at("run").text;
  std::vector<std::string> apart;
  bool has_interval = false;
  for (const Measure& measure : group.report.measures) {
    const Variable& variable = group.variable(measure.variable);
    if (!variable.interval) continue;
    const std::string difference_name = measure.variable + "_difference";
    const bool is_other_measure =
        std::ranges::find(group.report.measures, difference_name, &Measure::variable) !=
        group.report.measures.end();
    const Variable* const differences =
        is_other_measure ? nullptr : find_variable(group, difference_name);
    for (const ComparedSlice& slice : compared_slices(group, variable)) {
      std::vector<std::string> others;
      const Estimate first = variable.estimate(slice.at[0][0]);
      for (std::size_t run = 1; run < runs.size(); ++run) {
        const Estimate own = variable.estimate(slice.at[run][0]),
                       difference = differences == nullptr
                                        ? Estimate()
                                        : differences->estimate(slice.at[run][0]);
        has_interval |= first.has_interval() && own.has_interval();
        if (!is_changed(first, own, difference)) continue;
        const std::string interval = difference.has_interval()
                                         ? ", a difference of " + number_text(difference.low, 3) +
                                               " to " + number_text(difference.high, 3) +
                                               " on the same documents or pairs"
                                         : "";
        others.push_back(number_text(own.value, 3) + " in " + runs[run] + interval);
      }
      if (others.empty()) continue;
      apart.push_back(in_words(measure.name, slice.label) + " (" + number_text(first.value, 3) +
                      " in " + runs[0] + ", " + joined(others, ", ") + ")");
    }
  }
  if (!has_interval) return "";
  if (apart.empty()) return "No measure differs from that of " + runs[0] + " beyond its interval.";
  return "Different from " + runs[0] + " beyond the interval: " + joined(apart, "; ") + ".";
}

/// `classification sink (12 of 32 heads in pruned)`, those with the largest share first.
std::string changed_line(const ResultsGroup& group) {
  struct Changed {
    double share;
    std::string text;
  };
  std::vector<Changed> found;
  std::size_t n_looked_at = 0;
  const std::vector<std::string>& runs = group.dimensions.at("run").text;
  for (const Variable& variable : group.variables) {
    const Variable* const changed = find_variable(group, variable.name + "_changed");
    if (changed == nullptr) continue;
    for (const ComparedSlice& slice : compared_slices(group, variable)) {
      ++n_looked_at;
      for (std::size_t run = 1; run < runs.size(); ++run) {
        const auto n = static_cast<std::size_t>(std::ranges::count_if(
            slice.at[run], [&](std::size_t i) { return changed->values.values[i] == 1; }));
        if (n == 0) continue;
        const std::size_t n_head = slice.at[run].size();
        found.push_back({static_cast<double>(n) / static_cast<double>(n_head),
                         in_words(variable.name, slice.label) + " (" + std::to_string(n) + " of " +
                             count_text(n_head, "head") + " in " + runs[run] + ")"});
      }
    }
  }
  if (n_looked_at == 0) return "";
  if (found.empty()) return "No head differs from " + runs[0] + " beyond its interval.";
  std::ranges::stable_sort(found, std::greater<>(), &Changed::share);
  found.resize(std::min(found.size(), most_named));
  std::vector<std::string> parts(found.size());
  std::ranges::transform(found, parts.begin(), &Changed::text);
  return "Most heads differ from " + runs[0] +
         " beyond their intervals in: " + joined(parts, "; ") + ".";
}

std::string order_line(const ResultsGroup& group) {
  struct Correlation {
    double value;
    std::string text;
  };
  std::vector<Correlation> found;
  const std::vector<std::string>& runs = group.dimensions.at("run").text;
  for (const ScoreSection& section : group.report.scores) {
    for (const std::string& name : section.variables) {
      const Variable* const correlation = find_variable(group, name + "_rank_correlation");
      if (correlation == nullptr) continue;
      for (const ComparedSlice& slice : compared_slices(group, *correlation)) {
        for (std::size_t run = 1; run < runs.size(); ++run) {
          const double value = correlation->values.values[slice.at[run][0]];
          if (std::isnan(value)) continue;
          found.push_back({value, in_words(name, slice.label) + " (" + number_text(value, 2) +
                                      " in " + runs[run] + ")"});
        }
      }
    }
  }
  if (found.empty()) return "";
  std::ranges::stable_sort(found, {}, &Correlation::value);
  found.resize(std::min(found.size(), most_named));
  std::vector<std::string> parts(found.size());
  std::ranges::transform(found, parts.begin(), &Correlation::text);
  return "The order of heads correlates least with that in " + runs[0] +
         " (Spearman's rho) for: " + joined(parts, "; ") + ".";
}

std::string types_line(const ResultsGroup& group) {
  const Variable* const transition = find_variable(group, "type_transition");
  if (transition == nullptr) return "";
  const std::vector<std::string>& runs = group.dimensions.at("run").text;
  const std::vector<std::string>& types = group.dimensions.at("type_from").text;
  std::vector<std::string> parts;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    double n_all = 0, n_changed = 0, n_most = 0, n_removed = 0;
    std::string most;
    for (std::size_t from = 0; from < types.size(); ++from) {
      for (std::size_t to = 0; to < types.size(); ++to) {
        const double n = transition->values(run, from, to);
        if (from == to || types[to] != "removed") n_all += n;
        if (from == to) continue;
        if (types[to] == "removed") {
          n_removed += n;
          continue;
        }
        n_changed += n;
        if (n <= n_most) continue;
        n_most = n;
        most = in_words(types[from], "") + " to " + in_words(types[to], "");
      }
    }
    parts.push_back(
        number_text(n_changed, 0) + " of " + count_text(static_cast<std::size_t>(n_all), "head") +
        " in " + runs[run] +
        (n_changed == 0 ? "" : " (most often " + most + ", " + number_text(n_most, 0) + ")") +
        (n_removed == 0 ? "" : "; " + number_text(n_removed, 0) + " more were removed"));
  }
  return "Heads whose main type is another than in " + runs[0] + ": " + joined(parts, "; ") + ".";
}

}  // namespace

std::string in_words(std::string name, const std::string& label) {
  if (!label.empty()) name += ", " + label;
  return spaced(std::move(name));
}

std::vector<ComparedSlice> compared_slices(const ResultsGroup& group, const Variable& variable) {
  const bool by_run = !variable.dimensions.empty() && variable.dimensions.front() == "run";
  if (variable.type == Variable::Type::text || !by_run || variable.values.size() == 0) {
    throw Error("results " + group.name + " variable " + variable.name +
                ": expected numbers by run, got another");
  }
  const std::size_t n_run = variable.values.shape[0], n_value = variable.values.size() / n_run;
  std::vector<ComparedSlice> slices;
  for (std::size_t i = 0; i < n_value; ++i) {
    std::size_t rest = i, slice = 0, step = 1;
    std::string label;
    for (std::size_t axis = variable.dimensions.size(); axis-- > 1;) {
      const std::string& name = variable.dimensions[axis];
      const std::size_t extent = variable.values.shape[axis], place = rest % extent;
      rest /= extent;
      if (name == "layer" || name == "head") continue;
      const Dimension& dimension = group.dimensions.at(name);
      const std::string word = dimension.text.empty()
                                   ? name + " " + number_text(dimension.values[place], 4)
                                   : dimension.text[place];
      label = label.empty() ? word : word + ", " + label;
      slice += place * step;
      step *= extent;
    }
    if (slice >= slices.size()) slices.resize(slice + 1);
    slices[slice].label = label;
    slices[slice].at.resize(n_run);
    for (std::size_t run = 0; run < n_run; ++run)
      slices[slice].at[run].push_back(run * n_value + i);
  }
  return slices;
}

std::vector<Finding> comparison_findings(const Comparison& comparison,
                                         const std::string& ordering) {
  std::vector<Finding> findings;
  const auto add = [&](const char* about, const std::string& text) {
    if (!text.empty()) findings.push_back({0, about, text});
  };
  const ResultsGroup& group = comparison.group;
  add("Runs", runs_line(comparison, ordering));
  add("The model as a whole", measures_line(group));
  add("Heads", changed_line(group));
  add("Order of heads", order_line(group));
  add("Types", types_line(group));
  return findings;
}

}  // namespace headscope
