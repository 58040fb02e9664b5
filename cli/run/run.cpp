#include "run/run.hpp"

#include <iostream>
#include <memory>

#include "headscope/kernel.hpp"
#include "run/run_passes.hpp"
#include "run/run_results.hpp"

namespace headscope {
namespace {

AnalysisContext context_of(const RunSetup& setup, const Model& model) {
  return {model, setup.corpus(), setup.options().settings, setup.tasks()};
}

/// A run's control: an untrained model and the analyses that run on it.
struct Control {
  Model model;
  CorpusRun corpus_run;

  explicit Control(const RunSetup& setup)
      : model(random_model(setup.model().config, setup.options().settings.seed)),
        corpus_run(setup.controlled_analyses(), context_of(setup, model)) {}
};

/// Null unless a control was asked for.
std::unique_ptr<Control> make_control(const RunSetup& setup) {
  if (setup.controlled_analyses().empty()) return nullptr;
  return std::make_unique<Control>(setup);
}

/// The control's passes cost as much as the same analyses of the model.
double control_cost(const RunSetup& setup, const PassRunner& passes) {
  CorpusRun controlled(setup.controlled_analyses(), context_of(setup, setup.model()));
  return passes.cost(controlled);
}

Results results_of(const RunSetup& setup, const CorpusRun& trained, const Control* control,
                   const std::set<std::string>& arithmetic, Progress& progress) {
  Results results =
      finish_results(setup, trained, control == nullptr ? nullptr : &control->corpus_run, progress);
  results.attributes["arithmetic"] = arithmetic_text(arithmetic);
  return results;
}

void say_finished(const RunOptions& options, const PassFolder& folder) {
  if (options.quiet) return;
  std::cerr << "shard " << options.shard << " of " << options.n_shard
            << " is finished; when all are: headscope merge " << folder.folder()
            << " --output DIR\n";
}

}  // namespace

PassLabel pass_label(const RunSetup& setup) {
  PassLabel label;
  label.identity = run_identity(setup);
  const AnalysisSettings& settings = setup.options().settings;
  label.arithmetic = {blas::arithmetic_in_use(
      {settings.engine(), settings.pass_engine(), settings.gradient_engine()})};
  label.mixed = setup.options().mixed;
  label.shard = setup.options().shard;
  label.n_shard = setup.options().n_shard;
  label.n_pass = pass_count(setup.analyses()) + pass_count(setup.controlled_analyses());
  label.options = setup.options().for_merging();
  return label;
}

std::optional<Results> run_shard(const RunSetup& setup, PassFolder folder, Progress& progress) {
  const RunOptions& options = setup.options();
  auto trained = std::make_unique<CorpusRun>(setup.analyses(), context_of(setup, setup.model()));
  std::unique_ptr<Control> control;
  {
    PassRunner passes(setup, folder, progress);
    progress.expect(passes.cost(*trained) + control_cost(setup, passes),
                    options.n_shard == 1 ? seconds_of_results(setup) : 0);
    if (!passes.run(*trained, 1, "")) return std::nullopt;
    if (options.n_shard > 1) trained.reset();
    control = make_control(setup);
    if (control &&
        !passes.run(control->corpus_run, 1 + pass_count(setup.analyses()), "untrained control")) {
      return std::nullopt;
    }
  }
  progress.end_passes();
  if (options.n_shard > 1) {
    progress.clear();
    say_finished(options, folder);
    return std::nullopt;
  }
  return results_of(setup, *trained, control.get(), folder.arithmetic(), progress);
}

Results merge_shards(const RunSetup& setup, const ShardTable& shards, Progress& progress) {
  PassLabel own = pass_label(setup);
  own.where = "now";
  check_identity(own, shards.label(), shards.first_path());
  check_arithmetic(own, shards.label(), shards.first_path());
  own.arithmetic.insert(shards.label().arithmetic.begin(), shards.label().arithmetic.end());
  CorpusRun trained(setup.analyses(), context_of(setup, setup.model()));
  shards.merge_into(trained, 1);
  const std::unique_ptr<Control> control = make_control(setup);
  if (control) shards.merge_into(control->corpus_run, 1 + trained.n_pass());
  return results_of(setup, trained, control.get(), own.arithmetic, progress);
}

}  // namespace headscope
