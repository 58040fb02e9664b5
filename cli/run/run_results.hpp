#pragma once

#include "run/corpus_run.hpp"
#include "run/progress.hpp"
#include "run/run_setup.hpp"

namespace headscope {

/// Turns complete statistics into results with their provenance.
/// @param control  null unless a control was asked for.
Results finish_results(const RunSetup& setup, const CorpusRun& trained, const CorpusRun* control,
                       Progress& progress);

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

/// Writes tables, figures and report of a results file into `directory`, replacing older ones.
/// @param figure_formats  svg is always drawn, for the report.
void draw_results(const Results& results, const std::string& directory,
                  const std::vector<std::string>& figure_formats);

}  // namespace headscope
