#include "classification/variables.hpp"

#include "classification/tests/relations.hpp"

namespace headscope {
namespace {

VariableTable make_variables() {
  using enum Variable::Type;
  const std::string documents = "documents resampled",
                    sample = "the documents of the sample resampled";
  const std::string arcs =
      "UD arcs of this relation whose later word attends back to the earlier one, which is the "
      "head (dependent_to_head) or the dependent (head_to_dependent)";
  const std::string carrier =
      "that a syntactic head claims: of those in relation_passed the one where it gains most over "
      "the best rule on documents of even number";
  return {
      {"offset_share", "offset layer head", "1",
       "Share of queries, sink excluded, whose largest weight is on the key at this offset before "
       "the query; the nearest key wins ties",
       "Voita et al. 2019", documents},
      {"offset_mass", "offset layer head", "probability",
       "Mean attention to the key at this offset before the query, sink excluded, over the queries "
       "that have this key",
       own_definition, documents},
      {"word_class_share", "upos layer head", "1",
       "Share of the attention, sink excluded, on tokens of words of each universal part of speech "
       "but PUNCT",
       own_definition, documents},
      {"word_class_share_heldout", "upos layer head", "1",
       "word_class_share over documents of odd number", own_definition, documents},
      {"word_class_baseline", "upos", "1",
       "Share of the keys available, sink excluded, that tokens of words of the part of speech "
       "are"},
      {"word_class", "layer head", "1",
       "The part of speech that a word_class head looks for, as an index along upos: documents of "
       "even number choose it; -1 for other heads",
       own_definition, "", integer},
      {"n_document", "", "count", "Documents seen", own_definition, "", integer},
      {"n_token", "", "count", "Tokens seen, with those prepended", own_definition, "", integer},
      {"n_word", "", "count", "Annotated words seen", own_definition, "", integer},
      {"unaligned_words", "", "count",
       "Words to which no token belongs; they take part in no arc and no mention", own_definition,
       "", integer},
      {"relation_accuracy", "relation direction layer head", "1",
       "Share of " + arcs +
           ", in which the earlier word of the document with the largest word-level attention is "
           "the arc's other end",
       "Clark et al. 2019"},
      {"relation_count", "relation direction", "count", "Number of " + arcs, own_definition, "",
       integer},
      {"relation_baseline", "relation_rule relation direction", "1",
       "The accuracy over all documents of the best rule of each kind. offset: the word at a fixed "
       "offset; word_class: the nearest earlier word of the piece, across sentences, of one "
       "universal part of speech (not PUNCT)",
       "offset: Clark et al. 2019; word_class: Headscope"},
      {"relation_class", "relation direction", "1",
       "The part of speech that is most often right on documents of odd number; empty where none "
       "is "
       "right once, and with --relation-baseline offset",
       own_definition, "", text},
      {"relation_baseline_rule",
       "relation direction",
       "1",
       "The rule of relation_baseline_heldout; offset where both are as good",
       own_definition,
       "",
       flag,
       {"offset", "word_class"}},
      {"relation_baseline_heldout_offset", "relation direction", "1",
       "Accuracy over documents of odd number of the best fixed word offset: the better there of "
       "the offset best over documents of even number and the one best over those of odd number",
       "Clark et al. 2019"},
      {"relation_baseline_heldout_word_class", "relation direction", "1",
       "Accuracy over documents of odd number of the nearest earlier word of relation_class; 0 "
       "with "
       "--relation-baseline offset"},
      {"relation_accuracy_heldout", "relation direction layer head", "1",
       "relation_accuracy over documents of odd number", "Clark et al. 2019"},
      {"relation_baseline_heldout", "relation direction", "1",
       "The larger of relation_baseline_heldout_offset and relation_baseline_heldout_word_class: "
       "what "
       "a syntactic head must exceed"},
      {"relation_count_heldout", "relation direction", "count",
       "relation_count over documents of odd number", own_definition, "", integer},
      {"relation_documents_heldout", "relation direction", "count",
       "Documents of odd number that have such an arc", own_definition, "", integer},
      {"relation_tested",
       "relation direction",
       "1",
       "Whether the relation is tested: at least " +
           std::to_string(static_cast<int>(least_heldout_cases)) + " arcs in " +
           std::to_string(static_cast<int>(least_heldout_documents)) + " documents of odd number",
       own_definition,
       "",
       flag,
       {"no", "yes"}},
      {"relation_offset", "relation direction", "words",
       "The word offset of relation_baseline_heldout_offset; 0 when there is none", own_definition,
       "", integer},
      {"relation_p", "relation direction layer head", "probability",
       "One-sided p-value of a paired t-test over the documents of odd number that have such an "
       "arc: the head's number of hits against that of relation_baseline_rule; no value for "
       "relations that are not tested"},
      {"relation_q", "relation direction layer head", "probability",
       "relation_p adjusted over all tested relations, directions and heads",
       "Benjamini & Hochberg 1995"},
      {"relation_passed",
       "relation direction layer head",
       "1",
       "Whether the head passes the rule for syntactic heads on this relation",
       own_definition,
       "",
       flag,
       {"no", "yes"}},
      {"relation_passed_offset",
       "relation direction layer head",
       "1",
       "Whether the head would pass the rule for syntactic heads if the best fixed word offset "
       "were "
       "its only baseline, as in published tests",
       "Clark et al. 2019",
       "",
       flag,
       {"no", "yes"}},
      {"relation_text", "layer head", "1",
       "Of a head that is in relation_passed_offset and not in relation_passed, on a relation "
       "where the nearest word of a part of speech is the better rule: that it beats the offset "
       "alone, with the numbers of the relation on which it beats the offset by most",
       own_definition, "", text},
      {"relation_best_layer", "relation direction", "1",
       "Layer of the head most accurate on documents of even number; -1 when there is none",
       own_definition, "", integer},
      {"relation_best_head", "relation direction", "1",
       "Number within its layer of the head most accurate on documents of even number; -1 when "
       "there is none",
       own_definition, "", integer},
      {"relation_best_accuracy_heldout", "relation direction", "1",
       "relation_accuracy_heldout of the head that documents of even number chose",
       "Clark et al. 2019", documents},
      {"coreference_baseline", "rule mention", "1",
       "The coreference score of a rule, over all mentions and over pronouns (PRON). nearest: the "
       "nearest preceding mention, that of the last head word before the mention's own; "
       "completed_last: of the mentions that end before the mention's first word, the one whose "
       "last word comes last, the longest on ties; same_form: the nearest preceding mention whose "
       "head word has the same form, whatever the case of its letters, else the nearest; "
       "agreement: the nearest preceding mention of the same gender and number (features of the "
       "head words, else the forms of English pronouns; none given is a value of its own), else "
       "the nearest",
       "Clark et al. 2019"},
      {"coreference_baseline_heldout", "rule mention", "1",
       "coreference_baseline over documents of odd number", "Clark et al. 2019"},
      {"coreference_pronoun_heldout", "layer head", "1",
       "coreference_pronoun over documents of odd number", "Clark et al. 2019", documents},
      {"coreference_pronoun_count_heldout", "", "count",
       "Non-first pronouns in documents of odd number", own_definition, "", integer},
      {"coreference_p", "layer head", "probability",
       "One-sided p-value of a paired t-test over the documents of odd number that have a pronoun: "
       "the head's number of right pronouns against that of the rule best there; no value for "
       "fewer than 30 pronouns or 10 such documents"},
      {"coreference_q", "layer head", "probability", "coreference_p adjusted over all heads",
       "Benjamini & Hochberg 1995"},
      {"{effect}_p", "layer head", "probability",
       "Two-sided p-value of {effect} - {effect}_null: t over documents, or over blocks of them "
       "beyond " +
           std::to_string(n_document_block)},
      {"{effect}_q", "layer head", "probability", "{effect}_p adjusted over all heads",
       "Benjamini & Hochberg 1995"},
      {"semantic_null", "layer head", "correlation",
       "Mean of semantic when the document's different tokens exchange their embeddings at random, "
       "20 times"},
      {"semantic_null_std", "layer head", "correlation",
       "Standard deviation of semantic over those 20 exchanges"},
      {"semantic_z", "layer head", "1", "(semantic - semantic_null) / semantic_null_std"},
      {"induction", "layer head", "probability",
       "Mean attention from the second half of a repeated random sequence to the token after the "
       "query token's first occurrence; the interval is over sequences",
       "Olsson et al. 2022; TransformerLens", "sequences resampled"},
      {"sentence_sink", "pronoun layer head", "probability",
       "Mean attention to position 0 from tokens of sentences without and with a pronoun (PRON)",
       own_definition, documents},
      {"sentence_entropy", "pronoun layer head", "nats",
       "Mean entropy of attention from tokens of sentences without and with a pronoun (PRON)",
       own_definition, documents},
      {"entropy_median", "", "nats", "Median of entropy over heads", own_definition, documents},
      {"sink_mean", "", "probability", "Mean of sink over heads", own_definition, documents},
      {"type_share", "head_type", "1",
       "Share of heads that are of the type; no value where the corpus cannot test for it. Its "
       "resamples vary the scores and keep the significance tests (q, z) of the whole corpus, so "
       "that the interval of a type with such a test is too narrow, and may have no width",
       own_definition, documents},
      {"type",
       "head_type layer head",
       "1",
       "Whether the head is of the type (a coordinate may not be named as a variable, so that the "
       "types lie along head_type). {rules}",
       own_definition,
       "",
       flag,
       {"no", "yes"}},
      {"type_margin", "head_type layer head", "1",
       "Margin over the type's threshold in units of the room left above it: 0 at the threshold, 1 "
       "at the highest value; in logits of copying and suppressing, whose effect has no highest "
       "value; no value where the type's significance test failed or could not be made"},
      {"primary", "layer head", "1",
       "The head's type with the largest margin over its threshold, copying and suppressing only "
       "of heads of no other type, as the room above their thresholds is without end; none when it "
       "is of no type",
       own_definition, "", flag},
      {"positional_offset", "layer head", "tokens",
       "The offset at which a positional head looks; -1 for other heads", own_definition, "",
       integer},
      {"syntactic_relation", "layer head", "1",
       "The relation " + carrier + ", as an index along relation; -1 for other heads",
       own_definition, "", integer},
      {"syntactic_direction", "layer head", "1",
       "The direction of the relation " + carrier +
           ", as an index along direction; -1 for other heads",
       own_definition, "", integer},
      {"syntactic_arcs", "layer head", "count",
       "Held-out arcs of the relation " + carrier + "; 0 for other heads", own_definition, "",
       integer},
      {"type_score", "head_type layer head", "1",
       "The score that the type's rule compares with its threshold; of a syntactic head on the "
       "relation that it claims; no value where its significance test failed"},
      {"type_baseline", "head_type layer head", "1",
       "What chance or a simple rule would score there"},
      {"type_threshold", "head_type layer head", "1",
       "The score from which on the head is of the type"},
      {"type_about", "head_type layer head", "1",
       "The offset that the type's score is about, or the relations that the head passes on: the "
       "one that the score is about first",
       own_definition, "", text},
      {"type_rule", "head_type", "1", "The type's rule", own_definition, "", text},
      {"type_sentence", "head_type", "1", "What a head of the type does", own_definition, "", text},
      {"type_features", "head_type layer head", "1",
       "Features of score_model by which the type says that the head attends, separated by blanks; "
       "empty for other heads and for types that name none",
       own_definition, "", text},
      {"control_type_heads", "control head_type", "count",
       "Heads of each type in untrained models of the same shape, on documents spread evenly over "
       "the corpus; no value where these cannot test for the type"},
      {"permuted_score", "head_type", "1",
       "type_score that 95 % of the heads of models with permuted weights stay below (Hazen 1914's "
       "quantile), which heads of the type must reach; no value for types that are not compared "
       "with such models"},
      {"induction_pattern_layer", "", "1", "Layer of the head with the largest induction",
       "Olsson et al. 2022", "", integer},
      {"induction_pattern_head", "", "1",
       "Number within its layer of the head with the largest induction", "Olsson et al. 2022", "",
       integer},
      {"induction_tokens", "induction_query", "1",
       "Token ids of the first of the repeated random sequences", "Olsson et al. 2022", "",
       integer},
      {"induction_pattern", "induction_query induction_key", "probability",
       "Attention of head induction_pattern_head of layer induction_pattern_layer from query to "
       "key in induction_tokens",
       "Olsson et al. 2022"},
      {"explained", "head_type layer head", "1",
       "Share of a head's effect on the loss that its label explains: 1 - (L_B - L) / (L_mean - "
       "L). L: the loss of the documents of the corpus that --explain-documents takes, of "
       "induction heads too (not of the repeated random tokens that name them). L_mean: with the "
       "head's z replaced by its mean over the tokens of these documents after position 0. L_B: "
       "with its attention replaced by what "
       "its type says, all mass on: the offset; the query (current_token); the nearest "
       "punctuation; the nearest word of the class; the arc's other end, of the relation named; "
       "the nearest antecedent; the last "
       "copy (duplicate); the token after the last copy (induction); the corpus-rarest token; "
       "position 0 (sink). Queries of which the type says nothing attend as the head does on "
       "average over such queries: its share to position 0, the rest by mean attention at each "
       "distance. No value for types that name no place (semantic, long_range, copying, "
       "suppressing), and where L_mean - L has no interval above 0",
       own_definition, sample},
      {"explained_control", "head_type layer head", "1",
       "explained with the place of another type that the head is not of, at the queries of which "
       "its own type speaks: the rule of the relation's baseline for syntactic, the last copy "
       "for induction, the token after it for duplicate, the query for positional, else the "
       "previous token, the query or position 0",
       own_definition, sample},
      {"explained_gain", "head_type layer head", "1",
       "explained - explained_control, paired by document", own_definition, sample},
      {"explained_where_said", "head_type layer head", "1",
       "explained with the head's attention replaced only at the queries of which its type speaks, "
       "its own attention kept at all others. Where it is larger than explained, the head has "
       "effects at tokens of which the label says nothing. It has no control",
       own_definition, sample},
      {"explained_place_mass", "head_type layer head", "probability",
       "Mean attention to the place of explained, at the queries of which the type speaks. Heads "
       "may get a type by another measure (induction heads by repeated random tokens) and look "
       "there little on this text"},
      {"mean_ablation_increase", "layer head", "nats",
       "L_mean - L of explained, per predicted token; of heads with a label that names a place",
       own_definition, sample},
      {"explained_verdict",
       "head_type layer head",
       "1",
       "explained: the intervals of explained and of explained_gain lie above 0; unexplained: one "
       "does not; not measured: explained has no value",
       own_definition,
       "",
       flag,
       {"not_measured", "unexplained", "explained"}},
      {"explained_text", "head_type layer head", "1",
       "What replacing the head's attention by its label's place keeps of its effect, in words",
       own_definition, "", text},
      {"explained_documents", "", "count", "Documents that heads ran on with replaced attention",
       own_definition, "", integer},
  };
}

}  // namespace

const VariableTable& classification_variables() {
  static const VariableTable variables = make_variables();
  return variables;
}

}  // namespace headscope
