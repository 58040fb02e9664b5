#include "classification/passes/piece_scores.hpp"

#include "base/thread_errors.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "scores/pattern.hpp"
#include "scores/tokens.hpp"

namespace headscope {
namespace {

RatioSum ratio_sum(DocumentStatistics& statistics, const std::string& name, const Shape& shape) {
  return {&statistics.sum(name, shape), &statistics.sum(weight_name(name), shape)};
}

}  // namespace

PieceScores::PieceScores(const ScoringInput& input, const Piece& piece, DocumentCounts& counts,
                         DocumentStatistics& statistics)
    : input_(input),
      config_(input.model.config),
      piece_(piece),
      statistics_(statistics),
      counts_(counts),
      traits_(place_source(piece, input.token_counts)),
      block_(document_block(piece.document, input.n_document)),
      cases_(traits_.words, piece.document, input.n_head_total(), counts),
      similarity_(piece.tokens, input.model.W_E, n_semantic_permutation,
                  CounterRandom(input.seed, piece.document).value(piece.index), 0),
      copy_effects_(input.model, input.attribution, input.lens, piece.tokens) {
  add_baselines();
  add_arcs();
  add_references();
  add_example();
}

void PieceScores::add_baselines() {
  const Index n_token = piece_.tokens.size();
  const auto add = [&](Baseline baseline, const Ratio& ratio) {
    ratio_sum(statistics_, baseline_info(baseline).name, {n_block}).add(ratio, block_);
  };
  add(Baseline::delimiter_baseline, delimiter_baseline(traits_.is_punctuation));
  add(Baseline::distance_uniform, uniform_attention_distance(n_token));
  add(Baseline::distance_furthest, furthest_attention_distance(n_token));
  add(Baseline::dependency_alignment_baseline,
      traits_.words.has_dependencies ? dependency_alignment_baseline(traits_.words) : Ratio());
  add(Baseline::dependency_alignment_previous,
      traits_.words.has_dependencies ? dependency_alignment_previous(traits_.words) : Ratio());
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

void PieceScores::add_arcs() {
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

void PieceScores::add_references() {
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

// Examples come from a document's first piece.
void PieceScores::add_example() {
  if (piece_.index > 0 || !is_example_document(piece_.document) || piece_.token_text.size() < 3) {
    return;
  }
  ExampleDocument example{piece_.token_text, token_sentences(piece_), traits_.words.token_class,
                          example_cases(input_.types, {traits_, similarity_})};
  keep_example(example, statistics_);
  example_cases_ = std::move(example.cases);
}

void PieceScores::add_lowered_keys() const {
  if (example_cases_.empty()) return;
  const Index n_token = n_example_token(piece_.tokens.size());
  Array& lowered = statistics_.record(example_lowered, {config_.n_layer, config_.n_head, n_token});
  for (Index layer = 0; layer < config_.n_layer; ++layer) {
    for (Index head = 0; head < config_.n_head; ++head) {
      for (Index query = 0; query < n_token; ++query) {
        lowered(layer, head, query) =
            recorded_position(copy_effects_.lowered_key(layer, head, query));
      }
    }
  }
}

HeadSums PieceScores::head_sums() const {
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

void PieceScores::observe_layer(const LayerView& view) {
  copy_effects_.observe_layer(view);
  const HeadSums sums = head_sums();
  for_each_in_parallel(view.pattern.n_slices, arma::mat(), [&](Index head, arma::mat& word_buffer) {
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

void PieceScores::end(const PieceEnd& end) {
  const HeadSums sums = head_sums();
  const std::vector<double> scales = final_scales(input_.model, end.resid_final);
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
  for (const auto& [test, counts] : counts_) counts.add_to(statistics_, test);
  counts_.clear();
}

void PieceScores::observe_head(const LayerView& view, Index head, arma::mat& word_buffer,
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
  add(HeadScore::distance_even, even_attention_distance(pattern));
  add(HeadScore::variability,
      attention_variability(pattern, input_.mean_first[layer * config_.n_head + head]));
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
    (*sums.attended)(layer, head, i) = recorded_position(
        attended_token(example_cases_[i], pattern, largest, largest_word, traits_.words));
  }
}

std::vector<Index> PieceScores::observe_words(const Matrix& pattern, Index layer, Index head,
                                              arma::mat& word_buffer, const HeadSums& sums) const {
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

void PieceScores::observe_sentences(const Matrix& pattern, const std::vector<double>& entropy,
                                    Index layer, Index head, const HeadSums& sums) const {
  for (Index q = 1; q < pattern.n_cols; ++q) {
    const SentencePronoun sentence = traits_.words.sentence[q];
    if (sentence == SentencePronoun::unknown) continue;
    const auto kind = static_cast<Index>(sentence);
    sums.sentence_sink.add({pattern(0, q), 1}, block_, kind, layer, head);
    sums.sentence_entropy.add({entropy[q], 1}, block_, kind, layer, head);
  }
}

std::uint64_t PieceScores::bytes(const RunShape& run, std::size_t n_type) {
  const std::uint64_t n_head_total = run.n_head_total(), square = run.n_token * run.n_token;
  // Of head_sums, each with its weight.
  const std::uint64_t of_head =
      n_block * (n_head_score + 2 * n_offset + n_word_class + 2 + 2) + n_semantic_permutation;
  const std::uint64_t references = n_block * n_coreference_rule * 2;
  // Of each relation and direction: hits by head, arcs by offset and class, and all arcs.
  const std::uint64_t n_test = 2 * run.n_relation;
  const std::uint64_t relations = n_test * n_block * (n_head_total + n_relation_rule + 1);
  const std::uint64_t paired = n_test * paired_bytes(n_relation_rule, n_head_total) +
                               paired_bytes(n_coreference_rule, n_head_total);
  const std::uint64_t word_attention = square * sizeof(double),
                      token_similarity = square * sizeof(float);
  return Statistics::sum_bytes * (2 * (of_head * n_head_total + references) + relations) + paired +
         example_bytes(run, n_type) + CopyEffects::bytes(run.config, run.n_token) +
         static_cast<std::uint64_t>(run.n_thread) * word_attention + token_similarity;
}

}  // namespace headscope
