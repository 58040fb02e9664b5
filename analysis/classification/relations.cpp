#include "classification/relations.hpp"

#include <cmath>

namespace headscope {
namespace {

/// The most frequent offset in 1 .. longest_offset, the shortest on ties; 0 if there is none.
Index best_offset(const arma::mat& offsets, Index direction) {
  Index best = 0;
  for (Index offset = 1; offset <= longest_offset; ++offset) {
    const double n = offsets(direction * (longest_offset + 1) + offset, 0);
    const double n_best = best == 0 ? 0 : offsets(direction * (longest_offset + 1) + best, 0);
    if (n > n_best) best = offset;
  }
  return best;
}

double offset_share(const arma::mat& offsets, const arma::mat& counts, Index direction,
                    Index offset, Index weighting) {
  if (offset == 0) return Ratio{}.value();
  return Ratio{offsets(direction * (longest_offset + 1) + offset, weighting),
               counts(direction, weighting)}
      .value();
}

RelationTest test_relation(const WeightedSums& sums, const std::string& relation, Index direction) {
  const auto hits = [&](Half half) {
    const arma::mat both = sums.total(relation_hits_name(relation), half);
    const Index n_unit = both.n_rows / 2;
    return arma::mat(both.rows(direction * n_unit, (direction + 1) * n_unit - 1));
  };
  const auto counts = [&](Half half) { return sums.total(relation_count_name(relation), half); };
  const auto offsets = [&](Half half) { return sums.total(relation_offsets_name(relation), half); };

  RelationTest test;
  test.relation = relation;
  test.direction = static_cast<ArcDirection>(direction);

  const arma::mat all_hits = hits(Half::all);
  const arma::mat all_counts = counts(Half::all);
  const Index n_unit = all_hits.n_rows;
  test.count = all_counts(direction, 0);
  for (Index unit = 0; unit < n_unit; ++unit) {
    test.accuracy.push_back(Ratio{all_hits(unit, 0), test.count}.value());
  }
  const arma::mat all_offsets = offsets(Half::all);
  test.baseline =
      offset_share(all_offsets, all_counts, direction, best_offset(all_offsets, direction), 0);

  test.offset = best_offset(offsets(Half::even), direction);
  const arma::vec even_hits = hits(Half::even).col(0);
  if (counts(Half::even)(direction, 0) > 0) test.chosen_unit = even_hits.index_max();

  const arma::mat odd_hits = hits(Half::odd);
  const arma::mat odd_counts = counts(Half::odd);
  const arma::mat odd_offsets = offsets(Half::odd);
  test.heldout_count = odd_counts(direction, 0);
  test.heldout_accuracy.set_size(n_unit, sums.n_weighting());
  test.heldout_baseline.set_size(sums.n_weighting());
  for (Index w = 0; w < sums.n_weighting(); ++w) {
    test.heldout_baseline(w) = offset_share(odd_offsets, odd_counts, direction, test.offset, w);
    for (Index unit = 0; unit < n_unit; ++unit) {
      test.heldout_accuracy(unit, w) = Ratio{odd_hits(unit, w), odd_counts(direction, w)}.value();
    }
  }

  const double baseline = test.heldout_baseline(0);
  for (Index unit = 0; unit < n_unit; ++unit) {
    test.p.push_back(
        std::isnan(baseline)
            ? baseline
            : binomial_upper_tail(static_cast<std::uint64_t>(std::llround(odd_hits(unit, 0))),
                                  static_cast<std::uint64_t>(std::llround(test.heldout_count)),
                                  baseline));
  }
  return test;
}

}  // namespace

std::string arc_text(const std::string& relation, ArcDirection direction) {
  return direction == ArcDirection::dependent_to_head ? relation + " → head" : "head → " + relation;
}

bool is_tested(const RelationTest& test) {
  return test.heldout_count >= least_heldout_arcs && !std::isnan(test.heldout_baseline(0));
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
