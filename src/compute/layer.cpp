#include "compute/layer.hpp"

#include <algorithm>
#include <functional>

#include "compute/sequence_batch.hpp"
#include "headscope/error.hpp"

namespace headscope {

void check_complete(const Model& model) {
  if (model.is_complete()) return;
  throw ShapeError("model: expected token embedding and MLP weights, got attention weights only");
}

void check_input(const Model& model, const SequenceBatch& batch) {
  check_batch(batch, model.config);
  for (const TokenId id : batch.tokens) {
    if (id >= 0 && static_cast<Index>(id) < model.W_E.n_cols) continue;
    throw ShapeError("token: expected an id below " + std::to_string(model.W_E.n_cols) + ", got " +
                     std::to_string(id));
  }
}

void embed_into(const Model& model, const SequenceBatch& batch, blas::View resid) {
  for (const SequenceBatch::Sequence& sequence : batch.sequences) {
    for (Index t = 0; t < sequence.count; ++t) {
      const Index column = sequence.first + t;
      const float* const token = model.W_E.colptr(static_cast<Index>(batch.tokens[column]));
      float* const embedded = resid.column(column);
      if (model.config.positions == PositionKind::rotary) {
        std::copy_n(token, resid.n_row, embedded);
      } else {
        std::transform(token, token + resid.n_row, model.W_P.colptr(sequence.prefix_count + t),
                       embedded, std::plus<>());
      }
    }
  }
}

TokenIds final_norm_of_predictions(const Model& model, blas::ConstView resid_final,
                                   std::span<const SequenceBatch::Prediction> predictions,
                                   blas::View normalized) {
  const Norm norm = final_norm(model);
  TokenIds targets;
  for (const SequenceBatch::Prediction& prediction : predictions)
    targets.push_back(prediction.target);
  for_each_run(predictions, [&](Index first, Index column, Index count) {
    norm.apply(resid_final.cols(column, count), normalized.cols(first, count));
  });
  return targets;
}

}  // namespace headscope
