#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "pair_batches.hpp"

namespace headscope {

/// What an analysis does with each batch in one of its passes over tasks, as
/// TaskAnalysis::run_batch. It is made when the pass begins.
using TaskPass = std::function<std::uint64_t(std::uint64_t batch, DocumentStatistics&)>;

/// What the passes of an analysis over tasks have in common.
struct TaskPassInput {
  const Model& model;
  const AnalysisSettings& settings;
  const ComputeContext& compute;
  const std::vector<Task>& tasks;
  const std::vector<PairBatch>& batches;

  double n_token(std::uint64_t batch) const { return static_cast<double>(batches[batch].n_column); }
};

/// One of the passes of an analysis over tasks. @tparam Input  a TaskPassInput.
template <typename Input>
struct TaskPassEntry {
  std::string name;  ///< as in AnalysisInfo::passes
  /// @param earlier  the sums of the passes before.
  std::function<TaskPass(const Input&, const Statistics& earlier)> begin;
  double (*cost)(const Input&, std::uint64_t batch);  ///< as TaskAnalysis::batch_cost
};

/// The pass that the function `run_batch` of an object makes. @tparam From  what it is made from.
template <typename Pass, typename... From>
TaskPass make_pass(const From&... from) {
  return [pass = std::make_shared<Pass>(from...)](std::uint64_t batch,
                                                  DocumentStatistics& statistics) {
    return pass->run_batch(batch, statistics);
  };
}

/// An analysis that lists its passes over tasks. @tparam Input  a TaskPassInput.
template <typename Input>
class TaskPassAnalysis : public TaskAnalysis {
 public:
  std::uint64_t n_batch() const override { return input().batches.size(); }
  void begin_pass(int pass, const Statistics& earlier) override {
    pass_ = nullptr;
    pass_ = entry(pass).begin(input(), earlier);
  }
  double batch_cost(int pass, std::uint64_t batch) const override {
    return entry(pass).cost(input(), batch);
  }
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    return pass_(batch, statistics);
  }

 protected:
  virtual const std::vector<TaskPassEntry<Input>>& passes() const = 0;
  virtual Input input() const = 0;

 private:
  const TaskPassEntry<Input>& entry(int pass) const {
    return passes()[static_cast<std::size_t>(pass)];
  }

  TaskPass pass_;
};

template <typename Input>
std::vector<std::string> pass_names(const std::vector<TaskPassEntry<Input>>& passes) {
  std::vector<std::string> names;
  for (const TaskPassEntry<Input>& pass : passes) names.push_back(pass.name);
  return names;
}

}  // namespace headscope
