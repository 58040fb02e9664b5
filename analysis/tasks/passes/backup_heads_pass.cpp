#include "tasks/passes/first_differences.hpp"
#include "tasks/passes/tasks_pass.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

class BackupHeadsPass : public TaskPass {
 public:
  explicit BackupHeadsPass(const TasksInput& input)
      : input_(input), forward_(input.model, input.compute), attribution_(input.model) {}

  // The direct effects of all heads without each repaired one, minus those in the whole model, by
  // the whole model's final scale.
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const PairBatch& pairs = input_.batches[batch];
    const std::vector<Index>& repaired = input_.repaired[pairs.task];
    const Model& model = input_.model;
    const ModelConfig& config = model.config;
    const Task& task = input_.tasks[pairs.task];
    const FirstDifferences first = first_differences(attribution_, task, pairs);
    if (repaired.empty() || first.pairs.empty()) return 0;
    const SequenceBatch sequences = sequences_of(task, pairs, false);
    std::vector<double> scales;
    const auto direct_effects = [&](const ForwardChange& change) {
      FirstDifferenceEffects direct(model, first);
      const Matrix& resid_final = forward_.run(sequences, {&direct}, change);
      if (scales.empty()) scales = final_scales(model, Matrix(resid_final.cols(first.columns)));
      return direct.divided(scales);
    };
    const arma::mat unablated = direct_effects({});
    const Index n_head_total = unablated.n_rows;
    const TaskSums names(pairs.task);
    Array &change = statistics.sum(names.backup_change,
                                   {n_document_block, repaired.size(), n_head_total}),
          &squared = statistics.sum(names.squared_backup, {repaired.size(), n_head_total});
    for (std::size_t place = 0; place < repaired.size(); ++place) {
      const auto [layer, head] = HeadIndex::of(repaired[place], config.n_head);
      const Index first_row = head * config.d_head();
      const auto to_zero = [&, of_layer = layer](Index l, const Matrix&, Matrix& z) {
        if (l == of_layer) z.rows(first_row, first_row + config.d_head() - 1).zeros();
      };
      const arma::mat grown = direct_effects({.z = to_zero}) - unablated;
      for (std::size_t i = 0; i < first.pairs.size(); ++i) {
        const std::size_t block = block_of(task, pairs, first.pairs[i]);
        for (Index head_index = 0; head_index < n_head_total; ++head_index) {
          const double growth = grown(head_index, i);
          change(block, place, head_index) += growth;
          squared(place, head_index) += growth * growth;
        }
      }
    }
    return sequences.n_column();
  }

 private:
  const TasksInput& input_;
  Forward forward_;
  LogitAttribution attribution_;
};

}  // namespace

TasksPass backup_heads_pass() {
  return {"finding backup heads", make_pass<BackupHeadsPass, TasksInput>,
          [](const TasksInput& input, std::uint64_t batch) {
            const std::size_t n_repaired = input.repaired.empty()
                                               ? most_repaired
                                               : input.repaired[input.batches[batch].task].size();
            return input.n_token(batch) * static_cast<double>(n_repaired == 0 ? 0 : n_repaired + 1);
          }};
}

}  // namespace headscope
