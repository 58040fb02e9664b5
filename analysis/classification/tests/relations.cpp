#include "classification/tests/relations.hpp"

#include <algorithm>

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
void add_tests(const WeightedSums& sums, const std::vector<Index>& pruned, RelationTest& test) {
  const PairedSums paired(sums.statistics(),
                          relation_test_name(test.relation, static_cast<Index>(test.direction)),
                          n_relation_rule);
  test.heldout_count = paired.n_case();
  test.heldout_documents = paired.n_document();
  const Index rule =
      test.rule == RelationRule::offset ? test.offset : longest_offset + 1 + test.word_class;
  for (Index head_index = 0; head_index < test.accuracy.size(); ++head_index) {
    const auto p_against = [&](Index of_rule) {
      const bool has_p = is_tested(test) && !std::ranges::binary_search(pruned, head_index);
      return has_p ? paired.p(head_index, of_rule) : arma::datum::nan;
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

/// Arcs of a relation, and those that the rules find: by direction, then offset or class, each x
/// weighting.
struct RuleArcs {
  arma::mat offsets, classes, counts;

  /// Of the documents themselves.
  void read_whole(const WeightedSums& sums, const std::string& relation, Half half) {
    offsets = sums.observed(relation_offsets_name(relation), half);
    classes = sums.observed(relation_classes_name(relation), half);
    counts = sums.observed(relation_count_name(relation), half);
  }
  void read(const WeightedSums& sums, const std::string& relation, Half half) {
    sums.total(relation_offsets_name(relation), half, offsets);
    sums.total(relation_classes_name(relation), half, classes);
    sums.total(relation_count_name(relation), half, counts);
  }
  double count(ArcDirection direction, Index w = 0) const {
    return counts(static_cast<Index>(direction), w);
  }
  /// Arcs at each offset, in column w.
  arma::vec at_offsets(ArcDirection direction, Index w = 0) const {
    return part(offsets, direction, w);
  }
  arma::vec at_classes(ArcDirection direction, Index w = 0) const {
    return part(classes, direction, w);
  }
  double offset_share(ArcDirection direction, Index w = 0) const {
    return Ratio{at_offsets(direction, w).tail(longest_offset).max(), count(direction, w)}.value();
  }
  double class_share(ArcDirection direction, Index w = 0) const {
    return Ratio{at_classes(direction, w).max(), count(direction, w)}.value();
  }

 private:
  static arma::vec part(const arma::mat& both, ArcDirection direction, Index w) {
    const Index n = both.n_rows / 2, first = static_cast<Index>(direction) * n;
    return both.col(w).subvec(first, first + n - 1);
  }
};

/// What the tests of a relation read of all, even and odd documents. One object reads relation
/// after relation into the same memory.
struct RelationSums {
  RuleArcs all, even, odd;
  arma::vec all_hits, even_hits;  // by direction and head
  HeldoutArcs heldout;

  void read(const WeightedSums& sums, const std::string& relation, bool offset_alone) {
    all.read_whole(sums, relation, Half::all);
    even.read_whole(sums, relation, Half::even);
    odd.read(sums, relation, Half::odd);
    if (offset_alone) {
      for (RuleArcs* const arcs : {&all, &even, &odd}) arcs->classes.zeros();
    }
    all_hits = sums.observed(relation_hits_name(relation), Half::all);
    even_hits = sums.observed(relation_hits_name(relation), Half::even);
    heldout.read(sums, relation);
  }
};

/// Sets all of a test but its q-values.
/// @param test  with relation and direction, and room for its values by weighting.
/// @param read  sums of the relation.
void fill(const WeightedSums& sums, const RelationSums& read, const std::vector<Index>& pruned,
          RelationTest& test) {
  const auto& [all, even, odd, all_hits, even_hits, heldout] = read;
  const ArcDirection direction = test.direction;
  const Index n_head_total = heldout.n_head_total(),
              first = static_cast<Index>(direction) * n_head_total;
  test.count = all.count(direction);
  test.offset_baseline = all.offset_share(direction);
  test.class_baseline = all.class_share(direction);
  const double even_count = even.count(direction),
               even_baseline = std::max(even.offset_share(direction), even.class_share(direction));
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    test.accuracy.push_back(Ratio{all_hits(first + head_index), test.count}.value());
    test.even_gain.push_back(Ratio{even_hits(first + head_index), even_count}.value() -
                             even_baseline);
    if (!(even_count > 0) || std::ranges::binary_search(pruned, head_index)) continue;
    if (test.chosen_head == no_position ||
        even_hits(first + head_index) > even_hits(first + test.chosen_head)) {
      test.chosen_head = head_index;
    }
  }
  const Index offset =
      best_place(odd.at_offsets(direction), 1, best_place(even.at_offsets(direction), 1));
  test.offset = offset == no_position ? 0 : offset;
  test.word_class =
      best_place(odd.at_classes(direction), 0, best_place(even.at_classes(direction), 0));
  test.heldout_offset_baseline = odd.offset_share(direction);
  test.heldout_class_baseline = odd.class_share(direction);
  if (test.heldout_class_baseline > test.heldout_offset_baseline) {
    test.rule = RelationRule::word_class;
  }
  for (Index w = 0; w < sums.n_weighting(); ++w) {
    test.heldout_baseline(w) =
        std::max(odd.offset_share(direction, w), odd.class_share(direction, w));
    for (Index head_index = 0; head_index < n_head_total; ++head_index) {
      test.heldout_accuracy(head_index, w) = heldout.accuracy(direction, head_index, w);
    }
  }
  add_tests(sums, pruned, test);
}

/// Relations in both directions, one after the other, with room for all that is kept of them: what
/// is allocated between large matrices that go leaves gaps in the heap.
RelationTests empty_tests(const WeightedSums& sums) {
  RelationTests tests;
  const std::vector<std::string> relations = relations_of(sums.statistics());
  tests.reserve(2 * relations.size());
  for (const std::string& relation : relations) {
    const Index n_head_total = sums.observed(relation_hits_name(relation), Half::all).n_elem / 2;
    for (const auto direction :
         {ArcDirection::dependent_to_head, ArcDirection::head_to_dependent}) {
      RelationTest& test = tests.emplace_back();
      test.relation = relation;
      test.direction = direction;
      for (auto* const by_head : {&test.accuracy, &test.even_gain, &test.p, &test.offset_p}) {
        by_head->reserve(n_head_total);
      }
      test.heldout_baseline.set_size(sums.n_weighting());
      test.heldout_accuracy.set_size(n_head_total, sums.n_weighting());
    }
  }
  return tests;
}

}  // namespace

void HeldoutArcs::read(const WeightedSums& sums, const std::string& relation) {
  sums.total(relation_hits_name(relation), Half::odd, hits_);
  sums.total(relation_count_name(relation), Half::odd, counts_);
}

double HeldoutArcs::accuracy(ArcDirection direction, Index head_index, Index weighting) const {
  const auto place = static_cast<Index>(direction);
  return Ratio{hits_(place * n_head_total() + head_index, weighting), counts_(place, weighting)}
      .value();
}

std::string arc_text(const std::string& relation, ArcDirection direction) {
  return direction == ArcDirection::dependent_to_head ? relation + " → head" : "head → " + relation;
}

std::string arc_text(const ResultsGroup& group, std::size_t test) {
  return arc_text(group.labels("relation")[test / 2], static_cast<ArcDirection>(test % 2));
}

bool names_word_class(const ResultsGroup& group) {
  return !std::ranges::all_of(group.texts("relation_class"), &std::string::empty);
}

bool is_enough(double n_case, double n_document) {
  return n_case >= least_heldout_cases && n_document >= least_heldout_documents;
}

bool is_tested(const RelationTest& test) {
  return is_enough(test.heldout_count, test.heldout_documents);
}

std::string enough_text(const std::string& cases) {
  return std::to_string(static_cast<int>(least_heldout_cases)) + " " + cases + " in " +
         std::to_string(static_cast<int>(least_heldout_documents)) + " odd-numbered documents";
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

RelationTests test_relations(const WeightedSums& sums, bool offset_alone,
                             const std::vector<Index>& pruned) {
  RelationTests tests = empty_tests(sums);
  RelationSums read;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (i % 2 == 0) read.read(sums, tests[i].relation, offset_alone);
    fill(sums, read, pruned, tests[i]);
  }
  adjust(&RelationTest::p, &RelationTest::q, tests);
  adjust(&RelationTest::offset_p, &RelationTest::offset_q, tests);
  return tests;
}

CoreferenceTest test_coreference(const WeightedSums& sums, const std::vector<Index>& pruned) {
  const PairedSums paired(sums.statistics(), pronoun_test_name, n_coreference_rule);
  CoreferenceTest test;
  test.accuracy = sums.ratio(score_info(HeadScore::coreference_pronoun).name, Half::odd);
  const arma::mat rules = sums.ratio(coreference_baseline_name, Half::odd);
  test.of_rule.set_size(n_coreference_rule, sums.n_weighting());
  for (Index rule = 0; rule < n_coreference_rule; ++rule) {
    test.of_rule.row(rule) = rules.row(2 * rule + 1);  // of pronouns
  }
  test.baseline = arma::max(test.of_rule, 0);
  test.baseline.elem(arma::find_nonfinite(test.baseline)).fill(arma::datum::nan);
  test.n_pronoun = paired.n_case();
  test.n_document = paired.n_document();
  for (Index head_index = 0; head_index < test.accuracy.n_rows; ++head_index) {
    const bool has_p = is_enough(test.n_pronoun, test.n_document) &&
                       !std::ranges::binary_search(pruned, head_index);
    test.p.push_back(has_p ? paired.p(head_index, test.of_rule.col(0).index_max())
                           : arma::datum::nan);
  }
  test.q = benjamini_hochberg(test.p);
  return test;
}

}  // namespace headscope
