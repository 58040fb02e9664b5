#include "classification/results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "classification/claims.hpp"
#include "classification/classification.hpp"
#include "classification/tests/copy_effect.hpp"
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
        arma::vec(mean_induction(scores, w == 0 ? bootstrap.observed() : bootstrap.draw(w - 1)));
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

  /// A ratio of sums, element by element with intervals.
  std::vector<Estimate> ratios(const std::string& name, Half half = Half::all) const {
    return sums_.estimates([&](const WeightedSums& sums) { return sums.ratio(name, half); });
  }

  void add_scores() {
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
    add("word_class_share", ratios("word_class_share"));
    add("word_class_share_heldout", ratios("word_class_share", Half::odd));
    add("word_class_baseline", column(sums_.ratio("word_class_baseline")));
    for (const auto& [name, sum] :
         {std::pair{"n_document", "n_document"}, std::pair{"n_token", "n_token"},
          std::pair{"n_word", "n_word"}, std::pair{"unaligned_words", "n_unaligned"}}) {
      add(name, arma::accu(arma::vec(sums_.statistics().total(sum).values)));
    }
  }

  void add_relations(const RelationTests& tests) {
    add("relation_accuracy", tests, &RelationTest::accuracy);
    add("relation_count", tests, &RelationTest::count);
    std::vector<double> baselines;
    for (const auto of_rule : {&RelationTest::offset_baseline, &RelationTest::class_baseline}) {
      for (const RelationTest& test : tests) baselines.push_back(test.*of_rule);
    }
    add("relation_baseline", baselines);
    add("relation_class", tests, [](const RelationTest& test) {
      return std::string(test.word_class == no_position ? "" : word_classes[test.word_class].name);
    });
    add("relation_baseline_rule", tests,
        [](const RelationTest& test) { return static_cast<int>(test.rule); });
    add("relation_baseline_heldout_offset", tests, &RelationTest::heldout_offset_baseline);
    add("relation_baseline_heldout_word_class", tests, &RelationTest::heldout_class_baseline);
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
    for (const auto& [name, is_passed] :
         {std::pair{"relation_passed", &passes}, {"relation_passed_offset", &passes_offset}}) {
      add(name, tests, [&, is_passed = is_passed](const RelationTest& test) {
        std::vector<double> passed;
        for (Index head_index = 0; head_index < n_head_total(); ++head_index) {
          passed.push_back(is_passed(test, head_index) ? 1 : 0);
        }
        return passed;
      });
    }
    add("relation_text", relation_texts(group_));
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
      HeldoutArcs arcs;
      for (Index i = 0; i < tests.size(); ++i) {
        const RelationTest& test = tests[i];
        if (i % 2 == 0) arcs.read(sums, test.relation);
        if (test.chosen_head == no_position) continue;
        for (Index w = 0; w < sums.n_weighting(); ++w) {
          accuracies(i, w) = arcs.accuracy(test.direction, test.chosen_head, w);
        }
      }
      return accuracies;
    };
    add("relation_best_accuracy_heldout", sums_.estimates(best));
  }

  void add_coreference(const CoreferenceTest& test) {
    add(coreference_baseline_name, column(sums_.ratio(coreference_baseline_name)));
    add("coreference_baseline_heldout", column(sums_.ratio(coreference_baseline_name, Half::odd)));
    add("coreference_pronoun_heldout",
        ratios(score_info(HeadScore::coreference_pronoun).name, Half::odd));
    add("coreference_pronoun_count_heldout", test.n_pronoun);
    add("coreference_p", test.p);
    add("coreference_q", test.q);
  }

  void add_semantic(const SemanticTest& test) {
    add("semantic_null", test.null_mean);
    add("semantic_null_std", test.null_std);
    add("semantic_z", test.z);
  }

  void add_sentences() {
    for (const char* const name : {"sentence_sink", "sentence_entropy"}) add(name, ratios(name));
  }

  /// @param pruned  heads left out.
  void add_measures(const std::vector<Index>& pruned) {
    const auto median = [](const arma::vec& values) { return arma::median(values); };
    const auto mean = [](const arma::vec& values) { return arma::mean(values); };
    const auto over_heads = [&](const char* score, double (*statistic)(const arma::vec&)) {
      return sums_.estimates([&](const WeightedSums& sums) {
        arma::mat by_head = sums.ratio(score);
        for (const Index head_index : pruned) by_head.row(head_index).fill(arma::datum::nan);
        return by_column(by_head, statistic);
      });
    };
    add("entropy_median", over_heads("entropy", median));
    add("sink_mean", over_heads("sink", mean));
  }

 private:
  ResultsGroup& group_;
  const WeightedSums& sums_;
  Index n_layer_;
  Index n_head_;
};

/// @param induction  as of classification_results.
Measured measure(const Statistics& statistics, const Array& induction,
                 const std::vector<HeadIndex>& pruned_heads, const AnalysisSettings& settings,
                 const PermutedScores& permuted) {
  WeightedSums sums(statistics, settings.n_bootstrap, settings.seed);
  std::vector<Index> pruned;
  for (const HeadIndex head : pruned_heads) pruned.push_back(head.flat(induction.shape[2]));
  RelationTests relations =
      test_relations(sums, settings.options<ClassificationOptions>().offset_alone(), pruned);
  CoreferenceTest coreference = test_coreference(sums, pruned);
  SemanticTest semantic = test_semantic(sums);
  arma::mat resampled = resampled_induction(induction, sums.n_weighting(), settings.seed);
  return {std::move(sums),     std::move(relations), std::move(coreference),
          std::move(semantic), std::move(resampled), permuted,
          std::move(pruned)};
}

}  // namespace

ResultsGroup classification_results(const HeadTypeList& types, const Statistics& statistics,
                                    const Array& induction,
                                    const std::vector<HeadIndex>& pruned_heads,
                                    const AnalysisSettings& settings,
                                    const PermutedScores& permuted) {
  const Index n_layer = induction.shape[1];
  const Index n_head = induction.shape[2];
  const Measured measured = measure(statistics, induction, pruned_heads, settings, permuted);

  ResultsGroup group;
  group.name = "classification";
  group.add_dimension(Dimension::count("layer", n_layer));
  group.add_dimension(Dimension::count("head", n_head));
  group.add_dimension(Dimension::count("offset", n_offset));
  std::vector<std::string> classes;
  for (const WordClass& word_class : word_classes) classes.emplace_back(word_class.name);
  group.add_dimension(Dimension::labels("upos", classes));
  group.add_dimension(Dimension::labels("pronoun", {"without", "with"}));
  group.add_dimension(
      Dimension::labels("rule", {coreference_rule_names.begin(), coreference_rule_names.end()}));
  group.add_dimension(Dimension::labels("mention", {"all", "pronoun"}));
  std::vector<std::string> type_names;
  for (const HeadType& type : types) type_names.push_back(type.name);
  group.add_dimension(Dimension::labels("head_type", type_names));
  const std::vector<std::string> relations = relations_of(statistics);
  if (!relations.empty()) {
    group.add_dimension(Dimension::labels("relation", relations));
    group.add_dimension(Dimension::labels("relation_rule", {"offset", "word_class"}));
    group.add_dimension(Dimension::labels("direction", {"dependent_to_head", "head_to_dependent"}));
  }

  ResultsBuilder builder(group, measured.sums, n_layer, n_head);
  builder.add_scores();
  if (!relations.empty()) builder.add_relations(measured.relations);
  builder.add_coreference(measured.coreference);
  builder.add_semantic(measured.semantic);
  add_effect_tests(statistics, measured.pruned, group);
  builder.add("induction", Bootstrap(induction.shape[0], settings.n_bootstrap, settings.seed)
                               .estimates([&](const BootstrapCounts& times) {
                                 return mean_induction(induction, times);
                               }));
  builder.add_sentences();
  builder.add_measures(measured.pruned);

  const MeasuredTypes found = measured_types(types, measured);
  add_types(found, measured, group);
  if (!permuted.empty()) {
    std::vector<double> scores;
    for (const HeadType& type : types) {
      const auto score = permuted.find(type.name);
      scores.push_back(score == permuted.end() ? arma::datum::nan : score->second);
    }
    group.add(classification_variables()["permuted_score"], std::move(scores));
  }
  group.summary = type_summary(found, group, n_head);
  std::vector<double> powers;
  std::vector<std::string> notes;
  for (const HeadType& type : types) {
    powers.push_back(type.power ? type.power(measured) : arma::datum::nan);
    notes.push_back(type.claim_note ? type.claim_note(measured) : "");
  }
  group.claims = specialisation_claims(found, powers, notes);
  for (Claim& claim : rest_claims(found, measured.sums, n_head)) {
    group.claims.push_back(std::move(claim));
  }
  return group;
}

std::uint64_t classification_results_bytes(const RunShape& run, std::size_t n_type) {
  // Accuracies on relations in both directions, coreference and induction; a margin by type, and
  // what one type compares; a share and its weight by word class.
  constexpr std::uint64_t n_compared = 4;
  const std::uint64_t n_test = 2 * run.n_relation,
                      by_head = n_test + 2 + n_type + n_compared + 2 * n_word_class,
                      // Baselines of relations, arcs of one; weights of all, even and odd blocks.
      by_resample = by_head * run.n_head_total() + n_test + 2 * n_relation_rule + 3 * n_block;
  return by_resample * (1 + run.settings.n_bootstrap) * sizeof(double);
}

ControlValues control_types(const HeadTypeList& types, const Statistics& statistics,
                            const Array& induction, const std::vector<HeadIndex>& pruned_heads,
                            const AnalysisSettings& settings) {
  const Measured measured = measure(statistics, induction, pruned_heads, settings, {});
  const MeasuredTypes found = measured_types(types, measured);
  Array heads({types.size()}), scores({types.size(), measured.induction.n_rows});
  for (std::size_t i = 0; i < types.size(); ++i) {
    heads(i) =
        found[i].untested.empty() ? static_cast<double>(found[i].heads().size()) : arma::datum::nan;
    for (std::size_t head_index = 0; head_index < found[i].numbers.size(); ++head_index) {
      scores(i, head_index) = found[i].numbers[head_index].score;
    }
    for (const Index head_index : measured.pruned) scores(i, head_index) = arma::datum::nan;
  }
  return {{"heads", heads}, {"scores", scores}};
}

PermutedScores permuted_scores(const HeadTypeList& types,
                               const std::vector<ControlValues>& controls) {
  PermutedScores reached;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!types[i].beats_permuted) continue;
    std::vector<double> pooled;
    for (const ControlValues& control : controls) {
      std::ranges::copy_if(control.at("scores").part(i).values, std::back_inserter(pooled),
                           [](double score) { return std::isfinite(score); });
    }
    if (pooled.empty()) continue;
    const arma::vec most = arma::quantile(arma::vec(pooled), arma::vec{0.95});
    reached[types[i].name] = most(0);
  }
  return reached;
}

void add_control_types(const HeadTypeList& types, const std::vector<ControlValues>& controls,
                       Index n_pruned, ResultsGroup& group) {
  std::vector<ControlHeads> of_models;
  std::vector<double> heads;
  for (const ControlValues& control : controls) {
    of_models.push_back(control.at("heads").values);
    heads.insert(heads.end(), of_models.back().begin(), of_models.back().end());
  }
  group.add_dimension(Dimension::count("control", controls.size()));
  group.add(classification_variables()["control_type_heads"], heads);
  const Shape& shape = group.values("type").shape;
  settle_by_controls(types, of_models, shape[1] * shape[2] - n_pruned, group.claims);
}

}  // namespace headscope
