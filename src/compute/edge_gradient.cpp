#include "headscope/edge_gradient.hpp"

#include <algorithm>
#include <vector>

#include "compute/activations.hpp"
#include "compute/buffer.hpp"
#include "compute/layer.hpp"
#include "compute/node_outputs.hpp"
#include "compute/ops.hpp"
#include "headscope/error.hpp"
#include "headscope/gradient.hpp"

namespace headscope {
namespace {

using blas::Transpose;

/// Nodes of one product of the contraction, so that the threads share a pair's.
constexpr Index nodes_at_once = 16;

Index chunk_columns(const EdgeGraph& graph, Index d_model) {
  constexpr Index most_floats = Index{1} << 24;
  return std::clamp<Index>(most_floats / (graph.n_node() * d_model), 8,
                           EdgeGradient::columns_at_once);
}

}  // namespace

struct EdgeGradient::Workspace {
  Workspace(const Model& model_given, ComputeContext context)
      : model(model_given),
        config(model.config),
        graph(config),
        gradient(model, std::move(context)),
        dqkv(config.n_layer),
        dmlp(config.n_layer) {}

  /// Columns of a chunk that belong to one group.
  struct GroupColumns {
    Index group = 0, first = 0, count = 0;
    std::vector<float>* effects = nullptr;
  };

  const Model& model;
  const ModelConfig& config;
  const EdgeGraph graph;
  HeadGradient gradient;
  std::vector<Buffer> dqkv, dmlp;  // of each layer
  Buffer dlogits, differences, gradients, dnormalized;

  void keep(const PortGradient& port, const SequenceBatch& batch) {
    const Index n_column = batch.n_column();
    if (port.reader == PortGradient::Reader::attention) {
      Matrix kept = dqkv[port.layer].matrix(config.d_qkv(), n_column);
      copy(port.values, kept);
    } else if (port.reader == PortGradient::Reader::mlp) {
      Matrix kept = dmlp[port.layer].matrix(config.d_model, n_column);
      copy(port.values, kept);
    } else {
      // A column may predict several tokens.
      Matrix kept = dlogits.matrix(config.d_model, n_column);
      for (Index i = 0; i < batch.predictions.size(); ++i) {
        kept.col(batch.predictions[i].column) += port.values.col(i);
      }
    }
  }

  /// Adds the effects of the columns of a chunk.
  void add(Activations& clean, Activations& at, const NodeReplacement& replacement, Index first,
           Index count, std::span<const GroupColumns> groups) {
    const Index n_node = graph.n_node(), d_model = config.d_model;
    Matrix D = differences.matrix(d_model * count, n_node);
#pragma omp parallel for schedule(dynamic)
    for (Index node = 0; node < n_node; ++node) {
      node_difference(model, clean, graph, node, replacement, first,
                      {D.colptr(node), d_model, count, d_model});
    }
    for (Index l = 0; l < config.n_layer; ++l) {
      const Layer layer(model, l);
      attention_gradients(layer, dqkv[l].matrix(config.d_qkv(), at.n_token()),
                          blas::ConstView(at.resid(l)).cols(first, count));
      contract(graph.attention_port(l), graph.n_attention_port(), first, count, groups);
      reader_gradient(dmlp[l].matrix(d_model, at.n_token()), layer.ln_2, at.mlp_input(l), first,
                      count);
      contract(graph.mlp_port(l), 1, first, count, groups);
    }
    reader_gradient(dlogits.matrix(d_model, at.n_token()), final_norm(model),
                    at.resid(config.n_layer), first, count);
    contract(graph.logits_port(), 1, first, count, groups);
  }

  /// gradients = those of what a layer's queries, keys and values read: a matrix of count columns
  /// per port.
  void attention_gradients(const Layer& layer, const Matrix& dprojected, blas::ConstView resid) {
    const Index d_model = config.d_model, d_head = config.d_head(), count = resid.n_col,
                n_port = graph.n_attention_port(), first = first_column_;
    Matrix G = gradients.matrix(d_model * count, n_port);
    Matrix dln = dnormalized.matrix(d_model * count, n_port);
    G.zeros();
#pragma omp parallel for schedule(dynamic)
    for (Index port = 0; port < n_port; ++port) {
      blas::multiply_serial(
          blas::ConstView(layer.attention.weights().W_QKV).rows(port * d_head, d_head),
          Transpose::yes,
          blas::ConstView(dprojected).cols(first, count).rows(port * d_head, d_head), Transpose::no,
          {dln.colptr(port), d_model, count, d_model});
    }
    for (Index port = 0; port < n_port; ++port) {
      layer.ln_1.gradient(resid, {dln.colptr(port), d_model, count, d_model},
                          {G.colptr(port), d_model, count, d_model});
    }
  }

  /// gradients = those of what a layer's MLP or the logits read.
  void reader_gradient(const Matrix& dln, const Norm& norm, const Matrix& stream, Index first,
                       Index count) {
    Matrix G = gradients.matrix(config.d_model, count);
    G.zeros();
    norm.gradient(blas::ConstView(stream).cols(first, count),
                  blas::ConstView(dln).cols(first, count), G);
  }

  /// Adds the products of differences and gradients, for ports that read the same nodes.
  void contract(Index first_port, Index n_port, Index first, Index count,
                std::span<const GroupColumns> groups) {
    const Index d_model = config.d_model, n_read = graph.n_read(first_port),
                n_block = (n_read + nodes_at_once - 1) / nodes_at_once;
    const Matrix D = differences.matrix(d_model * count, graph.n_node());
    const Matrix G = gradients.matrix(d_model * count, n_port);
#pragma omp parallel for schedule(dynamic)
    for (Index task = 0; task < n_block * groups.size(); ++task) {
      const GroupColumns& group = groups[task / n_block];
      const Index node = task % n_block * nodes_at_once,
                  n_node = std::min(nodes_at_once, n_read - node),
                  begin = (group.first - first) * d_model, n_value = group.count * d_model;
      const blas::View effects(group.effects->data() + graph.edge(0, first_port), n_read, n_port,
                               n_read);
      blas::multiply_serial(blas::ConstView(D).rows(begin, n_value).cols(node, n_node),
                            Transpose::yes, blas::ConstView(G).rows(begin, n_value), Transpose::no,
                            effects.rows(node, n_node), 1, 1);
    }
  }

  Index first_column_ = 0;  // of the chunk
};

EdgeGradient::EdgeGradient(const Model& model, ComputeContext context)
    : workspace_(std::make_unique<Workspace>(model, std::move(context))) {}

EdgeGradient::~EdgeGradient() = default;

void EdgeGradient::run(Activations& clean, const SequenceBatch& batch,
                       std::span<const float> weights, const Matrix& replacement,
                       std::span<const Index> group_ends, const Observer& observe,
                       Activations* at) {
  Workspace& w = *workspace_;
  Activations& gradients_at = at == nullptr ? clean : *at;
  const NodeReplacement by(w.graph, w.config, replacement, batch);
  check_count("columns of the other pass", clean.n_token(), gradients_at.n_token());
  check_count("columns of the groups", batch.n_column(),
              group_ends.empty() ? Index{0} : group_ends.back());
  w.dlogits.matrix(w.config.d_model, batch.n_column()).zeros();
  w.gradient.run(
      gradients_at, batch, weights, [](const LayerGradient&) {},
      [&](const PortGradient& port) { w.keep(port, batch); });

  const Index most = chunk_columns(w.graph, w.config.d_model);
  std::vector<std::vector<float>> effects;
  std::vector<Workspace::GroupColumns> groups;
  const auto begin_of = [&](Index group) { return group == 0 ? Index{0} : group_ends[group - 1]; };
  // Whole groups together, as many as fit, or some columns of one that is too long.
  for (Index group = 0; group < group_ends.size();) {
    Index last = group;
    while (last + 1 < group_ends.size() && group_ends[last + 1] - begin_of(group) <= most) ++last;
    effects.assign(last + 1 - group, std::vector<float>(w.graph.n_edge(), 0.0F));
    for (Index first = begin_of(group); first < group_ends[last];) {
      const Index end = std::min(first + most, group_ends[last]);
      groups.clear();
      for (Index g = group; g <= last; ++g) {
        const Index from = std::max(first, begin_of(g)), to = std::min(end, group_ends[g]);
        if (from < to) groups.push_back({g, from, to - from, &effects[g - group]});
      }
      w.first_column_ = first;
      w.add(clean, gradients_at, by, first, end - first, groups);
      first = end;
    }
    for (Index g = group; g <= last; ++g) observe(g, effects[g - group]);
    group = last + 1;
  }
}

std::uint64_t EdgeGradient::bytes(const ModelConfig& config, Index n_column, int n_thread,
                                  const Engines& engines) {
  const EdgeGraph graph(config);
  const std::uint64_t d_model = config.d_model,
                      chunk = std::min(n_column, chunk_columns(graph, config.d_model)),
                      // Gradients before the norms, kept for all layers.
      kept = (config.n_layer * (config.d_qkv() + d_model) + d_model) * n_column,
                      // Of a chunk: all nodes; a layer's queries, keys and values twice; effects of
                      // as many groups as columns, at two each at least.
      of_chunk = (graph.n_node() + 2 * graph.n_attention_port()) * d_model * chunk +
                 (chunk / 2 + 1) * graph.n_edge();
  return HeadGradient::bytes(config, n_column, n_thread, engines) +
         (kept + of_chunk) * sizeof(float);
}

}  // namespace headscope
