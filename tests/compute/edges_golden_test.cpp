#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "headscope/circuit.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/edge_gradient.hpp"
#include "headscope/edges.hpp"
#include "paths/integrated.hpp"
#include "support/architecture_models.hpp"

namespace headscope {
namespace {

/// Pairs of sides on one model, and what hooked forwards and automatic differentiation of Hugging
/// Face's modules make of them in double precision.
struct EdgeGolden {
  std::string name;
  std::string model;
  std::string file;
  std::string group;  ///< of the model's numbers in the file, with a slash at its end
  double tolerance;   ///< of effects and margins, in nats
};

std::vector<EdgeGolden> edge_goldens() {
  // Four pairs of tests/data/make_paths.py: margins of about 50 nats of some 20 tokens in float32.
  std::vector<EdgeGolden> goldens{{"default_model", HEADSCOPE_PROJECT_DIR "/data/default-model.h5",
                                   test::data_path("paths_golden.h5"), "", 2e-4}};
  // Two pairs of tests/data/make_architecture_edges.py: margins of 10 to 20 nats in float32.
  for (const std::string& name : test::architecture_models()) {
    goldens.push_back({name, test::architecture_model(name),
                       test::data_path("architecture_edges_golden.h5"), name + "/", 2e-5});
  }
  return goldens;
}

class EdgesAgainstPyTorch : public testing::TestWithParam<EdgeGolden> {
 protected:
  EdgesAgainstPyTorch()
      : golden(GetParam().file),
        model(load_model(GetParam().model)),
        graph(model.config),
        replacement(test::narrow(test::read_matrix(golden, path("replacement")))),
        ablation(model) {
    for (Index i = 0; golden.has("pairs/" + std::to_string(i)); ++i) {
      const std::string pair = "pairs/" + std::to_string(i);
      const TokenIds good = test::read_tokens(golden, pair + "/good"),
                     bad = test::read_tokens(golden, pair + "/bad");
      const auto n_shared = static_cast<Index>(test::read_tokens(golden, pair + "/n_shared")[0]);
      batch.add_pair(good, bad, n_shared, false);
      ends.push_back(batch.n_column());
      weights.insert(weights.end(), good.size() - n_shared, -1.0F);
      weights.insert(weights.end(), bad.size() - n_shared, 1.0F);
    }
    for (float& weight : weights) weight /= static_cast<float>(ends.size());
    Forward(model).run(batch, {&ablation});
  }

  std::string path(const std::string& name) const { return GetParam().group + name; }

  double margin(const TokenLoss& loss) const {
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += static_cast<double>(weights[i]) * loss.nll[i];
    }
    return sum;
  }

  std::vector<double> expected(const std::string& name) const {
    return golden.read_reals(path(name)).values;
  }

  std::string name_of(Index edge) const {
    return graph.node_name(graph.node_of(edge)) + " " + graph.port_name(graph.port_of(edge));
  }

  double tolerance() const { return GetParam().tolerance; }

  const hdf5::InputFile golden;
  Model model;
  EdgeGraph graph;
  Matrix replacement;
  HeadAblation ablation;
  SequenceBatch batch;
  std::vector<Index> ends;
  std::vector<float> weights;
};

INSTANTIATE_TEST_SUITE_P(Models, EdgesAgainstPyTorch, testing::ValuesIn(edge_goldens()),
                         [](const auto& golden) { return golden.param.name; });

TEST_P(EdgesAgainstPyTorch, FirstOrderEffectsAreThoseOfAutogradWithPortsCutApart) {
  std::vector<double> effects(graph.n_edge(), 0);
  EdgeGradient(model).run(ablation.activations(), batch, weights, replacement, ends,
                          [&](Index, std::span<const float> values, std::span<const float>) {
                            for (Index edge = 0; edge < values.size(); ++edge) {
                              effects[edge] += static_cast<double>(values[edge]);
                            }
                          });
  const std::vector<double> all = expected("first_order");
  ASSERT_EQ(all.size(), graph.n_edge());
  for (Index edge = 0; edge < graph.n_edge(); ++edge) {
    EXPECT_NEAR(effects[edge], all[edge], tolerance()) << name_of(edge);
  }
}

TEST_P(EdgesAgainstPyTorch, IntegratedEffectsAreThoseOfAutogradOverFivePasses) {
  const arma::fvec mean_token =
      arma::vectorise(test::narrow(test::read_matrix(golden, path("mean_token"))));
  std::vector<double> effects(graph.n_edge(), 0);
  Forward forward(model);
  IntegratedEdges(model, {}, 5)
      .run(forward, ablation.activations(), batch, weights, replacement, mean_token, ends,
           [&](Index, std::span<const float>, std::span<const float> integrated) {
             for (Index edge = 0; edge < integrated.size(); ++edge) {
               effects[edge] += static_cast<double>(integrated[edge]);
             }
           });
  const std::vector<double> all = expected("integrated"), first_order = expected("first_order");
  ASSERT_EQ(all.size(), graph.n_edge());
  double largest_difference = 0;
  for (Index edge = 0; edge < graph.n_edge(); ++edge) {
    EXPECT_NEAR(effects[edge], all[edge], tolerance()) << name_of(edge);
    largest_difference = std::max(largest_difference, std::abs(all[edge] - first_order[edge]));
  }
  EXPECT_GT(largest_difference, 100 * tolerance()) << "passes far from the first order";
}

TEST_P(EdgesAgainstPyTorch, ExactEdgesOfEveryKindAreThoseOfHookedForwards) {
  std::vector<Index> edges;
  for (const std::int64_t edge : golden.read_integers(path("exact_edge"))) {
    edges.push_back(static_cast<Index>(edge));
  }
  std::map<PathPort::Kind, int> n_of_kind;
  for (const Index edge : edges) ++n_of_kind[graph.port(graph.port_of(edge)).kind];
  EXPECT_EQ(n_of_kind.size(), 5U);
  const double whole = margin(ablation.clean_loss(batch));
  EXPECT_NEAR(whole, expected("margin")[0], tolerance());
  const std::vector<double> changes = expected("exact_change");
  ASSERT_EQ(changes.size(), edges.size());
  const std::vector<TokenLoss> losses =
      EdgeAblation(model).losses(ablation, batch, edges, replacement);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_NEAR(margin(losses[i]) - whole, changes[i], tolerance()) << name_of(edges[i]);
  }
}

TEST_P(EdgesAgainstPyTorch, CircuitsFromNoEdgeToAllKeepTheSameMargins) {
  const std::vector<double> effects = expected("first_order"), margins = expected("circuit_margin");
  const std::vector<std::int64_t> sizes = golden.read_integers(path("circuit_size"));
  std::vector<Index> order(graph.n_edge());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](Index edge) { return std::abs(effects[edge]); });
  CircuitForward circuit(model);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_LE(static_cast<Index>(sizes[i]), graph.n_edge());
    std::vector<unsigned char> kept(graph.n_edge(), 0);
    for (Index n = 0; n < static_cast<Index>(sizes[i]); ++n) kept[order[n]] = 1;
    EXPECT_NEAR(margin(circuit.run(batch, replacement, kept)), margins[i], tolerance())
        << sizes[i] << " edges";
  }
  EXPECT_EQ(sizes.front(), 0);
  EXPECT_EQ(static_cast<Index>(sizes.back()), graph.n_edge());
  // Both are PyTorch's, in double.
  EXPECT_NEAR(margins.back(), expected("margin")[0], 1e-12) << "all edges are the model";
}

}  // namespace
}  // namespace headscope
