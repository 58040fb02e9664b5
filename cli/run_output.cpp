#include "run_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/text.hpp"
#include "base/thread_errors.hpp"
#include "base/utf8.hpp"
#include "figures/gnuplot.hpp"
#include "files/descriptor.hpp"
#include "files/pending_file.hpp"
#include "head_figures.hpp"
#include "headscope/comparison.hpp"
#include "headscope/error.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/report.hpp"
#include "model/tensor_source.hpp"
#include "paths/circuit_file.hpp"
#include "registry.hpp"
#include "report/head_table.hpp"
#include "report_text.hpp"
#include "shell_text.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

bool has_file(const std::string& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / name, ignored);
}

/// @param lacking  gets the reasons why groups have no figures, such as a missing variable.
std::vector<Figure> figures_of(const Results& results,
                               const std::vector<Presentation>& presentations,
                               std::string& lacking) {
  if (results.has(comparison_group)) return comparison_figures(results, presentations.front());
  std::vector<Figure> figures;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (!results.has(analysis.info.name)) continue;
    try {
      for (Figure& figure : analysis.draw(results)) {
        figure.caption += removed_heads_caption(results, figure);
        figures.push_back(std::move(figure));
      }
    } catch (const Error& error) {
      lacking += (lacking.empty() ? "no figures of " : "; no figures of ") + analysis.info.name +
                 ": " + error.what();
    }
  }
  return figures;
}

/// @param lacking  what the report says of figures that it does not show.
std::string no_figures_text(const std::string& reason, const std::string& lacking,
                            const std::string& directory) {
  return reason + ", so the report " + lacking + "; when gnuplot works, \"headscope report " +
         shell_word(directory) + "\" draws them";
}

/// Draws the figures, but for those that gnuplot does not draw.
/// @return why some are not drawn, with the first names; empty if all are.
std::string draw_figures(std::vector<Figure> figures, const std::string& folder,
                         const std::vector<std::string>& formats, std::vector<DrawnFigure>& drawn) {
  constexpr std::size_t most_named = 8;
  std::vector<std::string> names, complaints(figures.size());
  for (const Figure& figure : figures) names.push_back(figure.name);
  drawn.resize(figures.size());
  for_each_in_parallel(figures.size(), [&](std::size_t i) {
    try {
      drawn[i] = write_figure(std::move(figures[i]), folder, formats);
    } catch (const DrawingError& error) {
      complaints[i] = error.what();
    }
  });
  std::erase_if(drawn, [](const DrawnFigure& figure) { return figure.svg.empty(); });
  const std::vector<std::size_t> failed =
      numbers_where(complaints.size(), [&](std::size_t i) { return !complaints[i].empty(); });
  if (failed.empty()) return "";
  return "figures not drawn: " +
         first_joined(failed, most_named, [&](std::size_t i) { return names[i]; }) + " (" +
         complaints[failed.front()] + ")";
}

}  // namespace

void check_output_folder(const std::string& path) {
  std::error_code ignored;
  for (const char* name : {"results.h5", "report.html", "report.md"}) {
    check_replaceable(fs::path(path) / name);
  }
  for (const char* name : {"", "tables", "figures", "shards"}) {
    const fs::path folder = *name == '\0' ? fs::path(path) : fs::path(path) / name;
    const fs::file_status status = fs::status(folder, ignored);
    if (!fs::exists(status)) continue;
    if (!fs::is_directory(status)) throw cannot_write(folder.string(), "it is not a folder");
    if (::access(folder.c_str(), W_OK) != 0) throw cannot_write(folder.string());
  }
}

void refuse_replacement(const std::string& path) {
  const std::string results = results_file(path);
  if (!has_file(path, "results.h5")) {
    for (const char* const name : {"report.html", "report.md"}) {
      if (!has_file(path, name)) continue;
      throw DataError((fs::path(path) / name).string(), "",
                      "has no results.h5 beside it, so no run wrote it; --force replaces the file, "
                      "or choose another folder");
    }
    return;
  }
  if (!is_results_file(results)) {
    throw DataError(results, "",
                    "is no results file of this version of Headscope; --force replaces it, or "
                    "choose another folder");
  }
  if (!has_file(path, "report.html") || !has_file(path, "report.md")) {
    throw DataError(path, "",
                    "holds results without their report, as of a run that was stopped while it "
                    "drew; `headscope report " +
                        shell_word(path) + "` draws it, --force replaces the results");
  }
  throw DataError(path, "",
                  "holds the results of a finished run; --force replaces them, or choose another "
                  "folder");
}

void check_model_output(const std::string& input, const std::string& output) {
  std::error_code ignored;
  if (fs::equivalent(input, output, ignored)) {
    throw DataError(output, "", "is the model that is read; choose another file to write");
  }
  if (!fs::is_regular_file(output, ignored) || fs::is_empty(output, ignored)) return;
  try {
    const FileKind kind = open_tensor_source(output, hdf5::Digest::ignored)->kind();
    if (kind == FileKind::flat_model || kind == FileKind::keras_model) return;
  } catch (const Error&) {
    // A file that cannot be read may be anything.
  }
  throw DataError(output, "",
                  "is there and is no HDF5 model; remove it or choose another file to write");
}

void check_page_output(const std::string& output) {
  std::error_code ignored;
  if (!fs::is_regular_file(output, ignored) || fs::is_empty(output, ignored)) return;
  const std::string of_page = "<!DOCTYPE html>";
  std::string beginning = of_page;
  if (std::ifstream(output, std::ios::binary).read(beginning.data(), std::ssize(beginning)) &&
      beginning == of_page) {
    return;
  }
  throw DataError(output, "", "is there and is no HTML page; choose another file to write");
}

void announce_output(const OutputOptions& output) {
  if (output.quiet) return;
  if (has_file(output.folder, "results.h5")) {
    std::cerr << Terminal::error().note("the results in " + one_line(output.folder) +
                                        " will be replaced");
  }
  say_if_no_figures(output.folder, why_no_figures());
}

std::string results_file(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / "results.h5").string() : path;
}

void write_run(const Results& results, const OutputOptions& output, Progress& progress) {
  progress.phase("writing results.h5");
  write_results(results, (fs::path(output.folder) / "results.h5").string());
  progress.phase("drawing tables, figures and report");
  draw_results(results, output.folder, output.figures, why_no_figures());
  progress.finish();
  for (const Description& entry : describe(results, presentations_of(results))) {
    if (!entry.warning.empty()) std::cerr << Terminal::error().warning(entry.warning);
  }
  if (!output.quiet) {
    std::cout << Terminal::out().path((fs::path(output.folder) / "report.html").string());
  }
}

void say_if_no_figures(const std::string& directory, const std::string& why_not) {
  if (why_not.empty()) return;
  std::cerr << Terminal::error().note(no_figures_text(why_not, "has no figures", directory));
}

void check_figures_stay(const std::string& directory, const std::string& why_not) {
  if (why_not.empty()) return;
  const fs::path folder = fs::path(directory) / "figures";
  std::error_code ignored;
  const bool has_figures = std::ranges::any_of(
      fs::directory_iterator(folder, ignored),
      [](const fs::directory_entry& entry) { return entry.path().extension() != ".json"; });
  if (!has_figures) return;
  throw DataError(
      folder.string(), "",
      "holds figures, which could not be drawn again: " + why_not + "; nothing was changed");
}

void draw_results(const Results& results, const std::string& directory,
                  const std::vector<std::string>& figure_formats, std::string why_not) {
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
  remove_circuits(figure_folder);
  make_folder(tables);
  make_folder(figure_folder);
  write_circuits(results, figure_folder);
  write_tables(results, tables);
  write_head_table(results, tables);
  const std::vector<Presentation> presentations = presentations_of(results);
  std::vector<DrawnFigure> drawn;
  std::string lacking, warning;
  if (!why_not.empty()) {
    warning = no_figures_text(why_not, "has no figures", directory);
  } else {
    std::vector<Figure> figures = figures_of(results, presentations, lacking);
    const std::string failed = draw_figures(std::move(figures), figure_folder, formats, drawn);
    for (const std::string& text : {failed, lacking}) {
      if (!text.empty()) std::cerr << Terminal::error().warning(text);
    }
    if (!failed.empty()) warning = no_figures_text(failed, "lacks them", directory);
  }
  if (!warning.empty() && !lacking.empty()) warning += "; ";
  write_report(results, presentations, drawn, directory, warning + lacking);
}

}  // namespace headscope
