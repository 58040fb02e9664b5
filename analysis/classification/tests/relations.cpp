#include "classification/tests/relations.hpp"

#include "classification/tests/paired.hpp"

namespace headscope {
namespace {

/// The offset of 1 .. longest_offset with the most arcs, `preferred` on ties, then the shortest; 0
/// if there is none.
/// @param offsets  arcs by offset.
Index best_offset(const arma::vec& offsets, Index preferred = 0) {
  Index best = preferred;
  for (Index offset = 1; offset <= longest_offset; ++offset) {
    if (offsets(offset) > (best == 0 ? 0 : offsets(best))) best = offset;
  }
  return best;
}

/// The share of a relation's arcs at the most frequent offset; NaN without arcs.
double best_offset_share(const arma::vec& offsets, double count) {
  return Ratio{offsets.tail(longest_offset).max(), count}.value();
}

/// The rows of a sum by direction.
arma::mat of_direction(const arma::mat& both, Index direction) {
  const Index n = both.n_rows / 2;
  return both.rows(direction * n, (direction + 1) * n - 1);
}

RelationTest test_relation(const WeightedSums& sums, const std::string& relation, Index direction) {
  const auto rows_of = [&](const std::string& name, Half half) {
    return of_direction(sums.total(name, half), direction);
  };
  const auto hits = [&](Half half) { return rows_of(relation_hits_name(relation), half); };
  const auto counts = [&](Half half) { return rows_of(relation_count_name(relation), half); };
  const auto offsets = [&](Half half) { return rows_of(relation_offsets_name(relation), half); };

  RelationTest test;
  test.relation = relation;
  test.direction = static_cast<ArcDirection>(direction);

  const arma::vec all_hits = hits(Half::all).col(0);
  const Index n_head_total = all_hits.n_rows;
  test.count = counts(Half::all)(0, 0);
  for (const double n : all_hits) test.accuracy.push_back(Ratio{n, test.count}.value());
  test.baseline = best_offset_share(offsets(Half::all).col(0), test.count);

  const arma::vec even_hits = hits(Half::even).col(0), even_offsets = offsets(Half::even).col(0);
  const double even_count = counts(Half::even)(0, 0);
  const double even_baseline = best_offset_share(even_offsets, even_count);
  for (const double n : even_hits) {
    test.even_gain.push_back(Ratio{n, even_count}.value() - even_baseline);
  }
  if (even_count > 0) test.chosen_head = even_hits.index_max();

  const arma::mat odd_counts = counts(Half::odd), odd_offsets = offsets(Half::odd);
  const PairedSums paired(sums.statistics(), relation_test_name(relation, direction),
                          longest_offset + 1);
  test.heldout_count = paired.n_case();
  test.heldout_documents = paired.n_document();
  test.offset = best_offset(odd_offsets.col(0), best_offset(even_offsets));
  test.heldout_accuracy = heldout_accuracy(sums, test);
  test.heldout_baseline.set_size(sums.n_weighting());
  for (Index w = 0; w < sums.n_weighting(); ++w) {
    test.heldout_baseline(w) = best_offset_share(odd_offsets.col(w), odd_counts(0, w));
  }
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    test.p.push_back(is_tested(test) ? paired.p(head_index, test.offset) : arma::datum::nan);
  }
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

RelationTests test_relations(const WeightedSums& sums) {
  RelationTests tests;
  std::vector<double> p;
  for (const std::string& relation : relations_of(sums.statistics())) {
    for (Index direction = 0; direction < 2; ++direction) {
      tests.push_back(test_relation(sums, relation, direction));
      p.insert(p.end(), tests.back().p.begin(), tests.back().p.end());
    }
  }
  const std::vector<double> q = benjamini_hochberg(p);
  auto next = q.begin();
  for (RelationTest& test : tests) {
    const auto end = next + static_cast<std::ptrdiff_t>(test.p.size());
    test.q.assign(next, end);
    next = end;
  }
  return tests;
}

}  // namespace headscope
