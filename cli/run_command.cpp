#include <algorithm>
#include <iostream>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "commands.hpp"
#include "run_setup.hpp"
#include "shell_text.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

/// Rough time that the results, tables, figures and report take, for the time left.
double seconds_of_results(const RunSetup& setup) {
  // Measured with all analyses of 32 heads and with those of the weights of 144.
  constexpr double per_analysis = 1.3, per_pair_of_heads = 3e-4;
  const auto n_analysis = static_cast<double>(setup.analyses().size()),
             n_head_total =
                 static_cast<double>(setup.model().config.n_layer * setup.model().config.n_head);
  return per_analysis * n_analysis + per_pair_of_heads * n_head_total * n_head_total;
}

/// The label of the first pass file that can be read; an empty one if none can. What another shard
/// removes meanwhile, or has left damaged, does not stop this one.
PassLabel first_label(const std::vector<std::string>& pass_files) {
  for (const std::string& path : pass_files) {
    try {
      return read_pass_label(path);
    } catch (const DataError&) {
    }
  }
  return {};
}

class RunCommand : public Command {
 public:
  OptionTable& options() override { return run_.table; }

  void run(const std::string& command_line) override {
    run_.command_line = command_line;
    const std::string& output = run_.output.folder;
    check_output_folder(output);
    run_.check();
    const bool unsharded = run_.files.n_shard == 1;
    const std::vector<std::string> begun = find_pass_files(output, run_.files.n_shard);
    const bool continues = run_.files.resume && !begun.empty();
    if (unsharded && !run_.force && !continues) refuse_replacement(output);
    if (run_.files.resume && !run_.has_option_of_all_shards()) {
      restore_options(begun);
    } else if (continues) {
      check_inputs_given(begun);
    }
    Progress progress(run_.output.quiet, run_.resume_command());
    progress.phase("loading model and corpus");
    RunSetup setup(run_);
    progress.clear();
    note_setup(setup);
    check_shard(setup);
    setup.keep_engines();
    ShardRun shard(setup.input(), run_.run_files());
    if (unsharded) announce_output(run_.output);
    if (unsharded) progress.expect_after_passes(seconds_of_results(setup));
    try {
      const std::optional<Results> results = shard.results(progress);
      if (!results) return say_if_finished(shard, progress);
      write_run(*results, run_.output, progress);
    } catch (const RunError& error) {
      throw with_advice(error, run_);
    }
    shard.remove_files();
  }

 private:
  /// Takes the options of the unfinished run in the output folder.
  /// @param begun  its pass files, of all shards.
  /// @throws DataError if there is none, or it has another number of shards.
  void restore_options(const std::vector<std::string>& begun) {
    const std::string output = run_.output.folder;
    if (!begun.empty()) {
      run_.restore(read_pass_label(begun.front()).options, begun.front());
      // The folder may have been moved since.
      run_.table.at("output").set({output});
      return;
    }
    if (const std::vector<std::string> others = find_pass_files(output); !others.empty()) {
      const std::string n_shard = std::to_string(read_pass_label(others.front()).n_shard);
      throw DataError(others.front(), "",
                      "the number of shards is " + n_shard + ", but " +
                          std::to_string(run_.files.n_shard) + " in this run; continue it with " +
                          (n_shard == "1" ? "no --shard" : "--shard K/" + n_shard));
    }
    throw DataError(output, "",
                    "expected the state of an unfinished run, got none; give the options of the "
                    "run again, or leave out --resume to begin");
  }

  /// @param begun  pass files of the unfinished run in the output folder.
  /// @throws UsageError if a model, corpus or other file was given to that run and not to this one.
  void check_inputs_given(const std::vector<std::string>& begun) const {
    const std::string missing = run_.missing_input(first_label(begun).options);
    if (missing.empty()) return;
    throw UsageError(
        "--resume: expected none of the options of the unfinished run or all of them, got some "
        "without --" +
        missing);
  }

  void note_setup(const RunSetup& setup) const {
    if (!run_.output.quiet) print_notes(setup.notes());
  }

  void check_shard(const RunSetup& setup) const {
    if (run_.files.n_shard == 1) return;
    const auto reads = [](const auto* analysis) { return !analysis->info.passes.empty(); };
    if (std::ranges::any_of(setup.analyses(), reads)) return;
    throw UsageError(
        "--shard: expected an analysis of text, whose documents or pairs it shares out, got " +
        joined(setup.analyses(), ",", [](const auto* analysis) { return analysis->info.name; }));
  }

  void say_if_finished(const ShardRun& shard, Progress& progress) const {
    progress.clear();
    if (run_.output.quiet || !shard.is_finished()) return;
    std::cerr << Terminal::error().note(
        "shard " + std::to_string(run_.files.shard) + " of " + std::to_string(run_.files.n_shard) +
        " is finished; when all are: " + merge_command_of(shard.folder()));
  }

  RunOptions run_;
};

}  // namespace

RegisteredCommand run_command() {
  return {"run",
          "analyse a model's heads",
          std::make_unique<RunCommand>,
          "Analyse",
          {"run --output out", "run --model gpt2.h5 --corpus ewt.conllu --control random -o out"},
          true};
}

}  // namespace headscope
