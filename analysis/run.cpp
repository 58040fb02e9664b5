#include "run.hpp"

#include <filesystem>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "headscope/error.hpp"
#include "run_passes.hpp"
#include "run_results.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

/// @return false if the shard must wait for others.
bool run_all_passes(const RunSetup& setup, const PassFolder& folder, CorpusRun& trained,
                    std::unique_ptr<ControlRun>& control) {
  PassRunner passes(setup, folder);
  if (!passes.run(trained, 1, "model")) return false;
  if (setup.controlled_analyses().empty()) return true;
  control = std::make_unique<ControlRun>(setup);
  return passes.run(control->corpus_run(), 1 + trained.n_pass(), "untrained control");
}

}  // namespace

PassCounts count_passes(const RunSetup& setup) {
  const AnalysisContext context{setup.model(), setup.corpus(), setup.options().settings};
  return {CorpusRun(setup.analyses(), context).n_pass(),
          CorpusRun(setup.controlled_analyses(), context).n_pass()};
}

PassLabel pass_label(const RunSetup& setup) {
  const PassCounts counts = count_passes(setup);
  PassLabel label;
  label.identity = run_identity(setup);
  label.shard = setup.options().shard;
  label.n_shard = setup.options().n_shard;
  label.n_pass = counts.trained + counts.control;
  label.options = setup.options().with_absolute_paths();
  return label;
}

ControlRun::ControlRun(const RunSetup& setup)
    : model_(random_model(setup.model().config, setup.options().settings.seed)),
      corpus_run_(setup.controlled_analyses(), {model_, setup.corpus(), setup.options().settings}) {
}

void run_command(const Arguments& arguments) {
  const std::optional<RunOptions> options = parse_run_options(arguments);
  if (!options) return;
  std::error_code failure;
  fs::create_directories(options->output, failure);
  if (failure) throw DataError(options->output, "", "cannot be made: " + failure.message());

  const RunSetup setup(*options);
  const PassFolder folder(options->output, pass_label(setup));
  CorpusRun trained(setup.analyses(), {setup.model(), setup.corpus(), options->settings});
  std::unique_ptr<ControlRun> control;
  if (!run_all_passes(setup, folder, trained, control)) return;
  if (options->n_shard > 1) {
    if (!options->quiet) {
      std::cerr << "shard " << options->shard << " of " << options->n_shard
                << " is finished; when all are: headscope merge " << folder.folder()
                << " --output DIR\n";
    }
    return;
  }
  write_run(finish_results(setup, trained, control ? &control->corpus_run() : nullptr), *options);
  folder.remove_own();
}

}  // namespace headscope
