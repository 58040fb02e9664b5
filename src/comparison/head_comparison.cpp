#include "comparison/head_comparison.hpp"

#include <algorithm>
#include <cmath>

#include "comparison/change_tests.hpp"
#include "comparison/comparison_group.hpp"
#include "comparison/pairing.hpp"
#include "comparison/stacked_variable.hpp"
#include "headscope/head_types.hpp"
#include "headscope/statistics.hpp"
#include "report/head_variables.hpp"
#include "results/long_table.hpp"
#include "results/slices.hpp"

namespace headscope {
namespace {

/// The variable in each run; nothing if a run lacks it or has it in another form.
std::optional<std::vector<RunVariable>> variable_in_every_run(const std::vector<ComparedRun>& runs,
                                                              const ResultsGroup& group,
                                                              const Variable& variable) {
  std::vector<RunVariable> by_run;
  for (const ComparedRun& run : runs) {
    if (!run.results.has(group.name)) return std::nullopt;
    const ResultsGroup& run_group = run.results.group(group.name);
    const Variable* const found = run_group.find(variable.name);
    if (found == nullptr || !is_stackable(variable, *found)) return std::nullopt;
    by_run.push_back({&run_group, found});
  }
  return by_run;
}

/// Whether whole numbers name something, such as a position or a label's index, rather than count:
/// their differences and order mean nothing.
bool are_names(const Variable& variable) {
  return variable.type == Variable::Type::integer && variable.units != "count";
}

/// By run and head, whether the run's model has lost the head.
using RemovedHeads = std::vector<std::vector<bool>>;

/// The same with the heads that the first run's model has lost.
RemovedHeads removed_from_either(const RemovedHeads& removed) {
  RemovedHeads either = removed;
  for (std::vector<bool>& of_run : either) {
    for (std::size_t head = 0; head < of_run.size(); ++head) {
      if (removed.front()[head]) of_run[head] = true;
    }
  }
  return either;
}

/// Sets the values of removed heads.
/// @param like  a variable of the group that has the array's dimensions.
void set_removed(const RemovedHeads& removed, const ResultsGroup& group, const Variable& like,
                 double value, Array& values) {
  const std::vector<Slice> by_run = slices(group, like, {"layer", "head"});
  const std::size_t n_slice = by_run.size() / removed.size();
  for (std::size_t i = 0; i < by_run.size(); ++i) {
    for (std::size_t head = 0; head < by_run[i].at.size(); ++head) {
      if (removed[i / n_slice][head]) values.values[by_run[i].at[head]] = value;
    }
  }
}

/// The variable without values of removed heads: they are those of a head without output. Whole
/// numbers become reals, which may lack a value.
Variable without_removed(const RemovedHeads& removed, const ResultsGroup& group,
                         Variable variable) {
  set_removed(removed, group, variable, std::nan(""), variable.values);
  if (std::ranges::any_of(variable.values.values, [](double value) { return std::isnan(value); })) {
    variable.type = Variable::Type::real;
  }
  if (!variable.interval) return variable;
  set_removed(removed, group, variable, std::nan(""), variable.interval->low);
  set_removed(removed, group, variable, std::nan(""), variable.interval->high);
  return variable;
}

/// @param removed  from either model.
void add_rank_correlation(const Variable& variable, const RemovedHeads& removed,
                          ResultsGroup& group) {
  std::vector<std::string> dimensions = variable.dimensions;
  std::erase_if(dimensions,
                [](const std::string& name) { return name == "layer" || name == "head"; });
  const std::vector<Slice> by_run = slices(group, variable, {"layer", "head"});
  const std::size_t n_slice = by_run.size() / group.dimension("run").size();
  Array correlation(group.shape_of(dimensions));
  for (std::size_t i = 0; i < by_run.size(); ++i) {
    std::vector<double> first, later;
    for (std::size_t head = 0; head < by_run[i].at.size(); ++head) {
      const double before = variable.values.values[by_run[i % n_slice].at[head]],
                   now = variable.values.values[by_run[i].at[head]];
      if (removed[i / n_slice][head] || std::isnan(before) || std::isnan(now)) continue;
      first.push_back(before);
      later.push_back(now);
    }
    correlation.values[i] = spearman(first, later);
  }
  group.add({.name = variable.name + "_rank_correlation",
             .dimensions = dimensions,
             .units = "1",
             .long_name = "Spearman's rank correlation with the first run over the heads that have "
                          "a value in both, removed ones left out, of: " +
                          variable.long_name},
            std::move(correlation));
}

/// The primary types with `removed` behind them, which a head has where the run's model lacks it.
Variable with_removed(Variable primary, const RemovedHeads& removed) {
  const auto type = static_cast<double>(primary.flag_meanings.size());
  bool any = false;
  const std::size_t n_head_total = removed.front().size();
  for (std::size_t i = 0; i < primary.values.size(); ++i) {
    if (!removed[i / n_head_total][i % n_head_total]) continue;
    primary.values.values[i] = type;
    any = true;
  }
  if (any) primary.flag_meanings.emplace_back(removed_type);
  return primary;
}

void add_type_transition(const Variable& primary, ResultsGroup& group) {
  const std::vector<std::string>& types = primary.flag_meanings;
  for (const char* const axis : {"type_from", "type_to"}) {
    group.add_dimension(Dimension::labels(axis, types));
  }
  const std::size_t n_run = primary.values.shape[0], n_head_total = primary.values.size() / n_run;
  Array heads({n_run, types.size(), types.size()});
  for (std::size_t i = 0; i < primary.values.size(); ++i) {
    const auto from = static_cast<std::size_t>(primary.values.values[i % n_head_total]);
    const auto to = static_cast<std::size_t>(primary.values.values[i]);
    heads(i / n_head_total, from, to) += 1;
  }
  group.add(Declaration::count("type_transition", "run type_from type_to",
                               "Heads whose primary type is type_from in the first run and type_to "
                               "in this run; removed: heads that the run's model has lost"),
            std::move(heads));
}

/// Adds which heads are removed, if any is.
void add_removed(const RemovedHeads& removed, ResultsGroup& group) {
  const std::vector<std::string>& runs = group.labels("run");
  std::vector<double> flags;
  std::vector<std::string> text(removed.front().size());
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (std::size_t head = 0; head < text.size(); ++head) {
      flags.push_back(removed[run][head] ? 1 : 0);
      if (removed[run][head]) text[head] += (text[head].empty() ? "Removed in " : ", ") + runs[run];
    }
  }
  if (std::ranges::count(flags, 1.0) == 0) return;
  group.add(Declaration::flag(head_removed_variable, "run layer head", {"no", "yes"},
                              "Whether the run's model has lost the head; such heads are not "
                              "compared and have no values, their flags are those of a head that "
                              "passes no rule"),
            std::move(flags));
  for (std::string& sentence : text) sentence += sentence.empty() ? "" : ".";
  group.add({removed_text_variable, "layer head", "1",
             "The runs whose models have lost the head, in words; empty if none has"},
            std::move(text));
}

}  // namespace

bool is_by_head(const Variable& variable) {
  const auto has_axis = [&](const char* name) {
    return std::ranges::count(variable.dimensions, name) == 1;
  };
  return variable.type != Variable::Type::text && !is_pattern(variable) && has_axis("layer") &&
         has_axis("head");
}

void add_head_variables(const std::vector<ComparedRun>& runs,
                        const std::set<std::string>& auxiliary, Comparison& comparison) {
  ResultsGroup& group = comparison.group;
  const HeadShape shape = head_shape(runs.front().results).value();
  RemovedHeads removed;
  for (const ComparedRun& run : runs) removed.push_back(removed_heads(run.results, shape));
  const RemovedHeads from_either = removed_from_either(removed);
  const std::size_t n_before = group.variables.size();
  std::vector<Variable> tests;
  for (const ResultsGroup& first : runs.front().results.groups) {
    for (const Variable& variable : first.variables) {
      if (!is_by_head(variable)) continue;
      const auto by_run = variable_in_every_run(runs, first, variable);
      if (!by_run) continue;
      std::optional<StackedVariable> all = stacked(joined_name(first.name, variable.name), *by_run,
                                                   StackedLabels::in_every_run, group);
      if (!all) continue;
      if (all->variable.type == Variable::Type::flag) {
        const bool is_primary = variable.name == primary_type_variable &&
                                variable.dimensions == std::vector<std::string>{"layer", "head"};
        if (is_primary) all->variable = with_removed(std::move(all->variable), removed);
        group.add(all->variable);
        if (is_primary && !group.has("type_transition")) add_type_transition(all->variable, group);
        continue;
      }
      const Variable shown = without_removed(removed, group, all->variable);
      group.add(shown);
      if (are_names(all->variable)) continue;
      const Variable difference =
          without_removed(from_either, group, differences(*all, paired_runs(runs, *by_run)));
      group.add(difference);
      if (shown.interval) {
        group.add(changed_flags(shown, difference));
        if (is_score(shown, auxiliary)) {
          tests.push_back(change_tests(shown, difference, all->estimates));
        }
      }
      add_rank_correlation(all->variable, from_either, group);
    }
  }
  adjust_tests(tests);
  for (Variable& test : tests) group.add(std::move(test));
  if (group.variables.size() > n_before) add_removed(removed, group);
}

}  // namespace headscope
