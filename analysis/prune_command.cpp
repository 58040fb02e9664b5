#include <iostream>
#include <sstream>

#include "commands.hpp"
#include "headscope/prune.hpp"

namespace headscope {
namespace {

std::vector<HeadIndex> parse_heads(const std::string& text) {
  std::vector<HeadIndex> heads;
  std::istringstream stream(text);
  for (std::string head; std::getline(stream, head, ',');) heads.push_back(HeadIndex::parse(head));
  if (heads.empty()) throw UsageError("--heads: expected heads such as L5H1,L3H0, got none");
  return heads;
}

PruneMode parse_mode(const std::string& text) {
  if (text == "remove") return PruneMode::remove;
  if (text == "zero") return PruneMode::zero;
  throw UsageError("--mode: expected remove or zero, got \"" + text + "\"");
}

}  // namespace

void prune_command(const Arguments& arguments) {
  po::options_description options;
  options.add_options()("model", po::value<std::string>(), "")("out", po::value<std::string>(), "")(
      "heads", po::value<std::string>()->value_name("L5H1,..."),
      "heads to take out, layer and head counted from 0")(
      "mode", po::value<std::string>()->default_value("remove")->value_name("remove|zero"),
      "remove: leave their rows and columns out of the file, which names them in pruned_heads as "
      "Hugging Face does; zero: keep the rows and columns, as zeros")(
      "n-head", po::value<Index>()->default_value(0)->value_name("N"),
      "heads per layer, for files that do not say (0: d_model / 64)");
  po::variables_map values;
  if (!parse_arguments(arguments, "prune MODEL --heads L5H1,... OUT.h5 [OPTION...]", options,
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
  Model model = load_model(values["model"].as<std::string>(), {values["n-head"].as<Index>()});
  prune_heads(model, heads, mode);
  const std::string out = values["out"].as<std::string>();
  save_model(model, out);
  std::cout << out << ": " << heads.size() << " of " << model.config.n_layer * model.config.n_head
            << " heads " << (mode == PruneMode::remove ? "removed" : "set to zero") << "\n";
}

}  // namespace headscope
