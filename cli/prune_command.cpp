#include <algorithm>
#include <iostream>
#include <set>

#include "base/utf8.hpp"
#include "commands.hpp"
#include "headscope/error.hpp"
#include "headscope/prune.hpp"
#include "headscope/tokenizer.hpp"
#include "inputs.hpp"
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
    print_notes(model_notes(model));
    const std::size_t n_removed_before = model.config.pruned_heads.size();
    check_heads_left(model, heads);
    prune_heads(model, heads, mode);
    if (const auto files = tokenizer_files_of(model)) store_tokenizer(*files, model);
    save_model(model, out_);
    std::cout << Terminal::out().labelled(one_line(out_) + ":", 0,
                                          mode == PruneMode::zero
                                              ? of_all_heads(heads.size(), model) + " set to zero"
                                              : removal_text(n_removed_before, model));
  }

 private:
  void check_heads_left(const Model& model, const std::vector<HeadIndex>& heads) const {
    for (const HeadIndex head : heads) {
      if (!std::ranges::binary_search(model.config.pruned_heads, head)) continue;
      throw OptionError("--heads",
                        "expected heads that " + model_ + " still has, got " + head.text());
    }
  }

  /// `3 of 6 heads`.
  static std::string of_all_heads(std::size_t n_head, const Model& model) {
    return std::to_string(n_head) + " of " +
           std::to_string(model.config.n_layer * model.config.n_head) + " heads";
  }

  static std::string removal_text(std::size_t n_before, const Model& model) {
    const std::size_t n_removed = model.config.pruned_heads.size();
    const std::string text = of_all_heads(n_removed, model);
    if (n_before == 0) return text + " removed";
    return text + " are removed, " + std::to_string(n_removed - n_before) +
           " of them by this command";
  }

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
