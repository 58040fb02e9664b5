#pragma once

#include "headscope/analysis.hpp"

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

}  // namespace headscope
