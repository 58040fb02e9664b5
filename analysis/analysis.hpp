#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis_settings.hpp"
#include "headscope/corpus.hpp"
#include "headscope/figure.hpp"
#include "headscope/forward.hpp"
#include "headscope/model.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "headscope/tasks.hpp"

/// The interface of an analysis: it observes layers, adds to statistics, turns those into results,
/// and draws figures from the results alone. No analysis depends on another.
namespace headscope {

/// What the passes of an analysis go through.
enum class AnalysisInput { corpus, tasks };

struct AnalysisInfo {
  std::string name;  ///< as in `--analyses` and the results group
  std::string title;
  std::string purpose;  ///< one sentence
  std::string source;   ///< the papers
  /// What each pass over its input does: `ablating heads`. None: it reads the weights alone.
  std::vector<std::string> passes = {};
  AnalysisInput input = AnalysisInput::corpus;
  int control_pass =
      -1;  ///< the pass that `--control random` repeats on untrained models; -1: none

  int n_pass() const { return static_cast<int>(passes.size()); }
  bool needs_complete_model() const { return !passes.empty(); }
  bool needs_corpus() const { return !passes.empty() && input == AnalysisInput::corpus; }
  bool needs_tasks() const { return !passes.empty() && input == AnalysisInput::tasks; }
};

/// Estimated cost of a piece to one analysis, for the time left.
struct PieceCost {
  bool observes = true;       ///< the forward pass that all analyses share
  double forward_passes = 1;  ///< its own work, as long as so many forward passes
};

/// What a piece's forward pass leaves after the last layer.
struct PieceEnd {
  const Matrix& resid_final;  ///< d_model x n_token, after the last layer
  Forward& forward;           ///< computes losses; another object than the one running the pass
};

/// Untrained models that a control takes: fewer do not show what chance gives.
inline constexpr std::size_t least_controls = 5;

/// What `Analysis::compare` needs of a control model, by name.
using ControlValues = std::map<std::string, Array>;

class Analysis {
 public:
  virtual ~Analysis() = default;

  // Of an analysis of tasks, whose passes go through batches of pairs.

  /// The same in all passes and shards.
  virtual std::uint64_t n_batch() const { return 0; }
  /// Runs a batch, in forward passes of its own.
  /// @param statistics  receives this batch's sums.
  /// @return the number of tokens run.
  virtual std::uint64_t run_batch(std::uint64_t /*batch*/, DocumentStatistics& /*statistics*/) {
    return 0;
  }
  /// Estimated cost of a batch in any pass: the tokens of as much work in forward passes.
  virtual double batch_cost(int /*pass*/, std::uint64_t /*batch*/) const { return 0; }

  // Of an analysis of the corpus, which observes forward passes.

  /// Called before the first document of a pass. Every pass has the same documents in the same
  /// order; pieces of a document that is longer than the context follow each other. A resumed run
  /// may begin with a later pass or piece.
  /// @param earlier  sums of the earlier passes over the whole corpus.
  virtual void begin_pass(int /*pass*/, const Statistics& /*earlier*/) {}
  /// Called before the forward pass of a document or of a piece of one. A document is counted at
  /// its first piece.
  /// @param statistics  receives what this piece adds to its document's sums and rows; the same
  /// object until end_piece.
  /// @return false to skip the forward pass of this piece.
  virtual bool begin_piece(const Piece& /*piece*/, DocumentStatistics& /*statistics*/) {
    return true;
  }
  /// Estimated cost of a piece of this document in any pass.
  virtual PieceCost piece_cost(int /*pass*/, std::uint64_t /*document*/) const { return {}; }
  /// Whether observe_layer reads the attention pattern of a layer.
  virtual bool wants_pattern(Index /*layer*/) const { return false; }
  virtual void observe_layer(const LayerView& /*view*/, DocumentStatistics& /*statistics*/) {}
  virtual void end_piece(const PieceEnd& /*end*/, DocumentStatistics& /*statistics*/) {}

  // Of every analysis.

  /// Turns the statistics of the whole corpus into results: the group with the analysis's name and
  /// any nested groups (`attention/0`). Does not read the corpus. Weights-only analyses do all
  /// their work here.
  virtual std::vector<ResultsGroup> finish(const Statistics& statistics) const = 0;

  /// The groups that the results hold of a control model, below `control/`.
  virtual std::vector<ResultsGroup> control_results(const Statistics& /*statistics*/) const {
    return {};
  }
  /// What `compare` needs of a control model; this analysis is the control's.
  /// @param statistics  of the control's documents, those of the last pass alone.
  virtual ControlValues control_values(const Statistics& /*statistics*/) const { return {}; }
  /// Adds to this analysis's `group` the comparison with the same analysis of untrained models.
  /// @param controls  at least one.
  virtual void compare(const Statistics& /*statistics*/,
                       const std::vector<ControlValues>& /*controls*/,
                       ResultsGroup& /*group*/) const {}

  /// Adds to this analysis's `group` what other analyses' groups contribute to it.
  /// @param all  every group of the run, this one included.
  virtual void relate(const Results& /*all*/, ResultsGroup& /*group*/) const {}
};

/// What an analysis is constructed from. All of it outlives the analysis.
struct AnalysisContext {
  const Model& model;
  const Corpus* corpus;  ///< null if no analysis needs it
  const AnalysisSettings& settings;
  const TaskFiles* tasks = nullptr;  ///< null if no analysis needs them
  /// Shared by the run and its analyses, which compute in turn.
  ComputeContext compute = settings.engines();
};

/// What an analysis's memory depends on.
struct RunShape {
  ModelConfig config;
  AnalysisSettings settings;
  Index n_token = 0;             ///< of the longest piece
  std::uint64_t n_document = 0;  ///< of the corpus
  int n_thread = 1;
  std::uint64_t n_task = 0;

  std::uint64_t n_unit() const { return config.n_layer * config.n_head; }
};

struct RegisteredAnalysis {
  AnalysisInfo info;
  std::function<std::unique_ptr<Analysis>(const AnalysisContext&)> make;
  /// Draws figures from this analysis's group of a results file, without the model.
  std::function<std::vector<Figure>(const Results&)> draw;
  /// What the report says of this analysis's group and how it shows the group's variables.
  Presentation presentation;
  /// Upper bound of the bytes it holds, without the weights and the forward pass.
  std::function<std::uint64_t(const RunShape&)> memory;
  /// Declares its options, if any: `&AnalysisSettings::declare_own<PruningOptions>`.
  std::function<void(AnalysisSettings&, OptionTable&)> options = {};
};

/// Every analysis, in the order of the report.
const std::vector<RegisteredAnalysis>& analysis_registry();

/// The presentations of a run's groups, in the order of the report.
std::vector<Presentation> run_presentations();

/// The same, or that of a comparison, if the results are one.
std::vector<Presentation> presentations_of(const Results& results);

}  // namespace headscope
