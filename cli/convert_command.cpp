#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "option_values.hpp"

namespace headscope {

namespace fs = std::filesystem;

void convert_command(const Arguments& arguments) {
  po::options_description options;
  options.add_options()("in", po::value<std::string>(), "")("out", po::value<std::string>(), "")(
      "tokenizer", po::value<std::string>()->value_name("DIR"),
      "folder with vocab.json and merges.txt, to go into the file (default: beside IN where there "
      "is one)");
  add_n_head_option(options);
  po::variables_map values;
  if (!parse_arguments(arguments, "convert IN OUT.h5 [OPTION...]", options, {"in", "out"}, false,
                       values)) {
    return;
  }
  if (values.count("in") == 0 || values.count("out") == 0) {
    throw UsageError("convert: expected an input and an output file");
  }
  const std::string in = values["in"].as<std::string>();
  const std::string out = values["out"].as<std::string>();
  Model model = load_model(in, {read_n_head(values)});
  const bool asked = values.count("tokenizer") > 0;
  const fs::path directory =
      asked ? fs::path(values["tokenizer"].as<std::string>()) : fs::path(in).parent_path();
  if (asked || (!model.tokenizer_vocab && has_tokenizer_files(directory.string()))) {
    TokenizerFiles files = read_tokenizer_files(directory.string());
    Tokenizer{files};
    model.tokenizer_vocab = std::move(files.vocab_json);
    model.tokenizer_merges = std::move(files.merges);
  }
  save_model(model, out);
  std::cout << out << ": " << (model.is_complete() ? "complete model" : "attention weights only")
            << ", " << (model.tokenizer_vocab ? "with" : "without") << " tokenizer\n";
}

}  // namespace headscope
