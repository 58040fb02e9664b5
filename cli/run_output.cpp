#include "run_output.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "headscope/comparison.hpp"
#include "headscope/drawing.hpp"
#include "headscope/head_table.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/report.hpp"
#include "headscope/utf8.hpp"
#include "registry.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

std::vector<Figure> figures_of(const Results& results) {
  if (results.has(comparison_group)) return comparison_figures(results);
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

void write_run(const Results& results, const OutputOptions& output, Progress& progress) {
  progress.phase("drawing tables, figures and report");
  write_results(results, (fs::path(output.folder) / "results.h5").string());
  draw_results(results, output.folder, output.figures);
  progress.finish();
  for (const ResultsGroup& group : results.groups) {
    if (!group.report.warning.empty()) {
      std::cerr << Terminal::error().warning(group.report.warning);
    }
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
  std::vector<DrawnFigure> figures;
  for (Figure& figure : can_draw_figures() ? figures_of(results) : std::vector<Figure>()) {
    figures.push_back(write_figure(std::move(figure), figure_folder, formats));
  }
  write_report(results, figures, directory);
}

}  // namespace headscope
