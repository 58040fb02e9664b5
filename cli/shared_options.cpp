#include "shared_options.hpp"

namespace headscope {

Option& add_model(OptionTable& option, std::string& field, const std::string& help) {
  Option& added =
      option(field, {"model", "FILE", help, "the small model in data/", OptionScope::run});
  added.in_usage = true;
  return added;
}

Option& add_n_head(OptionTable& option, std::uint64_t& field) {
  return option(field, {"n-head", "N", "heads per layer, for model files that do not state it",
                        "known from the shapes of a published GPT-2; else needed"});
}

Option& add_tokenizer(OptionTable& option, std::string& field) {
  return option(field,
                {"tokenizer", "DIR", "folder with tokenizer.json, or vocab.json and merges.txt",
                 "the one in the model file or its folder", OptionScope::run});
}

void add_first_token(OptionTable& option, std::string& bos, bool& prepend_bos) {
  option(bos, {"bos", "TOKEN",
               "first token of each document, as the vocabulary spells it. Use it for a model "
               "trained with another first token than its config names",
               "bos_token_id of the model's config, else what its tokenizer puts first, else "
               "<|endoftext|>"});
  option(prepend_bos, {"no-bos", "",
                       "put no first token before documents. Use it for a model that was trained "
                       "without a first token"});
}

Option& add_encoding(OptionTable& option, std::string& field) {
  return option(field,
                {"encoding", "NAME",
                 "encoding of the corpus's text, as iconv names it: latin1, cp1252, utf-16"});
}

Option& add_output(OptionTable& option, std::string& field) {
  Option& added =
      option(field, {"output,o", "DIR", "folder for results.h5, tables, figures and the report", "",
                     OptionScope::run});
  added.required = "a folder for the results";
  return added;
}

Option& add_figures(OptionTable& option, std::vector<std::string>& field) {
  Option& added =
      option(field, {"figures", "FORMATS",
                     "svg, png, pdf, separated by commas; svg is always drawn, for the report", "",
                     OptionScope::run});
  added.choices = {"svg", "png", "pdf"};
  return added;
}

Option& add_threads(OptionTable& option, std::uint64_t& field) {
  Option& added = option(field, {"threads", "N", "number of threads",
                                 "OMP_NUM_THREADS, else all processors that the process and its "
                                 "control group may use",
                                 OptionScope::run});
  added.most = 4096;
  return added;
}

Option& add_quiet(OptionTable& option, bool& field) {
  return option(field, {"quiet,q", "", "do not show progress on stderr", "", OptionScope::process});
}

}  // namespace headscope
