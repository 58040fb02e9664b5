#include "classification/results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "classification/claims.hpp"
#include "classification/tests/copy_effect.hpp"
#include "classification/tests/relations.hpp"
#include "classification/types/evidence.hpp"
#include "classification/types/power.hpp"
#include "classification/types/types.hpp"
#include "classification/variables.hpp"

namespace headscope {
namespace {

std::vector<double> column(const arma::mat& values, Index weighting = 0) {
  return {values.begin_col(weighting), values.end_col(weighting)};
}

/// Mean of each head over sequences.
std::vector<double> mean_induction(const Array& scores, const BootstrapCounts& times) {
  std::vector<double> means(scores.size() / scores.shape[0], 0);
  const double n_drawn = std::accumulate(times.begin(), times.end(), 0.0);
  for (Index s = 0; s < times.size(); ++s) {
    for (Index head_index = 0; head_index < means.size(); ++head_index) {
      means[head_index] += times[s] * scores.values[s * means.size() + head_index] / n_drawn;
    }
  }
  return means;
}

/// mean_induction, head_index x weighting: column 0 over all sequences, the others over resamples.
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

  Index n_head_total() const { return n_layer_ * n_head_; }

  void add(const std::string& name, const auto&... values) {
    group_.add(classification_variables()[name], values...);
  }

  void add(const Declaration& declared, std::vector<Estimate> estimates) {
    const auto [least, most] = possible_range(declared.units);
    for (Estimate& estimate : estimates) estimate = within(std::move(estimate), least, most);
    group_.add(declared, estimates);
  }

  void add(const std::string& name, std::vector<Estimate> estimates) {
    add(classification_variables()[name], std::move(estimates));
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
  ResultsGroup& group_;
  const WeightedSums& sums_;
  Index n_layer_;
  Index n_head_;
};

void ResultsBuilder::add_scores() {
  for (std::size_t i = 0; i < n_head_score; ++i) {
    const ScoreInfo& info = score_info(static_cast<HeadScore>(i));
    add({info.name,
         {"layer", "head"},
         info.units,
         info.definition,
         info.references,
         "documents resampled"},
        ratios(info.name));
  }
  for (std::size_t i = 0; i < n_baseline; ++i) {
    const ScoreInfo& info = baseline_info(static_cast<Baseline>(i));
    group_.add({info.name, {}, info.units, info.definition, info.references},
               sums_.ratio(info.name)(0, 0));
  }
  add("offset_share", ratios("offset_share"));
  add("offset_mass", ratios("offset_mass"));
  for (const auto& [name, sum] :
       {std::pair{"n_document", "n_document"}, std::pair{"n_token", "n_token"},
        std::pair{"n_word", "n_word"}, std::pair{"unaligned_words", "n_unaligned"}}) {
    add(name, arma::accu(arma::vec(sums_.statistics().total(sum).values)));
  }
}

void ResultsBuilder::add_relations(const RelationTests& tests) {
  add("relation_accuracy", tests, &RelationTest::accuracy);
  add("relation_count", tests, &RelationTest::count);
  add("relation_baseline", tests, &RelationTest::baseline);
  add("relation_accuracy_heldout", tests,
      [](const RelationTest& test) { return column(test.heldout_accuracy); });
  add("relation_baseline_heldout", tests,
      [](const RelationTest& test) { return test.heldout_baseline(0); });
  add("relation_count_heldout", tests, &RelationTest::heldout_count);
  add("relation_documents_heldout", tests, &RelationTest::heldout_documents);
  add("relation_tested", tests, is_tested);
  add("relation_offset", tests, &RelationTest::offset);
  add("relation_p", tests, &RelationTest::p);
  add("relation_q", tests, &RelationTest::q);
  add("relation_passed", tests, [&](const RelationTest& test) {
    std::vector<double> passed;
    for (Index head_index = 0; head_index < n_head_total(); ++head_index) {
      passed.push_back(passes(test, head_index) ? 1 : 0);
    }
    return passed;
  });
  const auto chosen = [&](auto coordinate) {
    return [this, coordinate](const RelationTest& test) {
      if (test.chosen_head == no_position) return -1.0;
      return static_cast<double>(HeadIndex::of(test.chosen_head, n_head_).*coordinate);
    };
  };
  add("relation_best_layer", tests, chosen(&HeadIndex::layer));
  add("relation_best_head", tests, chosen(&HeadIndex::head));
  const auto best = [&](const WeightedSums& sums) {
    arma::mat accuracies(tests.size(), sums.n_weighting());
    accuracies.fill(arma::datum::nan);
    for (Index i = 0; i < tests.size(); ++i) {
      if (tests[i].chosen_head == no_position) continue;
      accuracies.row(i) = heldout_accuracy(sums, tests[i]).row(tests[i].chosen_head);
    }
    return accuracies;
  };
  add("relation_best_accuracy_heldout", sums_.estimates(best));
}

void ResultsBuilder::add_coreference(const CoreferenceTest& test) {
  add(coreference_baseline_name, column(sums_.ratio(coreference_baseline_name)));
  add("coreference_baseline_heldout", column(sums_.ratio(coreference_baseline_name, Half::odd)));
  add("coreference_pronoun_heldout",
      ratios(score_info(HeadScore::coreference_pronoun).name, Half::odd));
  add("coreference_pronoun_count_heldout", test.n_pronoun);
  add("coreference_p", test.p);
  add("coreference_q", test.q);
}

void ResultsBuilder::add_semantic(const SemanticTest& test) {
  add("semantic_null", test.null_mean);
  add("semantic_null_std", test.null_std);
  add("semantic_z", test.z);
}

void ResultsBuilder::add_sentences() {
  for (const char* const name : {"sentence_sink", "sentence_entropy"}) add(name, ratios(name));
}

void ResultsBuilder::add_measures(const TypeMargins& margins) {
  const auto median = [](const arma::vec& values) { return arma::median(values); };
  const auto mean = [](const arma::vec& values) { return arma::mean(values); };
  const auto over_heads = [&](const char* score, double (*statistic)(const arma::vec&)) {
    return sums_.estimates(
        [&](const WeightedSums& sums) { return by_column(sums.ratio(score), statistic); });
  };
  add("entropy_median", over_heads("entropy", median));
  add("sink_mean", over_heads("sink", mean));
  std::vector<Estimate> shares;
  for (std::size_t i = 0; i < n_head_type; ++i) {
    const auto type = static_cast<HeadType>(i);
    const bool tested = margins.untested_reason(type).empty();
    shares.push_back(tested ? share_of(margins, {type}) : Estimate());
  }
  group_.add(classification_variables()["type_share"], shares);
}

void ResultsBuilder::add_types(const TypeMargins& margins, const RelationTests& relations) {
  std::vector<double> is_type, margin;
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < n_head_type; ++i) {
    const auto type = static_cast<HeadType>(i);
    rules.push_back(std::string(head_type_name(type)) + ": " + head_type_rule(type));
    for (Index head_index = 0; head_index < n_head_total(); ++head_index) {
      is_type.push_back(margins.has(type, head_index) ? 1 : 0);
      margin.push_back(margins.of(type)(head_index, 0));
    }
  }
  std::vector<double> primary;
  for (Index head_index = 0; head_index < n_head_total(); ++head_index) {
    primary.push_back(static_cast<double>(primary_type(margins, head_index)));
  }
  group_.add(classification_variables()["type"].with("rules", joined(rules, "; ")),
             std::move(is_type));
  add("type_margin", margin);
  add("primary", primary);
  std::vector<double> offset(n_head_total(), -1), relation = offset, direction = offset,
                                                  arcs(n_head_total(), 0);
  for (Index head_index = 0; head_index < n_head_total(); ++head_index) {
    if (margins.has(HeadType::positional, head_index)) {
      offset[head_index] = static_cast<double>(margins.positional_offset[head_index]);
    }
    if (!margins.has(HeadType::syntactic, head_index)) continue;
    const Index number = margins.syntactic_test[head_index], of_relation = number / 2;
    relation[head_index] = static_cast<double>(of_relation);
    direction[head_index] = static_cast<double>(number % 2);
    arcs[head_index] = relations[number].heldout_count;
  }
  add("positional_offset", offset);
  if (relations.empty()) return;
  add("syntactic_relation", relation);
  add("syntactic_direction", direction);
  add("syntactic_arcs", arcs);
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
  builder.add(
      "induction",
      Bootstrap(induction.shape[0], n_bootstrap, seed).estimates([&](const BootstrapCounts& times) {
        return mean_induction(induction, times);
      }));
  builder.add_sentences();

  TypeMargins margins = type_margins(sums, relation_tests, coreference, semantic, induction_means);
  leave_out_heads(pruned_heads, n_head, margins);
  builder.add_types(margins, relation_tests);
  builder.add_measures(margins);
  add_type_evidence(margins, group);
  group.summary = type_summary(margins, group, n_head);
  group.claims = specialisation_claims(margins, type_powers(relation_tests, coreference, semantic));
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
    for (Index head_index = 0; head_index < margins.of(type).n_rows; ++head_index) {
      heads(i) += margins.has(type, head_index) ? 1 : 0;
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
  group.add(classification_variables()["control_type_heads"], heads);
  const Shape& shape = group.values("type").shape;
  settle_by_controls(of_models, shape[1] * shape[2], group.claims);
}

}  // namespace headscope
