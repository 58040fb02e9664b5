#include "tasks/tasks.hpp"

#include "headscope/ablation.hpp"
#include "headscope/figure.hpp"
#include "headscope/gradient.hpp"
#include "tasks/passes/tasks_pass.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

const std::vector<TasksPass>& tasks_passes() {
  static const std::vector<TasksPass> passes{z_averaging_pass(), head_effects_pass(),
                                             backup_heads_pass()};
  return passes;
}

constexpr int backup_pass = 2;  ///< place of backup_heads_pass

const AnalysisInfo tasks_info{
    .name = "tasks",
    .title = "What tasks need which heads",
    .purpose =
        "Measures how the margin on minimal pairs changes without each head, its first-order "
        "prediction, the direct effect of each head, and which later heads make up for it.",
    .source =
        "Warstadt et al. 2020, BLiMP; Michel et al. 2019, Are Sixteen Heads Really Better than "
        "One?; Elhage et al. 2021, A Mathematical Framework for Transformer Circuits; McGrath et "
        "al. 2023, The Hydra Effect",
    .passes = pass_names(tasks_passes()),
    .input = AnalysisInput::tasks,
};

class Tasks : public TaskPassAnalysis<TasksInput> {
 public:
  explicit Tasks(const AnalysisContext& context)
      : TaskPassAnalysis({{context, context.tasks->tasks()}, {}}) {}

  void begin_pass(int pass, const Statistics& earlier) override {
    input_.repaired.clear();
    for (std::size_t task = 0; pass == backup_pass && task < input_.tasks.size(); ++task) {
      input_.repaired.push_back(
          repaired_heads(earlier, task, input_.model.config, input_.settings));
    }
    TaskPassAnalysis::begin_pass(pass, earlier);
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {tasks_results(statistics, input_.tasks, input_.model.config, input_.settings)};
  }

  void relate(const Results& all, ResultsGroup& group) const override {
    if (auto claim = relation_heads_claim(group, all, input_.settings)) {
      group.claims.push_back(std::move(*claim));
    }
  }

 private:
  const std::vector<TasksPass>& passes() const override { return tasks_passes(); }
};

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(),
                      n_column = std::min<std::uint64_t>(most_batch_columns(config.n_ctx),
                                                         run.n_pair_token);
  // Sums of all tasks, those of one batch and the resamples of one result.
  const std::uint64_t effects = n_task_ablation * n_head_total,
                      n_repaired = std::min<std::uint64_t>(most_repaired, n_head_total),
                      by_block = effects + (2 + n_repaired) * n_head_total + 4,
                      sums = n_document_block * by_block + 2 * effects +
                             (1 + n_repaired) * n_head_total + config.n_layer * config.d_z();
  const Engines engines = run.settings.engines;
  return Forward::bytes(config, n_column, false) +
         Forward::loss_bytes(config, n_column, run.n_thread) +
         HeadAblation::bytes(config, n_column, run.n_thread, engines) +
         HeadGradient::bytes(config, n_column, run.n_thread, engines) +
         ComputeContext::bytes(config, n_column, run.n_thread, engines) +
         // The last shared tokens' z; losses and margins of a batch.
         config.d_z() * n_column * sizeof(float) + 3 * effects * n_column * sizeof(double) +
         run.n_task *
             (sums * Statistics::sum_bytes + config.n_layer * config.d_z() * sizeof(float)) +
         run.settings.n_bootstrap * std::max(effects, n_repaired * n_head_total) * sizeof(double);
}

}  // namespace

RegisteredAnalysis tasks_analysis() {
  return registered<Tasks>(tasks_info, tasks_figures, tasks_presentation(), memory);
}

}  // namespace headscope
