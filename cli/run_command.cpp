#include <iostream>

#include "commands.hpp"
#include "headscope/utf8.hpp"
#include "run/output_folder.hpp"
#include "run/progress.hpp"
#include "run/run.hpp"
#include "run/run_results.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

class RunCommand : public Command {
 public:
  OptionTable& options() override { return run_.table; }

  void run(const std::string& command_line) override {
    run_.command_line = command_line;
    check_output_folder(run_.output);
    if (run_.resume && !run_.any_of_run_given()) restore_options();
    if (run_.n_shard == 1 && !run_.force && !run_.resume) refuse_replacement(run_.output);
    Progress progress(run_.quiet);
    progress.phase("loading model and corpus");
    const RunSetup setup(run_);
    progress.clear();
    if (!run_.quiet && run_.settings.precision != "float32" &&
        run_.settings.engines().differences == run_.settings.engines().passes) {
      std::cerr << Terminal::error().note("--precision " + run_.settings.precision +
                                          ": float32, since nothing is faster on this processor");
    }
    if (!run_.quiet) {
      for (const std::string& note : setup.notes()) {
        std::cerr << Terminal::error().note(one_line(note));
      }
    }
    const PassLabel label = pass_label(setup);
    if (label.n_shard > 1 && label.n_pass == 0) {
      throw UsageError(
          "--shard: expected an analysis of text, whose documents or pairs it shares out, got " +
          label.identity.at("analyses"));
    }
    const PassFolder folder(run_.output, label);
    const bool whole = label.n_shard == 1;
    const OutputLock lock(whole ? run_.output : folder.folder(),
                          whole ? ".lock" : folder.lock_name(label.shard));
    if (whole && !run_.quiet) announce_replacement(run_.output);
    if (whole && !run_.quiet) say_if_no_figures(run_.output);
    const std::optional<Results> results = run_shard(setup, folder, progress);
    if (!results) return;
    write_run(*results, run_, progress);
    folder.remove_own();
  }

 private:
  /// Takes the options of the unfinished run in the output folder, if there is one.
  void restore_options() {
    const std::vector<std::string> files = find_pass_files(run_.output);
    if (files.empty()) return;
    // The folder may have been moved since.
    const std::string output = run_.output;
    run_.restore(read_pass_label(files.front()).options);
    run_.table.at("output").set({output});
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
