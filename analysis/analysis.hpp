#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis_settings.hpp"
#include "headscope/corpus.hpp"
#include "headscope/figure.hpp"
#include "headscope/forward.hpp"
#include "headscope/model.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"

/// The interface every analysis implements. An analysis observes layers, adds to statistics, turns
/// them into results, and draws from results alone; it knows no other analysis.
namespace headscope {

struct AnalysisInfo {
  std::string name;  ///< as in `--analyses` and the results group
  std::string title;
  std::string purpose;       ///< one sentence
  std::string source;        ///< the papers
  int n_pass = 0;            ///< times it must see the corpus; 0: it reads weights alone
  bool has_control = false;  ///< `--control random` runs it again on an untrained model

  /// And with it a complete model.
  bool needs_corpus() const { return n_pass > 0; }
};

/// What the forward pass of a document gives besides its layers.
struct DocumentEnd {
  const Matrix& resid_final;  ///< d_model x n_token, after the last layer
  Forward& forward;           ///< for the loss; not the object that runs the pass
};

class Analysis {
 public:
  virtual ~Analysis() = default;

  /// Called before the documents of a pass; each pass shows the same documents in the same order.
  /// It may be the first call to this object.
  /// @param earlier  what earlier passes added, over the whole corpus.
  virtual void begin_pass(int /*pass*/, const Statistics& /*earlier*/) {}
  /// Called before the forward pass of a document.
  /// @param statistics  what the document adds, the same object until end_document.
  /// @return false to skip the forward pass of this document.
  virtual bool begin_document(const Document& /*document*/, DocumentStatistics& /*statistics*/) {
    return true;
  }
  /// Estimated cost of this document in the current pass, in forward passes; for the time left.
  virtual double forward_passes(std::uint64_t /*document*/) const { return 1; }
  /// Whether observe_layer reads the attention pattern of a layer.
  virtual bool wants_pattern(Index /*layer*/) const { return false; }
  virtual void observe_layer(const LayerView& /*view*/, DocumentStatistics& /*statistics*/) {}
  virtual void end_document(const DocumentEnd& /*end*/, DocumentStatistics& /*statistics*/) {}

  /// Turns the statistics of the whole corpus into results: the group named as the analysis, and
  /// any nested ones (`attention/0`). Reads no corpus. Weights-only analyses do all their work
  /// here.
  virtual std::vector<ResultsGroup> finish(const Statistics& statistics) const = 0;

  /// Adds to `group`, this analysis's own, what needs the same analysis of a control model.
  virtual void compare(const Statistics& /*statistics*/, const Statistics& /*control*/,
                       ResultsGroup& /*group*/) const {}
};

/// What an analysis is made with. All outlive it.
struct AnalysisContext {
  const Model& model;
  const Corpus* corpus;  ///< null for weights-only runs
  const AnalysisSettings& settings;
};

/// What decides how much memory an analysis takes.
struct RunShape {
  ModelConfig config;
  AnalysisSettings settings;
  Index n_token = 0;             ///< of the longest document
  std::uint64_t n_document = 0;  ///< of the corpus
  int n_thread = 1;

  std::uint64_t n_unit() const { return config.n_layer * config.n_head; }
};

struct RegisteredAnalysis {
  AnalysisInfo info;
  std::function<std::unique_ptr<Analysis>(const AnalysisContext&)> make;
  /// Figures from this analysis's group of a results file; no model is at hand.
  std::function<std::vector<Figure>(const Results&)> draw;
  /// Bytes it holds at most, beside the weights and the forward pass.
  std::function<std::uint64_t(const RunShape&)> memory;
  /// Adds its own options, if it has any: `&AnalysisSettings::declare_own<PruningOptions>`.
  std::function<void(AnalysisSettings&, OptionTable&)> options = {};
};

/// Every analysis, in the order of the report. An explicit list: add a new analysis here.
const std::vector<RegisteredAnalysis>& analysis_registry();

}  // namespace headscope
