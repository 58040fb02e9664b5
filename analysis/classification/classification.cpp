#include "classification/classification.hpp"

#include <cmath>
#include <optional>

#include "classification/claims.hpp"
#include "classification/examples/examples.hpp"
#include "classification/explained/explained.hpp"
#include "classification/passes/counting_pass.hpp"
#include "classification/passes/scoring_pass.hpp"
#include "classification/results.hpp"
#include "classification/types/types.hpp"
#include "classification/variables.hpp"
#include "headscope/figure.hpp"
#include "induction.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

const AnalysisInfo classification_info{
    .name = "classification",
    .title = "Which head does what",
    .purpose =
        "Scores every head for position, delimiters, parts of speech, syntax, coreference, "
        "meaning, repetition, induction, copying, rare tokens and the sink, each against a "
        "baseline, and names the head's type.",
    .source =
        "Voita et al. 2019; Clark et al. 2019; Vig & Belinkov 2019; Olsson et al. 2022; "
        "TransformerLens",
    .passes = {"counting tokens", "scoring heads", "averaging attention", "replacing attention"},
    .control_pass = 1,
    .has_permuted_control = true,
    .keeps_relations = true,
};

/// The pattern of the head with the largest induction score, of those that the model has not lost,
/// on the first sequence.
void add_induction_pattern(const Model& model, const std::vector<TokenIds>& sequences,
                           ResultsGroup& group) {
  const Array& induction = group.values("induction");
  std::vector<double> scores(induction.size(), std::nan(""));
  for (const Index head_index : model.config.heads_left()) {
    scores[head_index] = induction.values[head_index];
  }
  const std::optional<std::size_t> best = largest(scores);
  if (!best) return;
  const TokenIds& tokens = sequences.front();
  const HeadIndex head = HeadIndex::of(*best, model.config.n_head);
  const Matrix pattern = head_pattern(model, tokens, head);
  Array by_query({tokens.size(), tokens.size()});
  for (Index query = 0; query < tokens.size(); ++query) {
    for (Index key = 0; key <= query; ++key) by_query(query, key) = pattern(key, query);
  }
  group.add_dimension(Dimension::count("induction_query", tokens.size()));
  group.add_dimension(Dimension::count("induction_key", tokens.size()));
  const VariableTable& variables = classification_variables();
  group.add(variables["induction_pattern_layer"], static_cast<double>(head.layer));
  group.add(variables["induction_pattern_head"], static_cast<double>(head.head));
  group.add(variables["induction_tokens"], Array({tokens.size()}, {tokens.begin(), tokens.end()}));
  group.add(variables["induction_pattern"], std::move(by_query));
}

class Classification : public CorpusAnalysis {
 public:
  explicit Classification(const AnalysisContext& context, HeadTypeList types = head_type_list())
      : types_(std::move(types)), context_(context), attribution_(context.model) {
    if (context.corpus == nullptr) return;
    explained_documents_ = explained_sample(
        context.corpus->n_document(), context.settings.options<ClassificationOptions>().n_explain,
        context.settings.seed);
  }

  /// First pass: token counts and the mean pattern of the first positions. Second: the scores.
  /// Third and fourth, on a sample of documents: those of Explanation.
  void begin_pass(int pass, const Statistics& earlier) override {
    pass_.reset();
    if (pass == 0) {
      pass_ = std::make_shared<CountingPass>(context_.model, context_.compute);
    } else if (pass == 1) {
      pass_ = std::make_shared<ScoringPass>(types_, context_, attribution_, earlier);
    } else {
      // Both passes explain the types of the second; a resumed run may begin with the last.
      if (!explanation_) {
        explanation_ = std::make_shared<Explanation>(context_.model, *context_.corpus, types_,
                                                     typed(earlier), explained_documents_, earlier);
      }
      if (pass == 3) {
        explanation_->begin_losses(earlier, context_.compute, context_.settings.ablation(0));
      }
      pass_ = explanation_;
    }
  }

  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    return pass_->begin_piece(piece, statistics);
  }
  PieceCost piece_cost(int pass, std::uint64_t document) const override {
    const ModelConfig& config = context_.model.config;
    const double n_head_total = static_cast<double>(config.n_layer * config.n_head);
    // The first pass runs the first positions alone.
    if (pass == 0) return {.observes = false, .forward_passes = 0.1};
    // The logit lens unembeds every layer.
    if (pass == 1) {
      return {.forward_passes = 1 + static_cast<double>(config.d_vocab) /
                                        static_cast<double>(12 * config.d_model)};
    }
    if (!explained_documents_.contains(document)) return {.observes = false, .forward_passes = 0};
    if (pass == 2) return {.forward_passes = 0.1};
    const double n_variant =
        explanation_ == nullptr ? 3 * n_head_total : static_cast<double>(explanation_->n_variant());
    return {.forward_passes = 0.5 * n_variant};
  }

  /// From the third pass on `label_features`.
  HeadTexts head_texts_before(int pass, const Statistics& earlier) override {
    if (pass < 2) return {};
    return {{"label_features", label_features(typed(earlier))}};
  }
  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    std::vector<ResultsGroup> groups{results(statistics)};
    add_explained(types_, statistics, context_.settings, groups.front());
    add_induction_pattern(
        context_.model, induction_sequences(context_.model, first_token(), context_.settings.seed),
        groups.front());
    if (std::optional<ResultsGroup> examples = examples_group(types_, statistics, groups.front())) {
      groups.push_back(*std::move(examples));
    }
    if (!untrained_.empty()) {
      add_control_types(types_, untrained_, context_.model.config.pruned_heads.size(),
                        groups.front());
    }
    return groups;
  }

  ControlValues control_values(const Statistics& statistics) const override {
    return control_types(types_, statistics, induction(), context_.model.config.pruned_heads,
                         context_.settings);
  }
  void use_controls(const Controls& controls) override {
    permuted_ = permuted_scores(types_, controls.permuted);
    untrained_ = controls.untrained;
  }
  void relate(const Results& /*all*/, ResultsGroup& group) const override {
    if (!group.has("control_type_heads")) {
      settle_by_controls(types_, {}, context_.model.config.heads_left().size(), group.claims);
    }
    remove_intervals_of_no_width(group.claims);
  }

 private:
  /// Scores on repeated random sequences: sequence x layer x head.
  Array induction() const {
    return induction_scores(context_.model, first_token(), context_.settings.seed);
  }
  /// From the sums of the first two passes.
  ResultsGroup results(const Statistics& statistics) const {
    return classification_results(types_, statistics, induction(),
                                  context_.model.config.pruned_heads, context_.settings, permuted_);
  }

  /// The same before controls are known, computed once. @param earlier  with those two passes.
  const ResultsGroup& typed(const Statistics& earlier) {
    if (!typed_) typed_ = results(earlier);
    return *typed_;
  }

  TokenId first_token() const { return induction_first_token(context_.model, context_.corpus); }

  const HeadTypeList types_;
  const AnalysisContext context_;
  const LogitAttribution attribution_;
  std::set<Index> explained_documents_;
  PermutedScores permuted_;                   // empty during the passes
  std::vector<ControlValues> untrained_;      // empty during the passes
  std::optional<ResultsGroup> typed_;         // from the third pass on
  std::shared_ptr<Explanation> explanation_;  // of the third and fourth pass
  std::shared_ptr<CorpusPass> pass_;
};

std::uint64_t classification_bytes(const RunShape& run) {
  const std::size_t n_type = head_type_list().size();
  return CountingPass::bytes(run.config) + ScoringPass::bytes(run, n_type) +
         Explanation::bytes(run) + classification_results_bytes(run, n_type) +
         induction_bytes(run.config);
}

}  // namespace

RegisteredAnalysis classification_analysis(const HeadTypeList& types) {
  RegisteredAnalysis analysis = registered<Classification, ClassificationOptions>(
      classification_info, classification_figures, classification_presentation(),
      classification_bytes);
  analysis.make = [types](const AnalysisContext& context) {
    return std::make_unique<Classification>(context, types);
  };
  return analysis;
}

}  // namespace headscope
