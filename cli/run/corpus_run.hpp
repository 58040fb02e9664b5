#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis.hpp"

namespace headscope {

/// Passes over the corpus of analyses that run together: those of the one that needs most.
int pass_count(const std::vector<const RegisteredAnalysis*>& analyses);

/// Runs the analyses of one model over a corpus, and holds their statistics.
///
/// An analysis with fewer passes than the others runs in the last ones: all share the last pass.
class CorpusRun {
 public:
  /// @param analyses  weights-only ones take part in no pass. All arguments outlive this object.
  CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses, const AnalysisContext& context);

  int n_pass() const { return n_pass_; }
  /// Begins a pass; the statistics of earlier passes must be complete.
  void begin_pass(int pass);
  /// Estimated cost of a piece of this document in the current pass, in forward passes.
  double forward_passes(std::uint64_t document) const;
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
  int n_pass_;
  StatisticsByName statistics_;
  std::vector<Item> items_;
  std::vector<Item*> in_pass_;
  bool first_pass_ = false;
  std::unique_ptr<Forward> forward_, end_forward_;
};

}  // namespace headscope
