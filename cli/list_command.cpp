#include <iostream>

#include "analysis.hpp"
#include "commands.hpp"

namespace headscope {
namespace {

class ListCommand : public Command {
 public:
  void run(const std::string& /*command_line*/) override {
    for (const RegisteredAnalysis& analysis : analysis_registry()) {
      const AnalysisInfo& info = analysis.info;
      std::cout << info.name << ": " << info.title << "\n  " << info.purpose << "\n  needs:  "
                << (info.needs_corpus()  ? "a complete model and a corpus"
                    : info.needs_tasks() ? "a complete model and tasks"
                                         : "attention weights");
      std::cout << "\n  source: " << info.source << "\n";
    }
  }
};

}  // namespace

RegisteredCommand list_command() {
  return {"list",
          "show the analyses, what each needs, and its source",
          std::make_unique<ListCommand>,
          "Analyse",
          {}};
}

}  // namespace headscope
