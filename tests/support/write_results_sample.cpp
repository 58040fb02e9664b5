#include <cstdio>
#include <exception>
#include <filesystem>
#include <utility>

#include "headscope/report.hpp"
#include "support/figure_samples.hpp"
#include "support/large_results.hpp"
#include "support/results_sample.hpp"

namespace {

/// Two panels with a cell for each of the sample's heads.
headscope::Figure head_costs() {
  headscope::Heatmap map;
  for (const char* const title : {"first", "second"}) {
    map.panels.push_back({title, headscope::Array({2, 3}, {0, 1, 2, 3, 4, 5})});
  }
  map.row_title = "layer";
  map.column_title = "head";
  map.heads = true;
  headscope::Figure figure;
  figure.name = figure.title = "head_costs";
  figure.content = map;
  return figure;
}

void write_figures_and_report(const headscope::Results& results,
                              const std::vector<headscope::Presentation>& presentations,
                              std::vector<headscope::Figure> figures,
                              const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "figures");
  std::vector<headscope::DrawnFigure> drawn;
  for (headscope::Figure& figure : figures) {
    drawn.push_back(
        headscope::write_figure(std::move(figure), (folder / "figures").string(), {"svg"}));
  }
  headscope::write_report(results, presentations, drawn, folder.string());
}

}  // namespace

/// Writes the sample results, their tables and a report with few figures to a folder, and in it to
/// `all` a report with every sample figure, to `12x12`, `24x16` and `30x9` those of large models.
/// Tests read them with other programs.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  namespace fs = std::filesystem;
  try {
    const fs::path folder(argv[1]);
    fs::create_directories(folder);
    const headscope::Results results = headscope::test::results_sample();
    headscope::write_results(results, (folder / "results.h5").string());
    headscope::write_tables(results, (folder / "tables").string());
    std::vector<headscope::Figure> figures = headscope::test::figure_samples();
    figures.push_back(head_costs());
    for (headscope::Figure& figure : figures) {
      figure.group = "pruning";
      figure.caption = "Caption of " + headscope::test::hostile;
    }
    std::vector<headscope::Figure> few;
    for (const headscope::Figure& figure : figures) {
      for (const char* const name : {"head_costs", "points", "graph", "graph_bands"}) {
        if (figure.name == name) few.push_back(figure);
      }
    }
    write_figures_and_report(results, headscope::test::sample_presentations(), std::move(few),
                             folder);
    write_figures_and_report(results, headscope::test::sample_presentations(), std::move(figures),
                             folder / "all");
    for (const auto& [n_layer, n_head] : {std::pair{12, 12}, std::pair{24, 16}, std::pair{30, 9}}) {
      const headscope::Results large = headscope::test::large_results(
          static_cast<std::size_t>(n_layer), static_cast<std::size_t>(n_head));
      const std::string name = std::to_string(n_layer) + "x" + std::to_string(n_head);
      write_figures_and_report(large, headscope::test::large_presentations(),
                               headscope::test::large_figures(large), folder / name);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
