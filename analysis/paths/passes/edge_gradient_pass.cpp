#include "headscope/ablation.hpp"
#include "headscope/forward.hpp"
#include "paths/integrated.hpp"
#include "paths/passes/path_pass.hpp"

namespace headscope {
namespace {

class EdgeGradientPass : public TaskPass {
 public:
  EdgeGradientPass(const PathsInput& input, const Statistics& earlier)
      : input_(input),
        means_(node_means(input, earlier)),
        forward_(input.model, input.compute),
        clean_(input.model, input.compute, input.settings.ablation(0)),
        gradient_(input.model, input.compute, input.options().n_step) {}
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const PairBatch& pairs = input_.batches[batch];
    const Task& task = input_.tasks[pairs.task];
    const SequenceBatch sequences = sequences_of(task, pairs, false);
    forward_.run(sequences, {&clean_});
    add_margins(task, pairs, margins_of(task, pairs, clean_.clean_loss(sequences).nll), statistics);
    const Index n_edge = input_.graph.n_edge();
    std::vector<double> first_order(n_edge, 0), integrated(n_edge, 0), squares(n_edge, 0);
    gradient_.run(forward_, clean_.activations(), sequences, margin_weights(task, pairs),
                  means_.replacement[pairs.task], means_.token[pairs.task], pair_ends(task, pairs),
                  [&](Index, std::span<const float> of_pass, std::span<const float> of_all) {
                    for (Index edge = 0; edge < n_edge; ++edge) {
                      const auto effect = static_cast<double>(of_all[edge]);
                      first_order[edge] += static_cast<double>(of_pass[edge]);
                      integrated[edge] += effect;
                      squares[edge] += effect * effect;
                    }
                  });
    const PathSums names(pairs.task);
    statistics.add(names.first_order, {n_edge}, 0, first_order);
    statistics.add(names.integrated, {n_edge}, 0, integrated);
    statistics.add(names.squared_integrated, {n_edge}, 0, squares);
    return sequences.n_column();
  }

 private:
  const PathsInput& input_;
  const NodeMeans means_;
  Forward forward_;
  HeadAblation clean_;  // keeps the batch's activations
  IntegratedEdges gradient_;
};

}  // namespace

PathPass edge_gradient_pass() {
  return {"differentiating edges on tasks", make_pass<EdgeGradientPass, PathsInput>,
          [](const PathsInput& input, std::uint64_t batch) {
            return 5 * static_cast<double>(input.options().n_step) * input.n_token(batch);
          }};
}

}  // namespace headscope
