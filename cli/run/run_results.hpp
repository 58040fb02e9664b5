#pragma once

#include "run/corpus_run.hpp"
#include "run/progress.hpp"
#include "run/run_setup.hpp"

namespace headscope {

/// What remains of a control model once its statistics are complete.
struct FinishedControl {
  std::vector<ResultsGroup> groups;  ///< named as in the results; of the first model alone
  std::map<std::string, ControlValues> values;  ///< by analysis
};

/// @param with_groups  of the first control.
FinishedControl finish_control(const CorpusRun& control, bool with_groups);

/// Turns complete statistics into results with their provenance.
/// @param controls  empty unless a control was asked for.
Results finish_results(const RunSetup& setup, const CorpusRun& trained,
                       const std::vector<FinishedControl>& controls, Progress& progress);

/// Rough time that finish_results and write_run take, for the time left.
double seconds_of_results(const RunSetup& setup);

/// The results file of a run, given as its folder or the file itself.
std::string results_file(const std::string& path);

/// Adds what made the results: version, command line, date.
void add_program(Results& results, const std::string& title, const std::string& command_line);

/// Adds which model it was, and its shape.
void add_model(Results& results, const Model& model);

/// Writes results.h5, tables, figures and report into the run's output folder; prints the report's
/// path.
void write_run(const Results& results, const RunOptions& options, Progress& progress);

/// Says on stderr that figures cannot be drawn, where that is so.
void say_if_no_figures(const std::string& directory);

/// Writes tables, figures and report of a results file into `directory`, replacing older ones;
/// without figures where they cannot be drawn.
/// @param figure_formats  svg is always drawn, for the report.
void draw_results(const Results& results, const std::string& directory,
                  const std::vector<std::string>& figure_formats);

}  // namespace headscope
