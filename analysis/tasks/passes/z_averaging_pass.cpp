#include "headscope/forward.hpp"
#include "tasks/passes/tasks_pass.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

class ZAveragingPass : public TaskPass {
 public:
  explicit ZAveragingPass(const TasksInput& input)
      : input_(input), forward_(input.model, input.compute) {}
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const PairBatch& pairs = input_.batches[batch];
    const Task& task = input_.tasks[pairs.task];
    const SequenceBatch sequences = sequences_of(task, pairs, true);
    const std::vector<double> times = token_counts(task, pairs);
    const TaskSums names(pairs.task);
    const Index d_z = input_.model.config.d_z();
    Array& sum = statistics.sum(names.z, {input_.model.config.n_layer, d_z});
    LayerFunction observer([&](const LayerView& view) {
      for (Index t = 0; t < view.n_token; ++t) {
        for (Index i = 0; i < d_z; ++i) {
          sum(view.layer, i) += times[t] * static_cast<double>(view.z(i, t));
        }
      }
    });
    forward_.run(sequences, {&observer});
    double& n_token = statistics.sum(names.n_token, {1})(0);
    for (const double count : times) n_token += count;
    return sequences.n_column();
  }

 private:
  const TasksInput& input_;
  Forward forward_;
};

}  // namespace

TasksPass z_averaging_pass() {
  return {"averaging heads on tasks", make_pass<ZAveragingPass, TasksInput>,
          [](const TasksInput& input, std::uint64_t batch) { return input.n_token(batch); }};
}

}  // namespace headscope
