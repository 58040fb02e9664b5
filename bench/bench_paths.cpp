// Measures Headscope for bench/compare_paths.py, which documents the options and the JSON line
// printed.
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "headscope/ablation.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/edge_gradient.hpp"
#include "headscope/gradient.hpp"
#include "restart.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// Pairs that are run together.
struct Batch {
  SequenceBatch sequences;
  std::vector<float> weights;  // of predictions in the sum of margins
  std::vector<Index> ends;     // first column after each pair
};

std::vector<Batch> batches(const json& pairs) {
  std::vector<Batch> all;
  for (std::size_t next = 0; next < pairs.size();) {
    Batch batch;
    for (; next < pairs.size() && batch.sequences.n_column() < 1024; ++next) {
      const auto good = pairs[next].at("good").get<TokenIds>(),
                 bad = pairs[next].at("bad").get<TokenIds>();
      const auto n_shared = static_cast<Index>(std::ranges::mismatch(good, bad).in1 - good.begin());
      batch.sequences.add_pair(good, bad, n_shared, false);
      batch.ends.push_back(batch.sequences.n_column());
      batch.weights.insert(batch.weights.end(), good.size() - n_shared, -1.0F);
      batch.weights.insert(batch.weights.end(), bad.size() - n_shared, 1.0F);
    }
    all.push_back(std::move(batch));
  }
  return all;
}

Index place_of(const std::string& name, Index count, const auto& name_of) {
  for (Index i = 0; i < count; ++i) {
    if (name_of(i) == name) return i;
  }
  throw std::runtime_error(name + ": no such node or port");
}

std::vector<Index> read_edges(const std::string& path, const EdgeGraph& graph) {
  std::ifstream file(path);
  std::vector<Index> edges;
  for (const json& edge : json::parse(file)) {
    edges.push_back(graph.edge(
        place_of(edge.at(0), graph.n_node(), [&](Index i) { return graph.node_name(i); }),
        place_of(edge.at(1), graph.n_port(), [&](Index i) { return graph.port_name(i); })));
  }
  return edges;
}

double margin_of(const TokenLoss& loss, const std::vector<float>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += static_cast<double>(weights[i]) * loss.nll[i];
  }
  return sum;
}

template <typename Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  blas::set_thread_count(std::stoi(options.at("--threads")));
  const Model model = load_model(options.at("--model"));
  std::ifstream file(options.at("--pairs"));
  const json pairs = json::parse(file);
  const std::vector<Batch> all = batches(pairs);
  const EdgeGraph graph(model.config);
  const std::vector<Index> edges = read_edges(options.at("--edges"), graph);
  const Matrix zero(model.config.d_model, graph.n_node(), arma::fill::zeros);

  const ComputeContext context(fastest_engines(Precision::float32, this_processor()));
  Forward forward(model, context);
  HeadAblation clean(model, context);
  HeadGradient gradient(model, context);
  EdgeGradient edge_gradient(model, context);
  EdgeAblation exact(model, context);
  LayerObserver* const observers[] = {&clean};
  const auto run_clean = [&](const Batch& batch) { forward.run(batch.sequences, observers); };

  std::vector<double> first_order(graph.n_edge(), 0), change(edges.size(), 0);
  const double backward_seconds = seconds([&] {
    for (const Batch& batch : all) {
      run_clean(batch);
      gradient.run(clean.activations(), batch.sequences, batch.weights,
                   [](const LayerGradient&) {});
    }
  });
  const double first_order_seconds = seconds([&] {
    for (const Batch& batch : all) {
      run_clean(batch);
      edge_gradient.run(clean.activations(), batch.sequences, batch.weights, zero, batch.ends,
                        [&](Index, std::span<const float> effects) {
                          for (std::size_t i = 0; i < effects.size(); ++i) {
                            first_order[i] += static_cast<double>(effects[i]);
                          }
                        });
    }
  });
  const double exact_seconds = seconds([&] {
    for (const Batch& batch : all) {
      run_clean(batch);
      const double margin = margin_of(clean.clean_loss(batch.sequences), batch.weights);
      const std::vector<TokenLoss> losses = exact.losses(clean, batch.sequences, edges, zero);
      for (std::size_t i = 0; i < edges.size(); ++i) {
        change[i] += margin_of(losses[i], batch.weights) - margin;
      }
    }
  });
  std::vector<double> predicted;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    predicted.push_back(first_order[edges[i]] / static_cast<double>(pairs.size()));
    change[i] /= static_cast<double>(pairs.size());
  }
  std::cout << json{{"forward_backward", backward_seconds},
                    {"first_order", first_order_seconds},
                    {"exact", exact_seconds},
                    {"n_edge", graph.n_edge()},
                    {"predicted", predicted},
                    {"change", change}}
            << "\n";
}

}  // namespace
}  // namespace headscope

int main(int argc, char** argv) {
  headscope::restart_with_best_settings(argv);
  try {
    headscope::measure(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_paths: " << error.what() << "\n";
    return 1;
  }
}
