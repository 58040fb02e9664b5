#include "commands.hpp"
#include "run/output_folder.hpp"
#include "run/run.hpp"
#include "run/run_results.hpp"

namespace headscope {
namespace {

class MergeCommand : public Command {
 public:
  MergeCommand() {
    options_(shards_, {.name = "shard",
                       .value = "SHARD...",
                       .required = "shards",
                       .several = true,
                       .positional = true});
    for (const char* name : {"output", "model", "corpus", "tasks", "tokenizer", "threads", "mixed",
                             "figures", "quiet"}) {
      Option option = run_.table.at(name);
      option.in_usage = false;
      if (!option.is_switch()) option.when_empty = "as in the shards";
      option.default_value.clear();
      options_.add(option);
    }
  }

  void run(const std::string& command_line) override {
    const ShardTable shards(shards_, run_.mixed);
    run_.restore(shards.label().options);
    for (const Option& option : options_.options()) {
      if (option.given && !option.positional) run_.table.at(option.name).set(option.words);
    }
    run_.command_line = command_line;
    check_output_folder(run_.output);
    const OutputLock lock(run_.output);
    if (!run_.quiet) announce_replacement(run_.output);
    Progress progress(run_.quiet);
    progress.phase("merging shards");
    write_run(merge_shards(RunSetup(run_), shards, progress), run_, progress);
  }

 private:
  std::vector<std::string> shards_;
  RunOptions run_;
};

}  // namespace

RegisteredCommand merge_command() {
  return {"merge",
          "combine the shards of a run into its results",
          std::make_unique<MergeCommand>,
          "Analyse",
          {"merge out --output out", "merge node1/shards node2/shards --output out"},
          true};
}

}  // namespace headscope
