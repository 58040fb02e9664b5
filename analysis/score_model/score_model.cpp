#include "score_model/score_model.hpp"

#include <algorithm>
#include <optional>

#include "headscope/figure.hpp"
#include "headscope/resampling.hpp"
#include "score_model/effects.hpp"
#include "score_model/joint.hpp"
#include "score_model/score_results.hpp"
#include "score_model/user_features.hpp"

namespace headscope {
namespace {

const AnalysisInfo score_model_info{
    .name = "score_model",
    .title = "What each head attends by",
    .purpose =
        "Models every head's attention as a softmax of a sum of features (position, words, syntax, "
        "repetition and others), and measures on held-out documents what they explain.",
    .source = "McFadden 1974",
    .passes = {"counting tokens and arcs", "collecting attention", "replacing attention",
               "replacing attention of many heads"},
    .keeps_relations = true,
};

class ScoreModel : public CorpusAnalysis {
 public:
  explicit ScoreModel(const AnalysisContext& context)
      : model_(context.model),
        corpus_(context.corpus),
        settings_(context.settings),
        compute_(context.compute) {
    const auto& options = settings_.options<ScoreModelOptions>();
    if (!options.features.empty()) user_ = read_user_features(options.features);
    if (corpus_ == nullptr) return;
    queries_ = QuerySample(corpus_->n_document(), options.n_query, settings_.seed);
    effect_documents_ = EffectDocuments(corpus_->n_document(), options.n_effect, settings_.seed);
  }

  /// Takes the features that heads' types name, for the step `label`.
  void use_head_texts(const HeadTexts& told) override {
    const auto labels = told.find("label_features");
    if (labels != told.end()) labels_ = labels->second;
  }
  void begin_pass(int pass, const Statistics& earlier) override {
    pass_ = pass;
    if (pass == 0) return;
    queries_.use_counts(earlier);
    features_.emplace(features_of(earlier));
    traits_.emplace(model_, score_token_counts(earlier));
    if (pass < 2 || !replaces_heads()) return;
    const ScoreFits& fitted = fits(earlier);
    if (data_->even.sample.queries.empty()) return;
    if (pass == 2) {
      effects_ = std::make_unique<ScoreEffects>(context(), fitted, earlier, settings_.ablation(0));
    } else if (!effect_documents_.joint.empty() && earlier.has(score_clean_name)) {
      effects_.reset();
      joint_ = std::make_unique<JointReplacement>(context(), fitted, earlier);
    }
  }

  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    if (pass_ == 0) {
      count_score_tokens(piece, model_.config, statistics);
      queries_.count(piece, statistics);
      return nullptr;
    }
    if (pass_ == 2) return add_effects_of(piece, statistics);
    if (pass_ == 3) {
      add_joint_losses_of(piece, statistics);
      return nullptr;
    }
    std::unique_ptr<PieceObserver> collector = collector_of(piece, statistics);
    if (!replaces_heads() || piece.tokens.size() < 2) return collector;
    return add_score_means(std::move(collector), model_.config.n_layer, statistics);
  }

  PieceCost piece_cost(int pass, std::uint64_t document) const override {
    const PieceCost none{.observes = false, .forward_passes = 0};
    if (pass == 0) return none;
    if (pass == 1) {
      // A forward pass of the tokens out of context.
      if (queries_.has(document)) return {.forward_passes = 1};
      return {.observes = replaces_heads(), .forward_passes = 0};
    }
    if (pass == 2) {
      if (!effect_documents_.single.contains(document)) return none;
      const auto n_head_total = static_cast<double>(model_.config.n_layer * model_.config.n_head);
      return {.forward_passes = 0.5 * n_score_loss * n_head_total};
    }
    if (!effect_documents_.joint.contains(document)) return none;
    return {.observes = false,
            .forward_passes = 2 + n_joint_replacement * (joint_shares.size() - 1.0)};
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    const ScoreFits& fitted = fits(statistics);
    ResultsGroup group = score_results(*data_, fitted, model_.config.d_model, settings_);
    add_effects(statistics, settings_, group);
    add_joint_losses(statistics, settings_, group);
    add_surprises(statistics, group);
    add_head_texts(model_.config.d_model, group);
    return {std::move(group)};
  }

 private:
  /// Whether heads run with something else in place of their attention or output.
  bool replaces_heads() const { return !effect_documents_.single.empty(); }

  /// Of the piece's sampled queries; null if it has none.
  std::unique_ptr<PieceObserver> collector_of(const Piece& piece, DocumentStatistics& statistics) {
    std::vector<Index> queries = queries_.queries_of(piece, statistics);
    if (queries.empty()) return nullptr;
    return std::make_unique<ScoreCollector>(
        context(), piece, PieceQueries(piece, *features_, std::move(queries)),
        document_block(piece.document, corpus_->n_document()), statistics);
  }

  /// Fits all models, once for the statistics of the first two passes.
  const ScoreFits& fits(const Statistics& statistics) const {
    if (fits_ == nullptr) {
      data_ = std::make_unique<ScoreData>(score_data(statistics, model_, features_of(statistics)));
      fits_ = std::make_unique<ScoreFits>(
          fit_scores(model_, score_first_token(statistics), *data_, labels_, compute_));
      for (ScoreHalf* const half : {&data_->even, &data_->odd}) half->forget_pairs();
    }
    return *fits_;
  }

  std::unique_ptr<PieceObserver> add_effects_of(const Piece& piece,
                                                DocumentStatistics& statistics) {
    if (!effect_documents_.single.contains(piece.document) || effects_ == nullptr) return nullptr;
    const std::size_t block = document_block(piece.document, corpus_->n_document());
    if (piece.tokens.size() < 2) return nullptr;
    if (corpus_->begins_predictions(piece)) {
      ++statistics.sum(score_effect_documents, {n_document_block})(block);
    }
    statistics.row(score_effect_row, {1})(0) = static_cast<double>(block);
    return effects_->add_losses(piece, block, statistics);
  }

  void add_joint_losses_of(const Piece& piece, DocumentStatistics& statistics) {
    if (!effect_documents_.joint.contains(piece.document) || joint_ == nullptr) return;
    if (piece.tokens.size() < 2) return;
    const std::size_t block = document_block(piece.document, corpus_->n_document());
    if (corpus_->begins_predictions(piece)) {
      ++statistics.sum(joint_documents_name, {n_document_block})(block);
    }
    joint_->add_losses(piece, block, statistics);
  }

  /// After the first pass.
  ScoreContext context() const { return {model_, *features_, *traits_, compute_}; }
  FeatureList features_of(const Statistics& statistics) const {
    return {score_traits(statistics), user_};
  }

  const Model& model_;
  const Corpus* corpus_;
  const AnalysisSettings& settings_;
  const ComputeContext compute_;
  std::vector<UserFeature> user_;
  std::vector<std::string> labels_;  // by head; empty if no types are known
  QuerySample queries_;
  int pass_ = 0;
  std::optional<FeatureList> features_;  // after the first pass
  std::optional<TokenTraits> traits_;    // likewise
  EffectDocuments effect_documents_;
  mutable std::unique_ptr<ScoreFits> fits_;
  mutable std::unique_ptr<ScoreData> data_;
  std::unique_ptr<ScoreEffects> effects_;    // in the third pass
  std::unique_ptr<JointReplacement> joint_;  // in the fourth
};

std::uint64_t score_model_bytes(const RunShape& run) {
  const ModelConfig& config = run.config;
  const auto& options = run.settings.options<ScoreModelOptions>();
  constexpr std::size_t n_without_relations = 50;
  const std::size_t n_feature = n_without_relations + 2 * run.n_relation +
                                (options.features.empty() ? 0 : most_user_features);
  const QuerySample::Half half = QuerySample::half((run.n_document + 1) / 2, options.n_query);
  const std::uint64_t n_query =
      half.n_document * std::min<std::uint64_t>(half.n_query, run.n_token);
  const std::uint64_t n_pair = 2 * n_query * (run.n_token / 2 + 1);
  const std::uint64_t n_head_total = run.n_head_total();
  const std::uint64_t statistics =
      n_pair * PieceQueries::packed_pair_bytes + n_query * n_head_total * Statistics::row_bytes +
      std::min<std::uint64_t>(2 * half.n_document, n_document_block) * n_head_total * n_feature *
          Statistics::sum_bytes +
      Statistics::sum_bytes * (config.d_vocab + config.n_layer * config.d_z()) +
      4 * half.n_document * Statistics::row_bytes;
  const std::uint64_t effects =
      options.n_effect == 0
          ? 0
          : std::max(ScoreEffects::bytes(config, run.n_token, run.n_thread, run.settings.engines),
                     JointReplacement::bytes(config, run.n_token, run.n_thread));
  return statistics + std::max({ScoreCollector::bytes(config, run.n_token, n_feature),
                                score_fit_bytes(config, run.n_token, n_query, n_feature), effects});
}

}  // namespace

RegisteredAnalysis score_model_analysis() {
  return registered<ScoreModel, ScoreModelOptions>(score_model_info, score_figures,
                                                   score_presentation(), score_model_bytes);
}

}  // namespace headscope
