#include "classification/tests/coreference.hpp"

#include <algorithm>

#include "classification/tests/paired.hpp"
#include "classification/tests/relations.hpp"
#include "scores/words.hpp"

namespace headscope {

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
