#include "task_margins.hpp"

#include "headscope/resampling.hpp"

namespace headscope {

std::size_t block_of(const Task& task, const PairBatch& batch, std::size_t i) {
  return document_block(batch.first + i, task.pairs.size());
}

void add_margins(const Task& task, const PairBatch& batch, const std::vector<double>& margins,
                 DocumentStatistics& statistics) {
  const MarginSums names(batch.task);
  Array &n_pair = statistics.sum(names.n_pair, {n_document_block}),
        &margin = statistics.sum(names.margin, {n_document_block}),
        &correct = statistics.sum(names.correct, {n_document_block});
  for (std::size_t i = 0; i < batch.count; ++i) {
    const std::size_t block = block_of(task, batch, i);
    n_pair(block) += 1;
    margin(block) += margins[i];
    correct(block) += margins[i] > 0 ? 1 : 0;
  }
}

bool TaskMeans::can_do() const {
  return accuracy.is_above(0.5) && margin.is_above(0);
}

std::vector<Estimate> means_of_pairs(const Array& n_pair, const Array& sums,
                                     const AnalysisSettings& settings) {
  return settings.bootstrap(n_pair.values).estimates([&](const BootstrapCounts& weights) {
    const double n = weighted_sum(n_pair.values, weights);
    return sums.weighted_sum(weights).mapped([&](double sum) { return sum / n; }).values;
  });
}

TaskMeans task_means(const Statistics& statistics, std::size_t task,
                     const AnalysisSettings& settings) {
  const MarginSums names(task);
  if (!statistics.has(names.n_pair)) return {};
  const Array n_pair = statistics.total(names.n_pair), margin = statistics.total(names.margin),
              correct = statistics.total(names.correct);
  const Bootstrap bootstrap = settings.bootstrap(n_pair.values);
  const std::vector<Estimate> means = bootstrap.estimates([&](const BootstrapCounts& weights) {
    const double n = weighted_sum(n_pair.values, weights);
    return std::vector<double>{weighted_sum(correct.values, weights) / n,
                               weighted_sum(margin.values, weights) / n};
  });
  const double n = weighted_sum(n_pair.values, bootstrap.observed());
  return {n, with_score_interval(means[0], n), means[1]};
}

}  // namespace headscope
