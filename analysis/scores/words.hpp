#pragma once

#include <array>
#include <string>
#include <vector>

#include "headscope/corpus.hpp"
#include "scores/pattern.hpp"

/// Scores of one head between words: syntax and coreference. Patterns as in
/// scores/pattern.hpp. Position 0, the sink, belongs to no word.
namespace headscope {

/// The end of an arc that comes later and attends back to the other.
enum class ArcDirection { dependent_to_head, head_to_dependent };

/// The universal parts of speech but PUNCT, as CoNLL-U names them, and in plain words.
inline constexpr Index n_word_class = 16;
struct WordClass {
  const char *name, *words;
};

inline constexpr std::array<WordClass, n_word_class> word_classes{{
    {"ADJ", "adjectives"},
    {"ADP", "adpositions"},
    {"ADV", "adverbs"},
    {"AUX", "auxiliaries"},
    {"CCONJ", "coordinating conjunctions"},
    {"DET", "determiners"},
    {"INTJ", "interjections"},
    {"NOUN", "nouns"},
    {"NUM", "numerals"},
    {"PART", "particles"},
    {"PRON", "pronouns"},
    {"PROPN", "proper nouns"},
    {"SCONJ", "subordinating conjunctions"},
    {"SYM", "symbols"},
    {"VERB", "verbs"},
    {"X", "words of another class"},
}};
/// Its place among word_classes; no_position for PUNCT, no part of speech and any other text.
Index word_class_of(const std::string& upos);

/// A dependency arc, read from its later word to its earlier one.
struct Arc {
  Index later = 0;
  Index earlier = 0;
  std::string relation;
  ArcDirection direction = ArcDirection::dependent_to_head;
  /// The class of the earlier word, if it is the nearest word of its class before the later;
  /// no_position otherwise. Only a rule that takes the nearest word of this class finds the arc.
  Index nearest_class = no_position;
};

/// Simple rules for the mention that a mention goes back to. `nearest`: the nearest preceding one,
/// that of the last head word before the mention's own. `completed_last`: of the mentions that end
/// before the mention's first word, the one whose last word comes last, the longest on ties.
/// `same_form`: the nearest preceding one whose head word has the same form, whatever the case of
/// ASCII letters, else the nearest. `agreement`: the nearest preceding one with the same gender and
/// the same number, none given being a value of its own, else the nearest.
enum class CoreferenceRule { nearest, completed_last, same_form, agreement };
inline constexpr std::size_t n_coreference_rule = 4;
inline constexpr std::array<const char*, n_coreference_rule> coreference_rule_names{
    "nearest", "completed_last", "same_form", "agreement"};

/// Gender and number of a word: its UD features, else those of an English pronoun's form; empty
/// where neither says.
struct Agreement {
  std::string gender, number;
  bool operator==(const Agreement&) const = default;
};

Agreement agreement_of(const Word& word);

/// A mention of an entity that was mentioned before.
struct CoreferenceQuery {
  Index word = 0;                  ///< head word of the mention
  std::vector<Index> antecedents;  ///< earlier head words of the same entity
  bool is_pronoun = false;
  /// Whether the mention that each rule takes is of the same entity.
  std::array<bool, n_coreference_rule> rule_is_right{};
};

/// Whether a token's sentence has a pronoun.
enum class SentencePronoun : signed char { unknown = -1, without = 0, with = 1 };

/// One piece's annotation as the scores need it.
struct WordStructure {
  std::vector<std::vector<Index>> tokens;  ///< of each word, without position 0
  std::vector<Arc> arcs;                   ///< between words that have tokens, every relation
  bool has_dependencies = false;           ///< the document has; a piece may be without arcs
  std::vector<CoreferenceQuery> references;
  std::vector<SentencePronoun> sentence;  ///< of each token of the piece
  std::vector<Index> word_class;          ///< of each word, along word_classes
  std::vector<Index> token_class;         ///< of each token; empty if no word has a part of speech
  Index n_unaligned = 0;                  ///< words without a token
};

WordStructure word_structure(const Piece& piece);

/// `root` and `punct` are left out of the relation scores.
bool is_scored_relation(const std::string& relation);

/// Word-level attention: to a word, the sum over its tokens; from a word, the mean over its tokens.
/// @param attention  n_word x n_word, earlier word x later word, overwritten; only entries of an
///                   earlier row are set.
void word_attention(const Matrix& pattern, const WordStructure& words, arma::mat& attention);

/// For each word the earlier word with the largest attention, the nearest on ties; no_position if
/// the word or every earlier word has no token.
std::vector<Index> largest_earlier_words(const arma::mat& attention, const WordStructure& words);

/// Share of the attention from words to earlier words that follows a dependency arc.
/// Source: Vig & Belinkov 2019, "dependency alignment".
Ratio dependency_alignment(const arma::mat& attention, const WordStructure& words);

/// The same for a head that spreads evenly over the earlier words.
Ratio dependency_alignment_baseline(const WordStructure& words);

/// The same for a head that attends to the word before.
Ratio dependency_alignment_previous(const WordStructure& words);

/// Attention on the tokens of each word class over the attention on all keys but the sink, queries
/// q >= 2.
/// @param token_class  of WordStructure, not empty.
std::array<Ratio, n_word_class> word_class_shares(const Matrix& pattern,
                                                  const std::vector<Index>& token_class);

/// Each class's share of the keys 1 .. q, over all queries q >= 2.
std::array<Ratio, n_word_class> word_class_baselines(const std::vector<Index>& token_class);

/// Share of mentions whose most attended earlier word is the head word of an antecedent.
Ratio coreference_accuracy(const std::vector<Index>& largest,
                           const std::vector<CoreferenceQuery>& references, bool pronouns_only);

/// The same for a rule.
Ratio coreference_rule_accuracy(const std::vector<CoreferenceQuery>& references,
                                CoreferenceRule rule, bool pronouns_only);

}  // namespace headscope
