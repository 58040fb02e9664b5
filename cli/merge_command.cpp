#include "commands.hpp"
#include "option_values.hpp"
#include "run/run.hpp"
#include "run/run_results.hpp"

namespace headscope {

void merge_command(const Arguments& arguments) {
  po::options_description options;
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("shard", po::value<std::vector<std::string>>(), "")(
      "output,o", text("DIR"), "where results.h5, tables, figures and the report go (required)")(
      "model", text("FILE"), "where the model is now (default: where the shards had it)")(
      "corpus", po::value<std::vector<std::string>>()->multitoken()->value_name("PATH..."),
      "where the corpus is now (default: where the shards had it)")(
      "tokenizer", text("DIR"), "where the tokenizer is now (default: where the shards had it)")(
      "threads", text("N"), "threads (0: all cores; default: as the shards)")(
      "figures", text("FORMATS"), "svg, png, pdf, separated by commas (default: as the shards)")(
      "quiet,q", po::bool_switch(), "no progress on stderr");
  po::variables_map values;
  if (!parse_arguments(arguments, "merge SHARD... --output DIR [OPTION...]", options, {"shard"},
                       true, values)) {
    return;
  }
  if (values.count("shard") == 0) throw UsageError("merge: expected shards, got none");
  if (values.count("output") == 0)
    throw UsageError("--output: expected a folder for the results, got none");

  const ShardTable shards(values["shard"].as<std::vector<std::string>>());
  std::map<std::string, std::vector<std::string>> changed;
  for (const char* name : {"output", "model", "tokenizer", "threads", "figures"}) {
    if (values.count(name) > 0) changed[name] = {values[name].as<std::string>()};
  }
  if (values.count("corpus") > 0)
    changed["corpus"] = values["corpus"].as<std::vector<std::string>>();
  RunOptions run = stored_run_options(shards.label().options, changed);
  run.quiet = values["quiet"].as<bool>();
  run.command_line = command_line_text("merge", arguments);

  write_run(merge_shards(RunSetup(run), shards), run);
}

}  // namespace headscope
