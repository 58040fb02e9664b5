#pragma once

#include <string>
#include <vector>

#include "run_options.hpp"

namespace headscope {

/// Whether the option is about some analyses alone, of which none is among these.
bool is_idle(const Option& option, const std::vector<const RegisteredAnalysis*>& analyses);

/// `does not use --paths-exact: the analysis paths does not run`: a line for each option that was
/// given and that nothing of the run uses. None of options that were restored.
std::vector<std::string> unused_option_notes(const RunOptions& options,
                                             const std::vector<const RegisteredAnalysis*>& analyses,
                                             const AnalysisContext& context);

}  // namespace headscope
