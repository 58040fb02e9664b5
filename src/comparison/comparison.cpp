#include "headscope/comparison.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "comparison/comparison_group.hpp"
#include "comparison/head_comparison.hpp"
#include "comparison/pairing.hpp"
#include "comparison/stacked_variable.hpp"
#include "headscope/error.hpp"
#include "headscope/provenance.hpp"
#include "report/head_variables.hpp"

namespace headscope {
namespace {

bool is_measured(const std::vector<Presentation>& presentations, const ResultsGroup& group,
                 const Variable& variable) {
  return std::ranges::any_of(presentations, [&](const Presentation& presentation) {
    return presentation.group == group.name &&
           std::ranges::count(presentation.measures, variable.name, &Measure::variable) > 0;
  });
}

double number_of(const ComparedRun& run, const std::string& name) {
  const std::optional<std::int64_t> number = run.results.integer(name);
  return number ? static_cast<double>(*number) : std::nan("");
}

void add_run_variables(const std::vector<ComparedRun>& runs, const std::string& ordering,
                       ResultsGroup& group) {
  // A number or a text for each run.
  const auto add = [&](const std::string& name, const std::string& about, auto of_run) {
    group.add({name, "run", "1", about}, runs, of_run);
  };
  add("ordering", "Place of the run along the ordering: " + ordering, &ComparedRun::place);
  group.add({"ordering_name", "", "1", "The quantity that orders the runs"},
            std::vector<std::string>{ordering});
  add("path", "The run's results file", &ComparedRun::path);
  add("report", "The run's report, relative to that of the comparison; empty: none",
      &ComparedRun::report);
  for (const char* const name : {"model_path", "model_sha256", "corpus_sha256", "version"}) {
    add(name, "The run's " + std::string(name) + "; empty: not stated",
        [&](const ComparedRun& run) { return run.results.text(name); });
  }
  for (const char* const name : {"n_layer", "n_head", "d_model", "n_document", "n_token"}) {
    add(name, "The run's " + std::string(name),
        [&](const ComparedRun& run) { return number_of(run, name); });
  }
  add("n_head_left", "Heads of all layers that the run's model has", [](const ComparedRun& run) {
    const std::optional<HeadShape> shape = head_shape(run.results);
    if (!shape) return std::nan("");
    return static_cast<double>(std::ranges::count(removed_heads(run.results, *shape), false));
  });
}

/// The measure in each run that has it as a real number of at most one dimension; null in others.
std::vector<RunVariable> measured(const std::vector<ComparedRun>& runs, const std::string& group,
                                  const Measure& measure) {
  std::vector<RunVariable> by_run;
  const Variable* like = nullptr;
  for (const ComparedRun& run : runs) {
    RunVariable& variable_of_run = by_run.emplace_back();
    if (!run.results.has(group)) continue;
    const ResultsGroup& run_group = run.results.group(group);
    const Variable* const variable = run_group.find(measure.variable);
    if (variable == nullptr || variable->type != Variable::Type::real ||
        variable->dimensions.size() > 1) {
      continue;
    }
    if (like != nullptr && !is_stackable(*like, *variable)) continue;
    like = variable;
    variable_of_run = {&run_group, variable};
  }
  return by_run;
}

void add_measure(const std::vector<ComparedRun>& runs, const std::string& group_name,
                 const Measure& measure, const std::set<std::string>& all_measures,
                 ResultsGroup& group) {
  const std::vector<RunVariable> by_run = measured(runs, group_name, measure);
  const auto n_without = std::ranges::count(by_run, nullptr, &RunVariable::variable);
  if (std::ssize(by_run) - n_without < 2) return;
  ResultsGroup draft;  // holds the dimension under the name that it has in the runs
  std::optional<StackedVariable> all =
      stacked(measure.name, by_run, StackedLabels::in_any_run, draft);
  if (!all) return;
  Variable& variable = all->variable;
  if (variable.dimensions.size() == 2) {
    Dimension dimension = draft.dimension(variable.dimensions[1]);
    if (!measure.dimension.empty()) dimension.name = measure.dimension;
    variable.dimensions[1] = dimension.name;
    group.add_dimension(std::move(dimension));
  }
  group.add(variable);
  const Variable* const first = by_run.front().variable;
  if (first == nullptr || !first->interval) return;
  Variable difference = differences(*all, paired_runs(runs, by_run));
  difference.name = variable.name + difference_suffix(variable.name, all_measures);
  if (difference.interval) group.add(std::move(difference));
}

void add_measures(const std::vector<ComparedRun>& runs,
                  const std::vector<Presentation>& presentations, ResultsGroup& group) {
  std::set<std::string> names;
  for (const Presentation& presentation : presentations) {
    for (const Measure& measure : presentation.measures) names.insert(measure.name);
  }
  for (const Presentation& presentation : presentations) {
    for (const Measure& measure : presentation.measures) {
      add_measure(runs, presentation.group, measure, names, group);
    }
  }
}

std::string shape_words(const std::optional<HeadShape>& shape) {
  if (!shape) return "no variable by head";
  return count_text(shape->n_layer, "layer") + " of " + count_text(shape->n_head, "head");
}

/// Whether all runs have as many layers and heads; adds a note for each run that has not as many
/// as the first.
bool have_one_shape(const std::vector<ComparedRun>& runs, std::vector<std::string>& notes) {
  const std::optional<HeadShape> first = head_shape(runs.front().results);
  bool same = first.has_value();
  for (const ComparedRun& run : runs) {
    const std::optional<HeadShape> shape = head_shape(run.results);
    if (shape == first) continue;
    same = false;
    notes.push_back(run.label + " has " + shape_words(shape) + ", " + runs.front().label + " " +
                    shape_words(first) + "; heads are not compared one by one");
  }
  return same;
}

/// An option as it was typed; empty if it was left out.
std::string typed(const ComparedRun& run, const std::string& option) {
  const auto found = run.settings.find(option);
  return found == run.settings.end() ? "" : found->second;
}

/// `with --seed 3`, or `without --seed`.
std::string setting_text(const ComparedRun& run, const std::string& option) {
  constexpr std::size_t most_length = 60;
  const std::string text = typed(run, option);
  return text.empty() ? "without --" + option : "with " + shortened(text, most_length);
}

/// Notes the options of analyses of both runs that differ, the seed first, but for those whose
/// effect is noted.
void note_settings(const ComparedRun& run, const ComparedRun& first,
                   std::vector<std::string>& notes) {
  static const std::set<std::string> noted{"bos",    "context",       "engine",
                                           "no-bos", "max-documents", "precision"};
  constexpr std::size_t most_notes = 8;
  if (run.settings.empty() || first.settings.empty()) return;
  std::map<std::string, std::string> all = run.settings;
  all.insert(first.settings.begin(), first.settings.end());
  std::vector<std::string> differing;
  for (const auto& [option, text] : all) {
    if (noted.contains(option) || run.idle_options.contains(option) ||
        first.idle_options.contains(option) || typed(run, option) == typed(first, option)) {
      continue;
    }
    differing.insert(option == "seed" ? differing.begin() : differing.end(), option);
  }
  for (const std::string& option : differing | std::views::take(most_notes)) {
    notes.push_back(run.label + " was run " + setting_text(run, option) + ", " + first.label + " " +
                    setting_text(first, option));
  }
  if (differing.size() <= most_notes) return;
  notes.push_back(run.label + " and " + first.label + " differ in " +
                  count_text(differing.size() - most_notes, "more option"));
}

void check_origins(const std::vector<ComparedRun>& runs, std::vector<std::string>& notes) {
  const ComparedRun& first = runs.front();
  for (const ComparedRun& run : runs | std::views::drop(1)) {
    const auto differs = [&](const char* attribute) {
      return run.results.text(attribute) != first.results.text(attribute);
    };
    const double n_document = number_of(run, "n_document"),
                 n_first = number_of(first, "n_document");
    const auto note_other = [&](const std::string& verb, const std::string& of_run,
                                const std::string& of_first) {
      if (of_run.empty() || of_first.empty() || of_run == of_first) return;
      notes.push_back(run.label + " " + verb + " " + of_run + ", " + first.label + " " + verb +
                      " " + of_first);
    };
    const bool has_corpus = !run.results.text("corpus_sha256").empty(),
               first_has_corpus = !first.results.text("corpus_sha256").empty();
    if (has_corpus != first_has_corpus) {
      notes.push_back(run.label + " read " + (has_corpus ? "a" : "no") + " corpus, " + first.label +
                      " read " + (has_corpus ? "none" : "one"));
    } else if (differs("corpus_sha256")) {
      notes.push_back(run.label + " was run on another corpus than " + first.label +
                      "; differences may come from the corpus");
    } else if (n_document < n_first || n_document > n_first) {
      notes.push_back(run.label + " was run on " +
                      count_text(static_cast<std::size_t>(n_document), "document") + ", " +
                      first.label + " on " + number_text(n_first, 0));
    }
    note_other("was run with context", run.results.text("context"), first.results.text("context"));
    note_other("begins documents with", first_token_of(run.results), first_token_of(first.results));
    note_other("was run with precision", run.results.text("precision"),
               first.results.text("precision"));
    const auto both_differ = [&](const char* attribute) {
      return !run.results.text(attribute).empty() && !first.results.text(attribute).empty() &&
             differs(attribute);
    };
    if (both_differ("tasks_sha256")) {
      notes.push_back(run.label + " was run on other tasks than " + first.label +
                      "; differences may come from the tasks");
    }
    if (!differs("model_sha256") && both_differ("tokenizer_sha256")) {
      notes.push_back(run.label + " was run with another tokenizer than " + first.label +
                      "; differences may come from the tokenizer");
    }
    note_settings(run, first, notes);
    if (differs("version") || differs("git_commit")) {
      notes.push_back(run.label + " was run with another version of Headscope than " + first.label);
    }
    const std::string pairing = pairing_note(first, run);
    if (!pairing.empty()) notes.push_back(pairing);
  }
}

void check_labels(const std::vector<ComparedRun>& runs) {
  if (runs.size() < 2) {
    throw Error("compare: expected at least 2 runs, got " + std::to_string(runs.size()));
  }
  std::set<std::string> labels;
  for (const ComparedRun& run : runs) {
    if (labels.insert(run.label).second) continue;
    throw Error("compare: expected a different label for each run, got " + run.label + " twice");
  }
}

std::string group_list(const ComparedRun& run) {
  const auto holds_any = [](const ResultsGroup& group) {
    return !std::ranges::all_of(group.variables, counts_sample);
  };
  const std::string list =
      joined(run.results.groups | std::views::filter(holds_any), ", ", &ResultsGroup::name);
  return list.empty() ? "nothing to compare" : list;
}

}  // namespace

ComparedRun read_compared_run(const std::string& path,
                              const std::vector<Presentation>& presentations) {
  ComparedRun run;
  run.path = path;
  run.results = read_results(path);
  if (run.results.has(comparison_group)) {
    throw DataError(path, "", "expected the results of a run, got a comparison");
  }
  check_dimensions(run.results, path, presentations);
  for (ResultsGroup& group : run.results.groups) {
    std::erase_if(group.variables, [&](const Variable& variable) {
      return !is_by_head(variable) && !is_measured(presentations, group, variable) &&
             !counts_sample(variable);
    });
  }
  return run;
}

Comparison compare_runs(const std::vector<ComparedRun>& runs, const std::string& ordering,
                        const std::vector<Presentation>& presentations) {
  check_labels(runs);
  Comparison comparison;
  ResultsGroup& group = comparison.group;
  group.name = comparison_group;
  group.title = "Comparison of runs";
  std::vector<std::string> labels;
  for (const ComparedRun& run : runs) labels.push_back(run.label);
  group.add_dimension(Dimension::labels("run", std::move(labels)));
  add_run_variables(runs, ordering, group);
  const std::size_t n_before = group.variables.size();
  add_measures(runs, presentations, group);
  check_origins(runs, comparison.notes);
  if (have_one_shape(runs, comparison.notes)) {
    add_head_variables(runs, auxiliary_variables(presentations), comparison);
  }
  if (group.variables.size() == n_before) {
    throw Error("compare: expected runs with something in common, got none: " +
                joined(runs, "; ", [](const ComparedRun& run) {
                  return run.path + " has " + group_list(run);
                }));
  }
  group.summary =
      joined(comparison.notes, "\n", [](const std::string& note) { return note + "."; });
  return comparison;
}

}  // namespace headscope
