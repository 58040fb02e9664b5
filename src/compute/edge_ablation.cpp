#include "headscope/edge_ablation.hpp"

#include <algorithm>
#include <numeric>

#include "compute/activations.hpp"
#include "compute/buffer.hpp"
#include "compute/causal_attention.hpp"
#include "compute/difference.hpp"
#include "compute/layer.hpp"
#include "compute/node_outputs.hpp"
#include "compute/ops.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using Sublayer = StartPoint::Sublayer;

Index edges_at_once(Index n_column) {
  return std::max<Index>(1, HeadAblation::columns_at_once / std::max<Index>(1, n_column));
}

}  // namespace

struct EdgeAblation::Workspace {
  Workspace(const Model& model_given, ComputeContext context_given)
      : model(model_given),
        config(model.config),
        graph(config),
        context(std::move(context_given)) {}

  const Model& model;
  const ModelConfig& config;
  const EdgeGraph graph;
  ComputeContext context;
  Buffer changed, normalized, qkv, before, after, hidden, head_qkv, head_z, differences;
  Index prepared_layer = 0;  // of qkv, or of before and after; n_layer: none
  bool prepared_mlp = false;

  /// What the ablated edge changes in the stream after its reader, and where that is.
  StreamVariant variant(Activations& clean, const SequenceBatch& batch, Index edge,
                        const Matrix& replacement, blas::View difference) {
    const Index port_index = graph.port_of(edge);
    const PathPort port = graph.port(port_index);
    const bool direct = port.kind == PathPort::Kind::logits;
    Matrix D = changed.matrix(config.d_model, clean.n_token());
    read_change(clean, graph.node_of(edge), replacement, direct ? difference : blas::View(D));
    if (direct) return {{config.n_layer, Sublayer::attention}, difference};
    if (port.kind == PathPort::Kind::mlp) {
      through_mlp(clean, port.layer, D, difference);
      return {{port.layer + 1, Sublayer::attention}, difference};
    }
    through_head(clean, batch, port, D, difference);
    return {{port.layer, Sublayer::mlp}, difference};
  }

  /// What the port reads, minus what it read: threaded over columns.
  void read_change(Activations& clean, Index node, const Matrix& replacement, blas::View D) {
    constexpr Index at_once = 64;
#pragma omp parallel for schedule(static)
    for (Index first = 0; first < D.n_col; first += at_once) {
      node_difference(model, clean, graph, node, replacement, first,
                      D.cols(first, std::min(at_once, D.n_col - first)));
    }
  }

  void through_mlp(Activations& clean, Index l, blas::View D, blas::View difference) {
    const LayerWeights& layer = model.layers[l];
    Matrix x = before.matrix(config.d_mlp, clean.n_token());
    Matrix a = after.matrix(config.d_mlp, clean.n_token());
    if (prepared_layer != l || !prepared_mlp) {
      Matrix ln = normalized.matrix(config.d_model, clean.n_token());
      layer_norm(clean.resid_mid(l), layer.ln_2_gain, layer.ln_2_bias, config.layer_norm_epsilon,
                 ln);
      blas::multiply(layer.W_in, ln, x);
      add_bias_activate(x, layer.b_in, config.activation, a);
      add_bias(x, layer.b_in);
      prepared_layer = l;
      prepared_mlp = true;
    }
    layer_norm_difference(clean.resid_mid(l), D, layer.ln_2_gain, config.layer_norm_epsilon, D);
    Matrix activated = hidden.matrix(config.d_mlp, clean.n_token());
    blas::multiply(layer.W_in, D, activated);
    activation_difference(x, a, config.activation, activated);
    blas::multiply(layer.W_out, activated, difference);
  }

  void through_head(Activations& clean, const SequenceBatch& batch, const PathPort& port,
                    blas::View D, blas::View difference) {
    const Index l = port.layer, d_head = config.d_head(), n_column = clean.n_token();
    const LayerWeights& layer = model.layers[l];
    Matrix projected = qkv.matrix(3 * config.d_model, n_column);
    if (prepared_layer != l || prepared_mlp) {
      Matrix ln = normalized.matrix(config.d_model, n_column);
      project_qkv(config, layer, clean.resid(l), ln, projected, context.passes());
      prepared_layer = l;
      prepared_mlp = false;
    }
    Matrix own = head_qkv.matrix(3 * d_head, n_column), mixed = head_z.matrix(d_head, n_column);
    for (Index i = 0; i < 3; ++i) {
      copy(blas::ConstView(projected).rows(i * config.d_model + port.head * d_head, d_head),
           blas::View(own).rows(i * d_head, d_head));
    }
    const Index kind = static_cast<Index>(port.kind);
    layer_norm_difference(clean.resid(l), D, layer.ln_1_gain, config.layer_norm_epsilon, D);
    blas::multiply(
        blas::ConstView(layer.W_QKV).rows(kind * config.d_model + port.head * d_head, d_head),
        Transpose::no, D, Transpose::no, blas::View(own).rows(kind * d_head, d_head), 1, 1);
    causal_attention(own, 1, config.score_scale(l), batch.sequences, 1, mixed, context.passes());
    mixed -= clean.z(l).rows(port.head * d_head, (port.head + 1) * d_head - 1);
    blas::multiply(head_output_weights(layer, d_head, port.head), mixed, difference);
  }
};

EdgeAblation::EdgeAblation(const Model& model, ComputeContext context)
    : workspace_(std::make_unique<Workspace>(model, std::move(context))) {}

EdgeAblation::~EdgeAblation() = default;

std::vector<TokenLoss> EdgeAblation::losses(HeadAblation& clean, const SequenceBatch& batch,
                                            std::span<const Index> edges,
                                            const Matrix& replacement) {
  Workspace& w = *workspace_;
  check_replacement(w.graph, w.config, replacement);
  for (const Index edge : edges) {
    if (edge < w.graph.n_edge()) continue;
    throw ShapeError("edge: expected below " + std::to_string(w.graph.n_edge()) + ", got " +
                     std::to_string(edge));
  }
  clean.clean_loss(batch);
  w.prepared_layer = w.config.n_layer;
  // Edges into one layer share its clean activations.
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return edges[i]; });
  const Index n_column = batch.n_column(), group = edges_at_once(n_column);
  std::vector<TokenLoss> results(edges.size());
  for (std::size_t first = 0; first < order.size(); first += group) {
    const Index count = std::min<Index>(group, order.size() - first);
    Matrix all = w.differences.matrix(w.config.d_model, n_column * count);
    std::vector<StreamVariant> variants;
    for (Index i = 0; i < count; ++i) {
      variants.push_back(w.variant(clean.activations(), batch, edges[order[first + i]], replacement,
                                   blas::View(all).cols(i * n_column, n_column)));
    }
    std::vector<TokenLoss> losses = clean.losses(batch, variants);
    for (Index i = 0; i < count; ++i) results[order[first + i]] = std::move(losses[i]);
  }
  return results;
}

std::uint64_t EdgeAblation::bytes(const ModelConfig& config, Index n_column, Index n_edge) {
  const std::uint64_t at_once = std::min(n_edge, edges_at_once(n_column));
  const std::uint64_t columns = (at_once + 5) * config.d_model + 3 * config.d_mlp +
                                4 * static_cast<std::uint64_t>(config.d_head());
  return columns * n_column * sizeof(float);
}

}  // namespace headscope
