#include "headscope/ablation.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/forward.hpp"
#include "paths/passes/path_pass.hpp"
#include "paths/passes/sampled_pairs.hpp"

namespace headscope {
namespace {

class ExactPass : public TaskPass {
 public:
  ExactPass(const PathsInput& input, const Statistics& earlier)
      : input_(input),
        circuits_(input, earlier),
        forward_(input.model, input.compute),
        clean_(input.model, input.compute, input.settings.ablation(0)),
        edges_(input.model, input.compute) {}
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const SampledPairs pairs = sampled_pairs(input_, input_.batches[batch]);
    if (pairs.pair_numbers.empty()) return 0;
    Array& n_exact = statistics.sum(PathSums(pairs.task_number).n_exact, {n_document_block});
    for (std::size_t pair = 0; pair < pairs.pair_numbers.size(); ++pair)
      n_exact(pairs.block_of(pair)) += 1;
    return add_edges(pairs, statistics) + add_circuits(pairs, statistics);
  }

 private:
  std::uint64_t add_edges(const SampledPairs& pairs, DocumentStatistics& statistics) {
    const std::vector<Index>& edges = circuits_.plan(pairs.task_number).exact;
    if (edges.empty()) return 0;
    const PathSums names(pairs.task_number);
    Array &change = statistics.sum(names.change, {n_document_block, edges.size()}),
          &squared = statistics.sum(names.squared_change, {edges.size()});
    for (const PairBatch& part : pair_batches({pairs.task})) {
      const SequenceBatch sequences = sequences_of(pairs.task, part, false);
      forward_.run(sequences, {&clean_});
      const std::vector<double> margins =
          margins_of(pairs.task, part, clean_.clean_loss(sequences).nll);
      const std::vector<TokenLoss> losses =
          edges_.losses(clean_, sequences, edges, circuits_.replacement(pairs.task_number));
      for (std::size_t edge = 0; edge < edges.size(); ++edge) {
        const std::vector<double> ablated = margins_of(pairs.task, part, losses[edge].nll);
        for (std::size_t i = 0; i < part.count; ++i) {
          const double lost = ablated[i] - margins[i];
          change(pairs.block_of(part.first + i), edge) += lost;
          squared(edge) += lost * lost;
        }
      }
    }
    return pairs.n_token();
  }

  std::uint64_t add_circuits(const SampledPairs& pairs, DocumentStatistics& statistics) {
    const std::size_t task = pairs.task_number;
    const PathPlan& plan = circuits_.plan(task);
    if (!plan.means.can_do()) return 0;
    const std::vector<Index> edges = input_.graph.edges_left(), steps = circuit_steps(edges.size());
    // All orders share the circuits of no edge and of all, which is the model.
    const std::vector<double> none = circuits_.margins(pairs, std::span<const Index>()),
                              all = circuits_.margins(pairs, forward_);
    const auto add_order = [&](const std::vector<Index>& order, Array& sum, auto... place) {
      for (std::size_t step = 0; step < steps.size(); ++step) {
        const std::vector<double> margins =
            step == 0 ? none
            : step + 1 == steps.size()
                ? all
                : circuits_.margins(pairs, std::span(order).first(steps[step]));
        pairs.add(margins, sum, place..., step);
      }
    };
    const PathSums names(task);
    const std::vector<Index> orders[n_path_order] = {
        plan.order, by_size(edges, plan.first_order),
        random_edges(edges, task, input_.settings.seed)};
    Array& kept = statistics.sum(names.kept, {n_document_block, n_path_order, steps.size()});
    for (std::size_t order = 0; order < n_path_order; ++order) {
      add_order(orders[order], kept, order);
    }
    if (!input_.given[task].empty()) {
      add_order(input_.given[task], statistics.sum(names.given, {n_document_block, steps.size()}));
    }
    return pairs.n_token();
  }

  const PathsInput& input_;
  CircuitRuns circuits_;
  Forward forward_;
  HeadAblation clean_;  // keeps the activations of a part of a batch
  EdgeAblation edges_;
};

double exact_cost(const PathsInput& input, std::uint64_t batch) {
  const PairBatch& pairs = input.batches[batch];
  const std::size_t n_order = n_path_order + (input.given[pairs.task].empty() ? 0 : 1),
                    n_circuit = n_order * (circuit_steps(input.n_edge_left()).size() - 2) + 2;
  return input.n_token(batch) * sampled_share(input, pairs) *
         (0.5 * static_cast<double>(input.options().n_exact) + static_cast<double>(n_circuit));
}

}  // namespace

PathPass exact_pass() {
  return {"ablating edges on tasks", make_pass<ExactPass, PathsInput>, exact_cost};
}

}  // namespace headscope
