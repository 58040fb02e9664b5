#include "run/run_results.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "headscope/comparison.hpp"
#include "headscope/drawing.hpp"
#include "headscope/head_table.hpp"
#include "headscope/report.hpp"
#include "headscope/utf8.hpp"
#include "headscope/version.hpp"
#include "run/corpus_folders.hpp"
#include "run/output_folder.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::int64_t as_count(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

void add_provenance(Results& results, const RunSetup& setup, std::uint64_t n_token) {
  const RunOptions& options = setup.options();
  auto& attributes = results.attributes;
  add_program(results, "Headscope results", options.command_line);
  attributes["options"] = options.as_json();
  attributes["seed"] = as_count(options.settings.seed);
  attributes["blas"] = blas::library_description();
  attributes["precision"] = options.settings.precision;
  const Engines engines = options.settings.engines();
  attributes["precision_engine"] = engine_name(engines.differences);
  attributes["pass_engine"] = engine_name(engines.passes);
  attributes["gradient_engine"] = engine_name(engines.gradients);
  attributes["threads"] = std::int64_t{blas::thread_count()};
  add_model(results, setup.model());
  const auto joined = [](const std::vector<std::string>& paths) {
    std::string text;
    for (const std::string& path : paths) text += (text.empty() ? "" : " ") + recorded_text(path);
    return text;
  };
  if (const TaskFiles* const tasks = setup.tasks(); tasks != nullptr) {
    attributes["tasks_path"] = joined(setup.task_paths());
    attributes["tasks_sha256"] = tasks->sha256();
  }
  const Corpus* const corpus = setup.corpus();
  if (corpus == nullptr) return;
  attributes["corpus_path"] = joined(setup.corpus_paths());
  attributes["corpus_sha256"] = corpus->sha256();
  attributes["n_document"] = as_count(corpus->n_document());
  attributes["n_token"] = as_count(n_token);
  std::string undivided;
  for (const UndividedFile& file : corpus->undivided_files()) {
    undivided += (undivided.empty() ? "" : "; ") + undivided_file_text(file);
  }
  if (!undivided.empty()) attributes["corpus_warning"] = undivided + ".";
}

/// Adds the groups of the controls, and to the run's own groups the comparisons with them.
/// @param main_group  index in the results of the main group of each analysis of `trained`.
void add_controls(const RunSetup& setup, const CorpusRun& trained,
                  const std::vector<FinishedControl>& controls,
                  const std::vector<std::size_t>& main_group, Results& results) {
  if (controls.empty()) return;
  results.attributes["n_control"] = as_count(controls.size());
  results.attributes["n_control_document"] = as_count(setup.control_documents().size());
  for (const FinishedControl& control : controls) {
    results.groups.insert(results.groups.end(), control.groups.begin(), control.groups.end());
  }
  for (std::size_t i = 0; i < trained.items().size(); ++i) {
    const CorpusRun::Item& item = trained.items()[i];
    if (item.registered->info.control_pass < 0) continue;
    std::vector<ControlValues> values;
    for (const FinishedControl& control : controls) {
      values.push_back(control.values.at(item.registered->info.name));
    }
    item.analysis->compare(*item.statistics, values, results.groups[main_group[i]]);
  }
}

std::vector<Figure> figures_of(const Results& results,
                               const std::vector<Presentation>& presentations) {
  if (results.has(comparison_group)) return comparison_figures(results, presentations.front());
  std::vector<Figure> figures;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (!results.has(analysis.info.name)) continue;
    for (Figure& figure : analysis.draw(results)) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace

std::string results_file(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / "results.h5").string() : path;
}

void add_program(Results& results, const std::string& title, const std::string& command_line) {
  results.attributes["title"] = title;
  results.attributes["version"] = version();
  results.attributes["git_commit"] = git_commit();
  results.attributes["command_line"] = recorded_text(command_line);
  results.attributes["date"] = utc_date();
}

void add_model(Results& results, const Model& model) {
  auto& attributes = results.attributes;
  attributes["model_path"] = recorded_text(model.path);
  attributes["model_sha256"] = model.sha256;
  const ModelConfig& config = model.config;
  attributes["n_layer"] = as_count(config.n_layer);
  attributes["n_head"] = as_count(config.n_head);
  attributes["d_model"] = as_count(config.d_model);
  attributes["d_head"] = as_count(config.d_head());
  attributes["n_ctx"] = as_count(config.n_ctx);
  attributes["d_vocab"] = as_count(config.d_vocab);
  attributes["activation"] = std::string(activation_name(config.activation));
  std::string pruned;
  for (const HeadIndex head : config.pruned_heads)
    pruned += (pruned.empty() ? "" : ",") + head.text();
  if (!pruned.empty()) attributes["pruned_heads"] = pruned;
}

double seconds_of_results(const RunSetup& setup) {
  // Measured with all analyses of 32 heads and with those of the weights of 144.
  constexpr double per_analysis = 1.3, per_pair_of_heads = 3e-4;
  const auto n_analysis = static_cast<double>(setup.analyses().size()),
             n_unit =
                 static_cast<double>(setup.model().config.n_layer * setup.model().config.n_head);
  return per_analysis * n_analysis + per_pair_of_heads * n_unit * n_unit;
}

FinishedControl finish_control(const CorpusRun& control, bool with_groups) {
  FinishedControl finished;
  for (const CorpusRun::Item& item : control.items()) {
    finished.values[item.registered->info.name] = item.analysis->control_values(*item.statistics);
    if (!with_groups) continue;
    for (ResultsGroup& group : item.analysis->control_results(*item.statistics)) {
      group.name = "control/" + group.name;
      group.claims.clear();
      finished.groups.push_back(std::move(group));
    }
  }
  return finished;
}

Results finish_results(const RunSetup& setup, const CorpusRun& trained,
                       const std::vector<FinishedControl>& controls, Progress& progress) {
  Results results;
  add_provenance(results, setup, trained.n_token());
  std::vector<std::size_t> main_group;
  for (const CorpusRun::Item& item : trained.items()) {
    main_group.push_back(results.groups.size());
    progress.phase("results of " + item.registered->info.name);
    for (ResultsGroup& group : item.analysis->finish(*item.statistics)) {
      results.groups.push_back(std::move(group));
    }
  }
  if (!controls.empty()) progress.phase("comparing with the untrained controls");
  add_controls(setup, trained, controls, main_group, results);
  for (std::size_t i = 0; i < trained.items().size(); ++i) {
    trained.items()[i].analysis->relate(results, results.groups[main_group[i]]);
  }
  for (ResultsGroup& group : results.groups) {
    std::ranges::stable_sort(group.claims, {}, &Claim::number);
  }
  return results;
}

void write_run(const Results& results, const RunOptions& options, Progress& progress) {
  progress.phase("drawing tables, figures and report");
  write_results(results, (fs::path(options.output) / "results.h5").string());
  draw_results(results, options.output, options.figures);
  progress.finish();
  for (const Description& each : describe(results, presentations_of(results))) {
    if (!each.warning.empty()) std::cerr << Terminal::error().warning(each.warning);
  }
  if (!options.quiet) {
    std::cout << one_line((fs::path(options.output) / "report.html").string()) << "\n";
  }
}

void say_if_no_figures(const std::string& directory) {
  if (can_draw_figures()) return;
  std::cerr << Terminal::error().note(
      "gnuplot is not installed, so the report has no figures; once it is, `headscope report " +
      one_line(directory) + "` draws them");
}

void draw_results(const Results& results, const std::string& directory,
                  const std::vector<std::string>& figure_formats) {
  const std::string tables = (fs::path(directory) / "tables").string(),
                    figure_folder = (fs::path(directory) / "figures").string();
  std::vector<std::string> formats = figure_formats;
  if (std::ranges::find(formats, "svg") == formats.end()) formats.push_back("svg");
  std::vector<std::string> groups{"control", comparison_group};
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    groups.push_back(analysis.info.name);
  }
  remove_report(directory);
  remove_tables(tables, groups);
  remove_figures(figure_folder);
  make_folder(tables);
  make_folder(figure_folder);
  write_tables(results, tables);
  write_head_table(results, tables);
  const std::vector<Presentation> presentations = presentations_of(results);
  std::vector<DrawnFigure> figures;
  if (can_draw_figures()) {
    for (Figure& figure : figures_of(results, presentations)) {
      figures.push_back(write_figure(std::move(figure), figure_folder, formats));
    }
  }
  write_report(results, presentations, figures, directory);
}

}  // namespace headscope
