#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"
#include "progress.hpp"

namespace headscope {

/// Where results go, and as what.
struct OutputOptions {
  std::string folder;
  std::vector<std::string> figures{"svg", "png"};  ///< formats
  bool quiet = false;
};

/// Checks, before any work, that nothing is in the way of what a run writes into the folder.
/// @throws DataError naming the file or folder that is.
void check_output_folder(const std::string& path);

/// @throws DataError if the folder holds the results of a run, with or without their report,
/// another results.h5, or a report without results.
void refuse_replacement(const std::string& path);

/// Checks that writing a model loses nothing but an earlier model.
/// @throws DataError if both are one file, or the output is a file that is no HDF5 model.
void check_model_output(const std::string& input, const std::string& output);

/// Checks that writing a page loses nothing but an earlier page, such as the model that is read.
/// @throws DataError if the output is a file that is no HTML page.
void check_page_output(const std::string& output);

/// Says on stderr, unless it is to be quiet, that results in the folder will be replaced and why
/// figures cannot be drawn.
void announce_output(const OutputOptions& output);

/// The results file of a run, given as its folder or the file itself.
std::string results_file(const std::string& path);

/// Writes results.h5, tables, figures and report into the output folder; prints the report's path.
void write_run(const Results& results, const OutputOptions& output, Progress& progress);

/// Says on stderr why figures cannot be drawn.
/// @param why_not  why_no_figures(); empty: they can be drawn.
void say_if_no_figures(const std::string& directory, const std::string& why_not);

/// @throws DataError if figures cannot be drawn and the folder has some, which would be lost.
void check_figures_stay(const std::string& directory, const std::string& why_not);

/// Writes tables, figures, circuits and report of a results file into `directory`, replacing older
/// ones.
/// If figures cannot be drawn, the report lacks them, says why, and names the command that draws
/// them. A failure of gnuplot is on stderr too; it costs the figures that gnuplot does not draw
/// alone.
/// @param figure_formats  svg is always drawn, for the report.
void draw_results(const Results& results, const std::string& directory,
                  const std::vector<std::string>& figure_formats, std::string why_not);

}  // namespace headscope
