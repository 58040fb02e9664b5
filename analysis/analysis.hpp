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

/// The interface every analysis implements. An analysis observes layers, keeps sums, finishes them
/// to results, and draws from results alone; it knows no other analysis.
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

/// What one document's pass gives beside the layers.
struct DocumentEnd {
  const Matrix& resid_final;  ///< d_model x n_token, after the last layer
  Forward& forward;           ///< for the loss; not the object that is running the pass
};

class Analysis : public LayerObserver {
 public:
  /// Called before the documents of a pass; each pass sees the same documents in the same order.
  /// `statistics` holds what earlier passes added, over the whole corpus; they are read, and not
  /// added to. It may be the first call to this object.
  virtual void begin_pass(int /*pass*/, Statistics& /*statistics*/) {}
  /// Called before a document's layers; false skips this document. What observe_layer sees goes to
  /// `statistics`.
  virtual bool begin_document(const Document& /*document*/, Statistics& /*statistics*/) {
    return true;
  }
  /// About what its part of the pass begun costs on a document of this number, in forward passes;
  /// for the time left.
  virtual double forward_passes(std::uint64_t /*document*/) const { return 1; }
  void observe_layer(const LayerView& /*view*/) override {}
  virtual void end_document(const DocumentEnd& /*end*/) {}

  /// Turns the sums into results: the group named as the analysis, and any nested ones
  /// (`attention/0`). Weights-only analyses do all their work here.
  virtual std::vector<ResultsGroup> finish(const Statistics& statistics) const = 0;

  /// Adds to `group`, this analysis's own, what only a comparison with the same analysis of a
  /// control model can say.
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
