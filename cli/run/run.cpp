#include "run/run.hpp"

#include <iostream>
#include <memory>

#include "headscope/kernel.hpp"
#include "headscope/random.hpp"
#include "headscope/utf8.hpp"
#include "run/run_passes.hpp"
#include "run/run_results.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

AnalysisContext context_of(const RunSetup& setup, const Model& model) {
  return {model, setup.corpus(), setup.options().settings, setup.tasks()};
}

/// A control: an untrained model and the analyses that run on it.
struct Control {
  Model model;
  CorpusRun corpus_run;

  /// @param number   of the control, from 0.
  /// @param trained  null if no pass begins.
  Control(const RunSetup& setup, int number, const CorpusRun* trained)
      : model(random_model(setup.model().config, seed_of(setup, number))),
        corpus_run(setup.controlled_analyses(), context_of(setup, model),
                   {setup.control_documents(), trained}) {}

 private:
  static std::uint64_t seed_of(const RunSetup& setup, int number) {
    const std::uint64_t seed = setup.options().settings.seed;
    return number == 0 ? seed : CounterRandom(seed, control_stream).value(number);
  }

  // The tensors of a random model use the streams from 0 on.
  static constexpr std::uint64_t control_stream = std::uint64_t{1} << 62;
};

int control_count(const RunSetup& setup) {
  return setup.controlled_analyses().empty() ? 0 : static_cast<int>(least_controls);
}

/// A control's pass costs as much as the same analyses of the model on its documents.
double control_cost(const RunSetup& setup, const PassRunner& passes) {
  if (control_count(setup) == 0) return 0;
  CorpusRun controlled(setup.controlled_analyses(), context_of(setup, setup.model()),
                       {setup.control_documents(), nullptr});
  return control_count(setup) * passes.cost(controlled);
}

Results results_of(const RunSetup& setup, const CorpusRun& trained,
                   const std::vector<FinishedControl>& controls,
                   const std::set<std::string>& arithmetic, Progress& progress) {
  Results results = finish_results(setup, trained, controls, progress);
  results.attributes["arithmetic"] = arithmetic_text(arithmetic);
  return results;
}

void say_finished(const RunOptions& options, const PassFolder& folder) {
  if (options.quiet) return;
  std::cerr << Terminal::error().note(
      "shard " + std::to_string(options.shard) + " of " + std::to_string(options.n_shard) +
      " is finished; when all are: headscope merge " + one_line(folder.folder()) + " --output DIR");
}

}  // namespace

PassLabel pass_label(const RunSetup& setup) {
  PassLabel label;
  label.identity = run_identity(setup);
  const AnalysisSettings& settings = setup.options().settings;
  const Engines engines = settings.engines();
  label.arithmetic = {
      blas::arithmetic_in_use({engines.differences, engines.passes, engines.gradients})};
  label.mixed = setup.options().mixed;
  label.shard = setup.options().shard;
  label.n_shard = setup.options().n_shard;
  label.n_pass = pass_count(setup.analyses()) + control_count(setup);
  label.options = setup.options().for_merging();
  return label;
}

std::optional<Results> run_shard(const RunSetup& setup, PassFolder folder, Progress& progress) {
  const RunOptions& options = setup.options();
  CorpusRun trained(setup.analyses(), context_of(setup, setup.model()));
  std::vector<FinishedControl> controls;
  {
    PassRunner passes(setup, folder, progress);
    progress.expect(passes.cost(trained) + control_cost(setup, passes),
                    options.n_shard == 1 ? seconds_of_results(setup) : 0);
    if (!passes.run(trained, 1, "")) return std::nullopt;
    const int n_control = control_count(setup);
    for (int i = 0; i < n_control; ++i) {
      Control control(setup, i, &trained);
      const std::string name =
          "untrained control " + std::to_string(i + 1) + " of " + std::to_string(n_control);
      if (!passes.run(control.corpus_run, 1 + trained.n_pass() + i, name)) return std::nullopt;
      if (options.n_shard == 1) controls.push_back(finish_control(control.corpus_run, i == 0));
    }
  }
  progress.end_passes();
  if (options.n_shard > 1) {
    progress.clear();
    say_finished(options, folder);
    return std::nullopt;
  }
  return results_of(setup, trained, controls, folder.arithmetic(), progress);
}

Results merge_shards(const RunSetup& setup, const ShardTable& shards, Progress& progress) {
  PassLabel own = pass_label(setup);
  own.where = "now";
  check_identity(own, shards.label(), shards.first_path());
  check_arithmetic(own, shards.label(), shards.first_path());
  own.arithmetic.insert(shards.label().arithmetic.begin(), shards.label().arithmetic.end());
  CorpusRun trained(setup.analyses(), context_of(setup, setup.model()));
  shards.merge_into(trained, 1);
  std::vector<FinishedControl> controls;
  for (int i = 0; i < control_count(setup); ++i) {
    Control control(setup, i, nullptr);
    shards.merge_into(control.corpus_run, 1 + trained.n_pass() + i);
    controls.push_back(finish_control(control.corpus_run, i == 0));
  }
  return results_of(setup, trained, controls, own.arithmetic, progress);
}

}  // namespace headscope
