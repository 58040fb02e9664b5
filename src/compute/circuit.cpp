#include "headscope/circuit.hpp"

#include <algorithm>
#include <ranges>

#include "base/thread_errors.hpp"
#include "compute/buffer.hpp"
#include "compute/causal_attention.hpp"
#include "compute/layer.hpp"
#include "compute/node_outputs.hpp"
#include "compute/ops.hpp"
#include "compute/token_loss.hpp"
#include "headscope/error.hpp"
#include "headscope/forward.hpp"

namespace headscope {
namespace {

using blas::Transpose;

/// Columns that a thread handles at once: their streams, one per port, stay in its cache.
constexpr Index columns_of_thread = 16;

// A thread's streams of some columns, one per port.
struct PortStreams : Buffer {};

}  // namespace

struct CircuitForward::Workspace : EdgeModel {
  using EdgeModel::EdgeModel;

  Buffer nodes, qkv, z, stream, hidden, normalized;
  const NodeReplacement* replacement = nullptr;
  std::span<const unsigned char> kept;
  std::vector<bool> live;  // by node, and the logits
  Matrix base;             // by position: biases and replacements of the nodes so far
  Index n_column = 0;

  /// What a node writes minus its replacement: d_model x n_column.
  blas::View node(Index index) {
    Matrix all = nodes.matrix(config.d_model, n_column * graph.n_node());
    return blas::View(all).cols(index * n_column, n_column);
  }

  /// Whether a node that computes from a port is live.
  bool is_read(Index port) const {
    const Index owner = graph.owner(port), n_owner = graph.port(port).n_head;
    return std::any_of(live.begin() + owner, live.begin() + owner + n_owner, std::identity());
  }

  /// node = what it writes, computed before, minus its replacement.
  void subtract_replacement(Index written) { replacement->add(written, -1, 0, node(written)); }

  void find_live() {
    live.assign(graph.n_node() + 1, false);
    live.back() = true;
    for (Index port = graph.n_port(); port-- > 0;) {
      if (!is_read(port)) continue;
      for (Index u = 0; u < graph.n_read(port); ++u) {
        if (kept[graph.edge(u, port)] != 0) live[u] = true;
      }
    }
  }

  /// The streams that ports read, which read the same nodes.
  /// @param streams  d_model x (count n_port), overwritten; `count` columns of a port side by side.
  void read(Index first_port, Index n_port, Index first, Index count, float* streams) {
    const Index d_model = config.d_model;
    for (Index i = 0; i < n_port; ++i) {
      const Index port = first_port + i;
      const blas::View input(streams + i * count * d_model, d_model, count, d_model);
      if (!is_read(port)) continue;
      for (Index t = 0; t < count; ++t) {
        std::copy_n(base.colptr(replacement->position(first + t)), d_model,
                    input.data + t * d_model);
      }
      for (Index u = 0; u < graph.n_read(port); ++u) {
        if (kept[graph.edge(u, port)] == 0) continue;
        add_scaled(node(u).data + first * d_model, 1, count * d_model, input.data);
      }
    }
  }

  // The queries, keys and values of some columns, each from the stream that its port reads, before
  // they are turned.
  void project(Index l, const Layer& layer, Index first, Index count, const Products& products,
               blas::View projected) {
    const LayerWeights& weights = layer.attention.weights();
    const Index d_model = config.d_model, d_head = config.d_head(),
                n_port = graph.n_attention_port();
    float* const streams =
        products.scratch().of_thread<PortStreams>().matrix(d_model, count * n_port).memptr();
    read(graph.attention_port(l), n_port, first, count, streams);
    for (Index i = 0; i < n_port; ++i) {
      const blas::View out = projected.cols(first, count).rows(i * d_head, d_head);
      if (!is_read(graph.attention_port(l) + i)) {
        for (Index t = 0; t < count; ++t) std::fill_n(out.column(t), d_head, 0.0F);
        continue;
      }
      const blas::View input(streams + i * count * d_model, d_model, count, d_model);
      layer.ln_1.apply(input, input);
      blas::multiply_serial(blas::ConstView(weights.W_QKV).rows(i * d_head, d_head), Transpose::no,
                            input, Transpose::no, out);
      if (weights.b_QKV.is_empty()) continue;
      add_scaled({weights.b_QKV.memptr() + i * d_head, d_head, 1, d_head}, 1, out);
    }
  }

  void run_attention(Index l, const Layer& layer, const SequenceBatch& batch) {
    const Index d_head = config.d_head();
    const auto is_live = [&](Index head) { return live[graph.head(l, head)]; };
    if (std::ranges::none_of(std::views::iota(Index{0}, config.n_head), is_live)) return;
    Matrix projected = qkv.matrix(config.d_qkv(), n_column);
    Matrix mixed = z.matrix(config.d_z(), n_column);
    const Products products = context.float32();
    for_blocks_in_parallel(n_column, columns_of_thread, [&](Index first, Index count) {
      project(l, layer, first, count, products, projected);
    });
    layer.attention.turn_by_position(batch.sequences, Turn::forward, projected, products);
    layer.attention.mix(projected, batch.sequences, 1, mixed, products);
#pragma omp parallel for schedule(dynamic)
    for (Index h = 0; h < config.n_head; ++h) {
      if (!is_live(h)) continue;
      const Index written = graph.head(l, h);
      blas::multiply_serial(head_output_weights(layer.attention.weights(), d_head, h),
                            Transpose::no, blas::ConstView(mixed).rows(h * d_head, d_head),
                            Transpose::no, node(written));
      subtract_replacement(written);
    }
  }

  void run_mlp(Index l, const Layer& layer) {
    const Index written = graph.mlp(l);
    if (!live[written]) return;
    Matrix input = stream.matrix(config.d_model, n_column);
    Matrix pre = hidden.matrix(config.d_in(), n_column);
    read_all(graph.mlp_port(l), input);
    layer.ln_2.apply(input, input);
    layer.mlp.write(input, pre, blas::View(pre).rows(0, config.d_mlp), node(written),
                    context.float32());
    subtract_replacement(written);
  }

  void read_all(Index port, Matrix& input) {
    for_blocks_in_parallel(n_column, columns_of_thread, [&](Index first, Index count) {
      read(port, 1, first, count, input.colptr(first));
    });
  }

  void add_to_base(Index first_node, Index end_node, const Vector& bias) {
    for (Index position = 0; position < base.n_cols; ++position) {
      for (Index u = first_node; u < end_node; ++u) {
        add_scaled(replacement->at_position(u, position), 1, config.d_model, base.colptr(position));
      }
      if (!bias.is_empty()) base.col(position) += bias;
    }
  }

  TokenLoss run(const SequenceBatch& batch) {
    n_column = batch.n_column();
    find_live();
    base.zeros(config.d_model, replacement->n_position());
    embed_into(model, batch, node(EdgeGraph::embed));
    subtract_replacement(EdgeGraph::embed);
    add_to_base(EdgeGraph::embed, graph.head(0, 0), {});
    for (Index l = 0; l < config.n_layer; ++l) {
      const Layer layer(model, l);
      run_attention(l, layer, batch);
      // A parallel MLP does not read what the attention writes.
      if (config.parallel_residual) run_mlp(l, layer);
      add_to_base(graph.head(l, 0), graph.mlp(l), model.layers[l].b_O);
      if (!config.parallel_residual) run_mlp(l, layer);
      add_to_base(graph.mlp(l), graph.mlp(l) + 1, model.layers[l].b_out);
    }
    Matrix resid_final = stream.matrix(config.d_model, n_column);
    read_all(graph.logits_port(), resid_final);
    Matrix ln = normalized.matrix(config.d_model, batch.predictions.size());
    const TokenIds targets = final_norm_of_predictions(model, resid_final, batch.predictions, ln);
    return token_loss(ln, model.unembedding(), model.b_U, targets, context.float32());
  }
};

CircuitForward::CircuitForward(const Model& model, ComputeContext context)
    : workspace_(std::make_unique<Workspace>(model, std::move(context))) {
  check_complete(model);
}

CircuitForward::~CircuitForward() = default;

TokenLoss CircuitForward::run(const SequenceBatch& batch, const Matrix& replacement,
                              std::span<const unsigned char> kept) {
  Workspace& w = *workspace_;
  check_input(w.model, batch);
  const NodeReplacement by(w.graph, w.config, replacement, batch);
  check_count("edges", w.graph.n_edge(), kept.size());
  w.replacement = &by;
  w.kept = kept;
  return w.run(batch);
}

Index CircuitForward::columns_at_once(const ModelConfig& config) {
  constexpr Index most_floats = Index{1} << 25;
  return std::max<Index>(1, most_floats / (EdgeGraph(config).n_node() * config.d_model));
}

std::uint64_t CircuitForward::bytes(const ModelConfig& config, Index n_column, int n_thread) {
  const std::uint64_t d_model = config.d_model;
  const EdgeGraph graph(config);
  // What nodes write; queries, keys, values and z; a stream, it normalized for the loss, and hidden
  // units; each thread's streams by port.
  const std::uint64_t columns =
      (graph.n_node() + 3) * d_model + config.d_qkv() + config.d_z() + config.d_in();
  return (columns * n_column + n_thread * columns_of_thread * graph.n_attention_port() * d_model) *
             sizeof(float) +
         Forward::loss_bytes(config, n_column, n_thread) +
         n_thread * attention_thread_bytes(config.d_head(), n_column, Engine::float32);
}

}  // namespace headscope
