#pragma once

#include "headscope/config.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

/// @throws ShapeError if the batch has no columns, its sequences do not cover the columns in order,
/// a prefix does not end before its sequence, a sequence with its prefix is longer than n_ctx, or a
/// prediction has no column; gives both numbers.
void check_batch(const SequenceBatch& batch, const ModelConfig& config);

/// The columns of a batch that predict something, without the others.
struct PredictingColumns {
  explicit PredictingColumns(std::span<const SequenceBatch::Prediction> of_batch);

  std::vector<Index> columns;                          ///< of the batch, ascending
  std::vector<SequenceBatch::Prediction> predictions;  ///< from the same columns, by their places
                                                       ///< in `columns`
};

/// Calls `visit(first_prediction, first_column, count)` for each run of predictions from
/// consecutive columns.
template <typename Visit>
void for_each_run(std::span<const SequenceBatch::Prediction> predictions, const Visit& visit) {
  for (Index first = 0; first < predictions.size();) {
    Index count = 1;
    while (first + count < predictions.size() &&
           predictions[first + count].column == predictions[first].column + count) {
      ++count;
    }
    visit(first, predictions[first].column, count);
    first += count;
  }
}

}  // namespace headscope
