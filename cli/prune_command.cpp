#include <iostream>
#include <set>

#include "commands.hpp"
#include "headscope/prune.hpp"
#include "option_values.hpp"

namespace headscope {
namespace {

std::vector<HeadIndex> parse_heads(const std::string& text) {
  std::set<HeadIndex> heads;
  for (const std::string& name : read_list(text, "heads")) heads.insert(HeadIndex::parse(name));
  return {heads.begin(), heads.end()};
}

PruneMode parse_mode(const std::string& text) {
  check_known("mode", text, {"remove", "zero"});
  return text == "zero" ? PruneMode::zero : PruneMode::remove;
}

}  // namespace

void prune_command(const Arguments& arguments) {
  po::options_description options;
  options.add_options()("model", po::value<std::string>(), "")("out", po::value<std::string>(), "")(
      "heads", po::value<std::string>()->value_name("L5H1,..."),
      "heads to take out, layer and head counted from 0")(
      "mode", po::value<std::string>()->default_value("remove")->value_name("remove|zero"),
      "remove: leave their rows and columns out of the file, which names them in pruned_heads as "
      "Hugging Face does; zero: keep the rows and columns, as zeros (default remove)");
  add_n_head_option(options);
  po::variables_map values;
  if (!parse_arguments(arguments, "prune MODEL OUT.h5 --heads L5H1,... [OPTION...]", options,
                       {"model", "out"}, false, values)) {
    return;
  }
  if (values.count("model") == 0 || values.count("out") == 0) {
    throw UsageError("prune: expected a model and an output file");
  }
  if (values.count("heads") == 0) {
    throw UsageError("prune: expected --heads L5H1,...");
  }
  const std::vector<HeadIndex> heads = parse_heads(values["heads"].as<std::string>());
  const PruneMode mode = parse_mode(values["mode"].as<std::string>());
  Model model = load_model(values["model"].as<std::string>(), {read_n_head(values)});
  prune_heads(model, heads, mode);
  const std::string out = values["out"].as<std::string>();
  save_model(model, out);
  std::cout << out << ": " << heads.size() << " of " << model.config.n_layer * model.config.n_head
            << " heads " << (mode == PruneMode::remove ? "removed" : "set to zero") << "\n";
}

}  // namespace headscope
