#include "classification/variables.hpp"

#include <ranges>

#include "base/text.hpp"
#include "classification/tests/relations.hpp"
#include "classification/types/registry.hpp"
#include "induction.hpp"

namespace headscope {

const VariableTable& classification_variables() {
  using enum Variable::Type;
  static const std::string documents = "documents resampled",
                           sample = "the documents of the sample resampled";
  static const std::string arcs =
      "UD arcs of this relation whose earlier word is the head (dependent_to_head) or the "
      "dependent (head_to_dependent)";
  static const std::string carrier =
      "by which a head is called syntactic: the relation in relation_passed with the largest gain "
      "over the best rule on even-numbered documents";
  static const std::string without_place = joined(
      head_type_list() | std::views::filter([](const HeadType& type) { return !type.place; }), ", ",
      &HeadType::name);
  static const VariableTable variables{
      {"offset_share", "offset layer head", "1",
       "Share of queries whose largest attention weight, sink excluded, is on the key at this "
       "offset before the query; the nearest key wins ties",
       "Voita et al. 2019", documents},
      {"offset_mass", "offset layer head", "probability",
       "Mean attention to the key at this offset before the query, sink excluded, over queries "
       "that have such a key",
       headscope_definition, documents},
      {"word_class_share", "upos layer head", "1",
       "Share of the attention, sink excluded, on words of each universal part of speech except "
       "PUNCT",
       headscope_definition, documents},
      {"word_class_share_heldout", "upos layer head", "1",
       "word_class_share on odd-numbered documents", headscope_definition, documents},
      {"word_class_baseline", "upos", "1",
       "Share of the available keys, sink excluded, that belong to words of the part of speech"},
      Declaration::integer("word_class", "layer head",
                           "The part of speech that a word_class head attends to, chosen on "
                           "even-numbered documents, as an index along upos; -1 for other heads"),
      Declaration::count("n_document", "", "Documents seen"),
      Declaration::count("n_token", "", "Tokens seen, including prepended first tokens"),
      Declaration::count("n_word", "", "Annotated words seen"),
      Declaration::count("unaligned_words", "",
                         "Words that no token belongs to; they are left out of arcs and mentions"),
      {"relation_accuracy", "relation direction layer head", "1",
       "Share of " + arcs +
           " for which the later word attends most to the earlier word, at word level, among all "
           "earlier words of the document",
       "Clark et al. 2019"},
      Declaration::count("relation_count", "relation direction", "Number of " + arcs),
      {"relation_baseline", "relation_rule relation direction", "1",
       "Accuracy of the best rule of each kind, on all documents. offset: the word at a fixed "
       "offset; word_class: the nearest earlier word of one universal part of speech (not PUNCT), "
       "across sentences of the piece",
       "offset: Clark et al. 2019; word_class: Headscope"},
      {"relation_class", "relation direction", "1",
       "The part of speech that is right most often on odd-numbered documents, or on even-numbered "
       "ones where none is right on odd-numbered ones; empty where no part of speech is ever "
       "right, and with --relation-baseline offset"},
      Declaration::flag(
          "relation_baseline_rule", "relation direction", {"offset", "word_class"},
          "The rule of relation_baseline_heldout; offset where both rules are equally good"),
      {"relation_baseline_heldout_offset", "relation direction", "1",
       "Accuracy of the best fixed word offset on odd-numbered documents, the largest of all "
       "offsets there",
       "Clark et al. 2019"},
      {"relation_baseline_heldout_word_class", "relation direction", "1",
       "Accuracy of the nearest earlier word of relation_class on odd-numbered documents; 0 with "
       "--relation-baseline offset"},
      {"relation_accuracy_heldout", "relation direction layer head", "1",
       "relation_accuracy on odd-numbered documents", "Clark et al. 2019"},
      {"relation_baseline_heldout", "relation direction", "1",
       "The larger of relation_baseline_heldout_offset and relation_baseline_heldout_word_class: "
       "what a syntactic head must exceed"},
      Declaration::count("relation_count_heldout", "relation direction",
                         "relation_count on odd-numbered documents"),
      Declaration::count("relation_documents_heldout", "relation direction",
                         "Odd documents with such an arc"),
      Declaration::flag("relation_tested", "relation direction", {"no", "yes"},
                        "Whether the relation is tested: at least " +
                            std::to_string(static_cast<int>(least_heldout_cases)) + " arcs in " +
                            std::to_string(static_cast<int>(least_heldout_documents)) +
                            " odd-numbered documents"),
      {"relation_offset", "relation direction", "words",
       "The word offset of relation_baseline_heldout_offset, or the best on even-numbered "
       "documents where no offset is right on odd-numbered ones; 0 if no offset is ever right",
       headscope_definition, "", integer},
      {"relation_p", "relation direction layer head", "probability",
       "One-sided p-value of a paired t-test over odd-numbered documents with such an arc: the "
       "head's hits against the hits of relation_baseline_rule; no value for relations that are "
       "not tested and for removed heads"},
      {"relation_q", "relation direction layer head", "probability",
       "relation_p adjusted over all tested relations, directions and heads that are not removed",
       "Benjamini & Hochberg 1995"},
      Declaration::flag("relation_passed", "relation direction layer head", {"no", "yes"},
                        "Whether the head passes the rule for syntactic heads on this relation"),
      {"relation_passed_offset",
       "relation direction layer head",
       "1",
       "Whether the head would pass the rule for syntactic heads if the best fixed word offset "
       "were its only baseline, as in published tests",
       "Clark et al. 2019",
       "",
       flag,
       {"no", "yes"}},
      {"relation_text", "layer head", "1",
       "For a head that passes relation_passed_offset but not relation_passed because the nearest "
       "word of a part of speech is the better rule: a sentence that says so, with the numbers of "
       "the relation on which the head beats the offset by most"},
      Declaration::integer(
          "relation_best_layer", "relation direction",
          "Layer of the most accurate head on even-numbered documents; -1 if there is none"),
      Declaration::integer("relation_best_head", "relation direction",
                           "Number within its layer of the most accurate head on even-numbered "
                           "documents; -1 if there is none"),
      {"relation_best_accuracy_heldout", "relation direction", "1",
       "relation_accuracy_heldout of the head that even-numbered documents chose",
       "Clark et al. 2019", documents},
      {"coreference_baseline", "rule mention", "1",
       "Coreference score of a rule, for all mentions and for pronouns (PRON). nearest: the "
       "nearest preceding mention, by head word; completed_last: the mention that ends last before "
       "the mention's first word, the longest on ties; same_form: the nearest preceding mention "
       "whose head word has the same form, ignoring case, else the nearest mention; agreement: the "
       "nearest preceding mention of the same gender and number (by features of the head words, "
       "else by the forms of English pronouns; two unknown values count as the same), else the "
       "nearest mention",
       "Clark et al. 2019"},
      {"coreference_baseline_heldout", "rule mention", "1",
       "coreference_baseline on odd-numbered documents", "Clark et al. 2019"},
      {"coreference_pronoun_heldout", "layer head", "1",
       "coreference_pronoun on odd-numbered documents", "Clark et al. 2019", documents},
      Declaration::count("coreference_pronoun_count_heldout", "",
                         "Non-first pronouns in odd-numbered documents"),
      {"coreference_p", "layer head", "probability",
       "One-sided p-value of a paired t-test over odd-numbered documents with a pronoun: pronouns "
       "that the head gets right against pronouns that the best rule gets right; no value for "
       "fewer than 30 pronouns or 10 such documents, and for removed heads"},
      {"coreference_q", "layer head", "probability",
       "coreference_p adjusted over all heads that are not removed", "Benjamini & Hochberg 1995"},
      {"{effect}_p", "layer head", "probability",
       "Two-sided p-value of {effect} - {effect}_null by a t-test over documents; over blocks of "
       "documents if there are more than " +
           std::to_string(n_document_block) + "; no value for removed heads"},
      {"{effect}_q", "layer head", "probability",
       "{effect}_p adjusted over all heads that are not removed", "Benjamini & Hochberg 1995"},
      {"semantic_null", "layer head", "correlation",
       "Mean of semantic over 20 random exchanges of embeddings among the document's token types"},
      {"semantic_null_std", "layer head", "correlation",
       "Standard deviation of semantic over those 20 exchanges"},
      {"semantic_z", "layer head", "1", "(semantic - semantic_null) / semantic_null_std"},
      {"induction", "layer head", "probability",
       "Mean attention from the second half of a repeated random sequence to the token after the "
       "query token's first occurrence; the interval is over sequences; no value if the model's "
       "context has no room for a first token and " +
           std::to_string(shortest_induction_half) + " tokens twice",
       "Olsson et al. 2022; TransformerLens", "sequences resampled"},
      {"sentence_sink", "pronoun layer head", "probability",
       "Mean attention to position 0, from tokens of sentences without or with a pronoun (PRON)",
       headscope_definition, documents},
      {"sentence_entropy", "pronoun layer head", "nats",
       "Mean entropy of attention, for tokens of sentences without or with a pronoun (PRON)",
       headscope_definition, documents},
      {"entropy_median", "", "nats", "Median of entropy over heads, removed ones left out",
       headscope_definition, documents},
      {"sink_mean", "", "probability", "Mean of sink over heads, removed ones left out",
       headscope_definition, documents},
      {"type_share", "head_type", "1",
       "Share of heads of the type, removed ones left out; no value where the corpus cannot test "
       "for the type. The resamples vary the scores but keep the significance tests (q, z) of the "
       "whole corpus: for types with such a test the interval is too narrow and may have no width",
       headscope_definition, documents},
      Declaration::flag("type", "head_type layer head", {"no", "yes"},
                        "Whether the head is of the type; the types lie along head_type. {rules}"),
      {"type_margin", "head_type layer head", "1",
       "How far the score lies above the type's threshold: 0 at the threshold, 1 at the highest "
       "possible value; in logits for copying and suppressing, whose effect has no highest value; "
       "no value where the type's significance test failed or could not be made"},
      Declaration::flag("primary", "layer head", {},
                        "The head's type with the largest type_margin; copying and suppressing "
                        "only if the head has no other type, since their margins have no upper "
                        "limit; none if the head has no type"),
      {"positional_offset", "layer head", "tokens",
       "The offset that a positional head attends to; -1 for other heads", headscope_definition, "",
       integer},
      Declaration::integer(
          "syntactic_relation", "layer head",
          "The relation " + carrier + ", as an index along relation; -1 for other heads"),
      Declaration::integer("syntactic_direction", "layer head",
                           "The direction of the relation " + carrier +
                               ", as an index along direction; -1 for other heads"),
      Declaration::count("syntactic_arcs", "layer head",
                         "Held-out arcs of the relation " + carrier + "; 0 for other heads"),
      {"type_score", "head_type layer head", "1",
       "The score that the type's rule compares with its threshold; the negative of the effect for "
       "suppressing; for syntactic that of the relation that type_about names first, no value for "
       "a head that is significant on no relation"},
      {"type_baseline", "head_type layer head", "1",
       "The score that chance or a simple rule would reach"},
      {"type_threshold", "head_type layer head", "1", "The head is of the type from this score on"},
      {"type_about", "head_type layer head", "1",
       "The offset or part of speech of the type's score, or the relations that the head passes, "
       "first the relation of the score"},
      {"type_rule", "head_type", "1", "The type's rule"},
      {"type_sentence", "head_type", "1", "What a head of the type does"},
      {"type_features", "head_type layer head", "1",
       "Features of score_model that the type says the head attends by, separated by blanks; empty "
       "for other heads and for types that name no feature"},
      {"control_type_heads", "control head_type", "count",
       "Number of heads of each type in untrained models of the same shape, on documents spread "
       "evenly over the corpus; no value where these documents cannot test for the type"},
      {"permuted_score", "head_type", "1",
       "95 % quantile (Hazen 1914) of type_score over the heads of models with permuted weights; "
       "heads of the type must reach it; no value for types that are not compared with such "
       "models"},
      {"induction_pattern_layer", "", "1", "Layer of the head with the largest induction",
       "Olsson et al. 2022", "", integer},
      {"induction_pattern_head", "", "1",
       "Number within its layer of the head with the largest induction", "Olsson et al. 2022", "",
       integer},
      {"induction_tokens", "induction_query", "1",
       "Token ids of the first of the repeated random sequences", "Olsson et al. 2022", "",
       integer},
      {"induction_pattern", "induction_query induction_key", "probability",
       "Attention from query to key in induction_tokens, of the head that induction_pattern_layer "
       "and induction_pattern_head name",
       "Olsson et al. 2022"},
      {"explained", "head_type layer head", "1",
       "Share of a head's effect on the loss that its label explains: 1 - (L_B - L) / (L_mean - "
       "L). L: loss on the corpus documents of --explain-documents (for induction heads too, not "
       "on repeated random tokens). L_mean: loss with the head's z replaced by its mean over the "
       "tokens of these documents after position 0. L_B: loss with the head's attention replaced "
       "by the place that its type names, all mass on: the offset; the query (current_token); the "
       "nearest punctuation; the nearest word of the class; the other end of the relation's arc; "
       "the nearest antecedent; the last copy (duplicate); the token after the last copy "
       "(induction); the rarest token by the corpus; position 0 (sink). Queries for which the type "
       "names no place get the head's mean attention over such queries: its share to position 0, "
       "the rest by distance. No value for types that name no place (" +
           without_place +
           "), for a place that no query of these documents has, and where the interval of L_mean "
           "- L does not lie above 0 by more than float32 rounds L",
       headscope_definition, sample},
      {"explained_control", "head_type layer head", "1",
       "explained with a wrong place, where possible of a type that the head does not have, at the "
       "same queries: for syntactic the rule of the relation's baseline, for induction the last "
       "copy, for duplicate the token after the last copy, for positional the query, else the "
       "previous token, the query or position 0",
       headscope_definition, sample},
      {"explained_gain", "head_type layer head", "1",
       "explained minus explained_control, paired by document", headscope_definition, sample},
      {"explained_where_said", "head_type layer head", "1",
       "explained with the head's attention replaced only at queries for which its type names a "
       "place; other queries keep the head's attention. Where explained_where_said is larger than "
       "explained, the head has effects at tokens for which the label names no place. It has no "
       "control",
       headscope_definition, sample},
      {"explained_place_mass", "head_type layer head", "probability",
       "Mean attention to the place of explained, at queries for which the type names a place. It "
       "may be small: heads may get a type by another measure (induction heads by repeated random "
       "tokens)"},
      {"explained_control_overlap", "head_type layer head", "1",
       "Among queries for which the type names a place, the share where explained_control uses the "
       "same place. Where this share is near 1, explained_gain says little"},
      {"mean_ablation_increase", "layer head", "nats",
       "L_mean - L of explained, per predicted token; for heads with a label that names a place",
       headscope_definition, sample},
      Declaration::flag(
          "explained_verdict", "head_type layer head", {"not_measured", "unexplained", "explained"},
          "explained: the intervals of explained and explained_gain lie above 0; unexplained: one "
          "of these intervals does not lie above 0; not_measured: explained has no value"),
      {"explained_text", "head_type layer head", "1",
       "How much of the head's effect stays when its attention is replaced by its label's place, "
       "in words"},
      Declaration::count("explained_documents", "",
                         "Documents on which heads ran with replaced attention"),
  };
  return variables;
}

}  // namespace headscope
