#include "classification/tests/semantic.hpp"

namespace headscope {

SemanticTest test_semantic(const WeightedSums& sums) {
  const arma::mat observed = sums.ratio(score_info(HeadScore::semantic).name);
  const Array totals = sums.statistics().total("semantic_null");
  const Array weights = sums.statistics().total(weight_name("semantic_null"));
  const Index n_head_total = observed.n_rows;
  const Index n_permutation = totals.size() / n_head_total;
  SemanticTest test;
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    arma::vec null(n_permutation);
    for (Index r = 0; r < n_permutation; ++r) {
      const Index i = r * n_head_total + head_index;
      null(r) = Ratio{totals.values[i], weights.values[i]}.value();
    }
    test.null_mean.push_back(arma::mean(null));
    test.null_std.push_back(arma::stddev(null));
    test.z.push_back((observed(head_index, 0) - test.null_mean.back()) / test.null_std.back());
  }
  return test;
}

}  // namespace headscope
