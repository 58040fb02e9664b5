// Measures Headscope for bench/compare_paths.py, which documents the options and the JSON line
// printed.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "headscope/ablation.hpp"
#include "headscope/circuit.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/edge_gradient.hpp"
#include "headscope/gradient.hpp"
#include "paths/integrated.hpp"
#include "program.hpp"

namespace headscope::bench {
namespace {

Index place_of(const std::string& name, Index count, const auto& name_of) {
  for (Index i = 0; i < count; ++i) {
    if (name_of(i) == name) return i;
  }
  throw std::runtime_error(name + ": no such node or port");
}

std::vector<Index> read_edges(const std::string& path, const EdgeGraph& graph) {
  std::vector<Index> edges;
  for (const json& edge : read_json(path)) {
    edges.push_back(graph.edge(
        place_of(edge.at(0), graph.n_node(), [&](Index i) { return graph.node_name(i); }),
        place_of(edge.at(1), graph.n_port(), [&](Index i) { return graph.port_name(i); })));
  }
  return edges;
}

/// The tenth of all edges with the largest effects.
std::vector<Index> tenth(const std::vector<double>& effects) {
  std::vector<Index> edges(effects.size());
  std::iota(edges.begin(), edges.end(), 0);
  std::ranges::stable_sort(edges, std::greater(),
                           [&](Index edge) { return std::abs(effects[edge]); });
  edges.resize(edges.size() / 10);
  return edges;
}

/// For each port, the nodes that it keeps, in the order of EdgeGraph.
json nodes_by_port(const std::vector<Index>& edges, const EdgeGraph& graph) {
  json nodes;
  for (const Index edge : edges) {
    nodes[graph.port_name(graph.port_of(edge))].push_back(graph.node_of(edge));
  }
  return nodes;
}

json measure(const Options& options) {
  const Model model = load_model(options.at("--model"));
  const json pairs = read_json(options.at("--pairs"));
  const std::vector<PairBatch> all = pair_batches(pairs);
  const EdgeGraph graph(model.config);
  const std::vector<Index> edges = read_edges(options.at("--edges"), graph);
  const Matrix zero(model.config.d_model, graph.n_node(), arma::fill::zeros);

  const ComputeContext context(fastest_engines(Precision::float32, try_engines(model.config)));
  Forward forward(model, context);
  HeadAblation clean(model, context);
  HeadGradient gradient(model, context);
  EdgeGradient edge_gradient(model, context);
  EdgeAblation exact(model, context);
  const auto run_clean = [&](const PairBatch& batch) { forward.run(batch.sequences, {&clean}); };

  std::vector<double> first_order(graph.n_edge(), 0), change(edges.size(), 0);
  const auto forward_backward = [&](const PairBatch& batch) {
    run_clean(batch);
    gradient.run(clean.activations(), batch.sequences, batch.weights, [](const LayerGradient&) {});
  };
  // The token embeddings go to 0: their mean would take a pass of its own.
  IntegratedEdges integrated(model, context, 5);
  const Vector origin(model.config.d_model, arma::fill::zeros);
  double largest_integrated = 0;
  const auto integrate = [&](const PairBatch& batch) {
    run_clean(batch);
    integrated.run(forward, clean.activations(), batch.sequences, batch.weights, zero, origin,
                   batch.ends, [&](Index, std::span<const float>, std::span<const float> effects) {
                     for (const float effect : effects) {
                       largest_integrated =
                           std::max(largest_integrated, std::abs(static_cast<double>(effect)));
                     }
                   });
  };
  // Both keep their memory, which one batch allocates; passes before and after show the machine's
  // speed at the time.
  forward_backward(all.front());
  integrate(all.front());
  const auto over_all = [&](const auto& operation) {
    return seconds([&] { std::ranges::for_each(all, operation); });
  };
  const double before_seconds = over_all(forward_backward),
               integrated_seconds = over_all(integrate), after_seconds = over_all(forward_backward);
  const double first_order_seconds = seconds([&] {
    for (const PairBatch& batch : all) {
      run_clean(batch);
      edge_gradient.run(clean.activations(), batch.sequences, batch.weights, zero, batch.ends,
                        [&](Index, std::span<const float> effects, std::span<const float>) {
                          for (std::size_t i = 0; i < effects.size(); ++i) {
                            first_order[i] += static_cast<double>(effects[i]);
                          }
                        });
    }
  });
  const double exact_seconds = seconds([&] {
    for (const PairBatch& batch : all) {
      run_clean(batch);
      const double margin = margin_sum(clean.clean_loss(batch.sequences), batch);
      const std::vector<TokenLoss> losses = exact.losses(clean, batch.sequences, edges, zero);
      for (std::size_t i = 0; i < edges.size(); ++i) {
        change[i] += margin_sum(losses[i], batch) - margin;
      }
    }
  });
  // Pruning asks again and again for the margin of some edges alone.
  CircuitForward forward_of_circuit(model, context);
  const std::vector<Index> circuit = tenth(first_order);
  std::vector<unsigned char> kept(graph.n_edge(), 0);
  for (const Index edge : circuit) kept[edge] = 1;
  double circuit_margin = 0;
  const double check_seconds = seconds([&] {
    for (const PairBatch& batch : all) {
      circuit_margin += margin_sum(forward_of_circuit.run(batch.sequences, zero, kept), batch) /
                        static_cast<double>(pairs.size());
    }
  });
  std::vector<double> predicted;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    predicted.push_back(first_order[edges[i]] / static_cast<double>(pairs.size()));
    change[i] /= static_cast<double>(pairs.size());
  }
  return {{"forward_backward", (before_seconds + after_seconds) / 2},
          {"first_order", first_order_seconds},
          {"integrated", integrated_seconds},
          {"largest_integrated", largest_integrated},
          {"exact", exact_seconds},
          {"check", check_seconds},
          {"circuit", nodes_by_port(circuit, graph)},
          {"circuit_margin", circuit_margin},
          {"n_edge", graph.n_edge()},
          {"predicted", predicted},
          {"change", change}};
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  return headscope::bench::run(argc, argv, headscope::bench::measure);
}
