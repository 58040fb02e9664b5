#include "shared_options.hpp"

namespace headscope {

void add_model(OptionTable& option, std::string& field, const std::string& help) {
  option(field, {"model", "FILE", help, "the small model in data/", OptionScope::run}).in_usage =
      true;
}

void add_n_head(OptionTable& option, std::uint64_t& field) {
  option(field, {"n-head", "N", "heads per layer, for model files that do not state it",
                 "known from the shapes of a published GPT-2; else needed"});
}

void add_tokenizer(OptionTable& option, std::string& field) {
  option(field, {"tokenizer", "DIR", "folder with tokenizer.json, or vocab.json and merges.txt",
                 "the one in the model file or its folder", OptionScope::run});
}

void add_first_token(OptionTable& option, FirstTokenOf of, std::string& bos, bool& prepend_bos) {
  const bool of_sentence = of == FirstTokenOf::sentence;
  option(bos,
         {"bos", "TOKEN",
          std::string("first token of ") +
              (of_sentence ? "the sentence" : "each document and of each side of a task's pairs") +
              ", as the vocabulary spells it. Use it for a model trained with another first "
              "token than its config names",
          "bos_token_id of the model's config, else what its tokenizer puts first, else "
          "<|endoftext|>"});
  option(prepend_bos,
         {"no-bos", "",
          std::string("put no first token before ") +
              (of_sentence ? "the sentence" : "documents and before the sides of pairs") +
              ". Use it for a model that was trained without a first token" +
              (of_sentence ? ""
                           : ". Pairs whose sides differ at their first token are "
                             "then left out")});
}

void add_encoding(OptionTable& option, std::string& field) {
  option(field, {"encoding", "NAME",
                 "encoding of the corpus's text, as iconv names it: latin1, cp1252, utf-16"});
}

void add_output(OptionTable& option, std::string& field) {
  option(field, {"output,o", "DIR", "folder for results.h5, tables, figures and the report", "",
                 OptionScope::run})
      .required = "a folder for the results";
}

void add_figures(OptionTable& option, std::vector<std::string>& field) {
  option(field, {"figures", "FORMATS",
                 "svg, png, pdf, separated by commas; svg is always drawn, for the report", "",
                 OptionScope::run})
      .choices = {"svg", "png", "pdf"};
}

void add_threads(OptionTable& option, std::uint64_t& field) {
  option(field, {"threads", "N", "number of threads",
                 "OMP_NUM_THREADS, else all processors that the process and its control group may "
                 "use",
                 OptionScope::run})
      .most = 4096;
}

void add_force(OptionTable& option, bool& field) {
  option(field, {"force", "", "replace the results of a finished run in the folder", "",
                 OptionScope::process});
}

void add_quiet(OptionTable& option, bool& field) {
  option(field, {"quiet,q", "", "show no progress and no notes, and print no path", "",
                 OptionScope::process});
}

}  // namespace headscope
