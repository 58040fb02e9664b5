#include <filesystem>

#include "commands.hpp"
#include "option_values.hpp"
#include "run/run_results.hpp"

namespace headscope {

namespace fs = std::filesystem;

void report_command(const Arguments& arguments) {
  po::options_description options;
  options.add_options()("results", po::value<std::string>(), "");
  add_figures_option(options);
  po::variables_map values;
  if (!parse_arguments(arguments, "report DIR|results.h5 [OPTION...]", options, {"results"}, false,
                       values)) {
    return;
  }
  if (values.count("results") == 0)
    throw UsageError("report: expected a results folder or file, got none");
  const std::vector<std::string> formats = read_figure_formats(values["figures"].as<std::string>());

  fs::path file = values["results"].as<std::string>();
  if (fs::is_directory(file)) file /= "results.h5";
  const Results results = read_results(file.string());
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  draw_results(results, directory.string(), formats);
}

}  // namespace headscope
