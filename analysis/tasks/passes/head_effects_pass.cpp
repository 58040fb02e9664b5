#include "headscope/ablation.hpp"
#include "headscope/gradient.hpp"
#include "mean_z.hpp"
#include "tasks/passes/first_differences.hpp"
#include "tasks/passes/tasks_pass.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

/// Per task and layer, d_z; none of a task without tokens.
/// @param earlier  the sums of z_averaging_pass.
std::vector<std::vector<Vector>> mean_z_of(const TasksInput& input, const Statistics& earlier) {
  std::vector<std::vector<Vector>> means(input.tasks.size());
  for (std::size_t task = 0; task < means.size(); ++task) {
    const TaskSums names(task);
    if (!earlier.has(names.z)) continue;
    means[task] = means_by_layer(earlier.total(names.z), earlier.total(names.n_token)(0));
  }
  return means;
}

class HeadEffectsPass : public TaskPass {
 public:
  HeadEffectsPass(const TasksInput& input, const Statistics& earlier)
      : input_(input),
        mean_z_(mean_z_of(input, earlier)),
        forward_(input.model, input.compute),
        ablation_(input.model, input.compute, input.settings.ablation(0)),
        gradient_(input.model, input.compute),
        attribution_(input.model) {}
  std::uint64_t run_batch(std::uint64_t number, DocumentStatistics& statistics) override {
    const PairBatch& batch = input_.batches[number];
    const Task& task = input_.tasks[batch.task];
    const SequenceBatch sequences = sequences_of(task, batch, false);
    const FirstDifferences first = first_differences(attribution_, task, batch);
    FirstDifferenceEffects direct(input_.model, first);
    const Matrix& resid_final = forward_.run(sequences, {&direct, &ablation_});
    const std::vector<double> scales =
        final_scales(input_.model, Matrix(resid_final.cols(first.columns)));
    const std::vector<TokenLoss> ablated = ablated_losses(batch, sequences);
    const std::vector<double>& clean = ablation_.clean_loss(sequences).nll;
    const std::vector<double> margins = margins_of(task, batch, clean);
    add_margins(task, batch, margins, statistics);
    add_margin_changes(batch, margins, ablated, statistics);
    add_direct_effects(batch, first, direct.divided(scales), statistics);
    add_difference_changes(batch, first, clean, ablated, statistics);
    add_first_order(batch, sequences, statistics);
    return sequences.n_column();
  }

 private:
  /// Losses with each head ablated: ablation x head_index.
  std::vector<TokenLoss> ablated_losses(const PairBatch& batch, const SequenceBatch& sequences) {
    std::vector<HeadVariant> variants;
    for (const bool to_mean : {false, true}) {
      for (Index l = 0; l < config().n_layer; ++l) {
        // One column stands for all tokens.
        const blas::ConstView mean(mean_z_[batch.task][l].memptr(), config().d_z(),
                                   sequences.n_column(), 0);
        for (Index h = 0; h < config().n_head; ++h) {
          variants.push_back({l, {h}, to_mean ? mean : blas::ConstView()});
        }
      }
    }
    return ablation_.losses(sequences, variants);
  }

  /// @param margins  of the whole model.
  /// @param ablated  ablation x head_index.
  void add_margin_changes(const PairBatch& batch, const std::vector<double>& margins,
                          const std::vector<TokenLoss>& ablated,
                          DocumentStatistics& statistics) const {
    const Index n_layer = config().n_layer, n_head = config().n_head;
    const TaskSums names(batch.task);
    const Shape heads{n_task_ablation, n_layer, n_head};
    const Task& task = input_.tasks[batch.task];
    Array &change = statistics.sum(names.margin_change,
                                   {n_document_block, n_task_ablation, n_layer, n_head}),
          &squared = statistics.sum(names.squared_change, heads),
          &correct_change = statistics.sum(names.correct_change, heads);
    for (std::size_t variant = 0; variant < ablated.size(); ++variant) {
      const std::vector<double> without = margins_of(task, batch, ablated[variant].nll);
      for (std::size_t i = 0; i < batch.count; ++i) {
        const double lost = without[i] - margins[i];
        change.values[block_of(task, batch, i) * ablated.size() + variant] += lost;
        squared.values[variant] += lost * lost;
        correct_change.values[variant] += (without[i] > 0 ? 1 : 0) - (margins[i] > 0 ? 1 : 0);
      }
    }
  }

  /// @param direct  head_index x pair.
  void add_direct_effects(const PairBatch& batch, const FirstDifferences& first,
                          const arma::mat& direct, DocumentStatistics& statistics) const {
    const TaskSums names(batch.task);
    Array &n_pair = statistics.sum(names.n_direct_effect, {n_document_block}),
          &sum = statistics.sum(names.direct_effect, heads_by_block());
    for (std::size_t i = 0; i < first.pairs.size(); ++i) {
      const std::size_t block = block_of(input_.tasks[batch.task], batch, first.pairs[i]);
      n_pair(block) += 1;
      for (Index head_index = 0; head_index < direct.n_rows; ++head_index) {
        sum.values[block * direct.n_rows + head_index] += direct(head_index, i);
      }
    }
  }

  /// @param clean    losses of the whole model, by prediction.
  /// @param ablated  ablation x head_index.
  void add_difference_changes(const PairBatch& batch, const FirstDifferences& first,
                              const std::vector<double>& clean,
                              const std::vector<TokenLoss>& ablated,
                              DocumentStatistics& statistics) const {
    const Task& task = input_.tasks[batch.task];
    const std::size_t n_head_total = ablated.size() / n_task_ablation;
    Array& sum = statistics.sum(TaskSums(batch.task).difference_change, heads_by_block());
    const std::vector<double> unablated = first_differences_of(task, batch, clean);
    for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
      const std::vector<double> without =
          first_differences_of(task, batch, ablated[head_index].nll);
      for (const std::size_t i : first.pairs) {
        sum.values[block_of(task, batch, i) * n_head_total + head_index] +=
            without[i] - unablated[i];
      }
    }
  }

  /// Pairs do not depend on each other: one backward pass from the sum of their margins.
  void add_first_order(const PairBatch& batch, const SequenceBatch& sequences,
                       DocumentStatistics& statistics) {
    const std::vector<float> weights = margin_weights(input_.tasks[batch.task], batch);
    Array& sum =
        statistics.sum(TaskSums(batch.task).first_order, {config().n_layer, config().n_head});
    gradient_.run(ablation_.activations(), sequences, weights, [&](const LayerGradient& view) {
      const arma::mat products = z_dot_gradient(view, config().n_head);
      for (Index h = 0; h < config().n_head; ++h) sum(view.layer, h) -= arma::accu(products.row(h));
    });
  }

  const ModelConfig& config() const { return input_.model.config; }
  Shape heads_by_block() const { return {n_document_block, config().n_layer, config().n_head}; }

  const TasksInput& input_;
  const std::vector<std::vector<Vector>> mean_z_;
  Forward forward_;
  HeadAblation ablation_;  // keeps the batch's activations
  HeadGradient gradient_;
  LogitAttribution attribution_;
};

}  // namespace

TasksPass head_effects_pass() {
  return {"ablating heads on tasks", make_pass<HeadEffectsPass, TasksInput>,
          // Every ablation of each head runs from the head's layer on; then the gradient.
          [](const TasksInput& input, std::uint64_t batch) {
            const ModelConfig& config = input.model.config;
            const auto n_head_total = static_cast<double>(config.n_layer * config.n_head);
            return input.n_token(batch) * (0.5 * n_head_total * n_task_ablation + 4);
          }};
}

}  // namespace headscope
