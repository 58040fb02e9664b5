#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis.hpp"

namespace headscope {

/// The passes of analyses that run together. First come those over the corpus; an analysis with
/// fewer of them than the others runs in the last ones: all share the last pass. Then come the
/// passes of each analysis of tasks.
struct PassPlan {
  struct Part {
    std::size_t analysis;  ///< place in the list of analyses
    int pass;              ///< of its own
  };
  AnalysisInput input = AnalysisInput::corpus;
  std::vector<Part> parts;  ///< one of tasks, or all that go through the corpus
};
std::vector<PassPlan> plan_passes(const std::vector<const RegisteredAnalysis*>& analyses);

/// The length of plan_passes.
int pass_count(const std::vector<const RegisteredAnalysis*>& analyses);

class CorpusRun;

/// How an untrained model is run beside the trained one: on some documents, in each analysis's
/// `control_pass` alone. What that pass reads of earlier ones is the trained model's.
struct ControlSample {
  std::vector<std::uint64_t> documents;
  const CorpusRun* trained = nullptr;  ///< may be null if no pass begins
};

/// Runs the analyses of one model over their input, in the passes of plan_passes, and holds their
/// statistics.
class CorpusRun {
 public:
  /// @param analyses  weights-only ones take part in no pass. All arguments outlive this object.
  CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses, const AnalysisContext& context);
  /// Of a control; all analyses read the corpus.
  CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses, const AnalysisContext& context,
            ControlSample sample);

  int n_pass() const { return static_cast<int>(passes_.size()); }

  // Known of every pass from the start.

  /// Documents of the corpus or of the sample, or batches of pairs: what a pass goes through.
  std::uint64_t n_item(int pass) const;
  /// Pieces of a document; 1 of a batch.
  std::uint64_t n_piece(int pass, std::uint64_t item) const;
  /// `document` or `batch`.
  const char* item_name(int pass) const;
  /// What most of the pass's time goes into: `ablating heads`.
  std::string phase(int pass) const;
  /// Estimated cost of a piece of this item: the tokens of as much work in forward passes.
  double cost(int pass, std::uint64_t item) const;

  /// Begins a pass; the statistics of earlier passes must be complete.
  void begin_pass(int pass);
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
  /// The number in the corpus of a pass's document.
  std::uint64_t document_of(std::uint64_t item) const {
    return sample_ ? sample_->documents.at(item) : item;
  }
  const Analysis& analysis_of(const PassPlan::Part& part) const {
    return *items_[part.analysis].analysis;
  }

  const Model& model_;
  ComputeContext compute_;
  const Corpus* corpus_;
  std::optional<ControlSample> sample_;  // none: the whole corpus, in all passes
  std::vector<PassPlan> passes_;
  double tokens_per_piece_ = 0;  // of a sample of the corpus
  StatisticsByName statistics_;
  std::vector<Item> items_;
  int pass_ = 0;
  std::unique_ptr<Forward> forward_, end_forward_;
};

}  // namespace headscope
