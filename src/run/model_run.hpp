#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headscope/pass_files.hpp"
#include "run/plan.hpp"

namespace headscope {

/// The analyses of one model in a run, with their statistics. Shows them the pieces of a pass.
class ModelRun {
 public:
  /// An analysis and its statistics.
  struct Item {
    const RegisteredAnalysis* registered;
    std::unique_ptr<Analysis> analysis;
    Statistics* statistics;
  };

  /// @param analyses  weights-only ones take part in no pass.
  /// @param context   outlives this object.
  ModelRun(const std::vector<const RegisteredAnalysis*>& analyses, const AnalysisContext& context);

  const std::vector<Item>& items() const { return items_; }
  StatisticsByName& statistics() { return statistics_; }
  const StatisticsByName& statistics() const { return statistics_; }
  /// Number of tokens of the corpus that were run.
  std::uint64_t n_token() const;

  // Known of every pass from the start.

  /// Documents of the corpus, or batches of pairs.
  std::uint64_t n_item(const Pass& pass) const;
  /// Pieces of a document; 1 of a batch.
  std::uint64_t n_piece(const Pass& pass, std::uint64_t item) const;
  /// What most of the pass's time goes into: `ablating heads`.
  std::string phase(const Pass& pass) const;
  /// Estimated cost of a piece of this item, in units of one token's forward pass.
  double cost(const Pass& pass, std::uint64_t item) const;

  /// Begins a pass; the statistics of earlier passes must be complete.
  /// @param earlier  holds them: this object, or for a control the trained model.
  void begin_pass(const Pass& pass, const ModelRun& earlier);
  /// Runs a piece of an item. @return the number of tokens run.
  std::uint64_t run_piece(const Pass& pass, std::uint64_t item, std::uint64_t index);
  /// Shows a piece to the analyses of the pass.
  void observe(const Pass& pass, const Piece& piece);
  /// Frees the memory needed only during a pass.
  void end_pass();
  /// Lets the analyses of the corpus tell each other of heads, all passes being complete.
  void share() const;

 private:
  /// An analysis of the corpus with the pass that it begins.
  struct Begun {
    CorpusAnalysis* analysis;
    int pass;
    const Statistics* earlier;
  };
  static void share(const std::vector<Begun>& begun);
  const Item& item_of(const RegisteredAnalysis* analysis) const;
  CorpusAnalysis& corpus_analysis(const Pass::Part& part) const;
  TaskAnalysis& task_analysis(const Pass& pass) const;

  AnalysisContext context_;
  double tokens_per_piece_ = 0;  // of a sample of the corpus
  StatisticsByName statistics_;
  std::vector<Item> items_;
  std::unique_ptr<Forward> forward_, end_forward_;
};

}  // namespace headscope
