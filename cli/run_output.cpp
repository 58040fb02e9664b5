#include "run_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/utf8.hpp"
#include "figures/drawing.hpp"
#include "headscope/comparison.hpp"
#include "headscope/error.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/report.hpp"
#include "parallel.hpp"
#include "registry.hpp"
#include "report/head_table.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

DataError cannot_write(const fs::path& path, const std::string& reason) {
  return DataError(path.string(), "", "cannot be written: " + reason);
}

bool holds_results(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::path(path) / "results.h5", ignored);
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

void check_output_folder(const std::string& path) {
  std::error_code ignored;
  for (const char* name : {"results.h5", "report.html", "report.md"}) {
    const fs::path file = fs::path(path) / name;
    const fs::file_status status = fs::status(file, ignored);
    if (fs::is_directory(status)) throw cannot_write(file, "it is a folder");
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      throw cannot_write(file, "it is not a file");
    }
  }
  for (const char* name : {"", "tables", "figures", "shards"}) {
    const fs::path folder = *name == '\0' ? fs::path(path) : fs::path(path) / name;
    const fs::file_status status = fs::status(folder, ignored);
    if (!fs::exists(status)) continue;
    if (!fs::is_directory(status)) throw cannot_write(folder, "it is not a folder");
    if (::access(folder.c_str(), W_OK) != 0) {
      throw cannot_write(folder, std::strerror(errno));
    }
  }
}

void refuse_replacement(const std::string& path) {
  if (!holds_results(path)) return;
  throw DataError(path, "",
                  "holds the results of a finished run; --force replaces them, or choose another "
                  "folder");
}

void announce_replacement(const std::string& path) {
  if (!holds_results(path)) return;
  std::cerr << Terminal::error().note("the results in " + one_line(path) + " will be replaced");
}

std::string results_file(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / "results.h5").string() : path;
}

void write_run(const Results& results, const OutputOptions& output, Progress& progress) {
  progress.phase("drawing tables, figures and report");
  write_results(results, (fs::path(output.folder) / "results.h5").string());
  draw_results(results, output.folder, output.figures);
  progress.finish();
  for (const Description& each : describe(results, presentations_of(results))) {
    if (!each.warning.empty()) std::cerr << Terminal::error().warning(each.warning);
  }
  if (!output.quiet) {
    std::cout << one_line((fs::path(output.folder) / "report.html").string()) << "\n";
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
  std::vector<DrawnFigure> drawn;
  if (can_draw_figures()) {
    std::vector<Figure> figures = figures_of(results, presentations);
    drawn.resize(figures.size());
    parallel_for(figures.size(), [&](std::size_t i) {
      drawn[i] = write_figure(std::move(figures[i]), figure_folder, formats);
    });
  }
  write_report(results, presentations, drawn, directory);
}

}  // namespace headscope
