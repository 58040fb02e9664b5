#include <iostream>

#include "commands.hpp"
#include "registry.hpp"
#include "tasks/templates/template.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

class ListCommand : public Command {
 public:
  void run(const std::string& /*command_line*/) override {
    for (const RegisteredAnalysis& analysis : analysis_registry()) {
      const AnalysisInfo& info = analysis.info;
      const Terminal& out = Terminal::out();
      const std::string needs = info.needs_corpus()  ? "a complete model and a corpus"
                                : info.needs_tasks() ? "a complete model and tasks"
                                                     : "attention weights";
      std::cout << out.labelled(info.name + ":", info.name.size() + 2, info.title)
                << out.paragraph(info.purpose, "  ", "  ") << out.labelled("  needs:", 10, needs)
                << out.labelled("  source:", 10, info.source);
    }
    for (const TaskTemplate& task : task_templates()) {
      std::cout << Terminal::out().labelled("tasks " + task.name + ":", 24, task.purpose)
                << Terminal::out().labelled("  source:", 10, task.source);
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
