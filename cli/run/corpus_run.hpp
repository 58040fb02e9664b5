#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis.hpp"

namespace headscope {

/// Passes of analyses that run together: over the corpus those of the analysis that needs most,
/// then those of each analysis of tasks.
int pass_count(const std::vector<const RegisteredAnalysis*>& analyses);

/// Runs the analyses of one model over their input, and holds their statistics.
///
/// First come the passes over the corpus. An analysis with fewer of them than the others runs in
/// the last ones: all share the last pass. Then come the passes of each analysis of tasks.
class CorpusRun {
 public:
  /// @param analyses  weights-only ones take part in no pass. All arguments outlive this object.
  CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses, const AnalysisContext& context);

  int n_pass() const { return n_pass_; }
  /// Begins a pass; the statistics of earlier passes must be complete.
  void begin_pass(int pass);
  /// Documents of the corpus, or batches of pairs: what the current pass goes through.
  std::uint64_t n_item() const;
  /// Pieces of a document; 1 of a batch.
  std::uint64_t n_piece(std::uint64_t item) const;
  /// `documents` or `batches of pairs`.
  const char* item_name() const;
  /// Estimated cost of a piece of this item in the current pass, in forward passes.
  double forward_passes(std::uint64_t item) const;
  /// Runs a piece of an item of the current pass. @return the number of tokens run.
  std::uint64_t run_piece(std::uint64_t item, std::uint64_t index);
  /// Shows a piece to the analyses of the pass.
  void observe(const Piece& piece);
  /// Ends the last pass and frees the memory needed only during passes.
  void end();

  /// Statistics by name of analysis; `corpus` holds the sum `n_token`, the number of tokens run.
  using StatisticsByName = std::map<std::string, Statistics>;
  const StatisticsByName& statistics() const { return statistics_; }
  /// Adds the statistics of another part of the corpus.
  void merge(const StatisticsByName& part);
  std::uint64_t n_token() const;

  /// An analysis and its statistics.
  struct Item {
    const RegisteredAnalysis* registered;
    std::unique_ptr<Analysis> analysis;
    Statistics* statistics;
  };
  const std::vector<Item>& items() const { return items_; }

 private:
  const Model& model_;
  const Corpus* corpus_;
  int n_corpus_pass_, n_pass_;
  StatisticsByName statistics_;
  std::vector<Item> items_;
  std::vector<Item*> in_pass_;    // analyses that observe the corpus
  Item* with_batches_ = nullptr;  // the analysis of tasks whose pass it is
  bool first_pass_ = false;
  std::unique_ptr<Forward> forward_, end_forward_;
};

}  // namespace headscope
