#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "run/run_options.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

class ConvertCommand : public Command {
 public:
  ConvertCommand() {
    options_(in_, {.name = "in", .value = "IN", .required = "an input file", .positional = true});
    options_(out_,
             {.name = "out", .value = "OUT.h5", .required = "an output file", .positional = true});
    options_(tokenizer_,
             {"tokenizer", "DIR", "folder with the vocab.json and merges.txt to store in the file",
              "the folder of IN, if it has them"});
    options_.add(run_.table.at("n-head"));
  }

  void run(const std::string& /*command_line*/) override {
    Model model = load_model(in_, {run_.n_head});
    const bool asked = !tokenizer_.empty();
    const std::string directory = asked ? tokenizer_ : fs::path(in_).parent_path().string();
    if (asked || (!model.tokenizer_vocab && has_tokenizer_files(directory))) {
      TokenizerFiles files = read_tokenizer_files(directory);
      const Tokenizer checked(files);
      model.tokenizer_vocab = std::move(files.vocab_json);
      model.tokenizer_merges = std::move(files.merges);
    }
    save_model(model, out_);
    std::cout << out_ << ": " << (model.is_complete() ? "complete model" : "attention weights only")
              << ", " << (model.tokenizer_vocab ? "with" : "without") << " tokenizer\n";
  }

 private:
  std::string in_, out_, tokenizer_;
  RunOptions run_;  // source of the shared options
};

}  // namespace

RegisteredCommand convert_command() {
  return {"convert",
          "write safetensors or tf_model.h5 as one flat HDF5 file",
          std::make_unique<ConvertCommand>,
          "Models",
          {"convert gpt2/model.safetensors gpt2.h5", "convert tf_model.h5 gpt2.h5"}};
}

}  // namespace headscope
