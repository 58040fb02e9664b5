#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "inputs.hpp"
#include "shared_options.hpp"
#include "tasks/templates/template.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

/// The tokenizer in a folder or `tokenizer.json`, or that of a model's file.
Tokenizer tokenizer_at(const std::string& path) {
  if (std::filesystem::is_directory(path) || path.ends_with(".json")) {
    return Tokenizer(read_tokenizer_files(path));
  }
  const Model model = load_model(model_path(path));
  const std::optional<TokenizerFiles> files = tokenizer_files_of(model);
  if (!files) throw DataError(model.path, "", "expected a tokenizer with the model, got none");
  return Tokenizer(*files);
}

class TasksCommand : public Command {
 public:
  TasksCommand() {
    add_positional(options_, template_, "template", "TEMPLATE", "a template");
    Option& pairs = options_(selection_.n_pair, {"pairs", "N", "number of different pairs"});
    pairs.least = 1;
    pairs.most = 1'000'000;
    options_(
        tokenizer_,
        {"tokenizer", "PATH",
         "folder or model with the tokenizer; each word that varies is one token of it",
         "that of the default model, which has too few words for sva, greater_than and acronym"});
    options_(selection_.seed,
             {"seed", "N", "seed of the random choices; the same seed gives the same pairs"});
    options_(selection_.one_length,
             {"one-length", "",
              "only sentences with the same number of tokens, as --paths-ablation position_mean "
              "needs"});
  }

  void run(const std::string& /*command_line*/) override {
    const TaskTemplate& task = task_template(template_);
    const DrawnPairs drawn = template_pairs(task, tokenizer_at(tokenizer_), selection_);
    for (const TemplatePair& pair : drawn.pairs) std::cout << json_line(task, pair) << "\n";
    if (drawn.n_left_out > 0) {
      std::cerr << Terminal::error().note(left_out_text(drawn.n_left_out));
    }
  }

 private:
  std::string template_, tokenizer_;
  PairSelection selection_;
};

std::string purpose() {
  std::string text = "write minimal pairs of a known task as JSON lines:";
  for (const TaskTemplate& task : task_templates()) text += " " + task.name;
  return text;
}

}  // namespace

RegisteredCommand tasks_command() {
  return {"tasks",
          purpose(),
          std::make_unique<TasksCommand>,
          "Analyse",
          {"tasks ioi --pairs 200 --tokenizer gpt2 > ioi.jsonl",
           "run --model gpt2 --tasks ioi.jsonl --analyses paths --output out"}};
}

}  // namespace headscope
