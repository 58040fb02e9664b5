#include "classification/tests/relations.hpp"

#include "classification/tests/paired.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// The place from `first` on with the most arcs, `preferred` on ties, then the first; no_position
/// if there is none.
Index best_place(const arma::vec& arcs, Index first, Index preferred = no_position) {
  Index best = preferred;
  for (Index i = first; i < arcs.n_elem; ++i) {
    if (arcs(i) > (best == no_position ? 0 : arcs(best))) best = i;
  }
  return best;
}

/// Heads against the rule and against the best offset, over odd documents.
void add_tests(const WeightedSums& sums, RelationTest& test) {
  const PairedSums paired(sums.statistics(),
                          relation_test_name(test.relation, static_cast<Index>(test.direction)),
                          n_relation_rule);
  test.heldout_count = paired.n_case();
  test.heldout_documents = paired.n_document();
  const Index rule =
      test.rule == RelationRule::offset ? test.offset : longest_offset + 1 + test.word_class;
  for (Index head_index = 0; head_index < test.accuracy.size(); ++head_index) {
    const auto p_against = [&](Index of_rule) {
      return is_tested(test) ? paired.p(head_index, of_rule) : arma::datum::nan;
    };
    test.p.push_back(p_against(rule));
    test.offset_p.push_back(p_against(test.offset));
  }
}

/// Sets the q-values of all tests from their p-values.
void adjust(std::vector<double> RelationTest::*of_p, std::vector<double> RelationTest::*of_q,
            RelationTests& tests) {
  std::vector<double> p;
  for (const RelationTest& test : tests)
    p.insert(p.end(), (test.*of_p).begin(), (test.*of_p).end());
  const std::vector<double> q = benjamini_hochberg(p);
  auto next = q.begin();
  for (RelationTest& test : tests) {
    const auto end = next + static_cast<std::ptrdiff_t>((test.*of_p).size());
    (test.*of_q).assign(next, end);
    next = end;
  }
}

/// Arcs that the rules find, of one direction: by offset and by class, each x weighting.
struct RuleArcs {
  arma::mat offsets, classes;
  arma::rowvec count;

  double offset_share(Index w) const {
    return Ratio{offsets.col(w).tail(longest_offset).max(), count(w)}.value();
  }
  double class_share(Index w) const { return Ratio{classes.col(w).max(), count(w)}.value(); }
};

/// The rows of a sum by direction.
arma::mat of_direction(const arma::mat& both, Index direction) {
  const Index n = both.n_rows / 2;
  return both.rows(direction * n, (direction + 1) * n - 1);
}

RelationTest test_relation(const WeightedSums& sums, const std::string& relation, Index direction,
                           bool offset_alone) {
  const auto rows_of = [&](const std::string& name, Half half) {
    return of_direction(sums.total(name, half), direction);
  };
  const auto arcs_of = [&](Half half) {
    RuleArcs arcs{rows_of(relation_offsets_name(relation), half),
                  rows_of(relation_classes_name(relation), half),
                  rows_of(relation_count_name(relation), half).row(0)};
    if (offset_alone) arcs.classes.zeros();
    return arcs;
  };
  RelationTest test;
  test.relation = relation;
  test.direction = static_cast<ArcDirection>(direction);

  const RuleArcs all = arcs_of(Half::all);
  const arma::vec all_hits = rows_of(relation_hits_name(relation), Half::all).col(0);
  test.count = all.count(0);
  for (const double n : all_hits) test.accuracy.push_back(Ratio{n, test.count}.value());
  test.offset_baseline = all.offset_share(0);
  test.class_baseline = all.class_share(0);

  const RuleArcs even = arcs_of(Half::even);
  const arma::vec even_hits = rows_of(relation_hits_name(relation), Half::even).col(0);
  const double even_baseline = std::max(even.offset_share(0), even.class_share(0));
  for (const double n : even_hits) {
    test.even_gain.push_back(Ratio{n, even.count(0)}.value() - even_baseline);
  }
  if (even.count(0) > 0) test.chosen_head = even_hits.index_max();

  const RuleArcs odd = arcs_of(Half::odd);
  const Index offset = best_place(odd.offsets.col(0), 1, best_place(even.offsets.col(0), 1));
  test.offset = offset == no_position ? 0 : offset;
  test.word_class = best_place(odd.classes.col(0), 0, best_place(even.classes.col(0), 0));
  test.heldout_offset_baseline = odd.offset_share(0);
  test.heldout_class_baseline = odd.class_share(0);
  if (test.heldout_class_baseline > test.heldout_offset_baseline) {
    test.rule = RelationRule::word_class;
  }
  test.heldout_accuracy = heldout_accuracy(sums, test);
  test.heldout_baseline.set_size(sums.n_weighting());
  for (Index w = 0; w < sums.n_weighting(); ++w) {
    test.heldout_baseline(w) = std::max(odd.offset_share(w), odd.class_share(w));
  }
  add_tests(sums, test);
  return test;
}

}  // namespace

arma::mat heldout_accuracy(const WeightedSums& sums, const RelationTest& test) {
  const auto direction = static_cast<Index>(test.direction);
  arma::mat accuracy =
      of_direction(sums.total(relation_hits_name(test.relation), Half::odd), direction);
  const arma::mat counts =
      of_direction(sums.total(relation_count_name(test.relation), Half::odd), direction);
  for (Index w = 0; w < accuracy.n_cols; ++w) {
    for (double& hits : accuracy.col(w)) hits = Ratio{hits, counts(0, w)}.value();
  }
  return accuracy;
}

std::string arc_text(const std::string& relation, ArcDirection direction) {
  return direction == ArcDirection::dependent_to_head ? relation + " → head" : "head → " + relation;
}

bool is_enough(double n_case, double n_document) {
  return n_case >= least_heldout_cases && n_document >= least_heldout_documents;
}

bool is_tested(const RelationTest& test) {
  return is_enough(test.heldout_count, test.heldout_documents);
}

std::string enough_text(const std::string& cases) {
  return std::to_string(static_cast<int>(least_heldout_cases)) + " " + cases + " in " +
         std::to_string(static_cast<int>(least_heldout_documents)) + " documents of odd number";
}

double relation_threshold(const RelationTest& test, Index weighting) {
  return test.heldout_baseline(weighting) + least_gain;
}

bool passes(const RelationTest& test, Index head_index) {
  return test.q[head_index] < significant_q &&
         test.heldout_accuracy(head_index, 0) >= relation_threshold(test, 0);
}

bool passes_offset(const RelationTest& test, Index head_index) {
  return test.offset_q[head_index] < significant_q &&
         test.heldout_accuracy(head_index, 0) >= test.heldout_offset_baseline + least_gain;
}

RelationTests test_relations(const WeightedSums& sums, bool offset_alone) {
  RelationTests tests;
  for (const std::string& relation : relations_of(sums.statistics())) {
    for (Index direction = 0; direction < 2; ++direction) {
      tests.push_back(test_relation(sums, relation, direction, offset_alone));
    }
  }
  adjust(&RelationTest::p, &RelationTest::q, tests);
  adjust(&RelationTest::offset_p, &RelationTest::offset_q, tests);
  return tests;
}

}  // namespace headscope
