#include "classification/classification.hpp"

#include <algorithm>
#include <optional>

#include "classification/examples.hpp"
#include "classification/pattern.hpp"
#include "classification/results.hpp"
#include "classification/semantic.hpp"
#include "classification/sums.hpp"
#include "classification/tokens.hpp"
#include "classification/words.hpp"
#include "headscope/error.hpp"
#include "headscope/random.hpp"
#include "induction.hpp"
#include "parallel.hpp"
#include "report_text.hpp"

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
    .passes = {"counting tokens", "scoring heads"},
};

/// Sums the patterns of the first positions; variability is measured from their mean.
class FirstPositions : public LayerObserver {
 public:
  explicit FirstPositions(Array& sum) : sum_(sum) {}

  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override {
    for (Index h = 0; h < view.pattern.n_slices; ++h) {
      for (Index q = 0; q < view.n_token; ++q) {
        for (Index k = 0; k <= q; ++k) sum_(view.layer, h, q, k) += view.pattern(k, q, h);
      }
    }
  }

 private:
  Array& sum_;  // layer x head x query x key
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
  RatioSum offsets, offset_mass, semantic_null, sentence_sink, sentence_entropy;
  std::vector<Array*> arc_hits;  ///< per scored arc, the hits of its relation
  Array* attended = nullptr;     ///< layer, head, case; null if examples are not chosen from it

  const RatioSum& of(HeadScore score) const { return scores[static_cast<std::size_t>(score)]; }
};

/// The piece's tokens and annotation as the scores need them; the same for all heads.
struct PieceTraits {
  TokenIds tokens;
  Index block = 0;
  std::vector<unsigned char> is_punctuation;
  std::vector<std::vector<Index>> copies;
  std::vector<std::optional<TokenId>> rarest;
  WordStructure words;
  std::vector<Arc> scored_arcs;
  std::optional<TokenSimilarity> similarity;
  std::uint64_t document = 0;
  std::vector<ExampleCase> example_cases;  ///< empty if examples are not chosen from it
};

class Classification : public Analysis {
 public:
  explicit Classification(const AnalysisContext& context)
      : model_(context.model), corpus_(context.corpus), settings_(context.settings) {}

  /// First pass: token counts and the mean pattern of the first positions. Second: the scores.
  void begin_pass(int pass, const Statistics& earlier) override;
  bool begin_piece(const Piece& piece, DocumentStatistics& statistics) override;
  PieceCost piece_cost(int pass, std::uint64_t /*document*/) const override {
    // The first pass runs the first positions alone.
    return pass == 0 ? PieceCost{.observes = false, .forward_passes = 0.1} : PieceCost{};
  }
  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view, DocumentStatistics& statistics) override;
  std::vector<ResultsGroup> finish(const Statistics& statistics) const override;

 private:
  void count_tokens(const Piece& piece, DocumentStatistics& statistics);
  void add_baselines(const Piece& piece, DocumentStatistics& statistics) const;
  void add_arcs(DocumentStatistics& statistics);
  void add_example(const Piece& piece, DocumentStatistics& statistics);
  HeadSums head_sums(DocumentStatistics& statistics) const;
  void observe_head(const LayerView& view, Index head, arma::mat& word_buffer,
                    const HeadSums& sums) const;
  /// Each word's most attended earlier word.
  std::vector<Index> observe_words(const Matrix& pattern, Index layer, Index head,
                                   arma::mat& word_buffer, const HeadSums& sums) const;
  void observe_sentences(const Matrix& pattern, const std::vector<double>& entropy, Index layer,
                         Index head, const HeadSums& sums) const;

  const Model& model_;
  const Corpus* corpus_;
  const AnalysisSettings& settings_;
  int pass_ = 0;
  std::unique_ptr<Forward> first_forward_;
  std::vector<double> token_counts_;
  std::vector<arma::mat> mean_first_;  // by unit, key x query
  PieceTraits piece_;
};

void Classification::begin_pass(int pass, const Statistics& earlier) {
  pass_ = pass;
  const ModelConfig& config = model_.config;
  if (pass == 0) {
    first_forward_ = std::make_unique<Forward>(model_, settings_.pass_engine());
    return;
  }
  first_forward_.reset();
  token_counts_ = earlier.total("token_count").values;
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
  FirstPositions observer(
      statistics.sum("first_pattern", {model_.config.n_layer, model_.config.n_head,
                                       n_variability_position, n_variability_position}));
  LayerObserver* const observers[] = {&observer};
  first_forward_->run(std::span(piece.tokens).first(n_first), observers);
}

bool Classification::begin_piece(const Piece& piece, DocumentStatistics& statistics) {
  if (pass_ == 0) {
    count_tokens(piece, statistics);
    return false;
  }
  piece_.tokens = piece.tokens;
  piece_.block = piece.document % n_block;
  piece_.is_punctuation = punctuation_tokens(piece);
  piece_.copies = earlier_copies(piece.tokens);
  piece_.rarest = rarest_tokens(piece.tokens, token_counts_);
  piece_.words = word_structure(piece);
  piece_.similarity.emplace(piece.tokens, model_.W_E, n_semantic_permutation,
                            CounterRandom(settings_.seed, piece.document).value(piece.index), 0);
  add_baselines(piece, statistics);
  add_arcs(statistics);
  add_example(piece, statistics);
  return true;
}

void Classification::add_baselines(const Piece& piece, DocumentStatistics& statistics) const {
  const Index n_token = piece.tokens.size();
  const auto& references = piece_.words.references;
  const auto add = [&](Baseline baseline, const Ratio& ratio) {
    ratio_sum(statistics, baseline_info(baseline).name, {n_block}).add(ratio, piece_.block);
  };
  add(Baseline::delimiter_baseline, delimiter_baseline(piece_.is_punctuation));
  add(Baseline::distance_uniform, uniform_attention_distance(n_token));
  add(Baseline::distance_furthest, furthest_attention_distance(n_token));
  add(Baseline::dependency_alignment_baseline,
      piece.has_dependencies ? dependency_alignment_baseline(piece_.words) : Ratio());
  for (const bool pronouns_only : {false, true}) {
    add(pronouns_only ? Baseline::coreference_pronoun_baseline : Baseline::coreference_baseline,
        nearest_mention_accuracy(references, pronouns_only));
    add(pronouns_only ? Baseline::coreference_pronoun_baseline_completed
                      : Baseline::coreference_baseline_completed,
        completed_mention_accuracy(references, pronouns_only));
  }
  const auto count = [&](const char* name, Index n) {
    statistics.sum(name, {n_block})(piece_.block) += static_cast<double>(n);
  };
  count("n_document", piece.index == 0 ? 1 : 0);
  count("n_token", n_token);
  count("n_word", piece.words.size());
  count("n_unaligned", piece_.words.n_unaligned);
}

void Classification::add_arcs(DocumentStatistics& statistics) {
  piece_.scored_arcs.clear();
  for (const Arc& arc : piece_.words.arcs) {
    if (!is_scored_relation(arc.relation)) continue;
    const auto direction = static_cast<Index>(arc.direction);
    ++statistics.sum(relation_count_name(arc.relation), {n_block, 2})(piece_.block, direction);
    Array& offsets =
        statistics.sum(relation_offsets_name(arc.relation), {n_block, 2, longest_offset + 1});
    const Index offset = arc.later - arc.earlier;
    if (offset <= longest_offset) ++offsets(piece_.block, direction, offset);
    piece_.scored_arcs.push_back(arc);
  }
}

// Examples come from a document's first piece.
void Classification::add_example(const Piece& piece, DocumentStatistics& statistics) {
  piece_.document = piece.document;
  piece_.example_cases.clear();
  if (piece.index > 0 || !is_example_document(piece.document) || piece.token_text.size() < 3)
    return;
  ExampleDocument example{piece.token_text, token_sentences(piece),
                          example_cases({piece_.tokens, piece_.is_punctuation, piece_.copies,
                                         piece_.rarest, piece_.words})};
  keep_example(example, piece.document, statistics);
  piece_.example_cases = std::move(example.cases);
}

HeadSums Classification::head_sums(DocumentStatistics& statistics) const {
  const auto per_head = [&](Shape leading) {
    leading.push_back(model_.config.n_layer);
    leading.push_back(model_.config.n_head);
    return leading;
  };
  HeadSums sums{
      {},
      ratio_sum(statistics, "offset_share", per_head({n_block, n_offset})),
      ratio_sum(statistics, "offset_mass", per_head({n_block, n_offset})),
      ratio_sum(statistics, "semantic_null", per_head({n_semantic_permutation})),
      ratio_sum(statistics, "sentence_sink", per_head({n_block, 2})),
      ratio_sum(statistics, "sentence_entropy", per_head({n_block, 2})),
      {},
  };
  for (std::size_t i = 0; i < n_head_score; ++i) {
    const char* const name = score_info(static_cast<HeadScore>(i)).name;
    sums.scores.push_back(ratio_sum(statistics, name, per_head({n_block})));
  }
  for (const Arc& arc : piece_.scored_arcs) {
    sums.arc_hits.push_back(
        &statistics.sum(relation_hits_name(arc.relation), per_head({n_block, 2})));
  }
  if (!piece_.example_cases.empty()) {
    sums.attended =
        &statistics.row(example_attended_name(piece_.document),
                        {model_.config.n_layer, model_.config.n_head, piece_.example_cases.size()});
  }
  return sums;
}

void Classification::observe_layer(const LayerView& view, DocumentStatistics& statistics) {
  const HeadSums sums = head_sums(statistics);
  parallel_for(view.pattern.n_slices, arma::mat(), [&](Index head, arma::mat& word_buffer) {
    observe_head(view, head, word_buffer, sums);
  });
  const std::vector<SemanticScore> semantic = semantic_scores(view.pattern, *piece_.similarity);
  for (Index head = 0; head < semantic.size(); ++head) {
    sums.of(HeadScore::semantic).add(semantic[head].correlation, piece_.block, view.layer, head);
    for (std::size_t r = 0; r < semantic[head].permuted.size(); ++r) {
      sums.semantic_null.add(semantic[head].permuted[r], r, view.layer, head);
    }
  }
}

void Classification::observe_head(const LayerView& view, Index head, arma::mat& word_buffer,
                                  const HeadSums& sums) const {
  const Matrix& pattern = view.pattern.slice(head);
  const Index layer = view.layer;
  const auto add = [&](HeadScore score, const Ratio& ratio) {
    sums.of(score).add(ratio, piece_.block, layer, head);
  };
  const std::vector<double> entropy = query_entropy(pattern);
  const std::vector<Index> largest = largest_keys(pattern);
  add(HeadScore::sink, sink_mass(pattern));
  add(HeadScore::entropy, attention_entropy(entropy));
  add(HeadScore::confidence, attention_confidence(pattern));
  add(HeadScore::distance, attention_distance(pattern));
  add(HeadScore::variability,
      attention_variability(pattern, mean_first_[layer * model_.config.n_head + head]));
  add(HeadScore::previous_token, offset_mass(pattern, 1));
  add(HeadScore::duplicate_token, duplicate_token_mass(pattern, piece_.copies));
  add(HeadScore::rare_token, rare_token_share(largest, piece_.tokens, piece_.rarest));
  if (!piece_.is_punctuation.empty()) {
    add(HeadScore::delimiter, delimiter_share(pattern, piece_.is_punctuation));
  }
  const std::array<double, n_offset> offsets = largest_offset_counts(largest);
  const double n_query = view.n_token > 2 ? static_cast<double>(view.n_token - 2) : 0;
  for (Index offset = 0; offset < n_offset; ++offset) {
    sums.offsets.add({offsets[offset], n_query}, piece_.block, offset, layer, head);
    sums.offset_mass.add(offset_mass(pattern, offset), piece_.block, offset, layer, head);
  }
  std::vector<Index> largest_word;
  if (!piece_.words.tokens.empty()) {
    largest_word = observe_words(pattern, layer, head, word_buffer, sums);
    observe_sentences(pattern, entropy, layer, head, sums);
  }
  for (Index i = 0; i < piece_.example_cases.size(); ++i) {
    const Index token =
        attended_token(piece_.example_cases[i], largest, largest_word, piece_.words);
    (*sums.attended)(layer, head, i) = token == no_position ? -1 : static_cast<double>(token);
  }
}

std::vector<Index> Classification::observe_words(const Matrix& pattern, Index layer, Index head,
                                                 arma::mat& word_buffer,
                                                 const HeadSums& sums) const {
  const WordStructure& words = piece_.words;
  word_attention(pattern, words, word_buffer);
  std::vector<Index> largest = largest_earlier_words(word_buffer, words);
  const auto add = [&](HeadScore score, const Ratio& ratio) {
    sums.of(score).add(ratio, piece_.block, layer, head);
  };
  if (!words.arcs.empty()) {
    add(HeadScore::dependency_alignment, dependency_alignment(word_buffer, words));
  }
  add(HeadScore::coreference, coreference_accuracy(largest, words.references, false));
  add(HeadScore::coreference_pronoun, coreference_accuracy(largest, words.references, true));
  for (std::size_t i = 0; i < piece_.scored_arcs.size(); ++i) {
    const Arc& arc = piece_.scored_arcs[i];
    if (largest[arc.later] == arc.earlier) {
      ++(*sums.arc_hits[i])(piece_.block, static_cast<Index>(arc.direction), layer, head);
    }
  }
  return largest;
}

void Classification::observe_sentences(const Matrix& pattern, const std::vector<double>& entropy,
                                       Index layer, Index head, const HeadSums& sums) const {
  for (Index q = 1; q < pattern.n_cols; ++q) {
    const SentencePronoun sentence = piece_.words.sentence[q];
    if (sentence == SentencePronoun::unknown) continue;
    const auto kind = static_cast<Index>(sentence);
    sums.sentence_sink.add({pattern(0, q), 1}, piece_.block, kind, layer, head);
    sums.sentence_entropy.add({entropy[q], 1}, piece_.block, kind, layer, head);
  }
}

/// The pattern of the head with the largest induction score on one sequence.
void add_induction_pattern(const Model& model, const TokenIds& tokens, ResultsGroup& group) {
  const std::optional<std::size_t> best = largest(group.variable("induction").values.values);
  if (!best) return;
  const HeadIndex head{*best / model.config.n_head, *best % model.config.n_head};
  const Matrix pattern = head_pattern(model, tokens, head);
  Array by_query({tokens.size(), tokens.size()});
  for (Index query = 0; query < tokens.size(); ++query) {
    for (Index key = 0; key <= query; ++key) by_query(query, key) = pattern(key, query);
  }
  group.add_dimension(Dimension::count("induction_query", tokens.size()));
  group.add_dimension(Dimension::count("induction_key", tokens.size()));
  const std::string source = "Olsson et al. 2022";
  const auto add = [&](const char* name, double value, const char* definition) {
    group.add(Variable::integer(name, {}, Array(Shape{}, value), definition, "1", source));
  };
  add("induction_pattern_layer", static_cast<double>(head.layer),
      "Layer of the head with the largest induction");
  add("induction_pattern_head", static_cast<double>(head.head),
      "Number within its layer of the head with the largest induction");
  group.add(Variable::integer("induction_tokens", {"induction_query"},
                              Array({tokens.size()}, {tokens.begin(), tokens.end()}),
                              "Token ids of the first of the repeated random sequences", "1",
                              source));
  group.add(Variable::real("induction_pattern", {"induction_query", "induction_key"},
                           std::move(by_query),
                           "Attention of head induction_pattern_head of layer "
                           "induction_pattern_layer from query to key in induction_tokens",
                           "probability", source));
}

std::vector<ResultsGroup> Classification::finish(const Statistics& statistics) const {
  const TokenId first_token = induction_first_token(model_, corpus_);
  const Array induction = induction_scores(model_, first_token, settings_.seed);
  std::vector<ResultsGroup> groups{classification_results(
      statistics, induction, model_.config.pruned_heads, settings_.n_bootstrap, settings_.seed)};
  add_induction_pattern(model_, induction_sequences(model_, first_token, settings_.seed).front(),
                        groups.front());
  if (std::optional<ResultsGroup> examples = examples_group(statistics, groups.front())) {
    groups.push_back(*std::move(examples));
  }
  return groups;
}

std::uint64_t memory(const RunShape& run) {
  constexpr std::uint64_t n_relation = 37;  // number of relations in Universal Dependencies
  const ModelConfig& config = run.config;
  const std::uint64_t n_unit = run.n_unit(), square = run.n_token * run.n_token;
  const std::uint64_t first = n_variability_position * n_variability_position;
  const std::uint64_t ratios =
      (n_head_score + 2 * n_offset + 4) * n_block * n_unit + n_semantic_permutation * n_unit;
  const std::uint64_t relations = n_relation * 2 * n_block * (n_unit + longest_offset + 2);
  constexpr std::uint64_t n_case = 7;  // at a token: the types seen at tokens and at words
  const std::uint64_t examples = std::min(n_example_document, (run.n_document + 1) / 2) * n_unit *
                                 n_case * std::min<std::uint64_t>(run.n_token, most_example_tokens);
  // Sums; rows of examples; word attention per thread; token similarities; resamples of one score.
  return Statistics::row_bytes * examples +
         Statistics::sum_bytes * (2 * ratios + relations + first * n_unit + config.d_vocab) +
         static_cast<std::uint64_t>(run.n_thread) * square * sizeof(double) +
         square * sizeof(float) + 2 * n_offset * n_unit * run.settings.n_bootstrap * sizeof(double);
}

}  // namespace

RegisteredAnalysis classification_analysis() {
  return {classification_info,
          [](const AnalysisContext& context) { return std::make_unique<Classification>(context); },
          classification_figures, memory};
}

}  // namespace headscope
