#pragma once

#include <any>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <vector>

#include "headscope/compute_context.hpp"
#include "headscope/corpus.hpp"
#include "headscope/forward.hpp"
#include "headscope/model.hpp"
#include "headscope/option_table.hpp"
#include "headscope/precision.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "headscope/tasks.hpp"

/// The interfaces of analyses. An analysis adds to statistics in passes over the corpus
/// (CorpusAnalysis) or over tasks (TaskAnalysis), or reads the weights alone (Analysis); it turns
/// the statistics into results, and draws figures from the results alone. No analysis depends on
/// another.
namespace headscope {

struct Figure;
struct RegisteredAnalysis;

/// Options that all analyses share, and options of single analyses.
class AnalysisSettings {
 public:
  std::uint64_t seed = 0;             ///< of all random numbers
  std::uint64_t n_bootstrap = 1000;   ///< resamples of documents behind each interval
  std::string precision = "float32";  ///< of products of weights: a Precision's name
  std::string engine = "trial";       ///< that multiplies them: an Engine's word, or the fastest
                                      ///< in a trial
  Engines engines = {};               ///< of the run, chosen by `precision` and `engine`
  std::uint64_t n_null = 100;         ///< random draws behind each null of weights-only analyses

  /// Options of one analysis. `Options` has a field with a default for every option, and a function
  /// `declare` that adds the options to a table.
  template <typename Options>
  Options& options() {
    return std::any_cast<Options&>(
        options_of_analyses_.try_emplace(typeid(Options), Options()).first->second);
  }
  template <typename Options>
  const Options& options() const {
    static const Options defaults;
    const auto found = options_of_analyses_.find(typeid(Options));
    return found == options_of_analyses_.end() ? defaults : *std::any_cast<Options>(&found->second);
  }

  /// Resamples blocks of documents, or of pairs, as Bootstrap::of_documents.
  Bootstrap bootstrap(const std::vector<double>& documents_per_block) const {
    return Bootstrap::of_documents(documents_per_block, n_bootstrap, seed);
  }
  /// How exact the losses of ablated heads are.
  /// @param d_vocab  size of a vocabulary that may be sampled; 0: losses take all entries.
  AblationPrecision ablation(Index d_vocab) const;

  /// Adds the shared options, then those of every analysis.
  void declare(OptionTable& option, const std::vector<RegisteredAnalysis>& analyses);
  /// Adds the options of one analysis. RegisteredAnalysis::options points here.
  template <typename Options>
  void declare_options(OptionTable& option) {
    options<Options>().declare(option);
  }

 private:
  std::map<std::type_index, std::any> options_of_analyses_;
};

/// Number of relations in Universal Dependencies; largest number of relations that get sums.
inline constexpr std::uint64_t n_universal_relation = 37, most_relations = 256;

/// What the passes of an analysis go through.
enum class AnalysisInput { corpus, tasks };

struct AnalysisInfo {
  std::string name;     ///< of the analysis and of its results group
  std::string title;    ///< of its results group
  std::string purpose;  ///< one sentence
  std::string source;   ///< the papers
  /// What each pass over its input does: `ablating heads`. None: it reads the weights alone.
  std::vector<std::string> passes = {};
  AnalysisInput input = AnalysisInput::corpus;
  int control_pass = -1;  ///< the pass that is repeated on untrained models; -1: none
  /// Whether that pass is also repeated on models with permuted weights.
  bool has_permuted_control = false;
  /// Whether it keeps sums of each relation of the corpus, of at most most_relations.
  bool keeps_relations = false;

  int n_pass() const { return static_cast<int>(passes.size()); }
  /// Of its options in the help.
  std::string option_heading() const { return "Analysis " + name; }
  bool needs_complete_model() const { return !passes.empty(); }
  bool needs_corpus() const { return !passes.empty() && input == AnalysisInput::corpus; }
  bool needs_tasks() const { return !passes.empty() && input == AnalysisInput::tasks; }
};

/// Number of control models of each kind (untrained, permuted).
inline constexpr std::size_t n_control_per_kind = 5;

/// What an analysis needs of a control model, by name.
using ControlValues = std::map<std::string, Array>;

/// Of all control models; empty unless a control was asked for.
struct Controls {
  std::vector<ControlValues> untrained, permuted;
};

/// What every analysis does once its statistics are complete. An analysis of the weights alone does
/// all its work in `finish`.
class Analysis {
 public:
  virtual ~Analysis() = default;

  /// Turns the statistics of the whole corpus or of all tasks into results: the group with the
  /// analysis's name, which gets its title, and any nested groups (`attention/0`). Does not read
  /// the corpus.
  virtual std::vector<ResultsGroup> finish(const Statistics& statistics) const = 0;

  /// Groups of the first untrained control, stored below `control/`.
  virtual std::vector<ResultsGroup> control_results(const Statistics& /*statistics*/) const {
    return {};
  }
  /// What `use_controls` needs; called on the analysis that ran on a control model.
  /// @param statistics  of the control's documents, from `control_pass` alone.
  virtual ControlValues control_values(const Statistics& /*statistics*/) const { return {}; }
  /// Called before `finish`, which compares results with those of the control models.
  virtual void use_controls(const Controls& /*controls*/) {}

  /// Adds to this analysis's `group` what other analyses' groups contribute to it.
  /// @param all  every group of the run, this one included.
  virtual void relate(const Results& /*all*/, ResultsGroup& /*group*/) const {}
};

/// What a piece's forward pass leaves after the last layer.
struct PieceEnd {
  const Matrix& resid_final;  ///< d_model x n_token, after the last layer
  Forward& forward;           ///< computes losses; another object than the one running the pass
};

/// Observes the forward pass of one piece for an analysis, and holds what belongs to the piece.
class PieceObserver : public LayerObserver {
 public:
  /// Called after the last layer.
  virtual void end(const PieceEnd& /*end*/) {}
};

/// Observes the layers of a piece, or of any other forward pass, by a function.
class LayerFunction : public PieceObserver {
 public:
  using Observe = std::function<void(const LayerView& view)>;
  explicit LayerFunction(Observe observe, bool wants_pattern = false)
      : observe_(std::move(observe)), wants_pattern_(wants_pattern) {}
  bool wants_pattern(Index /*layer*/) const override { return wants_pattern_; }
  void observe_layer(const LayerView& view) override { observe_(view); }

 private:
  Observe observe_;
  bool wants_pattern_;
};

/// Estimated cost of a piece to one analysis, for the time left.
struct PieceCost {
  bool observes = true;       ///< the forward pass that all analyses share
  double forward_passes = 1;  ///< further work, in the time of one forward pass
};

/// Texts that analyses of the corpus give each other before a pass: under each name, one by head
/// (layer * n_head + head).
using HeadTexts = std::map<std::string, std::vector<std::string>>;

/// An analysis of the corpus. The analyses of a run observe the same forward passes.
class CorpusAnalysis : public Analysis {
 public:
  /// Called before the first document of a pass. Every pass has the same documents in the same
  /// order; pieces of a document that is longer than the context follow each other. A resumed run
  /// may begin with a later pass or piece.
  /// @param earlier  sums of the earlier passes over the whole corpus.
  virtual void begin_pass(int /*pass*/, const Statistics& /*earlier*/) {}

  /// What this analysis knows of heads before its pass, for the other analyses of the run.
  /// @param pass     of this analysis, about to begin; n_pass() if `finish` is next.
  /// @param earlier  as in begin_pass.
  virtual HeadTexts head_texts_before(int /*pass*/, const Statistics& /*earlier*/) { return {}; }
  /// Called before begin_pass and before finish, with what all analyses of the run tell.
  virtual void use_head_texts(const HeadTexts& /*told*/) {}

  /// Called before the forward pass of a document or of a piece of one.
  /// @param piece       outlives the observer.
  /// @param statistics  receives what this piece adds to its document's sums and rows, and outlives
  /// the observer. A document is counted at its first piece.
  /// @return null if the analysis needs no forward pass of this piece.
  virtual std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                                     DocumentStatistics& statistics) = 0;

  /// Estimated cost of a piece of this document in any pass.
  virtual PieceCost piece_cost(int /*pass*/, std::uint64_t /*document*/) const { return {}; }
};

/// An analysis of tasks, whose passes go through batches of pairs in forward passes of its own.
class TaskAnalysis : public Analysis {
 public:
  /// Number of batches, the same in all passes and shards.
  virtual std::uint64_t n_batch() const = 0;
  /// Called before the first batch of a pass.
  /// @param earlier  sums of the earlier passes over all batches.
  virtual void begin_pass(int /*pass*/, const Statistics& /*earlier*/) {}
  /// @param statistics  receives this batch's sums.
  /// @return the number of tokens run.
  virtual std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) = 0;
  /// Estimated cost of the batch: the number of tokens whose forward pass costs as much.
  virtual double batch_cost(int pass, std::uint64_t batch) const = 0;
};

/// What an analysis is constructed from. All of it outlives the analysis.
struct AnalysisContext {
  const Model& model;
  const Corpus* corpus;  ///< null if no analysis needs it
  const AnalysisSettings& settings;
  const TaskFiles* tasks = nullptr;  ///< null if no analysis needs them
  /// Shared by the run and its analyses, which compute in turn.
  ComputeContext compute = settings.engines;
};

/// What an analysis's memory depends on.
struct RunShape {
  ModelConfig config;
  AnalysisSettings settings;
  Index n_token = 0;             ///< of the longest piece
  std::uint64_t n_document = 0;  ///< of the corpus
  int n_thread = 1;
  std::uint64_t n_task = 0;
  std::uint64_t n_relation = n_universal_relation;  ///< of the corpus
  /// Of the pairs of the largest task, what the sides share counted once; the default is no bound.
  std::uint64_t n_pair_token = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t n_head_total() const { return config.n_layer * config.n_head; }
};

struct RegisteredAnalysis {
  AnalysisInfo info;
  /// Makes a CorpusAnalysis if `info` needs the corpus, a TaskAnalysis if it needs tasks.
  std::function<std::unique_ptr<Analysis>(const AnalysisContext&)> make;
  /// Draws figures from this analysis's group of a results file, without the model.
  std::function<std::vector<Figure>(const Results&)> draw = {};
  /// What the report says of this analysis's group and how it shows the group's variables.
  Presentation presentation = {};
  /// Upper bound of the bytes it holds, without the weights and the forward pass.
  std::function<std::uint64_t(const RunShape&)> memory = {};
  /// Declares its options, if any: `&AnalysisSettings::declare_options<PruningOptions>`.
  std::function<void(AnalysisSettings&, OptionTable&)> options = {};
};

/// An analysis that a class does.
/// @tparam Made     the class, constructed from an AnalysisContext.
/// @tparam Options  its options; void: none.
template <typename Made, typename Options = void>
RegisteredAnalysis registered(AnalysisInfo info, std::vector<Figure> (*draw)(const Results&),
                              Presentation presentation, std::uint64_t (*memory)(const RunShape&)) {
  RegisteredAnalysis analysis{
      std::move(info),
      [](const AnalysisContext& context) { return std::make_unique<Made>(context); }, draw,
      std::move(presentation), memory};
  if constexpr (!std::is_void_v<Options>) {
    analysis.options = &AnalysisSettings::declare_options<Options>;
  }
  return analysis;
}

}  // namespace headscope
