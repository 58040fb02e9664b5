#include "paths/paths.hpp"

#include <algorithm>
#include <optional>

#include "headscope/ablation.hpp"
#include "headscope/circuit.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/figure.hpp"
#include "headscope/forward.hpp"
#include "induction.hpp"
#include "paths/circuit_size.hpp"
#include "paths/integrated.hpp"
#include "paths/ordering.hpp"
#include "paths/passes/path_pass.hpp"
#include "paths/repeated_tokens.hpp"
#include "paths/results.hpp"

namespace headscope {
namespace {

const std::vector<PathPass>& path_passes() {
  static const std::vector<PathPass> passes = [] {
    std::vector<PathPass> list{node_averaging_pass(), edge_gradient_pass(), exact_pass()};
    for (int number = 0; number < n_narrowing_pass; ++number) {
      list.push_back(narrowing_pass(number));
    }
    list.push_back(circuit_pruning_pass());
    return list;
  }();
  return passes;
}

const AnalysisInfo paths_info{
    .name = "paths",
    .title = "Which heads feed which",
    .purpose =
        "Measures how the margin on minimal pairs changes when one part of the model no longer "
        "reads another: for every edge by integrated gradients, for the largest edges exactly. "
        "Finds how few edges keep the margin.",
    .source =
        "Wang et al. 2022, Interpretability in the Wild; Goldowsky-Dill et al. 2023, Localizing "
        "Model Behavior with Path Patching; Hanna et al. 2024, Have Faith in Faithfulness; Syed et "
        "al. 2023, Attribution Patching Outperforms Automated Circuit Discovery; Conmy et al. "
        "2023, Towards Automated Circuit Discovery",
    .passes = pass_names(path_passes()),
    .input = AnalysisInput::tasks,
};

/// The run's tasks, and that of repeated tokens.
std::vector<Task> path_tasks(const AnalysisContext& context) {
  std::vector<Task> tasks = context.tasks->tasks();
  const std::uint64_t n_repeated = context.settings.options<PathsOptions>().n_repeated;
  if (n_repeated == 0) return tasks;
  std::optional<TokenId> first_token;
  if (context.tasks->has_bos()) first_token = induction_first_token(context.model, context.corpus);
  tasks.push_back(
      repeated_tokens_task(context.model, first_token, n_repeated, context.settings.seed));
  return tasks;
}

class Paths : public TaskPassAnalysis<PathsInput> {
 public:
  explicit Paths(const AnalysisContext& context)
      : TaskPassAnalysis(PathsInput(context, path_tasks(context))) {
    const std::string& ordering = input_.options().ordering;
    if (ordering.empty()) return;
    std::vector<std::string> names;
    for (const Task& task : input_.tasks) names.push_back(task.name);
    input_.given[task_of_circuit(ordering, names)] =
        read_edge_order(ordering, context.model.config);
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {paths_results(statistics, input_.tasks, input_.graph, input_.settings)};
  }

  void relate(const Results& all, ResultsGroup& group) const override {
    add_composition(all, input_.graph, input_.settings, group);
  }

 private:
  const std::vector<PathPass>& passes() const override { return path_passes(); }
};

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const EdgeGraph graph(config);
  const auto& options = run.settings.options<PathsOptions>();
  // Of the tasks, and of the task of repeated tokens.
  const Index longest =
      std::max(config.n_ctx, std::min(config.longest_sequence(), 1 + 2 * longest_repeated_half));
  const std::uint64_t repeated_tokens = options.n_repeated * 2 * (1 + longest_repeated_half),
                      n_column = std::min<std::uint64_t>(
                          most_batch_columns(longest), std::max(run.n_pair_token, repeated_tokens)),
                      n_edge = graph.n_edge(), n_edge_left = graph.edges_left().size(),
                      n_task = run.n_task + (options.n_repeated > 0 ? 1 : 0),
                      n_exact = std::min<std::uint64_t>(options.n_exact, n_edge_left),
                      n_place = options.ablation != "position_mean"
                                    ? 1
                                    : std::min(longest, PathsOptions::most_position),
                      n_circuit = (n_path_order + (options.ordering.empty() ? 0 : 1)) *
                                  circuit_steps(n_edge_left).size(),
                      most_circuit_columns = std::max<std::uint64_t>(
                          2 * longest, CircuitForward::columns_at_once(config));
  // Of each task: sums of all edges; those of one batch and the resamples of one result; plans and
  // results; replacements.
  const std::uint64_t n_narrowing = n_narrowing_pass * CircuitSize::n_point(n_edge_left),
                      by_block = n_document_block * (n_exact + n_circuit + n_narrowing + 8),
                      of_task = 3 * n_edge * (Statistics::added_bytes + sizeof(float)) +
                                n_edge * Statistics::sum_bytes +
                                (by_block + n_place * ((config.n_layer + 2) * config.d_model +
                                                       config.n_layer * config.d_z())) *
                                    Statistics::sum_bytes +
                                12 * n_edge * sizeof(double) +
                                5 * graph.n_node() * graph.n_port() * sizeof(double) +
                                (n_place * graph.n_node() + 1) * config.d_model * sizeof(float);
  const Engines engines = run.settings.engines;
  // Passes follow each other; two keep more than the others.
  const std::uint64_t gradient_pass =
      IntegratedEdges::bytes(config, n_column, options.n_step, run.n_thread, engines);
  const std::uint64_t exact_pass =
      EdgeAblation::bytes(config, n_column, n_exact) +
      CircuitForward::bytes(config, std::min(n_column, most_circuit_columns), run.n_thread);
  return Forward::bytes(config, n_column, false) +
         Forward::loss_bytes(config, n_column, run.n_thread) +
         HeadAblation::bytes(config, n_column, run.n_thread, engines) +
         std::max(gradient_pass, exact_pass) +
         ComputeContext::bytes(config, n_column, run.n_thread, engines) +
         // Circuits, and the losses of exact edges.
         n_circuit * n_edge + n_exact * n_column * sizeof(double) + n_task * of_task +
         run.settings.n_bootstrap * (n_exact + n_circuit) * sizeof(double);
}

}  // namespace

RegisteredAnalysis paths_analysis() {
  return registered<Paths, PathsOptions>(paths_info, paths_figures, paths_presentation(), memory);
}

}  // namespace headscope
