#include "headscope/edge_ablation.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/thread_errors.hpp"
#include "compute/activations.hpp"
#include "compute/buffer.hpp"
#include "compute/causal_attention.hpp"
#include "compute/layer.hpp"
#include "compute/node_outputs.hpp"
#include "compute/ops.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using Sublayer = StartPoint::Sublayer;

Index edges_at_once(Index n_column) {
  return std::max<Index>(1, HeadAblation::columns_at_once / std::max<Index>(1, n_column));
}

}  // namespace

struct EdgeAblation::Workspace : EdgeModel {
  using EdgeModel::EdgeModel;

  Buffer changed, normalized, qkv, head_qkv, head_z, differences;
  MlpDifference mlp;
  Index prepared_layer = 0;  // of qkv, or of mlp; n_layer: none
  bool prepared_mlp = false;

  /// What the ablated edge changes in the stream after its reader, and where that is.
  StreamVariant variant(Activations& clean, const SequenceBatch& batch, Index edge,
                        const NodeReplacement& replacement, blas::View difference) {
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
    through_heads(clean, batch, port, D, difference);
    return {{port.layer, Sublayer::mlp}, difference};
  }

  /// What the port reads, minus what it read: threaded over columns.
  void read_change(Activations& clean, Index node, const NodeReplacement& replacement,
                   blas::View D) {
    constexpr Index at_once = 64;
    for_blocks_in_parallel(D.n_col, at_once, [&](Index first, Index count) {
      node_difference(model, clean, graph, node, replacement, first, D.cols(first, count));
    });
  }

  void through_mlp(Activations& clean, Index l, blas::View D, blas::View difference) {
    if (prepared_layer != l || !prepared_mlp) {
      const Layer layer(model, l);
      const Products products = context.float32();
      mlp.set(layer.ln_2, layer.mlp, clean.mlp_input(l), {products, products, products, products});
      prepared_layer = l;
      prepared_mlp = true;
    }
    mlp.compute(D, difference, false);
  }

  /// Only the heads that compute from the port, with their part of the port's rows changed.
  void through_heads(Activations& clean, const SequenceBatch& batch, const PathPort& port,
                     blas::View D, blas::View difference) {
    const Index l = port.layer, d_head = config.d_head(), n_column = clean.n_token(),
                d_q = port.n_head * d_head;
    const Layer layer(model, l);
    Matrix projected = qkv.matrix(config.d_qkv(), n_column);
    if (prepared_layer != l || prepared_mlp) {
      Matrix ln = normalized.matrix(config.d_model, n_column);
      layer.ln_1.apply(clean.resid(l), ln);
      layer.attention.project(ln, batch.sequences, projected, context.passes());
      prepared_layer = l;
      prepared_mlp = false;
    }
    Matrix qkv_of_head = head_qkv.matrix(d_q + 2 * d_head, n_column);
    Matrix mixed = head_z.matrix(d_q, n_column);
    const std::array rows{config.q_row(port.head), config.k_row(port.head),
                          config.v_row(port.head)};
    const std::array rows_of_head{Index{0}, d_q, d_q + d_head};
    for (const std::size_t i : {0, 1, 2}) {
      const Index count = i == 0 ? d_q : d_head;
      copy(blas::ConstView(projected).rows(rows[i], count),
           blas::View(qkv_of_head).rows(rows_of_head[i], count));
    }
    const auto kind = static_cast<std::size_t>(port.kind);
    layer.ln_1.difference(clean.resid(l), D, D);
    layer.attention.add_projection(rows[kind], D, batch.sequences,
                                   blas::View(qkv_of_head).rows(rows_of_head[kind], d_head),
                                   context.float32());
    causal_attention(qkv_of_head, port.n_head, config.score_scale(l), batch.sequences, 1, mixed,
                     context.passes());
    mixed -= clean.z(l).rows(rows[0], rows[0] + d_q - 1);
    blas::multiply(blas::ConstView(model.layers[l].W_O).cols(rows[0], d_q), mixed, difference);
  }
};

EdgeAblation::EdgeAblation(const Model& model, ComputeContext context)
    : workspace_(std::make_unique<Workspace>(model, std::move(context))) {}

EdgeAblation::~EdgeAblation() = default;

std::vector<TokenLoss> EdgeAblation::losses(HeadAblation& clean, const SequenceBatch& batch,
                                            std::span<const Index> edges,
                                            const Matrix& replacement) {
  Workspace& w = *workspace_;
  const NodeReplacement by(w.graph, w.config, replacement, batch);
  for (const Index edge : edges) check_below("edge", w.graph.n_edge(), edge);
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
      variants.push_back(w.variant(clean.activations(), batch, edges[order[first + i]], by,
                                   blas::View(all).cols(i * n_column, n_column)));
    }
    std::vector<TokenLoss> losses = clean.losses(batch, variants);
    for (Index i = 0; i < count; ++i) results[order[first + i]] = std::move(losses[i]);
  }
  return results;
}

std::uint64_t EdgeAblation::bytes(const ModelConfig& config, Index n_column, Index n_edge) {
  const std::uint64_t at_once = std::min(n_edge, edges_at_once(n_column));
  // The streams' differences; what a port reads, and it normalized; queries, keys and values of a
  // layer and of a group's heads, and their z.
  const std::uint64_t columns =
      (at_once + 2) * config.d_model + config.d_qkv() + 2 * config.d_z() + 2 * config.d_head();
  return columns * n_column * sizeof(float) +
         MlpDifference::bytes(config, n_column, n_column, 1, Engine::float32);
}

}  // namespace headscope
