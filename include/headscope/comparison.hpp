#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "headscope/figure.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"

/// Several finished runs side by side. A variable by head is one with the dimensions layer and
/// head; attention patterns, which describe a document, are left out.
namespace headscope {

/// Name of the results group that holds a comparison.
inline constexpr const char* comparison_group = "comparison";

/// The ordering of runs that stand as they were given.
inline constexpr const char* command_line_order = "the command line";

/// What a comparison reads of a finished run.
struct ComparedRun {
  std::string label;   ///< different from those of the other runs
  std::string path;    ///< of the results file
  std::string report;  ///< path of the run's page, relative to the comparison's; empty: none
  double place = 0;    ///< along the ordering
  /// The options that change numbers, by name, as typed: `--seed 3` for `seed`. Switches that are
  /// off and options without a value are left out.
  std::map<std::string, std::string> settings = {};
  /// The options of analyses that the run did not run, by name.
  std::set<std::string> idle_options = {};
  Results results;  ///< without the variables that no comparison uses
};

/// Reads a finished run; label, report, place, settings and idle options are left to the caller.
/// @param presentations  of a run's groups.
/// @throws DataError as read_results, or if the file is itself a comparison.
ComparedRun read_compared_run(const std::string& path,
                              const std::vector<Presentation>& presentations);

struct Comparison {
  ResultsGroup group;
  /// What keeps the runs from being compared like for like: another corpus, shape or option.
  std::vector<std::string> notes;
};

/// Compares runs with the first of them. The results have the runs in the order given.
///
/// By run, with intervals where known: the measures that at least two runs have, NaN in others. If
/// all have as many layers and heads, also each variable by head that all have, as
/// `GROUP_VARIABLE`, NaN for heads that the run's model has lost unless it is a flag, and
/// - `GROUP_VARIABLE_difference` from the first run (numbers, but for those that name a position or
///   a label), NaN for heads that either model has lost;
/// - `GROUP_VARIABLE_changed`: whether the difference's interval excludes 0, or, if it has none,
///   the intervals of both runs lie apart; 0 for heads that either model has lost;
/// - `GROUP_VARIABLE_changed_q` (scores): two-sided p-value of the difference, adjusted over all
///   heads and scores of the run (benjamini_hochberg);
/// - `GROUP_VARIABLE_rank_correlation` (the same numbers): Spearman's with the first run over the
///   heads that have a value in both;
/// - `type_transition`: heads by primary type in the first run and in this run.
/// Along further dimensions, a variable by head has the labels found in all runs, a measure the
/// labels found in any run. A dimension whose labels differ between groups is called
/// `GROUP_DIMENSION`.
///
/// @param ordering  what the places are: `n_head`.
/// @param presentations  of a run's groups.
/// @throws Error  if there are fewer than two runs, two have the same label, or they have nothing
/// in common.
Comparison compare_runs(const std::vector<ComparedRun>& runs, const std::string& ordering,
                        const std::vector<Presentation>& presentations);

/// How a report presents a comparison: the runs, what differs beyond its interval, heads that
/// changed; the measures and head panel of the runs, by the names that variables have in the
/// comparison.
Presentation comparison_presentation(const std::vector<Presentation>& presentations);

/// The measures along the ordering and, if there are variables by head, what changed.
std::vector<Figure> comparison_figures(const Results& results, const Presentation& presentation);

}  // namespace headscope
