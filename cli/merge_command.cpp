#include "commands.hpp"
#include "run_setup.hpp"
#include "shared_options.hpp"

namespace headscope {
namespace {

class MergeCommand : public Command {
 public:
  MergeCommand() {
    add_positional(options_, shards_, "shard", "SHARD...", "shards");
    for (const char* name : {"output", "model", "corpus", "tasks", "tokenizer", "threads", "force",
                             "mixed", "figures", "quiet"}) {
      Option option = run_.table.at(name);
      option.in_usage = false;
      if (!option.is_switch()) option.when_empty = "as in the shards";
      option.default_value.clear();
      options_.add(option);
    }
  }

  void run(const std::string& command_line) override try {
    const ShardTable shards(shards_, run_.files.mixed);
    run_.restore(shards.label().options, shards.first_path());
    const bool had_default_model = !run_.table.at("model").given;
    for (const Option& option : options_.options()) {
      if (option.given && !option.positional) run_.table.at(option.name).set(option.words);
    }
    if (had_default_model && !run_.model.empty()) {
      const RunIdentity& read = shards.label().identity;
      if (run_.corpus.empty() && read.contains("corpus SHA-256"))
        run_.table.at("corpus").set({default_corpus()});
      if (run_.tasks.empty() && read.contains("tasks SHA-256"))
        run_.table.at("tasks").set({default_tasks()});
    }
    run_.command_line = command_line;
    check_output_folder(run_.output.folder);
    if (!run_.force) refuse_replacement(run_.output.folder);
    const OutputLock lock(run_.output.folder);
    announce_output(run_.output);
    Progress progress(run_.output.quiet);
    progress.phase("merging shards");
    RunSetup setup(run_);
    write_run(merge_shards(setup.input(), shards, progress), run_.output, progress);
  } catch (const RunError& error) {
    throw with_advice(error, run_);
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
