#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// A variable of one run, and the group it belongs to; null where the run lacks it.
struct RunVariable {
  const ResultsGroup* group = nullptr;
  const Variable* variable = nullptr;
};

/// The labels that a variable has after stacking, along dimensions whose labels differ by run.
enum class StackedLabels {
  in_every_run,  ///< those that every run has
  in_any_run,    ///< all; the variable becomes real, NaN where a run lacks a label
};

/// Whether two variables can be stacked: same dimensions in name, type, units and flags.
bool is_stackable(const Variable& a, const Variable& b);

/// A variable of several runs.
struct StackedVariable {
  Variable variable;                ///< its first dimension is `run`
  std::vector<Estimate> estimates;  ///< of its values, with what the runs keep to be paired
};

/// The variable of all runs, with a first dimension `run`. Definition, units and source are those
/// of the first run that has it; `long_name` says so where another run's definition differs. It has
/// an interval if one of the runs has.
///
/// Adds its dimensions to `into`; one that is there with other labels gets the name
/// `GROUP_DIMENSION`.
/// @param by_run  by run; at least one is not null, and all that are not are stackable. With
/// `in_every_run`, none is null.
/// @return  nothing if the runs share no label along some dimension.
std::optional<StackedVariable> stacked(const std::string& name,
                                       const std::vector<RunVariable>& by_run, StackedLabels labels,
                                       ResultsGroup& into);

/// Differences of a stacked variable from the first run, in the same shape. Those of a later run
/// that is paired with the first have intervals (paired_differences).
/// @param paired  as from paired_runs.
Variable differences(const StackedVariable& all, const std::vector<bool>& paired);

}  // namespace headscope
