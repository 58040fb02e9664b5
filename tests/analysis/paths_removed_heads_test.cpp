#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "headscope/edges.hpp"
#include "headscope/model.hpp"
#include "headscope/prune.hpp"
#include "headscope/resampling.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "paths/circuit_file.hpp"
#include "paths/ordering.hpp"
#include "paths/paths.hpp"
#include "paths/results.hpp"
#include "paths/sums.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::SizeIs;

/// A layer of four heads that share keys and values by two. L0H1 alone is left.
ModelConfig config_without_heads() {
  ModelConfig config = test::config_of({.n_layer = 1, .n_head = 4});
  config.n_kv_head = 2;
  config.pruned_heads = {{0, 0}, {0, 2}, {0, 3}};
  return config;
}

/// Names of a model's edges, in their order.
std::vector<std::string> names_of_edges_left(const EdgeGraph& graph) {
  std::vector<std::string> names;
  for (const Index edge : graph.edges_left()) {
    names.push_back(graph.node_name(graph.node_of(edge)) + " " +
                    graph.port_name(graph.port_of(edge)));
  }
  return names;
}

TEST(EdgesLeft, AreThoseOfHeadsThatTheModelHas) {
  ModelConfig config = config_without_heads();
  const EdgeGraph graph(config);
  EXPECT_THAT(names_of_edges_left(graph),
              ElementsAre("embed L0H1.q", "embed L0H0-1.k", "embed L0H0-1.v", "embed MLP0",
                          "L0H1 MLP0", "embed logits", "L0H1 logits", "MLP0 logits"));
  EXPECT_TRUE(graph.is_removed(graph.head(0, 2)));
  EXPECT_FALSE(graph.is_removed(graph.mlp(0)));
  config.pruned_heads.clear();
  const EdgeGraph all_heads(config);
  EXPECT_EQ(all_heads.n_edge(), graph.n_edge()) << "numbers stay";
  EXPECT_THAT(all_heads.edges_left(), SizeIs(graph.n_edge()));
}

/// Sums of 24 pairs in which edge i of those left has the effect 0.01 + 0.02 i but for 0.1 that
/// differs by the pair, and those of removed heads none.
Statistics effects_of_edges_left(const EdgeGraph& graph) {
  constexpr std::size_t n_pair = 24;
  std::vector<float> sums(graph.n_edge(), 0), squares = sums;
  double effect = 0.01;
  for (const Index edge : graph.edges_left()) {
    sums[edge] = static_cast<float>(n_pair * effect);
    squares[edge] = static_cast<float>(n_pair * (effect * effect + 0.01));
    effect += 0.02;
  }
  Statistics statistics;
  DocumentStatistics batch(statistics, 0);
  const PathSums names(0);
  batch.add(names.first_order, {sums.size()}, 0, sums);
  batch.add(names.integrated, {sums.size()}, 0, sums);
  batch.add(names.squared_integrated, {sums.size()}, 0, squares);
  for (std::size_t i = 0; i < n_pair; ++i) {
    batch.sum(names.n_pair, {n_document_block})(i) = 1;
    batch.sum(names.margin, {n_document_block})(i) = 2;
    batch.sum(names.correct, {n_document_block})(i) = 1;
  }
  batch.end();
  return statistics;
}

ResultsGroup results_without_heads() {
  const EdgeGraph graph(config_without_heads());
  return paths_results(effects_of_edges_left(graph), {{"agreement", "", {}, 0, 0}}, graph, {});
}

std::vector<double> finite_values(const Array& values) {
  std::vector<double> finite;
  for (const double value : values.values) {
    if (!std::isnan(value)) finite.push_back(value);
  }
  return finite;
}

TEST(PathsWithoutHeads, TestsAndCountsTheEdgesLeftAlone) {
  const EdgeGraph graph(config_without_heads());
  const ResultsGroup group = results_without_heads();
  const std::vector<double> p = finite_values(group.values("edge_p")),
                            q = finite_values(group.values("edge_q"));
  EXPECT_THAT(p, SizeIs(8));
  EXPECT_EQ(q, benjamini_hochberg(p));
  EXPECT_THAT(finite_values(group.values("edge_integrated")), SizeIs(8));
  EXPECT_TRUE(std::isnan(group.values("edge_first_order")(0, graph.head(0, 2), graph.mlp_port(0))));
  EXPECT_THAT(group.dimension("step").values, ElementsAre(0, 1, 2, 4, 8));
  EXPECT_EQ(group.dimension("edge").size(), 8U);
  const PathPlan plan(effects_of_edges_left(graph), 0, graph, {});
  std::vector<Index> ascending = graph.edges_left(), random = random_edges(ascending, 0, 1);
  std::ranges::reverse(ascending);
  EXPECT_EQ(plan.order, ascending);
  std::ranges::sort(random);
  EXPECT_EQ(random, graph.edges_left());
}

/// Of results_without_heads.
json circuit_without_heads() {
  Results results;
  results.attributes["n_layer"] = std::int64_t{1};
  results.attributes["n_head"] = std::int64_t{4};
  results.attributes["d_model"] = static_cast<std::int64_t>(config_without_heads().d_model);
  results.groups.push_back(results_without_heads());
  return json::parse(circuit_json(results, 0));
}

TEST(CircuitWithoutHeads, HasTheEdgesLeft) {
  const json circuit = circuit_without_heads();
  std::vector<std::string> names;
  for (const auto& [name, edge] : circuit["edges"].items()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("a0.h1->logits", "a0.h1->m0", "input->a0.h1<k>", "input->a0.h1<q>",
                                 "input->a0.h1<v>", "input->logits", "input->m0", "m0->logits"));
  EXPECT_FALSE(circuit["cfg"]["parallel_attn_mlp"].get<bool>());
  EXPECT_TRUE(circuit["nodes"].contains("a0.h0"));
}

TEST(CircuitWithoutHeads, IsReadWithAndWithoutTheEdgesOfRemovedHeads) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("circuit_t.json");
  const ModelConfig config = config_without_heads();
  json circuit = circuit_without_heads();
  test::write_file(path, circuit.dump());
  std::vector<Index> order = EdgeGraph(config).edges_left();
  std::ranges::reverse(order);
  EXPECT_EQ(read_edge_order(path, config), order);
  for (const char* name : {"a0.h2->m0", "input->a0.h0<k>", "input->a0.h3<v>"}) {
    circuit["edges"][name]["score"] = 100;
  }
  test::write_file(path, circuit.dump());
  EXPECT_EQ(read_edge_order(path, config), order);
}

// Heads that nobody planted are gone.
TEST(PathsWithoutHeads, RunCircuitsOfTheEdgesLeft) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("model.h5"), tasks = folder.file("tasks.jsonl");
  Model model = load_model(HEADSCOPE_PROJECT_DIR "/data/planted-model.h5");
  const std::vector<HeadIndex> heads{{0, 1}, {0, 3}, {1, 2}, {1, 3}};
  prune_heads(model, heads, PruneMode::remove);
  save_model(model, path);
  test::write_file(tasks, R"({"task": "t", "prefix": "see a", "good": " b", "bad": " c"})"
                          "\n");
  const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> call{"run", "--model",    path,       "--tasks",
                                  tasks, "--analyses", "paths",    "--paths-exact",
                                  "5",   "--engine",   "float32",  "--paths-repeated",
                                  "60",  "--quiet",    "--output", folder.file(name)};
    call.insert(call.end(), more.begin(), more.end());
    const test::Finished finished = test::run_headscope_without_gnuplot(call);
    EXPECT_EQ(finished.exit_status, 0) << finished.err;
    return read_results(folder.file(name) + "/results.h5");
  };
  const Results first = run("first", {});
  const ResultsGroup& group = first.group("paths");
  const auto n_edge = static_cast<double>(EdgeGraph(model.config).edges_left().size());
  const std::size_t task = group.dimension("task").index_of("repeated_random_tokens");
  EXPECT_EQ(group.dimension("step").values.back(), n_edge);
  EXPECT_THAT(finite_values(group.values("edge_q").part(task)),
              SizeIs(static_cast<std::size_t>(n_edge)));
  const Array member = group.values("edge_in_circuit").part(task);
  EXPECT_THAT(finite_values(member), SizeIs(static_cast<std::size_t>(n_edge)));
  EXPECT_LT(group.values("circuit_edges_90")(task), n_edge);
  const Results second =
      run("second",
          {"--paths-ordering", folder.file("first/figures/circuit_repeated_random_tokens.json")});
  const Array all = second.group("paths").values("faithfulness").part(task),
              given = second.group("paths").values("faithfulness_given").part(task);
  for (std::size_t step = 0; step < given.size(); ++step) {
    EXPECT_EQ(given(step), all(0, step)) << step;
  }
}

}  // namespace
}  // namespace headscope
