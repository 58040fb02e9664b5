#pragma once

#include "headscope/config.hpp"
#include "headscope/pack.hpp"

namespace headscope {

/// @throws ShapeError if a pack has no columns, its segments do not follow each other from the
/// first column to the last, a stem is not earlier or a sequence longer than n_ctx, or a prediction
/// has no column; gives both numbers.
void check_pack(const Pack& pack, const ModelConfig& config);

/// Calls `visit(first_prediction, first_column, count)` for each run of predictions from
/// consecutive columns.
template <typename Visit>
void for_each_run(std::span<const Pack::Prediction> predictions, const Visit& visit) {
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
