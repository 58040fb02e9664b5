#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "results/statistics_file.hpp"
#include "run/model_run.hpp"
#include "run/plan.hpp"
#include "support/same_results.hpp"
#include "support/temporary_directory.hpp"

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

/// Expects that the statistics of the first and of the second half of the documents, written, read
/// and merged, give the results of the whole corpus.
inline void expect_halves_merge(const RegisteredAnalysis& analysis, const AnalysisContext& context,
                                const std::vector<ResultsGroup>& whole) {
  const std::uint64_t half = context.corpus->n_document() / 2;
  std::vector<StatisticsByName> parts;
  Passes merged(analysis, context);
  for (int pass = 0; pass < merged.n_pass(); ++pass) {
    merged.begin(pass);
    std::vector<StatisticsByName> halves;
    for (const bool is_first : {false, true}) {
      Passes run(analysis, context);
      for (const StatisticsByName& part : parts) merge(run.model().statistics(), part);
      run.run(pass, [&](std::uint64_t document) { return (document < half) == is_first; });
      const TemporaryDirectory folder;
      save_statistics({}, run.model().statistics(), folder.file("pass.h5"));
      halves.push_back(load_statistics(folder.file("pass.h5")).parts);
    }
    for (StatisticsByName& part : halves) {
      merge(merged.model().statistics(), part);
      parts.push_back(std::move(part));
    }
  }
  const std::vector<ResultsGroup> of_halves = merged.finish();
  ASSERT_EQ(of_halves.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(first_difference(of_halves[i], whole[i]), "");
  }
}

}  // namespace headscope::test
