#include "classification/results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "classification/claims.hpp"
#include "classification/copy_effect.hpp"
#include "classification/evidence.hpp"
#include "classification/power.hpp"
#include "classification/relations.hpp"
#include "classification/types.hpp"

namespace headscope {
namespace {

using Dimensions = std::vector<std::string>;

std::vector<double> column(const arma::mat& values, Index weighting = 0) {
  return {values.begin_col(weighting), values.end_col(weighting)};
}

/// Mean of each head over sequences.
std::vector<double> mean_induction(const Array& scores, const Weights& times) {
  std::vector<double> means(scores.size() / scores.shape[0], 0);
  const double n_drawn = std::accumulate(times.begin(), times.end(), 0.0);
  for (Index s = 0; s < times.size(); ++s) {
    for (Index unit = 0; unit < means.size(); ++unit) {
      means[unit] += times[s] * scores.values[s * means.size() + unit] / n_drawn;
    }
  }
  return means;
}

/// mean_induction, unit x weighting: column 0 over all sequences, the others over resamples.
arma::mat resampled_induction(const Array& scores, Index n_weighting, std::uint64_t seed) {
  const Bootstrap bootstrap(scores.shape[0], n_weighting - 1, seed);
  arma::mat means(scores.size() / scores.shape[0], n_weighting);
  for (Index w = 0; w < n_weighting; ++w) {
    means.col(w) =
        arma::vec(mean_induction(scores, w == 0 ? bootstrap.whole() : bootstrap.draw(w - 1)));
  }
  return means;
}

/// The values that a quantity of these units can have.
std::pair<double, double> possible_range(const std::string& units) {
  constexpr double any = std::numeric_limits<double>::infinity();
  if (units == "probability" || units == "1") return {0, 1};  // shares
  if (units == "correlation") return {-1, 1};
  if (units == "nats" || units == "tokens") return {0, any};  // entropies and distances
  return {-any, any};
}

/// A statistic of the finite values in each column: 1 x n_cols.
arma::mat by_column(const arma::mat& values, double (*statistic)(const arma::vec&)) {
  arma::mat result(1, values.n_cols);
  for (Index i = 0; i < values.n_cols; ++i) {
    const arma::vec column = values.col(i);
    const arma::vec finite = column.elem(arma::find_finite(column));
    result(i) = finite.empty() ? std::numeric_limits<double>::quiet_NaN() : statistic(finite);
  }
  return result;
}

/// Fills the group; one function per kind of variable.
class ResultsBuilder {
 public:
  ResultsBuilder(ResultsGroup& group, const WeightedSums& sums, Index n_layer, Index n_head)
      : group_(group), sums_(sums), n_layer_(n_layer), n_head_(n_head) {}

  Index n_unit() const { return n_layer_ * n_head_; }

  void add_real(const std::string& name, const Dimensions& dimensions, std::vector<double> values,
                const std::string& definition, const std::string& units,
                const std::string& references) {
    group_.add(Variable::real(name, dimensions, Array(shape_of(dimensions), std::move(values)),
                              definition, units, references));
  }

  void add_integer(const std::string& name, const Dimensions& dimensions,
                   std::vector<double> values, const std::string& definition,
                   const std::string& units) {
    group_.add(Variable::integer(name, dimensions, Array(shape_of(dimensions), std::move(values)),
                                 definition, units, own_definition));
  }

  void add_flag(const std::string& name, const Dimensions& dimensions, std::vector<double> values,
                const std::string& definition, std::vector<std::string> meanings) {
    group_.add(Variable::flag(name, dimensions, Array(shape_of(dimensions), std::move(values)),
                              std::move(meanings), definition, own_definition));
  }

  void add_with_interval(const std::string& name, const Dimensions& dimensions,
                         std::vector<Estimate> estimates, const std::string& definition,
                         const std::string& units, const std::string& references,
                         const std::string& resampling = "documents resampled") {
    const auto [least, most] = possible_range(units);
    for (Estimate& estimate : estimates) estimate = within(std::move(estimate), least, most);
    group_.add(Variable::estimated(name, dimensions, shape_of(dimensions), estimates, resampling,
                                   definition, units, references));
  }

  /// Estimates of the elements of a ratio of sums.
  std::vector<Estimate> ratios(const std::string& name, Half half = Half::all) const {
    return sums_.estimates([&](const WeightedSums& sums) { return sums.ratio(name, half); });
  }

  void add_scores();
  void add_relations(const RelationTests& tests);
  void add_coreference(const CoreferenceTest& test);
  void add_semantic(const SemanticTest& test);
  void add_sentences();
  void add_measures(const TypeMargins& margins);
  void add_types(const TypeMargins& margins, const RelationTests& relations);

 private:
  Shape shape_of(const Dimensions& dimensions) const {
    Shape shape;
    for (const std::string& name : dimensions) shape.push_back(group_.dimensions.at(name).size());
    return shape;
  }

  ResultsGroup& group_;
  const WeightedSums& sums_;
  Index n_layer_;
  Index n_head_;
};

const Dimensions per_head{"layer", "head"};
const Dimensions per_relation{"relation", "direction"};
const Dimensions per_relation_head{"relation", "direction", "layer", "head"};

void ResultsBuilder::add_scores() {
  for (std::size_t i = 0; i < n_head_score; ++i) {
    const ScoreInfo& info = score_info(static_cast<HeadScore>(i));
    add_with_interval(info.name, per_head, ratios(info.name), info.definition, info.units,
                      info.references);
  }
  for (std::size_t i = 0; i < n_baseline; ++i) {
    const ScoreInfo& info = baseline_info(static_cast<Baseline>(i));
    add_real(info.name, {}, column(sums_.ratio(info.name)), info.definition, info.units,
             info.references);
  }
  add_with_interval("offset_share", {"offset", "layer", "head"}, ratios("offset_share"),
                    "Share of queries, sink excluded, whose largest weight is on the key at this "
                    "offset before the query; the nearest key wins ties",
                    "1", "Voita et al. 2019");
  add_with_interval("offset_mass", {"offset", "layer", "head"}, ratios("offset_mass"),
                    "Mean attention to the key at this offset before the query, sink excluded, "
                    "over the queries that have this key",
                    "probability", own_definition);
  const auto count = [&](const char* name, const char* sum, const char* definition) {
    double all = 0;
    for (const double value : sums_.statistics().total(sum).values) all += value;
    add_integer(name, {}, {all}, definition, "count");
  };
  count("n_document", "n_document", "Documents seen");
  count("n_token", "n_token", "Tokens seen, with those prepended");
  count("n_word", "n_word", "Annotated words seen");
  count("unaligned_words", "n_unaligned",
        "Words to which no token belongs; they take part in no arc and no mention");
}

void ResultsBuilder::add_relations(const RelationTests& tests) {
  std::vector<double> count, baseline, heldout_count, heldout_documents, tested, heldout_baseline,
      offset, best_layer, best_head;
  std::vector<double> accuracy, heldout, p, q, passed;
  for (Index i = 0; i < tests.size(); ++i) {
    const RelationTest& test = tests[i];
    count.push_back(test.count);
    baseline.push_back(test.baseline);
    heldout_count.push_back(test.heldout_count);
    heldout_documents.push_back(test.heldout_documents);
    tested.push_back(is_tested(test) ? 1 : 0);
    heldout_baseline.push_back(test.heldout_baseline(0));
    offset.push_back(static_cast<double>(test.offset));
    const bool is_chosen = test.chosen_unit != no_position;
    const HeadIndex chosen{test.chosen_unit / n_head_, test.chosen_unit % n_head_};
    best_layer.push_back(is_chosen ? static_cast<double>(chosen.layer) : -1);
    best_head.push_back(is_chosen ? static_cast<double>(chosen.head) : -1);
    accuracy.insert(accuracy.end(), test.accuracy.begin(), test.accuracy.end());
    const std::vector<double> now = column(test.heldout_accuracy);
    heldout.insert(heldout.end(), now.begin(), now.end());
    p.insert(p.end(), test.p.begin(), test.p.end());
    q.insert(q.end(), test.q.begin(), test.q.end());
    for (Index unit = 0; unit < n_unit(); ++unit) passed.push_back(passes(test, unit) ? 1 : 0);
  }
  const std::string source = "Clark et al. 2019";
  const std::string arcs =
      "UD arcs of this relation whose later word attends back to the earlier one, which is the "
      "head (dependent_to_head) or the dependent (head_to_dependent)";
  add_real("relation_accuracy", per_relation_head, accuracy,
           "Share of " + arcs +
               ", in which the earlier word of the document with the largest word-level attention "
               "is the arc's other end",
           "1", source);
  add_integer("relation_count", per_relation, count, "Number of " + arcs, "count");
  add_real("relation_baseline", per_relation, baseline,
           "The accuracy of the best fixed word offset, all documents", "1", source);
  add_real("relation_accuracy_heldout", per_relation_head, heldout,
           "relation_accuracy over documents of odd number", "1", source);
  add_real(
      "relation_baseline_heldout", per_relation, heldout_baseline,
      "Accuracy over documents of odd number of the best fixed word offset: the better there of "
      "the offset best over documents of even number and the one best over those of odd number",
      "1", source);
  add_integer("relation_count_heldout", per_relation, heldout_count,
              "relation_count over documents of odd number", "count");
  add_integer("relation_documents_heldout", per_relation, heldout_documents,
              "Documents of odd number that have such an arc", "count");
  add_flag("relation_tested", per_relation, tested,
           "Whether the relation is tested: at least " +
               std::to_string(static_cast<int>(least_heldout_cases)) + " arcs in " +
               std::to_string(static_cast<int>(least_heldout_documents)) +
               " documents of odd number",
           {"no", "yes"});
  add_integer("relation_offset", per_relation, offset,
              "The word offset of relation_baseline_heldout; 0 when there is none", "words");
  add_real(
      "relation_p", per_relation_head, p,
      "One-sided p-value of a paired t-test over the documents of odd number that have such an "
      "arc: the head's number of hits against that of the fixed word offset relation_offset; no "
      "value for relations that are not tested",
      "probability", own_definition);
  add_real("relation_q", per_relation_head, q,
           "relation_p adjusted over all tested relations, directions and heads", "probability",
           "Benjamini & Hochberg 1995");
  add_flag("relation_passed", per_relation_head, passed,
           "Whether the head passes the rule for syntactic heads on this relation", {"no", "yes"});
  add_integer("relation_best_layer", per_relation, best_layer,
              "Layer of the head most accurate on documents of even number; -1 when there is none",
              "1");
  add_integer("relation_best_head", per_relation, best_head,
              "Number within its layer of the head most accurate on documents of even number; -1 "
              "when there is none",
              "1");
  const auto best = [&](const WeightedSums& sums) {
    arma::mat accuracies(tests.size(), sums.n_weighting());
    accuracies.fill(arma::datum::nan);
    for (Index i = 0; i < tests.size(); ++i) {
      if (tests[i].chosen_unit == no_position) continue;
      accuracies.row(i) = heldout_accuracy(sums, tests[i]).row(tests[i].chosen_unit);
    }
    return accuracies;
  };
  add_with_interval("relation_best_accuracy_heldout", per_relation, sums_.estimates(best),
                    "relation_accuracy_heldout of the head that documents of even number chose",
                    "1", source);
}

void ResultsBuilder::add_coreference(const CoreferenceTest& test) {
  const std::string source = "Clark et al. 2019";
  const Dimensions by_rule{"rule", "mention"};
  add_real(
      coreference_baseline_name, by_rule, column(sums_.ratio(coreference_baseline_name)),
      "The coreference score of a rule, over all mentions and over pronouns (PRON). nearest: "
      "the nearest preceding mention, that of the last head word before the mention's own; "
      "completed_last: of the mentions that end before the mention's first word, the one whose "
      "last word comes last, the longest on ties; same_form: the nearest preceding mention "
      "whose head word has the same form, whatever the case of its letters, else the nearest; "
      "agreement: the nearest preceding mention of the same gender and number (features of the "
      "head words, else the forms of English pronouns; none given is a value of its own), else "
      "the nearest",
      "1", source);
  add_real("coreference_baseline_heldout", by_rule,
           column(sums_.ratio(coreference_baseline_name, Half::odd)),
           "coreference_baseline over documents of odd number", "1", source);
  add_with_interval("coreference_pronoun_heldout", per_head,
                    ratios(score_info(HeadScore::coreference_pronoun).name, Half::odd),
                    "coreference_pronoun over documents of odd number", "1", source);
  add_integer("coreference_pronoun_count_heldout", {}, {test.n_pronoun},
              "Non-first pronouns in documents of odd number", "count");
  add_real("coreference_p", per_head, test.p,
           "One-sided p-value of a paired t-test over the documents of odd number that have a "
           "pronoun: the head's number of right pronouns against that of the rule best there; no "
           "value for fewer than 30 pronouns or 10 such documents",
           "probability", own_definition);
  add_real("coreference_q", per_head, test.q, "coreference_p adjusted over all heads",
           "probability", "Benjamini & Hochberg 1995");
}

void ResultsBuilder::add_semantic(const SemanticTest& test) {
  add_real("semantic_null", per_head, test.null_mean,
           "Mean of semantic when the document's different tokens exchange their embeddings at "
           "random, 20 times",
           "correlation", own_definition);
  add_real("semantic_null_std", per_head, test.null_std,
           "Standard deviation of semantic over those 20 exchanges", "correlation", own_definition);
  add_real("semantic_z", per_head, test.z, "(semantic - semantic_null) / semantic_null_std", "1",
           own_definition);
}

void ResultsBuilder::add_sentences() {
  const Dimensions dimensions{"pronoun", "layer", "head"};
  add_with_interval("sentence_sink", dimensions, ratios("sentence_sink"),
                    "Mean attention to position 0 from tokens of sentences without and with a "
                    "pronoun (PRON)",
                    "probability", own_definition);
  add_with_interval("sentence_entropy", dimensions, ratios("sentence_entropy"),
                    "Mean entropy of attention from tokens of sentences without and with a pronoun "
                    "(PRON)",
                    "nats", own_definition);
}

void ResultsBuilder::add_measures(const TypeMargins& margins) {
  const auto median = [](const arma::vec& values) { return arma::median(values); };
  const auto mean = [](const arma::vec& values) { return arma::mean(values); };
  const auto over_heads = [&](const char* score, double (*statistic)(const arma::vec&)) {
    return sums_.estimates(
        [&](const WeightedSums& sums) { return by_column(sums.ratio(score), statistic); });
  };
  add_with_interval("entropy_median", {}, over_heads("entropy", median),
                    "Median of entropy over heads", "nats", own_definition);
  add_with_interval("sink_mean", {}, over_heads("sink", mean), "Mean of sink over heads",
                    "probability", own_definition);
  std::vector<Estimate> shares;
  for (std::size_t i = 0; i < n_head_type; ++i) {
    const auto type = static_cast<HeadType>(i);
    const bool tested = margins.untested_reason(type).empty();
    shares.push_back(tested ? share_of(margins, {type}) : Estimate());
  }
  group_.add(Variable::estimated(
      "type_share", {"head_type"}, {n_head_type}, shares, "documents resampled",
      "Share of heads that are of the type; no value where the corpus cannot test for it", "1",
      own_definition));
}

void ResultsBuilder::add_types(const TypeMargins& margins, const RelationTests& relations) {
  std::vector<double> is_type, margin;
  std::string rules;
  for (std::size_t i = 0; i < n_head_type; ++i) {
    const auto type = static_cast<HeadType>(i);
    rules += (i == 0 ? "" : "; ") + std::string(head_type_name(type)) + ": " + head_type_rule(type);
    for (Index unit = 0; unit < n_unit(); ++unit) {
      is_type.push_back(margins.has(type, unit) ? 1 : 0);
      margin.push_back(margins.of(type)(unit, 0));
    }
  }
  std::vector<double> primary;
  for (Index unit = 0; unit < n_unit(); ++unit) {
    primary.push_back(static_cast<double>(primary_type(margins, unit)));
  }
  std::vector<std::string> meanings{"none"};
  for (const std::string& name : group_.dimensions.at("head_type").text) meanings.push_back(name);
  add_flag("type", {"head_type", "layer", "head"}, is_type,
           "Whether the head is of the type (a coordinate may not be named as a variable, so that "
           "the types lie along head_type). " +
               rules,
           {"no", "yes"});
  add_real("type_margin", {"head_type", "layer", "head"}, margin,
           "Margin over the type's threshold in units of the room left above it: 0 at the "
           "threshold, 1 at the highest value; in logits of copying and suppressing, whose effect "
           "has no highest value; no value where the type's significance test failed or could not "
           "be made",
           "1", own_definition);
  add_flag(
      "primary", per_head, primary,
      "The head's type with the largest margin over its threshold, copying and suppressing "
      "only of heads of no other type, as the room above their thresholds is without end; none "
      "when it is of no type",
      meanings);
  std::vector<double> offset(n_unit(), -1), relation = offset, direction = offset,
                                            arcs(n_unit(), 0);
  for (Index unit = 0; unit < n_unit(); ++unit) {
    if (margins.has(HeadType::positional, unit)) {
      offset[unit] = static_cast<double>(margins.positional_offset[unit]);
    }
    if (!margins.has(HeadType::syntactic, unit)) continue;
    const Index number = margins.syntactic_test[unit], of_relation = number / 2;
    relation[unit] = static_cast<double>(of_relation);
    direction[unit] = static_cast<double>(number % 2);
    arcs[unit] = relations[number].heldout_count;
  }
  add_integer("positional_offset", per_head, offset,
              "The offset at which a positional head looks; -1 for other heads", "tokens");
  if (relations.empty()) return;
  const std::string carrier =
      "that a syntactic head claims: of those in relation_passed the one where it gains most over "
      "the best fixed offset on documents of even number";
  add_integer("syntactic_relation", per_head, relation,
              "The relation " + carrier + ", as an index along relation; -1 for other heads", "1");
  add_integer("syntactic_direction", per_head, direction,
              "The direction of the relation " + carrier +
                  ", as an index along direction; -1 for other heads",
              "1");
  add_integer("syntactic_arcs", per_head, arcs,
              "Held-out arcs of the relation " + carrier + "; 0 for other heads", "count");
}

}  // namespace

ResultsGroup classification_results(const Statistics& statistics, const Array& induction,
                                    const std::vector<HeadIndex>& pruned_heads,
                                    std::size_t n_bootstrap, std::uint64_t seed) {
  const Index n_layer = induction.shape[1];
  const Index n_head = induction.shape[2];
  const WeightedSums sums(statistics, n_bootstrap, seed);

  ResultsGroup group;
  group.name = "classification";
  group.title = "Which head does what";
  group.add_dimension(Dimension::count("layer", n_layer));
  group.add_dimension(Dimension::count("head", n_head));
  group.add_dimension(Dimension::count("offset", n_offset));
  group.add_dimension(Dimension::labels("pronoun", {"without", "with"}));
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < n_coreference_rule; ++i) {
    rules.push_back(coreference_rule_name(static_cast<CoreferenceRule>(i)));
  }
  group.add_dimension(Dimension::labels("rule", rules));
  group.add_dimension(Dimension::labels("mention", {"all", "pronoun"}));
  std::vector<std::string> type_names;
  for (std::size_t i = 0; i < n_head_type; ++i) {
    type_names.push_back(head_type_name(static_cast<HeadType>(i)));
  }
  group.add_dimension(Dimension::labels("head_type", type_names));
  const std::vector<std::string> relations = relations_of(statistics);
  if (!relations.empty()) {
    group.add_dimension(Dimension::labels("relation", relations));
    group.add_dimension(Dimension::labels("direction", {"dependent_to_head", "head_to_dependent"}));
  }

  ResultsBuilder builder(group, sums, n_layer, n_head);
  builder.add_scores();
  const RelationTests relation_tests = test_relations(sums);
  if (!relations.empty()) builder.add_relations(relation_tests);
  const CoreferenceTest coreference = test_coreference(sums);
  builder.add_coreference(coreference);
  const SemanticTest semantic = test_semantic(sums);
  builder.add_semantic(semantic);
  add_effect_tests(statistics, group);
  const arma::mat induction_means = resampled_induction(induction, sums.n_weighting(), seed);
  builder.add_with_interval(
      "induction", per_head,
      Bootstrap(induction.shape[0], n_bootstrap, seed).estimates([&](const Weights& times) {
        return mean_induction(induction, times);
      }),
      "Mean attention from the second half of a repeated random sequence to the token after the "
      "query token's first occurrence; the interval is over sequences",
      "probability", "Olsson et al. 2022; TransformerLens", "sequences resampled");
  builder.add_sentences();

  TypeMargins margins = type_margins(sums, relation_tests, coreference, semantic, induction_means);
  leave_out_heads(pruned_heads, n_head, margins);
  builder.add_types(margins, relation_tests);
  builder.add_measures(margins);
  add_type_evidence(group);
  group.summary = type_summary(margins, group, n_head);
  group.claims =
      specialisation_claims(margins, type_powers(sums, relation_tests, coreference, semantic));
  for (Claim& claim : rest_claims(margins, sums, n_head)) group.claims.push_back(std::move(claim));
  return group;
}

Array heads_by_type(const Statistics& statistics, const Array& induction,
                    const std::vector<HeadIndex>& pruned_heads, std::size_t n_bootstrap,
                    std::uint64_t seed) {
  const WeightedSums sums(statistics, n_bootstrap, seed);
  TypeMargins margins =
      type_margins(sums, test_relations(sums), test_coreference(sums), test_semantic(sums),
                   resampled_induction(induction, sums.n_weighting(), seed));
  leave_out_heads(pruned_heads, induction.shape[2], margins);
  Array heads({n_head_type});
  for (std::size_t i = 0; i < n_head_type; ++i) {
    const auto type = static_cast<HeadType>(i);
    for (Index unit = 0; unit < margins.of(type).n_rows; ++unit) {
      heads(i) += margins.has(type, unit) ? 1 : 0;
    }
    if (!margins.untested_reason(type).empty()) heads(i) = arma::datum::nan;
  }
  return heads;
}

void add_control_types(const std::vector<Array>& controls, ResultsGroup& group) {
  Array heads({controls.size(), n_head_type});
  std::vector<ControlHeads> of_models;
  for (std::size_t control = 0; control < controls.size(); ++control) {
    ControlHeads& of_model = of_models.emplace_back();
    for (std::size_t type = 0; type < n_head_type; ++type) {
      heads(control, type) = of_model[type] = controls[control](type);
    }
  }
  group.add_dimension(Dimension::count("control", controls.size()));
  group.add(Variable::real("control_type_heads", {"control", "head_type"}, heads,
                           "Heads of each type in untrained models of the same shape, on documents "
                           "spread evenly over the corpus; no value where these cannot test for "
                           "the type",
                           "count", own_definition));
  const Shape& shape = group.variable("type").values.shape;
  settle_by_controls(of_models, shape[1] * shape[2], group.claims);
}

}  // namespace headscope
