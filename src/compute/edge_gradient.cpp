#include "headscope/edge_gradient.hpp"

#include <algorithm>
#include <vector>

#include "compute/activations.hpp"
#include "compute/buffer.hpp"
#include "compute/node_outputs.hpp"
#include "compute/port_gradient_sum.hpp"
#include "headscope/error.hpp"
#include "headscope/gradient.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using Effects = std::vector<float>;

/// Nodes of one product of the contraction, so that the threads share a pair's.
constexpr Index nodes_at_once = 16;

Index chunk_columns(const EdgeGraph& graph, Index d_model) {
  constexpr Index most_floats = Index{1} << 24;
  return std::clamp<Index>(most_floats / (graph.n_node() * d_model), 8,
                           EdgeGradient::columns_at_once);
}

}  // namespace

struct EdgeGradient::Workspace : EdgeModel {
  Workspace(const Model& model_given, const ComputeContext& context_given)
      : EdgeModel(model_given, context_given),
        gradient(model, context),
        of_clean(model, context),
        of_others(model, context) {}

  /// Columns of a chunk that belong to one group, and the group's effects by the gradients at the
  /// clean activations and by those of the other passes.
  struct GroupColumns {
    Index group = 0, first = 0, count = 0;
    Effects *by_clean = nullptr, *by_others = nullptr;
  };

  HeadGradient gradient;
  PortGradientSum of_clean, of_others;
  Buffer differences, gradients;

  /// Adds the effects of `count` columns from `first` on.
  void add(Activations& clean, const NodeReplacement& replacement, Index first, Index count,
           std::span<const GroupColumns> groups) {
    const Index n_node = graph.n_node(), d_model = config.d_model;
    Matrix D = differences.matrix(d_model * count, n_node);
#pragma omp parallel for schedule(dynamic)
    for (Index node = 0; node < n_node; ++node) {
      node_difference(model, clean, graph, node, replacement, first,
                      {D.colptr(node), d_model, count, d_model});
    }
    add(of_clean, &GroupColumns::by_clean, first, count, groups);
    if (of_others.n_pass() > 0) add(of_others, &GroupColumns::by_others, first, count, groups);
  }

  using EffectsOf = Effects* GroupColumns::*;

  void add(PortGradientSum& sum, EffectsOf effects, Index first, Index count,
           std::span<const GroupColumns> groups) {
    const Index n_attention_port = graph.n_attention_port();
    Matrix G = gradients.matrix(config.d_model * count, n_attention_port);
    for (Index l = 0; l < config.n_layer; ++l) {
      sum.attention(l, first, count, G);
      contract(graph.attention_port(l), G, first, count, effects, groups);
      contract(graph.mlp_port(l), one_port(sum.mlp(l, first, count)), first, count, effects,
               groups);
    }
    contract(graph.logits_port(), one_port(sum.logits(first, count)), first, count, effects,
             groups);
  }

  /// The gradients of one port as a column.
  static blas::ConstView one_port(blas::ConstView gradients) {
    const Index n_value = gradients.n_row * gradients.n_col;
    return {gradients.data, n_value, 1, n_value};
  }

  /// Adds the products of differences and gradients, for ports that read the same nodes.
  /// @param G  (d_model count) x number of ports.
  void contract(Index first_port, blas::ConstView G, Index first, Index count, EffectsOf effects_of,
                std::span<const GroupColumns> groups) {
    const Index d_model = config.d_model, n_read = graph.n_read(first_port), n_port = G.n_col,
                n_block = (n_read + nodes_at_once - 1) / nodes_at_once;
    const Matrix D = differences.matrix(d_model * count, graph.n_node());
#pragma omp parallel for schedule(dynamic)
    for (Index task = 0; task < n_block * groups.size(); ++task) {
      const GroupColumns& group = groups[task / n_block];
      const Index node = task % n_block * nodes_at_once,
                  n_node = std::min(nodes_at_once, n_read - node),
                  begin = (group.first - first) * d_model, n_value = group.count * d_model;
      const blas::View effects((group.*effects_of)->data() + graph.edge(0, first_port), n_read,
                               n_port, n_read);
      blas::multiply_serial(blas::ConstView(D).rows(begin, n_value).cols(node, n_node),
                            Transpose::yes, G.rows(begin, n_value), Transpose::no,
                            effects.rows(node, n_node), 1, 1);
    }
  }
};

EdgeGradient::EdgeGradient(const Model& model, ComputeContext context)
    : workspace_(std::make_unique<Workspace>(model, context)) {}

EdgeGradient::~EdgeGradient() = default;

void EdgeGradient::run(Activations& clean, const SequenceBatch& batch,
                       std::span<const float> weights, const Matrix& replacement,
                       std::span<const Index> group_ends, const Observer& observe,
                       const OtherPasses& other_passes) {
  Workspace& w = *workspace_;
  const NodeReplacement by(w.graph, w.config, replacement, batch);
  check_count("columns of the groups", batch.n_column(),
              group_ends.empty() ? Index{0} : group_ends.back());
  w.of_clean.clear(batch);
  w.of_clean.add(w.gradient, clean, batch, weights);
  w.of_others.clear(batch);
  for (Index pass = 0; pass < other_passes.count; ++pass) {
    w.of_others.add(w.gradient, other_passes.activations(pass), batch, weights);
  }

  const Index most = chunk_columns(w.graph, w.config.d_model);
  std::vector<Effects> by_clean, by_others;
  std::vector<Workspace::GroupColumns> groups;
  const auto begin_of = [&](Index group) { return group == 0 ? Index{0} : group_ends[group - 1]; };
  // Whole groups together, as many as fit, or some columns of one that is too long.
  for (Index group = 0; group < group_ends.size();) {
    Index last = group;
    while (last + 1 < group_ends.size() && group_ends[last + 1] - begin_of(group) <= most) ++last;
    by_clean.assign(last + 1 - group, Effects(w.graph.n_edge(), 0.0F));
    by_others = by_clean;
    for (Index first = begin_of(group); first < group_ends[last];) {
      const Index end = std::min(first + most, group_ends[last]);
      groups.clear();
      for (Index g = group; g <= last; ++g) {
        const Index from = std::max(first, begin_of(g)), to = std::min(end, group_ends[g]);
        if (from < to) {
          groups.push_back({g, from, to - from, &by_clean[g - group], &by_others[g - group]});
        }
      }
      w.add(clean, by, first, end - first, groups);
      first = end;
    }
    for (Index g = group; g <= last; ++g) {
      Effects &first_order = by_clean[g - group], &mean = by_others[g - group];
      for (Index edge = 0; edge < mean.size(); ++edge) {
        mean[edge] = (mean[edge] + first_order[edge]) / static_cast<float>(other_passes.count + 1);
      }
      observe(g, first_order, mean);
    }
    group = last + 1;
  }
}

std::uint64_t EdgeGradient::bytes(const ModelConfig& config, Index n_column, Index n_pass,
                                  int n_thread, const Engines& engines) {
  const EdgeGraph graph(config);
  const std::uint64_t d_model = config.d_model,
                      chunk = std::min(n_column, chunk_columns(graph, config.d_model)),
                      // All nodes; a layer's queries, keys and values; both effects of as many
                      // groups as columns, at two each at least.
      of_chunk = (graph.n_node() + graph.n_attention_port()) * d_model * chunk +
                 2 * (chunk / 2 + 1) * graph.n_edge();
  return HeadGradient::bytes(config, n_column, n_thread, engines) +
         PortGradientSum::bytes(config, n_column, 1) +
         PortGradientSum::bytes(config, n_column, n_pass - 1) + of_chunk * sizeof(float);
}

}  // namespace headscope
