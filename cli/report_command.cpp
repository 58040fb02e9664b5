#include <filesystem>

#include "commands.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"
#include "headscope/output_lock.hpp"
#include "registry.hpp"
#include "run_output.hpp"
#include "shared_options.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

class ReportCommand : public Command {
 public:
  ReportCommand() {
    add_positional(options_, results_, "results", "DIR|results.h5", "a results folder or file");
    add_figures(options_, figures_);
    options_(pattern_tables_, {"pattern-tables", "",
                               "also write attention patterns as CSV tables, which are large"});
  }

  void run(const std::string& /*command_line*/) override {
    const fs::path file = results_file(results_);
    const Results results = read_results(file.string());
    check_dimensions(results, file.string(), presentations_of(results));
    const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
    check_output_folder(directory.string());
    const OutputLock lock(directory.string());
    const std::string why_not = why_no_figures();
    check_figures_stay(directory.string(), why_not);
    say_if_no_figures(directory.string(), why_not);
    try {
      draw_results(results, directory.string(), figures_, why_not);
    } catch (const DataError&) {
      throw;
    } catch (const Error& error) {
      throw DataError(file.string(), "", error.what());
    }
    if (pattern_tables_) write_pattern_tables(results, (directory / "tables").string());
  }

 private:
  std::string results_;
  std::vector<std::string> figures_ = OutputOptions().figures;
  bool pattern_tables_ = false;
};

}  // namespace

RegisteredCommand report_command() {
  return {"report",
          "redraw tables, figures and report from a results file",
          std::make_unique<ReportCommand>,
          "Results",
          {"report out", "report out/results.h5 --figures svg,pdf"}};
}

}  // namespace headscope
