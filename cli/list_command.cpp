#include <iostream>

#include "analysis.hpp"
#include "commands.hpp"

namespace headscope {

void list_command(const Arguments& arguments) {
  po::variables_map values;
  if (!parse_arguments(arguments, "list", po::options_description(), {}, false, values)) return;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    const AnalysisInfo& info = analysis.info;
    std::cout << info.name << ": " << info.title << "\n  " << info.purpose << "\n  needs:  "
              << (info.needs_corpus ? "a complete model and a corpus" : "attention weights");
    std::cout << "\n  source: " << info.source << "\n";
  }
}

}  // namespace headscope
