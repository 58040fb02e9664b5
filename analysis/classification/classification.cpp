#include "classification/classification.hpp"

#include <algorithm>
#include <optional>

#include "classification/claims.hpp"
#include "classification/examples/examples.hpp"
#include "classification/explained/explained.hpp"
#include "classification/results.hpp"
#include "classification/tests/copy_effect.hpp"
#include "classification/tests/paired.hpp"
#include "classification/types/registry.hpp"
#include "classification/types/types.hpp"
#include "classification/variables.hpp"
#include "headscope/error.hpp"
#include "headscope/figure.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "induction.hpp"
#include "parallel.hpp"
#include "report_text.hpp"
#include "scores/pattern.hpp"
#include "scores/semantic.hpp"
#include "scores/sums.hpp"
#include "scores/tokens.hpp"
#include "scores/words.hpp"

namespace headscope {
namespace {

constexpr std::size_t n_semantic_permutation = 20;

const AnalysisInfo classification_info{
    .name = "classification",
    .title = "Which head does what",
    .purpose =
        "Scores every head for position, delimiters, syntax, coreference, meaning, repetition, "
        "induction, rarity and rest, each against a baseline, and names its type.",
    .source =
        "Voita et al. 2019; Clark et al. 2019; Vig & Belinkov 2019; Olsson et al. 2022; "
        "TransformerLens",
    .passes = {"counting tokens", "scoring heads", "averaging attention", "replacing attention"},
    .control_pass = 1,
};

/// A piece's contribution to a sum and to its denominators.
struct RatioSum {
  Array* numerator;
  Array* denominator;

  template <typename... I>
  void add(const Ratio& ratio, I... index) const {
    (*numerator)(index...) += ratio.numerator;
    (*denominator)(index...) += ratio.denominator;
  }
};

RatioSum ratio_sum(DocumentStatistics& statistics, const std::string& name, const Shape& shape) {
  return {&statistics.sum(name, shape), &statistics.sum(weight_name(name), shape)};
}

/// A piece's contribution to all sums over heads.
struct HeadSums {
  std::vector<RatioSum> scores;  ///< by HeadScore
  RatioSum offsets, offset_mass, word_classes, semantic_null, sentence_sink, sentence_entropy;
  std::vector<Array*> arc_hits;  ///< per scored arc, the hits of its relation
  Array* attended = nullptr;     ///< layer, head, case; null if examples are not chosen from it

  const RatioSum& of(HeadScore score) const { return scores[static_cast<std::size_t>(score)]; }
};

/// A piece's tokens and annotation as scores and prototypes need them; the same for all heads.
struct PieceTraits {
  const TokenIds& tokens;
  std::vector<unsigned char> is_punctuation;
  std::vector<std::vector<Index>> copies;
  std::vector<std::optional<TokenId>> rarest;
  WordStructure words;

  PieceTraits(const Piece& piece, const std::vector<double>& token_counts)
      : tokens(piece.tokens),
        is_punctuation(punctuation_tokens(piece)),
        copies(earlier_copies(piece.tokens)),
        rarest(rarest_tokens(piece.tokens, token_counts)),
        words(word_structure(piece)) {}

  PlaceSource source() const { return {tokens, is_punctuation, copies, rarest, words}; }
};

/// Counts of an odd document's pieces so far, by test.
using DocumentCounts = std::map<std::string, PairedCounts>;

/// The arcs that are scored in a piece and, of odd documents, the counts that the piece adds to: of
/// each arc, and of pronouns.
struct PieceCases {
  std::vector<Arc> arcs;
  std::vector<PairedCounts*> arc_counts;
  PairedCounts* pronoun_counts = nullptr;

  /// Adds the piece's cases and the rules' hits to the counts of an odd document.
  PieceCases(const WordStructure& words, std::uint64_t document, Index n_head_total,
             DocumentCounts& counts);
  /// @param largest  by word, each word's most attended earlier word.
  void count_hits(const std::vector<Index>& largest, const WordStructure& words,
                  Index head_index) const;
};

class Classification : public CorpusAnalysis {
 public:
  explicit Classification(const AnalysisContext& context, HeadTypeList types = head_type_list())
      : types_(std::move(types)),
        model_(context.model),
        corpus_(context.corpus),
        settings_(context.settings),
        compute_(context.compute),
        attribution_(context.model) {
    if (corpus_ == nullptr) return;
    explained_documents_ = explained_sample(
        corpus_->n_document(), settings_.own<ClassificationOptions>().n_explain, settings_.seed);
  }

  /// First pass: token counts and the mean pattern of the first positions. Second: the scores.
  /// Third and fourth, on a sample of documents: those of Explanation.
  void begin_pass(int pass, const Statistics& earlier) override;
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;
  PieceCost piece_cost(int pass, std::uint64_t document) const override;
  /// From the third pass on `label_features`: the features of score_model that a head's types name,
  /// separated by blanks.
  HeadTexts told_before(int pass, const Statistics& earlier) const override {
    if (pass < 2) return {};
    // No feature depends on an interval.
    return {{"label_features", label_features(results(earlier, 0))}};
  }
  std::vector<ResultsGroup> finish(const Statistics& statistics) const override;
  ControlValues control_values(const Statistics& statistics) const override {
    return {
        {"heads", heads_by_type(types_, statistics, induction(), model_.config.pruned_heads,
                                settings_.n_bootstrap, settings_.seed, options().offset_alone())}};
  }
  void compare(const Statistics& /*statistics*/, const std::vector<ControlValues>& controls,
               ResultsGroup& group) const override {
    std::vector<Array> heads;
    for (const ControlValues& control : controls) heads.push_back(control.at("heads"));
    add_control_types(types_, heads, group);
  }
  void relate(const Results& /*all*/, ResultsGroup& group) const override {
    if (!group.has("control_type_heads")) say_without_controls(types_, group.claims);
  }

 private:
  class Scores;

  /// Scores on repeated random sequences: sequence x layer x head.
  Array induction() const {
    return induction_scores(model_, induction_first_token(model_, corpus_), settings_.seed);
  }
  /// From the sums of the first two passes.
  ResultsGroup results(const Statistics& statistics, std::size_t n_bootstrap) const;
  void count_tokens(const Piece& piece, DocumentStatistics& statistics);
  /// In the third and fourth pass.
  std::unique_ptr<PieceObserver> explain(const Piece& piece, DocumentStatistics& statistics);
  /// Makes document_counts_ that of the document's earlier pieces; runs these again if a run was
  /// resumed between pieces.
  void count_earlier_pieces(const Piece& piece);

  const ClassificationOptions& options() const { return settings_.own<ClassificationOptions>(); }
  Index n_head_total() const { return model_.config.n_layer * model_.config.n_head; }
  Index block_of(const Piece& piece) const {
    return document_block(piece.document, corpus_->n_document());
  }

  const HeadTypeList types_;
  const Model& model_;
  const Corpus* corpus_;
  const AnalysisSettings& settings_;
  const ComputeContext compute_;
  LogitAttribution attribution_;
  std::optional<LogitLens> lens_;  // in the second pass
  std::set<Index> explained_documents_;
  int pass_ = 0;
  std::unique_ptr<Forward> first_forward_;
  std::vector<double> token_counts_;
  std::vector<arma::mat> mean_first_;  // by head, key x query
  DocumentCounts document_counts_;
  std::optional<std::uint64_t> counted_document_;
  std::unique_ptr<Explanation> explanation_;  // of the third and fourth pass
};

/// Scores every head on one piece.
class Classification::Scores : public PieceObserver {
 public:
  Scores(Classification& analysis, const Piece& piece, DocumentStatistics& statistics);

  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override;
  void end(const PieceEnd& end) override;

 private:
  void add_baselines();
  void add_arcs();
  void add_references();
  void add_example();
  void add_lowered_keys() const;
  HeadSums head_sums() const;
  void observe_head(const LayerView& view, Index head, arma::mat& word_buffer,
                    const HeadSums& sums) const;
  /// Each word's most attended earlier word.
  std::vector<Index> observe_words(const Matrix& pattern, Index layer, Index head,
                                   arma::mat& word_buffer, const HeadSums& sums) const;
  void observe_sentences(const Matrix& pattern, const std::vector<double>& entropy, Index layer,
                         Index head, const HeadSums& sums) const;

  Classification& analysis_;
  const ModelConfig& config_;
  const Piece& piece_;
  DocumentStatistics& statistics_;
  PieceTraits traits_;
  Index block_;
  PieceCases cases_;
  TokenSimilarity similarity_;
  CopyEffects copy_effects_;
  std::vector<ExampleCase> example_cases_;  // empty if examples are not chosen from the piece
};

PieceCost Classification::piece_cost(int pass, std::uint64_t document) const {
  const ModelConfig& config = model_.config;
  const double n_head_total = static_cast<double>(config.n_layer * config.n_head);
  // The first pass runs the first positions alone.
  if (pass == 0) return {.observes = false, .forward_passes = 0.1};
  // The logit lens unembeds every layer.
  if (pass == 1) {
    return {.forward_passes =
                1 + static_cast<double>(config.d_vocab) / static_cast<double>(12 * config.d_model)};
  }
  if (!explained_documents_.contains(document)) return {.observes = false, .forward_passes = 0};
  if (pass == 2) return {.forward_passes = 0.1};
  const double n_variant =
      explanation_ == nullptr ? 3 * n_head_total : static_cast<double>(explanation_->n_variant());
  return {.forward_passes = 0.5 * n_variant};
}

void Classification::begin_pass(int pass, const Statistics& earlier) {
  pass_ = pass;
  const ModelConfig& config = model_.config;
  if (pass == 0) {
    first_forward_ = std::make_unique<Forward>(model_, compute_);
    return;
  }
  first_forward_.reset();
  token_counts_ = earlier.total("token_count").values;
  if (pass >= 2) {
    lens_.reset();
    // Both passes explain the types of the second; a resumed run may begin with the last.
    if (!explanation_) {
      explanation_ =
          std::make_unique<Explanation>(model_, types_, results(earlier, settings_.n_bootstrap));
    }
    if (pass == 3) {
      explanation_->begin_losses(earlier, compute_, settings_.ablation(0));
    }
    return;
  }
  lens_.emplace(model_, compute_.engines().screening);
  const Array first = earlier.total("first_pattern");
  const Array first_count = earlier.total("first_pattern_count");
  mean_first_.clear();
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    for (Index head = 0; head < config.n_head; ++head) {
      arma::mat mean(n_variability_position, n_variability_position, arma::fill::zeros);
      for (Index q = 0; q < n_variability_position; ++q) {
        for (Index k = 0; k <= q; ++k) {
          if (first_count(q) > 0) mean(k, q) = first(layer, head, q, k) / first_count(q);
        }
      }
      mean_first_.push_back(std::move(mean));
    }
  }
}

void Classification::count_tokens(const Piece& piece, DocumentStatistics& statistics) {
  Array& counts = statistics.sum("token_count", {model_.config.d_vocab});
  for (const TokenId token : piece.tokens) {
    if (token < 0 || static_cast<Index>(token) >= model_.config.d_vocab) {
      throw ShapeError("token ids of document " + piece.id + ": expected below " +
                       std::to_string(model_.config.d_vocab) + ", got " + std::to_string(token));
    }
    ++counts(token);
  }
  const Index n_first = std::min<Index>(piece.tokens.size(), n_variability_position);
  Array& first_count = statistics.sum("first_pattern_count", {n_variability_position});
  for (Index q = 0; q < n_first; ++q) ++first_count(q);
  // Variability is measured from their mean pattern.
  Array& sum = statistics.sum("first_pattern", {model_.config.n_layer, model_.config.n_head,
                                                n_variability_position, n_variability_position});
  LayerFunction observer(
      [&](const LayerView& view) {
        for (Index h = 0; h < view.pattern.n_slices; ++h) {
          for (Index q = 0; q < view.n_token; ++q) {
            for (Index k = 0; k <= q; ++k) sum(view.layer, h, q, k) += view.pattern(k, q, h);
          }
        }
      },
      true);
  LayerObserver* const observers[] = {&observer};
  first_forward_->run(std::span(piece.tokens).first(n_first), observers);
}

std::unique_ptr<PieceObserver> Classification::begin_piece(const Piece& piece,
                                                           DocumentStatistics& statistics) {
  if (pass_ >= 2) return explain(piece, statistics);
  if (pass_ == 0) {
    count_tokens(piece, statistics);
    return nullptr;
  }
  count_earlier_pieces(piece);
  return std::make_unique<Scores>(*this, piece, statistics);
}

std::unique_ptr<PieceObserver> Classification::explain(const Piece& piece,
                                                       DocumentStatistics& statistics) {
  if (!explained_documents_.contains(piece.document)) return nullptr;
  const Index block = block_of(piece);
  if (pass_ == 3 && piece.index == 0) {
    ++statistics.sum(explained_document_count, {n_block})(block);
  }
  if (explanation_->is_empty() || piece.tokens.size() < 2) return nullptr;
  const PieceTraits traits(piece, token_counts_);
  if (pass_ == 2) return explanation_->add_means(traits.source(), statistics);
  return explanation_->add_losses(traits.source(), block, statistics);
}

Classification::Scores::Scores(Classification& analysis, const Piece& piece,
                               DocumentStatistics& statistics)
    : analysis_(analysis),
      config_(analysis.model_.config),
      piece_(piece),
      statistics_(statistics),
      traits_(piece, analysis.token_counts_),
      block_(analysis.block_of(piece)),
      cases_(traits_.words, piece.document, analysis.n_head_total(), analysis.document_counts_),
      similarity_(piece.tokens, analysis.model_.W_E, n_semantic_permutation,
                  CounterRandom(analysis.settings_.seed, piece.document).value(piece.index), 0),
      copy_effects_(analysis.model_, analysis.attribution_, *analysis.lens_, piece.tokens) {
  add_baselines();
  add_arcs();
  add_references();
  add_example();
}

void Classification::Scores::add_baselines() {
  const Index n_token = piece_.tokens.size();
  const auto add = [&](Baseline baseline, const Ratio& ratio) {
    ratio_sum(statistics_, baseline_info(baseline).name, {n_block}).add(ratio, block_);
  };
  add(Baseline::delimiter_baseline, delimiter_baseline(traits_.is_punctuation));
  add(Baseline::distance_uniform, uniform_attention_distance(n_token));
  add(Baseline::distance_furthest, furthest_attention_distance(n_token));
  add(Baseline::dependency_alignment_baseline,
      traits_.words.has_dependencies ? dependency_alignment_baseline(traits_.words) : Ratio());
  const RatioSum classes = ratio_sum(statistics_, "word_class_baseline", {n_block, n_word_class});
  if (!traits_.words.token_class.empty()) {
    const auto shares = word_class_baselines(traits_.words.token_class);
    for (Index i = 0; i < n_word_class; ++i) classes.add(shares[i], block_, i);
  }
  const auto count = [&](const char* name, Index n) {
    statistics_.sum(name, {n_block})(block_) += static_cast<double>(n);
  };
  count("n_document", piece_.index == 0 ? 1 : 0);
  count("n_token", n_token);
  count("n_word", piece_.words.size());
  count("n_unaligned", traits_.words.n_unaligned);
}

void Classification::Scores::add_arcs() {
  for (const Arc& arc : cases_.arcs) {
    const auto direction = static_cast<Index>(arc.direction);
    ++statistics_.sum(relation_count_name(arc.relation), {n_block, 2})(block_, direction);
    Array& offsets =
        statistics_.sum(relation_offsets_name(arc.relation), {n_block, 2, longest_offset + 1});
    const Index offset = arc.later - arc.earlier;
    if (offset <= longest_offset) ++offsets(block_, direction, offset);
    Array& classes =
        statistics_.sum(relation_classes_name(arc.relation), {n_block, 2, n_word_class});
    if (arc.nearest_class != no_position) ++classes(block_, direction, arc.nearest_class);
  }
}

void Classification::Scores::add_references() {
  const RatioSum sums =
      ratio_sum(statistics_, coreference_baseline_name, {n_block, n_coreference_rule, 2});
  for (std::size_t rule = 0; rule < n_coreference_rule; ++rule) {
    for (const bool pronouns_only : {false, true}) {
      sums.add(coreference_rule_accuracy(traits_.words.references,
                                         static_cast<CoreferenceRule>(rule), pronouns_only),
               block_, rule, Index{pronouns_only});
    }
  }
}

PieceCases::PieceCases(const WordStructure& words, std::uint64_t document, Index n_head_total,
                       DocumentCounts& counts) {
  std::ranges::copy_if(words.arcs, std::back_inserter(arcs),
                       [](const Arc& arc) { return is_scored_relation(arc.relation); });
  if (document % 2 == 0) return;
  const auto counts_of = [&](const std::string& test, Index n_rule) {
    return &counts.try_emplace(test, n_rule, n_head_total).first->second;
  };
  for (const Arc& arc : arcs) {
    PairedCounts* const of_arc = counts_of(
        relation_test_name(arc.relation, static_cast<Index>(arc.direction)), n_relation_rule);
    of_arc->add_case();
    const Index offset = arc.later - arc.earlier;
    if (offset <= longest_offset) of_arc->add_rule_hit(offset);
    if (arc.nearest_class != no_position) {
      of_arc->add_rule_hit(longest_offset + 1 + arc.nearest_class);
    }
    arc_counts.push_back(of_arc);
  }
  pronoun_counts = counts_of(pronoun_test_name, n_coreference_rule);
  for (const CoreferenceQuery& query : words.references) {
    if (!query.is_pronoun) continue;
    pronoun_counts->add_case();
    for (std::size_t rule = 0; rule < n_coreference_rule; ++rule) {
      if (query.rule_is_right[rule]) pronoun_counts->add_rule_hit(rule);
    }
  }
}

void PieceCases::count_hits(const std::vector<Index>& largest, const WordStructure& words,
                            Index head_index) const {
  for (std::size_t i = 0; i < arc_counts.size(); ++i) {
    if (largest[arcs[i].later] == arcs[i].earlier) arc_counts[i]->add_head_hits(head_index, 1);
  }
  if (pronoun_counts != nullptr) {
    pronoun_counts->add_head_hits(head_index,
                                  coreference_accuracy(largest, words.references, true).numerator);
  }
}

void Classification::count_earlier_pieces(const Piece& piece) {
  if (piece.index > 0 && counted_document_ == piece.document) return;
  counted_document_ = piece.document;
  document_counts_.clear();
  if (piece.index == 0 || piece.document % 2 == 0) return;
  Forward forward(model_, compute_);
  for (std::uint64_t index = 0; index < piece.index; ++index) {
    const Piece earlier = corpus_->piece(piece.document, index);
    const WordStructure words = word_structure(earlier);
    const PieceCases cases(words, piece.document, n_head_total(), document_counts_);
    arma::mat attention;
    LayerFunction counter(
        [&](const LayerView& view) {
          for (Index head = 0; head < view.pattern.n_slices; ++head) {
            word_attention(view.pattern.slice(head), words, attention);
            cases.count_hits(largest_earlier_words(attention, words), words,
                             view.layer * view.pattern.n_slices + head);
          }
        },
        true);
    LayerObserver* const observers[] = {&counter};
    forward.run(earlier.tokens, observers);
  }
}

// Examples come from a document's first piece.
void Classification::Scores::add_example() {
  if (piece_.index > 0 || !is_example_document(piece_.document) || piece_.token_text.size() < 3) {
    return;
  }
  ExampleDocument example{piece_.token_text, token_sentences(piece_), traits_.words.token_class,
                          example_cases(analysis_.types_, {traits_.source(), similarity_})};
  keep_example(example, statistics_);
  example_cases_ = std::move(example.cases);
}

void Classification::Scores::add_lowered_keys() const {
  if (example_cases_.empty()) return;
  const Index n_token = n_example_token(piece_.tokens.size());
  Array& lowered = statistics_.record(example_lowered, {config_.n_layer, config_.n_head, n_token});
  for (Index layer = 0; layer < config_.n_layer; ++layer) {
    for (Index head = 0; head < config_.n_head; ++head) {
      for (Index query = 0; query < n_token; ++query) {
        const Index key = copy_effects_.lowered_key(layer, head, query);
        lowered(layer, head, query) = key == no_position ? -1 : static_cast<double>(key);
      }
    }
  }
}

HeadSums Classification::Scores::head_sums() const {
  const auto per_head = [&](Shape leading) {
    leading.push_back(config_.n_layer);
    leading.push_back(config_.n_head);
    return leading;
  };
  HeadSums sums{
      {},
      ratio_sum(statistics_, "offset_share", per_head({n_block, n_offset})),
      ratio_sum(statistics_, "offset_mass", per_head({n_block, n_offset})),
      ratio_sum(statistics_, "word_class_share", per_head({n_block, n_word_class})),
      ratio_sum(statistics_, "semantic_null", per_head({n_semantic_permutation})),
      ratio_sum(statistics_, "sentence_sink", per_head({n_block, 2})),
      ratio_sum(statistics_, "sentence_entropy", per_head({n_block, 2})),
      {},
  };
  for (std::size_t i = 0; i < n_head_score; ++i) {
    const char* const name = score_info(static_cast<HeadScore>(i)).name;
    sums.scores.push_back(ratio_sum(statistics_, name, per_head({n_block})));
  }
  for (const Arc& arc : cases_.arcs) {
    sums.arc_hits.push_back(
        &statistics_.sum(relation_hits_name(arc.relation), per_head({n_block, 2})));
  }
  if (!example_cases_.empty()) {
    sums.attended = &statistics_.record(example_attended,
                                        {config_.n_layer, config_.n_head, example_cases_.size()});
  }
  return sums;
}

void Classification::Scores::observe_layer(const LayerView& view) {
  copy_effects_.observe_layer(view);
  const HeadSums sums = head_sums();
  parallel_for(view.pattern.n_slices, arma::mat(), [&](Index head, arma::mat& word_buffer) {
    observe_head(view, head, word_buffer, sums);
  });
  const std::vector<SemanticScore> semantic = semantic_scores(view.pattern, similarity_);
  for (Index head = 0; head < semantic.size(); ++head) {
    sums.of(HeadScore::semantic).add(semantic[head].correlation, block_, view.layer, head);
    for (std::size_t r = 0; r < semantic[head].permuted.size(); ++r) {
      sums.semantic_null.add(semantic[head].permuted[r], r, view.layer, head);
    }
  }
}

void Classification::Scores::end(const PieceEnd& end) {
  const HeadSums sums = head_sums();
  const std::vector<double> scales = final_scales(analysis_.model_, end.resid_final);
  for (Index layer = 0; layer < config_.n_layer; ++layer) {
    for (Index head = 0; head < config_.n_head; ++head) {
      const auto effects = copy_effects_.effects(layer, head, scales);
      for (std::size_t kind = 0; kind < effects.size(); ++kind) {
        constexpr auto first = static_cast<std::size_t>(HeadScore::copy_effect);
        sums.of(static_cast<HeadScore>(first + kind)).add(effects[kind], block_, layer, head);
      }
    }
  }
  add_lowered_keys();
  if (piece_.index + 1 < piece_.n_piece) return;
  for (const auto& [test, counts] : analysis_.document_counts_) counts.add_to(statistics_, test);
  analysis_.document_counts_.clear();
  analysis_.counted_document_.reset();
}

void Classification::Scores::observe_head(const LayerView& view, Index head, arma::mat& word_buffer,
                                          const HeadSums& sums) const {
  const Matrix& pattern = view.pattern.slice(head);
  const Index layer = view.layer;
  const auto add = [&](HeadScore score, const Ratio& ratio) {
    sums.of(score).add(ratio, block_, layer, head);
  };
  const std::vector<double> entropy = query_entropy(pattern);
  const std::vector<Index> largest = largest_keys(pattern);
  add(HeadScore::sink, sink_mass(pattern));
  add(HeadScore::entropy, attention_entropy(entropy));
  add(HeadScore::confidence, attention_confidence(pattern));
  add(HeadScore::distance, attention_distance(pattern));
  add(HeadScore::variability,
      attention_variability(pattern, analysis_.mean_first_[layer * config_.n_head + head]));
  add(HeadScore::previous_token, offset_mass(pattern, 1));
  add(HeadScore::duplicate_token, duplicate_token_mass(pattern, traits_.copies));
  add(HeadScore::rare_token, rare_token_share(largest, piece_.tokens, traits_.rarest));
  if (!traits_.is_punctuation.empty()) {
    add(HeadScore::delimiter, delimiter_share(pattern, traits_.is_punctuation));
  }
  if (!traits_.words.token_class.empty()) {
    const auto shares = word_class_shares(pattern, traits_.words.token_class);
    for (Index i = 0; i < n_word_class; ++i)
      sums.word_classes.add(shares[i], block_, i, layer, head);
  }
  const std::array<double, n_offset> offsets = largest_offset_counts(largest);
  const double n_query = view.n_token > 2 ? static_cast<double>(view.n_token - 2) : 0;
  for (Index offset = 0; offset < n_offset; ++offset) {
    sums.offsets.add({offsets[offset], n_query}, block_, offset, layer, head);
    sums.offset_mass.add(offset_mass(pattern, offset), block_, offset, layer, head);
  }
  std::vector<Index> largest_word;
  if (!traits_.words.tokens.empty()) {
    largest_word = observe_words(pattern, layer, head, word_buffer, sums);
    observe_sentences(pattern, entropy, layer, head, sums);
  }
  for (Index i = 0; i < example_cases_.size(); ++i) {
    const Index token =
        attended_token(example_cases_[i], pattern, largest, largest_word, traits_.words);
    (*sums.attended)(layer, head, i) = token == no_position ? -1 : static_cast<double>(token);
  }
}

std::vector<Index> Classification::Scores::observe_words(const Matrix& pattern, Index layer,
                                                         Index head, arma::mat& word_buffer,
                                                         const HeadSums& sums) const {
  const WordStructure& words = traits_.words;
  word_attention(pattern, words, word_buffer);
  std::vector<Index> largest = largest_earlier_words(word_buffer, words);
  const auto add = [&](HeadScore score, const Ratio& ratio) {
    sums.of(score).add(ratio, block_, layer, head);
  };
  if (words.has_dependencies) {
    add(HeadScore::dependency_alignment, dependency_alignment(word_buffer, words));
  }
  add(HeadScore::coreference, coreference_accuracy(largest, words.references, false));
  add(HeadScore::coreference_pronoun, coreference_accuracy(largest, words.references, true));
  for (std::size_t i = 0; i < cases_.arcs.size(); ++i) {
    const Arc& arc = cases_.arcs[i];
    if (largest[arc.later] == arc.earlier) {
      ++(*sums.arc_hits[i])(block_, static_cast<Index>(arc.direction), layer, head);
    }
  }
  cases_.count_hits(largest, words, layer * config_.n_head + head);
  return largest;
}

void Classification::Scores::observe_sentences(const Matrix& pattern,
                                               const std::vector<double>& entropy, Index layer,
                                               Index head, const HeadSums& sums) const {
  for (Index q = 1; q < pattern.n_cols; ++q) {
    const SentencePronoun sentence = traits_.words.sentence[q];
    if (sentence == SentencePronoun::unknown) continue;
    const auto kind = static_cast<Index>(sentence);
    sums.sentence_sink.add({pattern(0, q), 1}, block_, kind, layer, head);
    sums.sentence_entropy.add({entropy[q], 1}, block_, kind, layer, head);
  }
}

/// The pattern of the head with the largest induction score on one sequence.
void add_induction_pattern(const Model& model, const TokenIds& tokens, ResultsGroup& group) {
  const std::optional<std::size_t> best = largest(group.values("induction").values);
  if (!best) return;
  const HeadIndex head{*best / model.config.n_head, *best % model.config.n_head};
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

ResultsGroup Classification::results(const Statistics& statistics, std::size_t n_bootstrap) const {
  return classification_results(types_, statistics, induction(), model_.config.pruned_heads,
                                n_bootstrap, settings_.seed, options().offset_alone());
}

std::vector<ResultsGroup> Classification::finish(const Statistics& statistics) const {
  const TokenId first_token = induction_first_token(model_, corpus_);
  std::vector<ResultsGroup> groups{results(statistics, settings_.n_bootstrap)};
  add_explained(types_, statistics, settings_.n_bootstrap, settings_.seed, groups.front());
  add_induction_pattern(model_, induction_sequences(model_, first_token, settings_.seed).front(),
                        groups.front());
  if (std::optional<ResultsGroup> examples = examples_group(types_, statistics, groups.front())) {
    groups.push_back(*std::move(examples));
  }
  return groups;
}

std::uint64_t memory(const RunShape& run) {
  constexpr std::uint64_t n_relation = 37;  // number of relations in Universal Dependencies
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(), square = run.n_token * run.n_token;
  const std::uint64_t first = n_variability_position * n_variability_position;
  const std::uint64_t ratios =
      (n_head_score + 2 * n_offset + n_word_class + 4) * n_block * n_head_total +
      n_semantic_permutation * n_head_total + 2 * n_coreference_rule * n_block;
  const std::uint64_t relations = n_relation * 2 * n_block * (n_head_total + n_relation_rule + 1);
  const std::uint64_t paired = 2 * n_relation * paired_bytes(n_relation_rule, n_head_total) +
                               paired_bytes(n_coreference_rule, n_head_total);
  const std::uint64_t n_case = head_type_list().size();  // at a token: at most one a type
  const std::uint64_t examples = std::min(n_example_document, (run.n_document + 1) / 2) *
                                 n_head_total * n_case * n_example_token(run.n_token);
  // Sums; rows of examples; word attention per thread; token similarities; resamples of one score.
  return Statistics::row_bytes * examples + paired +
         Statistics::sum_bytes * (2 * ratios + relations + first * n_head_total + config.d_vocab) +
         CopyEffects::memory(config, run.n_token) +
         LogitLens::bytes(config, run.n_token, run.n_thread, run.settings.engines.screening) +
         Explanation::memory(config, run.n_token, 3 * n_head_total, run.n_thread,
                             run.settings.engines) +
         Statistics::sum_bytes * config.n_layer * config.d_model +
         static_cast<std::uint64_t>(run.n_thread) * square * sizeof(double) +
         square * sizeof(float) +
         n_word_class * 2 * n_head_total * run.settings.n_bootstrap * sizeof(double);
}

}  // namespace

RegisteredAnalysis classification_analysis() {
  return classification_analysis(head_type_list());
}

RegisteredAnalysis classification_analysis(const HeadTypeList& types) {
  RegisteredAnalysis analysis = registered<Classification, ClassificationOptions>(
      classification_info, classification_figures, classification_presentation(), memory);
  analysis.make = [types](const AnalysisContext& context) {
    return std::make_unique<Classification>(context, types);
  };
  return analysis;
}

}  // namespace headscope
