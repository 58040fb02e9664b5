#include <iostream>

#include "base/utf8.hpp"
#include "commands.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "inputs.hpp"
#include "run_output.hpp"
#include "shared_options.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

class ConvertCommand : public Command {
 public:
  ConvertCommand() {
    add_positional(options_, in_, "in", "IN", "an input file");
    add_positional(options_, out_, "out", "OUT.h5", "an output file");
    options_(tokenizer_, {"tokenizer", "DIR",
                          "folder with the tokenizer.json, or vocab.json and merges.txt, to store "
                          "in the file",
                          "the tokenizer in IN or its folder, if there is one"});
    add_n_head(options_, n_head_);
  }

  void run(const std::string& /*command_line*/) override {
    check_model_output(in_, out_);
    Model model = load_model(in_, {n_head_});
    print_notes(model_notes(model));
    const std::optional<TokenizerFiles> files =
        tokenizer_.empty() ? tokenizer_files_of(model) : read_tokenizer_files(tokenizer_);
    if (files) {
      check_tokenizer_fits(Tokenizer(*files), model);
      store_tokenizer(*files, model);
    }
    save_model(model, out_);
    std::cout << Terminal::out().labelled(
        one_line(out_) + ":", 0,
        std::string(model.is_complete() ? "complete model" : "attention weights only") + ", " +
            (model.tokenizer_vocab ? "with" : "without") + " tokenizer");
  }

 private:
  std::string in_, out_, tokenizer_;
  std::uint64_t n_head_ = 0;
};

}  // namespace

RegisteredCommand convert_command() {
  return {"convert",
          "write safetensors or tf_model.h5, with its tokenizer, as one flat HDF5 file",
          std::make_unique<ConvertCommand>,
          "Models",
          {"convert gpt2 gpt2.h5", "convert tf_model.h5 gpt2.h5"}};
}

}  // namespace headscope
