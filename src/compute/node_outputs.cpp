#include "compute/node_outputs.hpp"

#include <algorithm>

#include "compute/ops.hpp"
#include "headscope/error.hpp"

namespace headscope {

using blas::Transpose;

blas::ConstView head_output_weights(const LayerWeights& layer, Index d_head, Index head) {
  return blas::ConstView(layer.W_O).cols(head * d_head, d_head);
}

NodeReplacement::NodeReplacement(const EdgeGraph& graph, const ModelConfig& config,
                                 const Matrix& values, const SequenceBatch& batch)
    : values_(&values), n_position_(std::max<Index>(1, values.n_cols / graph.n_node())) {
  check_count("rows of the replacement of nodes", config.d_model, values.n_rows);
  check_count("columns of the replacement of nodes", graph.n_node() * n_position_, values.n_cols);
  if (n_position_ == 1) return;
  positions_ = positions_of(batch.sequences);
  for (const Index position : positions_) {
    if (position < n_position_) continue;
    throw ShapeError("positions of the replacement of nodes: expected more than " +
                     std::to_string(position) + ", got " + std::to_string(n_position_));
  }
}

void NodeReplacement::add(Index node, float factor, Index first, blas::View Y) const {
  for (Index t = 0; t < Y.n_col; ++t) {
    add_scaled(at_position(node, position(first + t)), factor, Y.n_row, Y.column(t));
  }
}

void node_difference(const Model& model, Activations& clean, const EdgeGraph& graph, Index node,
                     const NodeReplacement& replacement, Index first, blas::View difference) {
  const Index d_model = difference.n_row, count = difference.n_col;
  const PathNode writer = graph.node(node);
  const LayerWeights& layer = model.layers[writer.layer];
  const auto columns = [&](const Matrix& all) { return blas::ConstView(all).cols(first, count); };
  if (writer.kind == PathNode::Kind::head) {
    const Index d_head = model.config.d_head();
    const Matrix z = clean.z(writer.layer);
    blas::multiply_serial(head_output_weights(layer, d_head, writer.head), Transpose::no,
                          columns(z).rows(writer.head * d_head, d_head), Transpose::no, difference,
                          -1);
    replacement.add(node, 1, first, difference);
    return;
  }
  for (Index t = 0; t < count; ++t) std::fill_n(difference.column(t), d_model, 0);
  replacement.add(node, 1, first, difference);
  if (writer.kind == PathNode::Kind::embed) {
    add_scaled(columns(clean.resid(0)), -1, difference);
    return;
  }
  // What the MLP wrote is the change of the stream, without b_out.
  add_scaled(columns(clean.resid(writer.layer + 1)), -1, difference);
  add_scaled(columns(clean.resid_mid(writer.layer)), 1, difference);
  if (layer.b_out.is_empty()) return;
  add_scaled({layer.b_out.memptr(), d_model, 1, d_model}, 1, difference);
}

}  // namespace headscope
