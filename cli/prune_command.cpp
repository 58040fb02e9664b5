#include <iostream>
#include <set>

#include "base/utf8.hpp"
#include "commands.hpp"
#include "headscope/prune.hpp"
#include "headscope/tokenizer.hpp"
#include "run_output.hpp"
#include "shared_options.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

class PruneCommand : public Command {
 public:
  PruneCommand() {
    add_positional(options_, model_, "model", "MODEL", "a model");
    add_positional(options_, out_, "out", "OUT.h5", "an output file");
    options_(heads_, {"heads", "L5H1,...", "heads to remove; layers and heads count from 0"})
        .required = "heads, such as L5H1,L6H9";
    options_(mode_,
             {"mode", "remove|zero",
              "remove: delete the rows and columns of the heads and list the heads in "
              "pruned_heads, as Hugging Face does; zero: set these rows and columns to zero"})
        .choices = {"remove", "zero"};
    add_n_head(options_, n_head_);
  }

  void run(const std::string& /*command_line*/) override {
    std::set<HeadIndex> named;
    for (const std::string& name : heads_) named.insert(HeadIndex::parse(name));
    const std::vector<HeadIndex> heads(named.begin(), named.end());
    const PruneMode mode = mode_ == "zero" ? PruneMode::zero : PruneMode::remove;
    check_model_output(model_, out_);
    Model model = load_model(model_, {n_head_});
    prune_heads(model, heads, mode);
    if (const auto files = tokenizer_files_of(model)) store_tokenizer(*files, model);
    save_model(model, out_);
    std::cout << Terminal::out().labelled(
        one_line(out_) + ":", 0,
        std::to_string(heads.size()) + " of " +
            std::to_string(model.config.n_layer * model.config.n_head) + " heads " +
            (mode == PruneMode::remove ? "removed" : "set to zero"));
  }

 private:
  std::string model_, out_, mode_ = "remove";
  std::vector<std::string> heads_;
  std::uint64_t n_head_ = 0;
};

}  // namespace

RegisteredCommand prune_command() {
  return {"prune",
          "write a model without some of its heads",
          std::make_unique<PruneCommand>,
          "Models",
          {"prune gpt2.h5 pruned.h5 --heads L5H1,L5H8",
           "prune gpt2.h5 zeroed.h5 --heads L5H1 --mode zero"},
          true};
}

}  // namespace headscope
