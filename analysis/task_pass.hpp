#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "pair_batches.hpp"

namespace headscope {

/// What an analysis does with each batch in one of its passes over tasks. It is made when the pass
/// begins.
class TaskPass {
 public:
  TaskPass() = default;
  TaskPass(const TaskPass&) = delete;
  TaskPass& operator=(const TaskPass&) = delete;
  virtual ~TaskPass() = default;
  /// As TaskAnalysis::run_batch.
  virtual std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) = 0;
};

/// What the passes of an analysis over tasks have in common.
struct TaskPassInput {
  const Model& model;
  const AnalysisSettings& settings;
  ComputeContext compute;
  std::vector<Task> tasks;
  std::vector<PairBatch> batches;

  TaskPassInput(const AnalysisContext& context, std::vector<Task> all_tasks)
      : model(context.model),
        settings(context.settings),
        compute(context.compute),
        tasks(std::move(all_tasks)),
        batches(pair_batches(tasks)) {}

  double n_token(std::uint64_t batch) const { return static_cast<double>(batches[batch].n_column); }
};

/// One of the passes of an analysis over tasks. @tparam Input  a TaskPassInput.
template <typename Input>
struct TaskPassEntry {
  std::string name;  ///< as in AnalysisInfo::passes
  /// @param earlier  the sums of the passes before.
  std::function<std::unique_ptr<TaskPass>(const Input&, const Statistics& earlier)> begin;
  double (*cost)(const Input&, std::uint64_t batch);  ///< as TaskAnalysis::batch_cost
};

/// Makes a pass from the input or, where `Pass` has no such constructor, from the input and the
/// sums of earlier passes.
template <typename Pass, typename Input>
std::unique_ptr<TaskPass> make_pass(const Input& input, const Statistics& earlier) {
  if constexpr (std::is_constructible_v<Pass, const Input&>) {
    return std::make_unique<Pass>(input);
  } else {
    return std::make_unique<Pass>(input, earlier);
  }
}

/// An analysis that lists its passes over tasks, which refer to its input. @tparam Input  a
/// TaskPassInput.
template <typename Input>
class TaskPassAnalysis : public TaskAnalysis {
 public:
  explicit TaskPassAnalysis(Input input) : input_(std::move(input)) {}

  std::uint64_t n_batch() const override { return input_.batches.size(); }
  void begin_pass(int pass, const Statistics& earlier) override {
    pass_.reset();
    pass_ = entry(pass).begin(input_, earlier);
  }
  double batch_cost(int pass, std::uint64_t batch) const override {
    return entry(pass).cost(input_, batch);
  }
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    return pass_->run_batch(batch, statistics);
  }

 protected:
  virtual const std::vector<TaskPassEntry<Input>>& passes() const = 0;

  Input input_;

 private:
  const TaskPassEntry<Input>& entry(int pass) const {
    return passes()[static_cast<std::size_t>(pass)];
  }

  std::unique_ptr<TaskPass> pass_;
};

template <typename Input>
std::vector<std::string> pass_names(const std::vector<TaskPassEntry<Input>>& passes) {
  std::vector<std::string> names;
  for (const TaskPassEntry<Input>& pass : passes) names.push_back(pass.name);
  return names;
}

}  // namespace headscope
