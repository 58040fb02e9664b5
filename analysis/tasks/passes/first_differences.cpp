#include "tasks/passes/first_differences.hpp"

#include <algorithm>

namespace headscope {

FirstDifferences first_differences(const LogitAttribution& attribution, const Task& task,
                                   const PairBatch& batch) {
  std::vector<std::size_t> pairs;
  std::vector<Index> columns;
  TokenIds good, bad;
  const std::vector<Index> ends = pair_ends(task, batch);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const TaskPair& pair = task.pairs[batch.first + i];
    const Index n_shared = pair.n_shared, begin = i == 0 ? 0 : ends[i - 1];
    if (!pair.differs_at_first_word && n_shared < std::min(pair.good.size(), pair.bad.size())) {
      pairs.push_back(i);
      columns.push_back(begin + n_shared - 1);
      good.push_back(pair.good[n_shared]);
      bad.push_back(pair.bad[n_shared]);
    }
  }
  return {pairs, arma::uvec(columns), attribution.differences(good, bad)};
}

void FirstDifferenceEffects::observe_layer(const LayerView& view) {
  of_layer_.push_back(head_direct_effects(model_.layers[view.layer].W_O,
                                          Matrix(view.z.cols(first_.columns)),
                                          first_.directions.directions, model_.config.n_head));
}

arma::mat FirstDifferenceEffects::divided(const std::vector<double>& scales) const {
  arma::mat all(model_.config.n_layer * model_.config.n_head, scales.size());
  for (Index l = 0; l < of_layer_.size(); ++l) {
    all.rows(l * model_.config.n_head, (l + 1) * model_.config.n_head - 1) = of_layer_[l];
  }
  return all.each_row() / arma::rowvec(scales);
}

}  // namespace headscope
