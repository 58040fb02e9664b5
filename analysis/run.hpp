#pragma once

#include "progress.hpp"
#include "run_options.hpp"

namespace headscope {

/// Loads model and corpus, shows every document to every analysis in one pass (or as many as one of
/// them needs), and finishes to results with their provenance.
Results run_analyses(const RunOptions& options);

/// Writes tables, figures and report of a results file into `directory`, in place of older ones.
void draw_results(const Results& results, const std::string& directory,
                  const std::vector<std::string>& figure_formats);

}  // namespace headscope
