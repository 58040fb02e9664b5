#pragma once

#include <functional>
#include <vector>

#include "run/model_run.hpp"
#include "run/plan.hpp"

namespace headscope::test {

/// The passes of one analysis of the corpus, run by hand.
class Passes {
 public:
  using Wanted = std::function<bool(std::uint64_t document)>;

  Passes(const RegisteredAnalysis& analysis, const AnalysisContext& context)
      : passes_(plan_passes({.context = context, .analyses = {&analysis}})),
        model_({&analysis}, context) {}

  int n_pass() const { return static_cast<int>(passes_.size()); }
  void begin(int pass) {
    pass_ = passes_.at(static_cast<std::size_t>(pass));
    model_.begin_pass(pass_, model_);
  }
  void observe(const Piece& piece) { model_.observe(pass_, piece); }
  /// Runs a pass over the documents that `wanted` accepts.
  void run(int pass, const Wanted& wanted) {
    begin(pass);
    for (std::uint64_t document = 0; document < model_.n_item(pass_); ++document) {
      for (std::uint64_t i = 0; wanted(document) && i < model_.n_piece(pass_, document); ++i) {
        model_.run_piece(pass_, document, i);
      }
    }
  }
  std::vector<ResultsGroup> results_of_all() {
    for (int pass = 0; pass < n_pass(); ++pass) {
      run(pass, [](std::uint64_t) { return true; });
    }
    return finish();
  }
  std::vector<ResultsGroup> finish() const {
    const ModelRun::Item& item = model_.items().front();
    return item.analysis->finish(*item.statistics);
  }

  ModelRun& model() { return model_; }
  const Pass& pass(int pass) const { return passes_.at(static_cast<std::size_t>(pass)); }

 private:
  std::vector<Pass> passes_;
  ModelRun model_;
  Pass pass_;
};

}  // namespace headscope::test
