#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "classification/claims.hpp"
#include "classification/results.hpp"
#include "classification/tests/paired.hpp"
#include "classification/tests/relations.hpp"
#include "classification/types/power.hpp"
#include "classification/types/registry.hpp"
#include "classification/types/types.hpp"
#include "support/random_weights.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr Index n_typed_head = 2;

/// The types of a model's heads, by name.
struct TypesOf {
  MeasuredTypes types;

  const MeasuredType& of(const std::string& name) const { return type_named(name, types); }
  MeasuredType& of(const std::string& name) {
    return const_cast<MeasuredType&>(type_named(name, types));
  }
  bool has(const std::string& name, Index head_index) const { return of(name).has(head_index); }
  double margin(const std::string& name, Index head_index) const {
    return of(name).margin(head_index, 0);
  }
};

/// 1 + the place of a type in the list, as `primary` has it.
Index code_of(const std::string& name) {
  return 1 + static_cast<Index>(std::ranges::find(head_type_list(), name, &HeadType::name) -
                                head_type_list().begin());
}

/// All types with heads that are of none.
TypesOf no_heads(Index n_head_total, Index n_weighting) {
  TypesOf none;
  for (const HeadType& type : head_type_list()) {
    MeasuredType& measured = none.types.emplace_back();
    measured.type = &type;
    measured.margin = arma::mat(n_head_total, n_weighting, arma::fill::value(-1));
  }
  return none;
}

/// Hand-made sums of two blocks of documents, 0 and 1, for a model of one layer and two heads.
class TypesTest : public testing::Test {
 protected:
  TypesTest() {
    for (std::size_t i = 0; i < n_head_score; ++i) {
      const std::string name = score_info(static_cast<HeadScore>(i)).name;
      sum(name, {n_block, 1, n_typed_head});
      sum(weight_name(name), {n_block, 1, n_typed_head});
    }
    for (std::size_t i = 0; i < n_baseline; ++i) {
      const std::string name = baseline_info(static_cast<Baseline>(i)).name;
      sum(name, {n_block});
      sum(weight_name(name), {n_block});
    }
    for (const char* name :
         {"offset_share", "offset_share.weight", "offset_mass", "offset_mass.weight"}) {
      sum(name, {n_block, n_offset, 1, n_typed_head});
    }
    for (const char* name : {"word_class_share", "word_class_share.weight"}) {
      sum(name, {n_block, n_word_class, 1, n_typed_head});
    }
    for (const char* name : {"word_class_baseline", "word_class_baseline.weight"}) {
      sum(name, {n_block, n_word_class});
    }
    for (const char* name :
         {"sentence_sink", "sentence_sink.weight", "sentence_entropy", "sentence_entropy.weight"}) {
      sum(name, {n_block, 2, 1, n_typed_head});
    }
    for (const char* name : {"coreference_baseline", "coreference_baseline.weight"}) {
      sum(name, {n_block, n_coreference_rule, 2});
    }
    for (const char* name : {"semantic_null", "semantic_null.weight"}) {
      sum(name, {3, 1, n_typed_head});
    }
    for (const char* name : {"n_document", "n_token", "n_word", "n_unaligned"}) {
      sum(name, {n_block});
    }
    Array& n_document = sum("n_document", {n_block});
    n_document(0) = n_document(1) = least_documents / 2.0;
  }

  void set(const std::string& name, Index block, Index head_index, double numerator,
           double denominator) {
    sum(name, {n_block, 1, n_typed_head})(block, 0, head_index) = numerator;
    sum(weight_name(name), {n_block, 1, n_typed_head})(block, 0, head_index) = denominator;
  }
  void set(HeadScore score, Index block, Index head_index, double numerator, double denominator) {
    set(score_info(score).name, block, head_index, numerator, denominator);
  }
  void set(Baseline baseline, Index block, double numerator, double denominator) {
    const std::string name = baseline_info(baseline).name;
    sum(name, {n_block})(block) = numerator;
    sum(weight_name(name), {n_block})(block) = denominator;
  }

  /// The share of 100 queries whose largest weight is at an offset, and the mass there.
  void set_offset(Index offset, Index head_index, double share, double mass) {
    const Shape shape{n_block, n_offset, 1, n_typed_head};
    sum("offset_share", shape)(0, offset, 0, head_index) = share;
    sum("offset_mass", shape)(0, offset, 0, head_index) = mass;
    for (Index o = 0; o < n_offset; ++o) {
      sum("offset_share.weight", shape)(0, o, 0, head_index) = 100;
      sum("offset_mass.weight", shape)(0, o, 0, head_index) = 100;
    }
  }

  /// The counts of a paired test, spread evenly over ten odd documents, the first with more.
  struct Paired {
    double n_case;
    std::vector<double> by_rule;
    std::array<double, n_typed_head> by_head;
  };

  /// Adds a relation with 40 arcs in even and 40 in odd documents, each dependent after its head.
  /// Even ones have 30 arcs at offset 1 and 10 at offset 2; odd ones 10 at offset 1, 12 at offset 2
  /// and 9 each at offsets 3 and 4.
  /// @param even_hits,odd_hits  arcs found by each head.
  void add_relation(std::array<double, n_typed_head> even_hits,
                    std::array<double, n_typed_head> odd_hits, const std::string& name = "nsubj") {
    Array& count = sum(relation_count_name(name), {n_block, 2});
    Array& offsets = sum(relation_offsets_name(name), {n_block, 2, longest_offset + 1});
    sum(relation_classes_name(name), {n_block, 2, n_word_class});
    Array& hits = sum(relation_hits_name(name), {n_block, 2, 1, n_typed_head});
    count(0, 0) = count(1, 0) = 40;
    offsets(0, 0, 1) = 30;
    offsets(0, 0, 2) = 10;
    std::vector<double> odd(n_relation_rule, 0);
    odd[1] = 10;
    odd[2] = 12;
    odd[3] = odd[4] = 9;
    for (Index offset = 0; offset <= longest_offset; ++offset) offsets(1, 0, offset) = odd[offset];
    for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
      hits(0, 0, 0, head_index) = even_hits[head_index];
      hits(1, 0, 0, head_index) = odd_hits[head_index];
    }
    paired_[relation_test_name(name, 0)] = {40, odd, odd_hits};
  }

  /// Makes the nearest earlier verb right on `even` and `odd` arcs of 40 of a relation.
  void set_verbs(double even, double odd, const std::string& name = "nsubj") {
    Array& classes = sum(relation_classes_name(name), {n_block, 2, n_word_class});
    const Index verb = word_class_of("VERB");
    classes(0, 0, verb) = even;
    classes(1, 0, verb) = odd;
    paired_[relation_test_name(name, 0)].by_rule[longest_offset + 1 + verb] = odd;
  }

  /// Adds 30 pronouns to odd documents.
  void add_pronouns(const std::vector<double>& by_rule, std::array<double, n_typed_head> by_head) {
    for (Index rule = 0; rule < n_coreference_rule; ++rule) {
      sum(coreference_baseline_name, {n_block, n_coreference_rule, 2})(1, rule, 1) = by_rule[rule];
      sum(weight_name(coreference_baseline_name), {n_block, n_coreference_rule, 2})(1, rule, 1) =
          30;
    }
    for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
      set(HeadScore::coreference_pronoun, 1, head_index, by_head[head_index], 30);
    }
    paired_[pronoun_test_name] = {30, by_rule, by_head};
  }

  Array& sum(const std::string& name, const Shape& shape) {
    return sums_.try_emplace(name, shape).first->second;
  }

  const Statistics& statistics() {
    statistics_ = {};
    DocumentStatistics document(statistics_, 0);
    for (const auto& [name, values] : sums_) document.sum(name, values.shape) = values;
    document.end();
    for (std::uint64_t number = 0; number < n_odd_document; ++number) add_paired(number);
    return statistics_;
  }

  void add_paired(std::uint64_t number) {
    DocumentStatistics document(statistics_, 2 * number + 1);
    const auto share = [&](double n) {
      return static_cast<Index>((n + n_odd_document - 1 - static_cast<double>(number)) /
                                n_odd_document);
    };
    for (const auto& [name, paired] : paired_) {
      PairedCounts counts(paired.by_rule.size(), n_typed_head);
      for (Index i = 0; i < share(paired.n_case); ++i) counts.add_case();
      for (Index rule = 0; rule < paired.by_rule.size(); ++rule) {
        for (Index i = 0; i < share(paired.by_rule[rule]); ++i) counts.add_rule_hit(rule);
      }
      for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
        counts.add_head_hits(head_index, static_cast<double>(share(paired.by_head[head_index])));
      }
      counts.add_to(document, name);
    }
    document.end();
  }

  WeightedSums whole(std::size_t n_bootstrap = 0) { return {statistics(), n_bootstrap, 0}; }

  TypesOf types(std::array<double, n_typed_head> induction = {}, std::size_t n_bootstrap = 0,
                const PermutedScores& permuted = {}, const std::vector<Index>& pruned = {}) {
    const WeightedSums sums = whole(n_bootstrap);
    arma::mat scores(n_typed_head, sums.n_weighting());
    for (Index head_index = 0; head_index < n_typed_head; ++head_index)
      scores.row(head_index).fill(induction[head_index]);
    const RelationTests relations = test_relations(sums, false);
    const CoreferenceTest coreference = test_coreference(sums);
    const SemanticTest semantic = test_semantic(sums);
    return {measured_types(head_type_list(),
                           {sums, relations, coreference, semantic, scores, permuted, pruned})};
  }

  static AnalysisSettings resampled(std::uint64_t n_bootstrap) {
    AnalysisSettings settings;
    settings.n_bootstrap = n_bootstrap;
    return settings;
  }

  ResultsGroup results(const std::vector<HeadIndex>& pruned_heads = {}) {
    return classification_results(head_type_list(), statistics(), Array({10, 1, n_typed_head}),
                                  pruned_heads, resampled(50));
  }

  double n_odd_document = 10;
  std::map<std::string, Array> sums_;
  std::map<std::string, Paired> paired_;
  Statistics statistics_;
};

TEST(ThresholdMargin, IsInUnitsOfTheRoomAbove) {
  EXPECT_NEAR(threshold_margin(0.95, 0.9, 1), 0.5, test::double_rounding);
  EXPECT_DOUBLE_EQ(threshold_margin(0.2, 0.6, 1), -1);
  EXPECT_DOUBLE_EQ(threshold_margin(3, 2, 6), 0.25);
}

TEST(ThresholdMargin, AtAThresholdAboveTheCeilingOnlyReachingItCounts) {
  EXPECT_DOUBLE_EQ(threshold_margin(1, 1, 1), 0);
  EXPECT_LT(threshold_margin(1, 1.05, 1), 0);
}

TEST_F(TypesTest, EvenDocumentsChooseTheHeadAndOddOnesScoreItAgainstTheirBestOffset) {
  add_relation({5, 20}, {30, 12});
  const RelationTests tests = test_relations(whole(), false);
  ASSERT_EQ(tests.size(), 2u);
  const RelationTest& test = tests[0];
  EXPECT_EQ(test.direction, ArcDirection::dependent_to_head);
  EXPECT_EQ(test.chosen_head, 1u);
  EXPECT_DOUBLE_EQ(test.count, 80);
  EXPECT_THAT(test.accuracy, ElementsAre(35.0 / 80, 32.0 / 80));
  EXPECT_DOUBLE_EQ(test.offset_baseline, 40.0 / 80);
  EXPECT_DOUBLE_EQ(test.class_baseline, 0);
  EXPECT_THAT(test.even_gain, ElementsAre(5.0 / 40 - 30.0 / 40, 20.0 / 40 - 30.0 / 40));
  EXPECT_DOUBLE_EQ(test.heldout_count, 40);
  EXPECT_DOUBLE_EQ(test.heldout_documents, 10);
  EXPECT_EQ(test.offset, 2u) << "best on odd documents";
  EXPECT_DOUBLE_EQ(test.heldout_baseline(0), 12.0 / 40) << "not the 10 of even documents' offset 1";
  EXPECT_DOUBLE_EQ(test.heldout_accuracy(0, 0), 30.0 / 40);
}

TEST_F(TypesTest, APrunedHeadIsNotChosen) {
  add_relation({5, 20}, {30, 12});
  const WeightedSums sums = whole();
  EXPECT_EQ(test_relations(sums, false, {1})[0].chosen_head, 0u);
  EXPECT_EQ(test_relations(sums, false, {0, 1})[0].chosen_head, no_position);
  const ResultsGroup group =
      classification_results(head_type_list(), statistics(), Array({10, 1, n_typed_head}),
                             {HeadIndex{.layer = 0, .head = 1}}, resampled(50));
  EXPECT_EQ(group.values("relation_best_head")(0, 0), 0);
}

TEST_F(TypesTest, APrunedHeadIsNotTested) {
  add_relation({5, 20}, {30, 30});
  add_pronouns({10, 10, 10, 10}, {27, 27});
  EXPECT_EQ(results().values("relation_passed")(0, 0, 0, 1), 1);
  const ResultsGroup pruned = results({{0, 1}});
  EXPECT_TRUE(std::isnan(pruned.values("relation_p")(0, 0, 0, 1)));
  EXPECT_TRUE(std::isnan(pruned.values("relation_q")(0, 0, 0, 1)));
  EXPECT_EQ(pruned.values("relation_q")(0, 0, 0, 0), pruned.values("relation_p")(0, 0, 0, 0));
  EXPECT_EQ(pruned.values("relation_passed")(0, 0, 0, 0), 1);
  EXPECT_EQ(pruned.values("relation_passed")(0, 0, 0, 1), 0);
  EXPECT_TRUE(std::isnan(pruned.values("coreference_p")(0, 1)));
  EXPECT_EQ(pruned.values("coreference_q")(0, 0), pruned.values("coreference_p")(0, 0));
}

/// Relative error allowed to p: that of the t distribution's series in double.
constexpr double p_rounding = 1e-12;

TEST_F(TypesTest, RelationsAreTestedByAPairedTOverDocuments) {
  add_relation({5, 20}, {30, 17});
  const RelationTests tests = test_relations(whole(), false);
  // scipy.stats.ttest_1samp(x, 0, alternative="greater").pvalue; x the differences of 10 documents:
  // 1 1 2 2 2 2 2 2 2 2, and 0 0 1 1 1 1 1 0 0 0.
  EXPECT_NEAR(tests[0].p[0] / 1.403360233526001e-07, 1, p_rounding);
  EXPECT_NEAR(tests[0].p[1] / 0.007478181955207101, 1, p_rounding);
  EXPECT_TRUE(std::isnan(tests[1].p[0])) << "no arc goes the other way";
  EXPECT_DOUBLE_EQ(tests[0].q[0], 2 * tests[0].p[0]);
  EXPECT_DOUBLE_EQ(tests[0].q[1], tests[0].p[1]);
}

TEST_F(TypesTest, FewHitsInOneDocumentAreWorthLessThanTheSameOverMany) {
  add_relation({5, 20}, {30, 17});
  const double spread = test_relations(whole(), false)[0].p[1];
  // Seventeen hits again, five more than the offset in one document.
  statistics_ = {};
  DocumentStatistics first(statistics_, 0);
  for (const auto& [name, values] : sums_) first.sum(name, values.shape) = values;
  first.end();
  for (std::uint64_t number = 0; number < 10; ++number) {
    DocumentStatistics document(statistics_, 2 * number + 1);
    PairedCounts counts(n_relation_rule, 2);
    for (int i = 0; i < 4; ++i) counts.add_case();
    counts.add_rule_hit(2);
    counts.add_head_hits(1, number == 0 ? 6 : 1);
    counts.add_to(document, relation_test_name("nsubj", 0));
    document.end();
  }
  const WeightedSums sums(statistics_, 0, 0);
  // t = 0.5 / 0.5 with 9 degrees of freedom.
  EXPECT_NEAR(test_relations(sums, false)[0].p[1], 0.1717182, 1e-7);  // seven digits
  EXPECT_LT(spread, 0.05);
}

TEST_F(TypesTest, UntestedRelationsDoNotCountAmongTheTests) {
  add_relation({5, 20}, {30, 17});
  const std::vector<double> alone = test_relations(whole(), false)[0].q;
  add_relation({5, 20}, {30, 17}, "amod");
  paired_[relation_test_name("amod", 0)].n_case = 29;
  RelationTests tests = test_relations(whole(), false);
  EXPECT_FALSE(is_tested(tests[0]));
  EXPECT_TRUE(std::isnan(tests[0].p[0]) && std::isnan(tests[0].q[0]));
  EXPECT_EQ(tests[2].q, alone);

  n_odd_document = 9;
  tests = test_relations(whole(), false);
  EXPECT_EQ(tests[2].heldout_count, 40);
  EXPECT_FALSE(is_tested(tests[2])) << "40 arcs in 9 documents";
}

TEST_F(TypesTest, SyntacticNeedsGainAndSignificance) {
  add_relation({5, 20}, {30, 15});
  const TypesOf found = types();
  EXPECT_TRUE(found.has("syntactic", 0));
  EXPECT_NEAR(found.margin("syntactic", 0), (0.75 - 0.4) / 0.6, test::double_rounding);
  EXPECT_FALSE(found.has("syntactic", 1)) << "0.375 is not 0.10 above 0.3";
  EXPECT_EQ(primary_type(found.types, 0), code_of("syntactic"));

  paired_[relation_test_name("nsubj", 0)].by_head[0] = 12;  // the t-test sees no gain
  EXPECT_TRUE(std::isnan(types().margin("syntactic", 0)));
}

TEST_F(TypesTest, AHeadThatBeatsTheOffsetButNotTheNearestVerbIsNotSyntactic) {
  add_relation({5, 20}, {30, 15});
  set_verbs(20, 28);
  const RelationTest test = test_relations(whole(), false)[0];
  EXPECT_EQ(test.rule, RelationRule::word_class);
  EXPECT_EQ(test.word_class, word_class_of("VERB"));
  EXPECT_DOUBLE_EQ(test.heldout_offset_baseline, 12.0 / 40);
  EXPECT_DOUBLE_EQ(test.heldout_baseline(0), 28.0 / 40);
  EXPECT_DOUBLE_EQ(test.class_baseline, 48.0 / 80);
  EXPECT_THAT(test.even_gain, ElementsAre(5.0 / 40 - 30.0 / 40, 20.0 / 40 - 30.0 / 40))
      << "the offset is better there";
  EXPECT_TRUE(passes_offset(test, 0));
  EXPECT_FALSE(passes(test, 0)) << "30 of 40 are not 0.10 above 28";
  EXPECT_FALSE(types().has("syntactic", 0));
  const RelationTest published = test_relations(whole(), true)[0];
  EXPECT_EQ(published.rule, RelationRule::offset);
  EXPECT_TRUE(passes(published, 0));
  set_verbs(20, 20);
  EXPECT_TRUE(passes(test_relations(whole(), false)[0], 0)) << "30 of 40 are 0.25 above 20";
  const ResultsGroup group = results();
  EXPECT_EQ(group.variable("relation_class").text[0], "VERB");
  EXPECT_EQ(group.values("relation_baseline").shape, (Shape{2, 1, 2}));
  EXPECT_DOUBLE_EQ(group.values("relation_baseline")(1, 0, 0), 40.0 / 80);
}

TEST_F(TypesTest, TheClassOfEvenDocumentsIsJudgedOnOddOnes) {
  const Shape shape{n_block, n_word_class, 1, n_typed_head}, of_class{n_block, n_word_class};
  const Index verb = word_class_of("VERB"), noun = word_class_of("NOUN");
  const auto set_class = [&](Index block, Index word_class, double share, double baseline) {
    sum("word_class_share", shape)(block, word_class, 0, 1) = share;
    sum("word_class_share.weight", shape)(block, word_class, 0, 1) = 100;
    sum("word_class_baseline", of_class)(block, word_class) = baseline;
    sum("word_class_baseline.weight", of_class)(block, word_class) = 100;
  };
  set_class(0, verb, 60, 20);  // min(1.2, 1.5)
  set_class(0, noun, 70, 35);  // min(1.4, 1)
  set_class(1, verb, 50, 20);
  set_class(1, noun, 90, 35);
  EXPECT_TRUE(types().has("word_class", 1));
  EXPECT_EQ(types().of("word_class").choice[1], verb) << "nouns are not twice their baseline";
  EXPECT_NEAR(types().margin("word_class", 1), 0, test::double_rounding);
  EXPECT_FALSE(types().has("word_class", 0));
  const ResultsGroup group = results();
  EXPECT_EQ(group.values("word_class")(0, 1), static_cast<double>(verb));
  EXPECT_EQ(group.values("word_class")(0, 0), -1);
  EXPECT_THAT(group.summary, HasSubstr("1 word class (L0H1 by verbs)"));
  set_class(1, verb, 49, 20);
  EXPECT_FALSE(types().has("word_class", 1)) << "below a half";
  set_class(1, verb, 60, 31);
  EXPECT_FALSE(types().has("word_class", 1)) << "less than twice the baseline";
}

TEST_F(TypesTest, OfTheRelationsAHeadPassesItClaimsTheOneOfLargestGainOnEvenDocuments) {
  add_relation({5, 35}, {36, 30}, "iobj");
  add_relation({6, 30}, {30, 36}, "nsubj");
  const RelationTests relations = test_relations(whole(), false);
  EXPECT_TRUE(passes(relations[0], 0) && passes(relations[2], 0));
  const TypesOf found = types();
  EXPECT_EQ(found.of("syntactic").choice[0], 2u)
      << "nsubj, although iobj has more on odd documents";
  EXPECT_EQ(found.of("syntactic").choice[1], 0u);
  for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
    EXPECT_NEAR(found.margin("syntactic", head_index), (0.75 - 0.4) / 0.6, test::double_rounding)
        << head_index;
  }
}

TEST_F(TypesTest, OnTiesTheOffsetOfEvenDocumentsThenTheShortestIsTheBaseline) {
  add_relation({5, 20}, {30, 12});
  Array& offsets = sum(relation_offsets_name("nsubj"), {n_block, 2, longest_offset + 1});
  offsets(1, 0, 1) = 12;
  EXPECT_EQ(test_relations(whole(), false)[0].offset, 1u);
  offsets(0, 0, 2) = 31;
  EXPECT_EQ(test_relations(whole(), false)[0].offset, 2u);
  offsets(0, 0, 4) = 32;
  EXPECT_EQ(test_relations(whole(), false)[0].offset, 1u) << "the even documents' offset is worse";
}

TEST_F(TypesTest, EveryOffsetFromOneOnMayMakeAHeadPositional) {
  for (Index o = 0; o < n_offset; ++o) {
    const auto before = sums_;
    set_offset(o, 1, 95, 68);
    const TypesOf found = types();
    const std::string type = o == 0 ? "current_token" : "positional";
    const std::string other = o == 0 ? "positional" : "current_token";
    EXPECT_NEAR(found.margin(type, 1), 0.5, test::double_rounding) << "offset " << o;
    EXPECT_FALSE(found.has(other, 1)) << "offset " << o;
    if (o > 0) {
      EXPECT_EQ(found.of("positional").choice[1], o);
    }
    sums_ = before;
  }
}

TEST_F(TypesTest, PositionalNeedsShareAndMassAtTheSameOffset) {
  set_offset(1, 0, 95, 19);
  set_offset(1, 1, 95, 20);
  const TypesOf found = types();
  EXPECT_FALSE(found.has("positional", 0)) << "it rests on the sink";
  EXPECT_TRUE(found.has("positional", 1));
  EXPECT_NEAR(found.margin("positional", 1), 0, test::double_rounding)
      << "the smaller margin counts";

  set_offset(1, 1, 95, 5);
  set_offset(2, 1, 5, 90);
  EXPECT_FALSE(types().has("positional", 1)) << "mass at another offset";
}

TEST_F(TypesTest, ThresholdsAreThoseDefined) {
  for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
    const bool above = head_index == 1;
    set_offset(3, head_index, above ? 90 : 89, 50);
    set(HeadScore::delimiter, 0, head_index, above ? 60 : 59, 100);
    set(HeadScore::duplicate_token, 0, head_index, above ? 40 : 39, 100);
    set(HeadScore::rare_token, 0, head_index, above ? 50 : 49, 100);
    set(HeadScore::sink, 0, head_index, above ? 90 : 89, 100);
  }
  set(Baseline::delimiter_baseline, 0, 30, 100);
  const TypesOf found = types({0.39, 0.4});
  for (const char* const type :
       {"positional", "delimiter", "duplicate", "induction", "rare", "sink"}) {
    EXPECT_FALSE(found.has(type, 0)) << type;
    EXPECT_TRUE(found.has(type, 1)) << type;
  }
  EXPECT_EQ(primary_type(found.types, 0), 0u);
}

TEST_F(TypesTest, LongRangeIsAQuarterOfTheWayToTheFurthestWithItsIntervalAboveUniform) {
  set_offset(1, 0, 50, 50);
  for (const Index block : {0, 1}) {
    set(Baseline::distance_uniform, block, 500, 100);
    set(Baseline::distance_furthest, block, 900, 100);
    set(HeadScore::distance, block, 0, 599, 100);
    set(HeadScore::distance, block, 1, block == 0 ? 600 + 0x1p-20 : 600 - 0x1p-20, 100);
    for (const Index head_index : {0, 1})
      set(HeadScore::distance_even, block, head_index, 300, 100);
  }
  const auto has = [&](Index head_index) { return types({}, 200).has("long_range", head_index); };
  EXPECT_FALSE(has(0));
  EXPECT_TRUE(has(1)) << "5 + (9 - 5) / 4 = 6";
  EXPECT_DOUBLE_EQ(types({}, 200).margin("long_range", 1), 0);
  set(HeadScore::distance, 0, 1, 850, 100);
  set(HeadScore::distance, 1, 1, 400, 100);
  EXPECT_FALSE(has(1)) << "the interval, from 4 to 8.5, has uniform attention's 5";
  const TypesOf without = types();
  EXPECT_FALSE(without.has("long_range", 1));
  EXPECT_THAT(without.of("long_range").untested, HasSubstr("no interval"));
}

TEST_F(TypesTest, LongRangeHeadsLookFurtherBackThanWithTheirAttentionSpreadEvenly) {
  for (const Index block : {0, 1}) {
    set(Baseline::distance_uniform, block, 500, 100);
    set(Baseline::distance_furthest, block, 1000, 100);
    for (const Index head_index : {0, 1}) {
      set(HeadScore::distance, block, head_index, block == 0 ? 660 + 0x1p-20 : 660 - 0x1p-20, 100);
      set(HeadScore::distance_even, block, head_index, head_index == 0 ? 660 - 1e-9 : 520, 100);
    }
  }
  const TypesOf found = types({}, 200);
  EXPECT_FALSE(found.has("long_range", 0)) << "it attends evenly, more so late in documents";
  EXPECT_TRUE(found.has("long_range", 1));
  EXPECT_NEAR(found.margin("long_range", 1), (6.6 - 6.25) / (10 - 6.25), test::double_rounding);

  set(HeadScore::distance_even, 0, 1, 300, 100);
  set(HeadScore::distance_even, 1, 1, 700, 100);
  EXPECT_FALSE(types({}, 200).has("long_range", 1))
      << "the interval of distance - distance_even, from -0.4 to 3.6, has 0";
}

TEST_F(TypesTest, HeadsThatAttendToTheSinkAloneLeaveTypesUntested) {
  set_offset(1, 0, 50, 0);
  set(Baseline::delimiter_baseline, 0, 10, 100);
  sum("word_class_baseline", {n_block, n_word_class})(0, word_class_of("VERB")) = 20;
  const TypesOf found = types({}, 200);
  for (const char* const type : {"delimiter", "long_range", "word_class", "semantic"}) {
    EXPECT_EQ(found.of(type).untested, "no head attends beyond the first token") << type;
  }
  // Nor does a removed head, whose scores are all 0 so that it attends evenly.
  for (const Index block : {0, 1}) {
    set(HeadScore::distance, block, 1, 500, 100);
    set(HeadScore::delimiter, block, 1, 10, 100);
  }
  for (const char* const type : {"delimiter", "long_range"}) {
    EXPECT_EQ(types({}, 0, {}, {1}).of(type).untested, "no head attends beyond the first token");
    EXPECT_EQ(types().of(type).untested.find("no head attends"), std::string::npos) << type;
  }
}

TEST_F(TypesTest, SharesBeyondASinkThatTakesAllMakeNoType) {
  const Shape shape{n_block, n_word_class, 1, n_typed_head}, of_class{n_block, n_word_class};
  const Index verb = word_class_of("VERB");
  for (const Index block : {0, 1}) {
    set(HeadScore::sink, block, 0, 98, 100);
    set(HeadScore::sink, block, 1, 99, 100);
    set(Baseline::delimiter_baseline, block, 30, 100);
    set(Baseline::distance_uniform, block, 500, 100);
    set(Baseline::distance_furthest, block, 900, 100);
    sum("word_class_baseline", of_class)(block, verb) = 20;
    sum("word_class_baseline.weight", of_class)(block, verb) = 100;
    for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
      set(HeadScore::delimiter, block, head_index, 80, 100);
      set(HeadScore::distance, block, head_index, block == 0 ? 800 + 0x1p-20 : 800 - 0x1p-20, 100);
      set(HeadScore::distance_even, block, head_index, 500, 100);
      sum("word_class_share", shape)(block, verb, 0, head_index) = 60;
      sum("word_class_share.weight", shape)(block, verb, 0, head_index) = 100;
    }
  }
  const TypesOf found = types({}, 200);
  for (const char* const type : {"delimiter", "long_range", "word_class"}) {
    EXPECT_TRUE(found.has(type, 0)) << type;
    EXPECT_FALSE(found.has(type, 1)) << type << ": 1 % of the attention is left";
  }
  EXPECT_TRUE(found.has("sink", 1));
}

TEST_F(TypesTest, PrimaryIsTheTypeWithTheLargestMargin) {
  set(HeadScore::duplicate_token, 0, 0, 70, 100);  // margin 0.5
  set(HeadScore::rare_token, 0, 0, 80, 100);       // margin 0.6
  set(HeadScore::sink, 0, 0, 94, 100);             // margin 0.4
  EXPECT_EQ(primary_type(types().types, 0), code_of("rare"));
}

TEST_F(TypesTest, SemanticNeedsFiveStandardDeviationsFromTheNull) {
  Array& null = sum("semantic_null", {3, 1, n_typed_head});
  Array& weight = sum("semantic_null.weight", {3, 1, n_typed_head});
  for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
    set(HeadScore::semantic, 0, head_index, 3, 10);
    const double spread = head_index == 0 ? 0.5 : 0.7;  // standard deviations 0.05 and 0.07
    for (Index r = 0; r < 3; ++r) {
      weight(r, 0, head_index) = 10;
      null(r, 0, head_index) = spread * (static_cast<double>(r) - 1);
    }
  }
  const SemanticTest test = test_semantic(whole());
  EXPECT_NEAR(test.z[0], 6, test::double_rounding);
  const TypesOf found = types();
  EXPECT_NEAR(found.margin("semantic", 0), (0.3 - 0.2) / 0.8, test::double_rounding);
  EXPECT_FALSE(found.has("semantic", 1));
  EXPECT_THAT(found.of("semantic").rule, HasSubstr("(not compared with heads of permuted weights"));

  const TypesOf lower = types({}, 0, {{"semantic", 0.1}}),
                higher = types({}, 0, {{"semantic", 0.35}});
  EXPECT_EQ(lower.of("semantic").numbers[0].threshold, 0.2);
  EXPECT_TRUE(lower.has("semantic", 0));
  EXPECT_EQ(higher.of("semantic").numbers[0].threshold, 0.35);
  EXPECT_FALSE(higher.has("semantic", 0)) << "heads of permuted weights reach more";
  EXPECT_EQ(higher.of("semantic").rule,
            "semantic >= 0.2 and z >= 5, and above 95 % of heads with permuted weights "
            "(0.35)");
  EXPECT_THAT(types({}, 0, {{"suppressing", 0.05}}).of("suppressing").rule,
              HasSubstr("and below 95 % of heads with permuted weights (-0.05)"));
}

TEST_F(TypesTest, CoreferenceHasNoBaselineWithoutPronouns) {
  EXPECT_TRUE(std::isnan(test_coreference(whole()).baseline(0)));
  const TypeNumbers numbers = types().of("coreference").numbers[0];
  EXPECT_TRUE(std::isnan(numbers.baseline) && std::isnan(numbers.threshold));
}

TEST_F(TypesTest, CoreferenceIsHeldAgainstTheBestOfTheRulesOnOddDocuments) {
  set(HeadScore::coreference_pronoun, 0, 1, 30, 30);  // even documents do not count
  for (Index best = 0; best < n_coreference_rule; ++best) {
    std::vector<double> by_rule(n_coreference_rule, 10);
    by_rule[best] = 15;
    add_pronouns(by_rule, {27, 17});
    const CoreferenceTest test = test_coreference(whole());
    EXPECT_DOUBLE_EQ(test.baseline(0), 0.5);
    EXPECT_DOUBLE_EQ(test.accuracy(0, 0), 0.9);
    EXPECT_EQ(test.n_pronoun, 30);
    // scipy.stats.ttest_1samp as above; of 1 1 1 1 1 2 2 1 1 1 and of 0 0 0 0 0 1 1 0 0 0.
    EXPECT_NEAR(test.p[0] / 4.269025611583142e-06, 1, p_rounding);
    EXPECT_NEAR(test.p[1] / 0.08392532802853746, 1, p_rounding);
    const TypesOf found = types();
    EXPECT_NEAR(found.margin("coreference", 0), (0.9 - 0.6) / 0.4, test::double_rounding);
    EXPECT_FALSE(found.has("coreference", 1));
  }
  add_pronouns({10, 10, 10, 25}, {27, 17});
  EXPECT_FALSE(types().has("coreference", 0)) << "0.9 is not 0.10 above 25 of 30";
  const auto is_out_of_reach = [&] { return types().of("coreference").is_out_of_reach; };
  EXPECT_FALSE(is_out_of_reach());
  add_pronouns({10, 10, 10, 28}, {30, 17});
  EXPECT_TRUE(is_out_of_reach()) << "28 of 30 and 0.10 are above 1";
}

TEST_F(TypesTest, FewPronounsAreNoTestOfCoreference) {
  add_pronouns({15, 10, 10, 10}, {27, 17});
  EXPECT_EQ(types().of("coreference").untested, "");
  paired_[pronoun_test_name].n_case = 29;
  EXPECT_THAT(types().of("coreference").untested, HasSubstr("30 annotated"));
  EXPECT_FALSE(types().has("coreference", 0));
}

TEST_F(TypesTest, SummaryAndVariablesNameTheOffsetAndTheRelation) {
  add_relation({5, 20}, {30, 12}, "iobj");
  add_relation({6, 20}, {30, 12}, "nsubj");
  set_offset(2, 1, 95, 60);
  const ResultsGroup group = results();
  EXPECT_THAT(group.summary, HasSubstr("1 positional (L0H1 by offset 2)"));
  EXPECT_THAT(group.summary,
              HasSubstr("1 syntactic (L0H0 by nsubj → head (40 held-out arcs) and iobj → head "
                        "(40 held-out arcs))"));
  const auto value = [&](const char* name, Index head) {
    return group.variable(name).values(0, head);
  };
  EXPECT_EQ(value("positional_offset", 0), -1);
  EXPECT_EQ(value("positional_offset", 1), 2);
  EXPECT_EQ(value("syntactic_relation", 0), 1);
  EXPECT_EQ(value("syntactic_direction", 0), 0);
  EXPECT_EQ(value("syntactic_arcs", 0), 40);
  EXPECT_EQ(value("syntactic_relation", 1), -1);
  EXPECT_EQ(value("syntactic_arcs", 1), 0);
  Results results;
  results.groups = {group};
  const Figure map = classification_figures(results).front();
  EXPECT_THAT(map.caption, HasSubstr("Type positional: L0H1 by offset 2."));
  EXPECT_THAT(map.caption, HasSubstr("Type syntactic: L0H0 by nsubj → head (40 held-out arcs);"));
  const std::size_t n_type_head = n_typed_head;
  EXPECT_EQ(group.variable("type_about").text[(code_of("syntactic") - 1) * n_type_head],
            "nsubj → head (40 held-out arcs); iobj → head (40 held-out arcs)");
}

TEST_F(TypesTest, ResamplesDrawDocumentsAndKeepTheWholeInFront) {
  set(HeadScore::sink, 0, 0, 1, 10);
  set(HeadScore::sink, 1, 0, 9, 10);
  const WeightedSums sums = whole(200);
  ASSERT_EQ(sums.n_weighting(), 201u);
  const arma::mat sink = sums.ratio("sink");
  EXPECT_DOUBLE_EQ(sink(0, 0), 0.5);
  std::set<double> drawn;
  for (Index w = 1; w < 201; ++w) drawn.insert(sink(0, w));
  EXPECT_THAT(drawn, testing::UnorderedElementsAre(0.1, 0.9)) << "one of two blocks";
  const Estimate jumping = row_estimate(sink, 0);
  EXPECT_DOUBLE_EQ(jumping.low, 0.1);
  EXPECT_DOUBLE_EQ(jumping.high, 0.9);
}

TEST_F(TypesTest, IntervalsOfRatiosLeaveOutDocuments) {
  Array& n_document = sum("n_document", {n_block});
  for (Index block = 0; block < 24; ++block) {
    n_document(block) = 1;
    set(HeadScore::sink, block, 0, static_cast<double>(block % 5), 10);
    set(HeadScore::sink, block, 1, 3, 10);
  }
  std::vector<double> shares;
  const std::vector<Estimate> found = whole(200).estimates([&](const WeightedSums& sums) {
    for (Index w = 0; w < sums.n_weighting(); ++w) shares.push_back(sums.ratio("sink")(0, w));
    return sums.ratio("sink");
  });
  EXPECT_EQ(shares.size(), 201u + 24u);
  const auto mean = [](const BootstrapCounts& weights) {
    double hits = 0, n = 0;
    for (std::size_t block = 0; block < 24; ++block) {
      hits += weights[block] * static_cast<double>(block % 5);
      n += 10.0 * weights[block];
    }
    return std::vector<double>{hits / n};
  };
  const Estimate expected = Bootstrap(24, 200, 0).estimates(mean)[0];
  EXPECT_NEAR(found[0].value, 46.0 / 240, test::double_rounding);
  EXPECT_NEAR(found[0].low, expected.low, test::double_rounding);
  EXPECT_NEAR(found[0].high, expected.high, test::double_rounding);
  EXPECT_EQ(found[0].influences, expected.influences);
  EXPECT_NEAR(found[1].low, 0.3, test::double_rounding);
  EXPECT_NEAR(found[1].high, 0.3, test::double_rounding);
}

TEST_F(TypesTest, WhatHasNoCeilingIsPrimaryOnlyOfHeadsOfNoOtherType) {
  TypesOf margins = no_heads(3, 1);
  for (const char* const type : {"copying", "suppressing"}) margins.of(type).has_ceiling = false;
  const auto margin = [&](const std::string& type, Index head_index) -> double& {
    return margins.of(type).margin(head_index, 0);
  };
  margin("copying", 0) = 50;
  margin("induction", 0) = 0;
  margin("copying", 1) = 0.5;
  margin("suppressing", 1) = 0.6;
  EXPECT_EQ(primary_type(margins.types, 0), code_of("induction"));
  EXPECT_EQ(primary_type(margins.types, 1), code_of("suppressing"));
  EXPECT_EQ(primary_type(margins.types, 2), 0);
}

TEST_F(TypesTest, CopyingIsTestedWhereNoHeadIsSignificantAndNotOnOneDocument) {
  set_offset(1, 0, 50, 50);
  for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
    for (const HeadScore score : {HeadScore::copy_effect, HeadScore::suppression_effect}) {
      set(score, 0, head_index, 1, 1);
      set(score, 1, head_index, -1, 1);
    }
  }
  const ResultsGroup group = results();
  for (const char* const type : {"copying", "suppressing"}) {
    EXPECT_EQ(types().of(type).untested, "");
    EXPECT_EQ(group.values("type_share")(code_of(type) - 1), 0);
    EXPECT_THAT(group.summary, Not(HasSubstr(std::string(type) + " (")));
  }
  const Array heads =
      control_types(head_type_list(), statistics(), Array({10, 1, n_typed_head}), {}, resampled(0))
          .at("heads");
  EXPECT_EQ(heads(code_of("copying") - 1), 0);
  for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
    set(HeadScore::copy_effect, 1, head_index, 0, 0);
  }
  EXPECT_EQ(types().of("copying").untested, "one document cannot be tested");
}

TEST_F(TypesTest, ARemovedHeadCountsInNoShareMedianOrMean) {
  for (const Index block : {0, 1}) {
    set(HeadScore::sink, block, 0, 0.95, 1);
    set(HeadScore::sink, block, 1, 0.25, 1);
    set(HeadScore::entropy, block, 0, 1, 1);
    set(HeadScore::entropy, block, 1, 3, 1);
  }
  const auto summed_up = [&](const std::vector<HeadIndex>& pruned_heads) {
    const ResultsGroup group = results(pruned_heads);
    return std::vector{group.scalar("sink_mean"), group.scalar("entropy_median"),
                       group.values("type_share")(code_of("sink") - 1)};
  };
  EXPECT_THAT(summed_up({}), ElementsAre(testing::DoubleEq(0.6), 2, 0.5));
  EXPECT_THAT(summed_up({{0, 1}}), ElementsAre(0.95, 1, 1));
  EXPECT_THAT(
      results({{0, 1}}).summary,
      HasSubstr("Of 1 head: 1 sink (L0H0), 0 without a type, 1 of no type but sink or long range, "
                "which do not count as specialised."));
  EXPECT_THAT(results({{0, 0}}).summary, HasSubstr("Of 1 head: 1 without a type"));
  const Array scores = control_types(head_type_list(), statistics(), Array({10, 1, n_typed_head}),
                                     {{0, 1}}, resampled(0))
                           .at("scores");
  EXPECT_EQ(scores(code_of("sink") - 1, 0), 0.95);
  EXPECT_TRUE(std::isnan(scores(code_of("sink") - 1, 1)));
}

TEST_F(TypesTest, ACoreferenceHeadRestsWhereItsSinkMassIsHigherWithoutPronouns) {
  add_pronouns({0, 0, 0, 0}, {30, 0});
  for (const Index block : {0, 1}) {
    for (Index kind = 0; kind < 2; ++kind) {
      const Shape shape{n_block, 2, 1, n_typed_head};
      for (Index head_index = 0; head_index < n_typed_head; ++head_index) {
        sum("sentence_sink", shape)(block, kind, 0, head_index) = kind == 0 ? 8 : 3;
        sum("sentence_sink.weight", shape)(block, kind, 0, head_index) = 10;
        sum("sentence_entropy", shape)(block, kind, 0, head_index) = 5;
        sum("sentence_entropy.weight", shape)(block, kind, 0, head_index) = 10;
      }
    }
  }
  const ResultsGroup group = results();
  const Claim& sink = group.claims[group.claims.size() - 2];
  const Claim& entropy = group.claims.back();
  EXPECT_EQ(sink.number, 8);
  EXPECT_EQ(sink.verdict, Verdict::holds);
  EXPECT_THAT(sink.evidence,
              HasSubstr("By the intervals, 1 of 1 head rests and 0 do the opposite."));
  EXPECT_NEAR(sink.effect.value, 0.5, test::double_rounding);
  EXPECT_EQ(entropy.verdict, Verdict::undecided) << "no difference";
}

TEST_F(TypesTest, ACoreferenceHeadRestsWhereItsEntropyIsLowerWithoutPronouns) {
  add_pronouns({0, 0, 0, 0}, {30, 0});
  for (const Index block : {0, 1}) {
    for (Index kind = 0; kind < 2; ++kind) {
      const Shape shape{n_block, 2, 1, n_typed_head};
      sum("sentence_sink.weight", shape)(block, kind, 0, 0) = 10;
      sum("sentence_entropy", shape)(block, kind, 0, 0) = kind == 0 ? 2 : 5;
      sum("sentence_entropy.weight", shape)(block, kind, 0, 0) = 10;
    }
  }
  const auto entropy_claim = [&] { return results().claims.back(); };
  EXPECT_EQ(entropy_claim().verdict, Verdict::holds);
  EXPECT_NEAR(entropy_claim().effect.value, -0.3, test::double_rounding);
  for (const Index block : {0, 1}) {
    sum("sentence_entropy", {n_block, 2, 1, n_typed_head})(block, 0, 0, 0) = 8;
  }
  EXPECT_EQ(entropy_claim().verdict, Verdict::does_not_hold);
}

/// Margins of four heads in the whole corpus and 20 resamples. The first `n_always` heads are
/// positional and delimiter heads in all of them; the next `n_sometimes` are in the whole corpus
/// and in every other resample.
TypesOf margins_of(Index n_always, Index n_sometimes) {
  TypesOf margins = no_heads(4, 21);
  for (const char* const type : {"positional", "delimiter"}) {
    arma::mat& margin = margins.of(type).margin;
    for (Index head_index = 0; head_index < n_always + n_sometimes; ++head_index) {
      for (Index w = 0; w < 21; ++w) {
        if (head_index < n_always || w % 2 == 0) margin(head_index, w) = 0.5;
      }
    }
  }
  return margins;
}

std::vector<std::string> no_notes() {
  return std::vector<std::string>(head_type_list().size());
}

/// 1 of types with a significance test, NaN of all others.
std::vector<double> full_powers() {
  std::vector<double> powers;
  for (const HeadType& type : head_type_list()) powers.push_back(type.power ? 1 : std::nan(""));
  return powers;
}

TEST_F(TypesTest, ClaimSevenHoldsWhereTheWholeIntervalIsAboveHalfTheHeads) {
  const auto claim = [&](Index n_always, Index n_sometimes) {
    return specialisation_claims(margins_of(n_always, n_sometimes).types, full_powers(),
                                 no_notes())[0];
  };
  EXPECT_EQ(claim(3, 0).verdict, Verdict::holds);
  EXPECT_EQ(claim(1, 0).verdict, Verdict::does_not_hold);
  EXPECT_EQ(claim(1, 2).verdict, Verdict::undecided);
  EXPECT_DOUBLE_EQ(claim(3, 0).effect.value, 0.75) << "a head of two types counts once";
  std::vector<double> weak = full_powers();
  for (const double power : {0.5, std::nan("")}) {
    weak[code_of("coreference") - 1] = power;
    const Claim few = specialisation_claims(margins_of(1, 0).types, weak, no_notes())[0];
    EXPECT_EQ(few.verdict, Verdict::undecided) << "coreference heads may have been missed";
    EXPECT_THAT(few.evidence, HasSubstr("unknown or below 80 % (coreference)"));
    EXPECT_EQ(specialisation_claims(margins_of(3, 0).types, weak, no_notes())[0].verdict,
              Verdict::holds);
  }
}

TEST_F(TypesTest, ClaimsCountTheHeadsThatTheModelHas) {
  TypesOf margins = margins_of(2, 0);
  leave_out_heads({3}, margins.types);
  const Claim claim = specialisation_claims(margins.types, full_powers(), no_notes())[1];
  EXPECT_DOUBLE_EQ(claim.effect.value, 2.0 / 3);
  EXPECT_THAT(claim.evidence, testing::StartsWith("2 of 3 heads pass the rule"));
  TypesOf of_one = margins_of(1, 0);
  leave_out_heads({1, 2, 3}, of_one.types);
  EXPECT_THAT(specialisation_claims(of_one.types, full_powers(), no_notes())[1].evidence,
              testing::StartsWith("1 of 1 head passes the rule"));
}

TEST_F(TypesTest, PowerGoesByTheDocumentsThatHaveACase) {
  const auto power = [&](double n_document) {
    RelationTest relation;
    relation.heldout_count = 60;
    relation.heldout_documents = n_document;
    relation.p = relation.q = {0.5, 0.5};
    // Standard deviations over resamples of 0.03: the gain of 0.10 is 3.3 standard errors.
    relation.heldout_accuracy = {{0.5, 0.47, 0.5, 0.53}, {0.5, 0.47, 0.5, 0.53}};
    relation.heldout_baseline = {0.4, 0.4, 0.4, 0.4};
    CoreferenceTest coreference;
    coreference.n_pronoun = 60;
    coreference.n_document = n_document;
    coreference.p = relation.p;
    coreference.accuracy = relation.heldout_accuracy;
    coreference.baseline = relation.heldout_baseline;
    const WeightedSums sums = whole();
    const RelationTests relations{relation};
    const SemanticTest semantic;
    const arma::mat induction;
    const PermutedScores permuted;
    const std::vector<Index> pruned;
    const Measured measured{sums, relations, coreference, semantic, induction, permuted, pruned};
    return std::pair(syntactic_type().power(measured), coreference_type().power(measured));
  };
  // P(T > t(1 - 0.05 / 2) - 10 / 3), Student's of 9 and of 99 degrees of freedom, to seven digits.
  for (const auto& [n_document, expected] : {std::pair{10.0, 0.8440133}, {100.0, 0.9098114}}) {
    EXPECT_NEAR(power(n_document).first, expected, 1e-7) << "of syntactic heads";
    EXPECT_NEAR(power(n_document).second, expected, 1e-7) << "of coreference heads";
  }
}

TEST(StandardError, IsTheMedianOfTheHeadsThatAreLeftOverTheResamplesThatHaveTheScore) {
  const double nan = std::nan("");
  // The first column is the whole corpus. Standard deviations of 1, 2 and 4.
  const arma::mat score{{9, 1, 2, nan, 3}, {9, 2, 4, 0, 6}, {9, 4, 8, 0, 12}};
  const arma::rowvec baseline{0, 0, 0, nan, 0};
  EXPECT_DOUBLE_EQ(standard_error(score, baseline, {}), 2);
  EXPECT_DOUBLE_EQ(standard_error(score, baseline, {2}), 1.5);
  EXPECT_TRUE(std::isnan(standard_error(score, baseline, {0, 1, 2})));
  EXPECT_TRUE(std::isnan(standard_error(score.head_cols(1), baseline.head(1), {})));
  EXPECT_TRUE(std::isnan(standard_error(score.head_cols(2), baseline.head(2), {})));
}

TEST_F(TypesTest, ARelationOfUnknownPowerDoesNotMakeThePowerUnknown) {
  RelationTest known;
  known.heldout_count = 60;
  known.heldout_documents = 100;
  known.p = {0.5};
  known.heldout_accuracy = {{0.5, 0.47, 0.5, 0.53}};
  known.heldout_baseline = {0.4, 0.4, 0.4, 0.4};
  RelationTest unknown = known;
  unknown.heldout_accuracy.fill(0.5);  // no resample changes it
  const WeightedSums sums = whole();
  const CoreferenceTest coreference;
  const SemanticTest semantic;
  const arma::mat induction;
  const PermutedScores permuted;
  const std::vector<Index> pruned;
  const auto power = [&](const RelationTests& relations) {
    return syntactic_type().power(
        {sums, relations, coreference, semantic, induction, permuted, pruned});
  };
  // P(T > t(1 - 0.05 / 2) - 10 / 3) as above: two heads are tested, one by each relation.
  EXPECT_NEAR(power({known, unknown}), 0.9098114, 1e-7);
  EXPECT_TRUE(std::isnan(power({unknown})));
}

TEST_F(TypesTest, AClaimThatNoUntrainedModelSettlesSaysSo) {
  std::vector<Claim> claims =
      specialisation_claims(margins_of(2, 0).types, full_powers(), no_notes());
  settle_by_controls(head_type_list(), {}, 4, claims);
  EXPECT_EQ(claims[1].verdict, Verdict::undecided);
  EXPECT_THAT(claims[1].evidence, HasSubstr("No untrained model was run"));
  claims = specialisation_claims(margins_of(0, 0).types, full_powers(), no_notes());
  settle_by_controls(head_type_list(), {}, 4, claims);
  EXPECT_THAT(claims[1].evidence, Not(HasSubstr("untrained")));
}

/// A corpus of documents in which each head of a model attends to delimiters by a share of its own,
/// `means`, give or take 0.25 from document to document; and the claim about its delimiter heads.
/// @param type  that the heads are of instead, by the same margins.
Claim claim_on_documents(const arma::vec& means, std::uint64_t seed,
                         const std::string& type = "delimiter") {
  constexpr std::size_t n_document = 60, n_resample = 200;
  test::Normal normal(seed);
  arma::mat share(means.n_elem, n_document);
  for (Index d = 0; d < n_document; ++d) {
    for (Index h = 0; h < means.n_elem; ++h) {
      share(h, d) = means(h) + 0.25 * static_cast<double>(normal.matrix(1, 1, 1)(0));
    }
  }
  const Bootstrap bootstrap =
      Bootstrap::of_documents(std::vector<double>(n_document, 1), n_resample, seed);
  TypesOf types = no_heads(means.n_elem, 1 + n_resample);
  arma::mat& margin = types.of(type).margin;
  for (Index w = 0; w < margin.n_cols; ++w) {
    const BootstrapCounts counts = w == 0 ? bootstrap.observed() : bootstrap.draw(w - 1);
    const arma::vec weights = arma::conv_to<arma::vec>::from(counts);
    margin.col(w) = share * weights / arma::accu(weights) - 0.5;
  }
  std::vector<Claim> claims = specialisation_claims(types.types, full_powers(), no_notes());
  remove_intervals_of_no_width(claims);
  return *std::ranges::find(claims, "Some heads are " + type + " heads.", &Claim::statement);
}

// The standard error of a head's mean is 0.032: of 40 heads from 0.3 to 0.7 some 6 are within two
// of the threshold. 120 intervals miss the bounds by chance less than once in 10,000.
TEST_F(TypesTest, IntervalsOfTheNumberOfHeadsCoverItWhereHeadsAreNearTheThreshold) {
  const arma::vec means = arma::linspace(0.3, 0.7, 40);
  double covering = 0, n_interval = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Estimate share = claim_on_documents(means, seed).effect;
    if (!share.has_interval()) continue;
    ++n_interval;
    EXPECT_LT(share.low, share.high);
    covering += share.low <= 0.5 && 0.5 <= share.high ? 1 : 0;
  }
  EXPECT_GT(n_interval, 115);
  EXPECT_GT(covering / n_interval, 0.9);
}

TEST_F(TypesTest, ANumberOfHeadsThatNoResampleChangesHasNoInterval) {
  const Claim claim = claim_on_documents({0.05, 0.1, 0.9, 0.95}, 1);
  EXPECT_EQ(claim.effect.value, 0.5);
  EXPECT_FALSE(claim.effect.has_interval());
  EXPECT_THAT(claim.evidence,
              HasSubstr("The number has no interval: in every resample of documents "
                        "the same number of heads passes."));
}

TEST_F(TypesTest, EvidenceSpeaksOfTheIntervalsScoresOnlyWhereThereIsAnInterval) {
  const auto evidence = [](const arma::vec& means) {
    return claim_on_documents(means, 1, "syntactic").evidence;
  };
  const std::string of_interval = "The interval varies only the scores";
  EXPECT_THAT(evidence({0.05, 0.1, 0.9, 0.95}), testing::Not(HasSubstr(of_interval)));
  EXPECT_THAT(evidence(arma::linspace(0.3, 0.7, 40)), HasSubstr(of_interval));
}

TEST_F(TypesTest, ATypesClaimHoldsWhereEveryResampleKeepsMoreHeadsThanUntrainedModelsHave) {
  const auto verdict = [&](Index n_always, Index n_sometimes,
                           const std::vector<double>& untrained) {
    std::vector<Claim> claims =
        specialisation_claims(margins_of(n_always, n_sometimes).types, full_powers(), no_notes());
    std::vector<ControlHeads> controls(untrained.size());
    for (std::size_t i = 0; i < controls.size(); ++i)
      controls[i].assign(head_type_list().size(), untrained[i]);
    if (!controls.empty()) settle_by_controls(head_type_list(), controls, 4, claims);
    return claims[1].verdict;
  };
  EXPECT_EQ(verdict(2, 0, {}), Verdict::undecided) << "chance may give as many";
  EXPECT_EQ(verdict(2, 0, {0, 0, 1, 0, 1}), Verdict::holds);
  EXPECT_EQ(verdict(2, 0, {0, 0, 2, 0, 1}), Verdict::undecided);
  EXPECT_EQ(verdict(2, 0, {0, 0, 0, 0}), Verdict::undecided) << "of four models";
  EXPECT_EQ(verdict(2, 0, {0, 0, std::nan(""), 0, 0}), Verdict::undecided) << "not tested";
  EXPECT_EQ(verdict(0, 1, {0, 0, 0, 0, 0}), Verdict::undecided);
  EXPECT_EQ(verdict(0, 0, {0, 0, 0, 0, 0}), Verdict::does_not_hold);
}

TEST_F(TypesTest, AClaimComparesNumbersOfHeadsWithoutRounding) {
  // In double, 14 / 25 is not 1 / 25 added 14 times, and 14 / 25 times 25 is more than 14.
  constexpr Index n_head_total = 25;
  TypesOf types = no_heads(n_head_total, 21);
  types.of("delimiter").margin.head_rows(14).fill(0.5);
  std::vector<Claim> claims = specialisation_claims(types.types, full_powers(), no_notes());
  const auto claim =
      std::ranges::find(claims, "Some heads are delimiter heads.", &Claim::statement);
  EXPECT_EQ(claim->effect.value, 14.0 / n_head_total);
  EXPECT_EQ(claim->effect.low, 14.0 / n_head_total);
  const auto verdict = [&](double untrained) {
    settle_by_controls(head_type_list(),
                       {n_control_per_kind, ControlHeads(head_type_list().size(), untrained)},
                       n_head_total, claims);
    return claim->verdict;
  };
  EXPECT_EQ(verdict(14), Verdict::undecided) << "an untrained model has as many";
  EXPECT_EQ(verdict(13), Verdict::holds);
}

TEST_F(TypesTest, NoHeadOfATypeSaysThereIsNoneIfOneWouldBeFound) {
  const auto verdict = [&](double power) {
    std::vector<double> powers = full_powers();
    powers[code_of("syntactic") - 1] = power;
    return specialisation_claims(margins_of(0, 0).types, powers, no_notes())[2];
  };
  EXPECT_EQ(verdict(0.8).verdict, Verdict::does_not_hold);
  EXPECT_EQ(verdict(0.79).verdict, Verdict::undecided);
  EXPECT_THAT(verdict(0.79).evidence, HasSubstr("with a probability of 79 %"));
  EXPECT_EQ(verdict(std::nan("")).verdict, Verdict::undecided);
  EXPECT_THAT(verdict(std::nan("")).evidence, HasSubstr("head at the threshold is unknown"));
  // A rule that is nearly always right leaves no room for a head to be better by the gain.
  TypesOf out_of_reach = margins_of(0, 0);
  out_of_reach.of("syntactic").is_out_of_reach = true;
  const Claim none_could = specialisation_claims(out_of_reach.types, full_powers(), no_notes())[2];
  EXPECT_EQ(none_could.verdict, Verdict::undecided);
  EXPECT_THAT(none_could.evidence, HasSubstr("No head can pass: the baseline leaves less room"));
  // A significant head below the threshold may lie above it.
  TypesOf significant = margins_of(0, 0);
  significant.of("syntactic").margin(0, 3) = 0.1;
  significant.of("syntactic").margin(0, 4) = 0.1;
  std::vector<double> powers = full_powers();
  powers[code_of("syntactic") - 1] = 0.9;
  EXPECT_EQ(specialisation_claims(significant.types, powers, no_notes())[2].verdict,
            Verdict::undecided);
  // Without a test the intervals decide: a head may reach the threshold in a few resamples.
  TypesOf near = margins_of(0, 0);
  arma::mat& positional = near.of("positional").margin;
  positional(0, 3) = positional(0, 4) = 0.1;
  EXPECT_EQ(specialisation_claims(near.types, full_powers(), no_notes())[1].verdict,
            Verdict::undecided);
  EXPECT_EQ(specialisation_claims(margins_of(0, 0).types, full_powers(), no_notes())[1].verdict,
            Verdict::does_not_hold);
}

/// The claim that some heads are of the given type.
Claim claim_of(const ResultsGroup& group, const std::string& type) {
  for (const Claim& claim : group.claims) {
    if (claim.statement == "Some heads are " + type + " heads.") return claim;
  }
  return {};
}

TEST_F(TypesTest, ATypeThatCannotBeLookedForIsUndecidedAndItsClaimSaysWhy) {
  add_relation({5, 20}, {29, 12});
  paired_[relation_test_name("nsubj", 0)].n_case = 29;
  for (const Index block : {0, 1}) {
    set(HeadScore::delimiter, block, 0, 0, 10);
    set(HeadScore::delimiter, block, 1, 0, 10);
    set(Baseline::delimiter_baseline, block, 0, 10);
  }
  const ResultsGroup group = results();
  for (const auto& [type, why] :
       {std::pair{"positional", "no document has a token beyond"},
        std::pair{"syntactic", "no relation has 30 arcs in 10 odd-numbered"},
        std::pair{"semantic", "no document has a token beyond"},
        std::pair{"coreference", "the corpus does not have 30 annotated"},
        std::pair{"delimiter", "no token of the corpus is only"}}) {
    const Claim claim = claim_of(group, type);
    EXPECT_EQ(claim.verdict, Verdict::undecided) << type;
    EXPECT_TRUE(std::isnan(claim.effect.value)) << type;
    EXPECT_THAT(claim.evidence, HasSubstr(std::string("Cannot be told: ") + why));
    EXPECT_THAT(group.summary, HasSubstr(std::string(type) + " (" + why));
  }
  EXPECT_EQ(group.claims[0].verdict, Verdict::undecided);
  EXPECT_THAT(group.claims[0].evidence, HasSubstr("these types could not be tested: positional"));
}

TEST_F(TypesTest, QueriesWithFewKeysLeaveSemanticHeadsUntested) {
  set_offset(1, 0, 50, 50);
  set(HeadScore::distance, 0, 0, 120, 100);
  EXPECT_THAT(claim_of(results(), "semantic").evidence,
              HasSubstr("Cannot be told: no query has 5 keys of other tokens over which both "
                        "similarity and attention vary"));
}

TEST_F(TypesTest, ATextTooShortToJudgeIsNotCalledTokenIds) {
  const ResultsGroup group = results();
  for (const char* const type : {"positional", "delimiter"}) {
    EXPECT_THAT(claim_of(group, type).evidence, HasSubstr("no document has a token beyond"));
  }
}

TEST_F(TypesTest, WithoutResamplesNoTypesClaimIsSettled) {
  TypesOf none = margins_of(0, 0), some = margins_of(2, 0);
  for (TypesOf* margins : {&none, &some}) {
    for (MeasuredType& type : margins->types) type.margin = arma::mat(type.margin.col(0));
    const Claim claim = specialisation_claims(margins->types, full_powers(), no_notes())[1];
    EXPECT_EQ(claim.verdict, Verdict::undecided);
    EXPECT_THAT(claim.evidence, HasSubstr("There is no interval to settle it."));
  }
}

TEST_F(TypesTest, ADirectionWithoutArcsIsNotTested) {
  add_relation({5, 20}, {30, 12});
  EXPECT_TRUE(is_tested(test_relations(whole(), false)[0]));
  EXPECT_FALSE(is_tested(test_relations(whole(), false)[1]));
}

TEST_F(TypesTest, WithoutATestedRelationThereIsNoFigureOfRelations) {
  const auto is_drawn = [&] {
    Results with_group;
    with_group.groups = {results()};
    const std::vector<Figure> figures = classification_figures(with_group);
    return std::any_of(figures.begin(), figures.end(),
                       [](const Figure& figure) { return figure.name == "clark2019_relations"; });
  };
  add_relation({5, 20}, {30, 12});
  EXPECT_TRUE(is_drawn());
  paired_[relation_test_name("nsubj", 0)].n_case = 29;
  EXPECT_FALSE(is_drawn());
}

TEST_F(TypesTest, ARuleThatIsNotTriedIsNotNamed) {
  add_relation({5, 20}, {30, 12});
  const auto claim_of_syntax = [&] { return results().claims[2].evidence; };
  const auto figure = [&] {
    Results with_group;
    with_group.groups = {results()};
    const std::vector<Figure> figures = classification_figures(with_group);
    return *std::ranges::find(figures, "clark2019_relations", &Figure::name);
  };
  const auto n_series = [&] { return std::get<Chart>(figure().content).panels[0].series.size(); };
  EXPECT_THAT(claim_of_syntax(), HasSubstr("The only rule was the best fixed offset, as in "
                                           "published tests."));
  EXPECT_THAT(figure().caption, testing::Not(HasSubstr("part of speech")));
  EXPECT_EQ(n_series(), 3U);
  set_verbs(20, 20);
  EXPECT_THAT(claim_of_syntax(), HasSubstr("Against the best fixed offset alone"));
  EXPECT_THAT(figure().caption, HasSubstr("the nearest earlier word of the part of speech"));
  EXPECT_EQ(n_series(), 4U);
}

TEST_F(TypesTest, WithoutACoreferenceHeadClaimEightIsUndecided) {
  const ResultsGroup group = results();
  const Claim& claim = group.claims.back();
  EXPECT_EQ(claim.verdict, Verdict::undecided);
  EXPECT_EQ(claim.evidence, "Cannot be told: " + types().of("coreference").untested + ".");
}

TEST_F(TypesTest, ClaimSevenCountsHeadsOfTheFiveTypes) {
  add_relation({5, 20}, {30, 12});
  const ResultsGroup group = results();
  EXPECT_EQ(group.claims[0].number, 7);
  EXPECT_DOUBLE_EQ(group.claims[0].effect.value, 0.5);
  EXPECT_EQ(group.variable("type").values(code_of("syntactic") - 1, 0, 0), 1);
  EXPECT_EQ(group.variable("primary").flag_meanings.at(
                static_cast<std::size_t>(group.variable("primary").values(0, 0))),
            "syntactic");
}

}  // namespace
}  // namespace headscope
