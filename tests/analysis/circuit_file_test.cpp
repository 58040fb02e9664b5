#include "paths/circuit_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "headscope/edges.hpp"
#include "headscope/random.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A task's edge, as the file of a circuit has it: score and whether it is in the graph.
void expect_edge(const json& circuit, const std::string& name, double score, double member) {
  ASSERT_TRUE(circuit["edges"].contains(name)) << name;
  EXPECT_EQ(circuit["edges"][name]["score"].get<double>(), score) << name;
  EXPECT_EQ(circuit["edges"][name]["in_graph"].get<bool>(), member == 1) << name;
}

/// Two layers of four heads, pairs of which share keys and values, with random scores and members.
Results random_circuit(bool parallel) {
  ModelConfig config = test::config_of({.n_layer = 2, .n_head = 4});
  config.n_kv_head = 2;
  config.parallel_residual = parallel;
  const EdgeGraph graph(config);
  const CounterRandom draws(7);
  std::vector<std::string> nodes(graph.n_node()), ports(graph.n_port());
  for (Index i = 0; i < graph.n_node(); ++i) nodes[i] = graph.node_name(i);
  for (Index i = 0; i < graph.n_port(); ++i) ports[i] = graph.port_name(i);
  Array score({1, graph.n_node(), graph.n_port()}, std::nan("")), member = score;
  for (Index edge = 0; edge < graph.n_edge(); ++edge) {
    score(0, graph.node_of(edge), graph.port_of(edge)) = draws.uniform(edge) - 0.5;
    member(0, graph.node_of(edge), graph.port_of(edge)) = draws.uniform(edge + 1000) < 0.1 ? 1 : 0;
  }
  ResultsGroup group;
  group.name = "paths";
  group.add_dimension(Dimension::labels("task", {"agreement"}));
  group.add_dimension(Dimension::labels("node", nodes));
  group.add_dimension(Dimension::labels("port", ports));
  group.add({"edge_integrated", "task node port", "nats", "effect", "a source"}, score);
  group.add({"edge_in_circuit", "task node port", "1", "member"}, member);
  Results results;
  results.attributes["n_layer"] = std::int64_t{2};
  results.attributes["n_head"] = std::int64_t{4};
  results.attributes["d_model"] = std::int64_t{32};
  results.groups.push_back(std::move(group));
  return results;
}

/// The names of all edges in a model of two layers of four heads, by the benchmark's rule.
std::set<std::string> edge_names(bool parallel) {
  std::set<std::string> names;
  std::vector<std::string> stream{"input"};
  for (const std::string layer : {"0", "1"}) {
    std::vector<std::string> heads;
    for (const char* head : {"0", "1", "2", "3"}) heads.push_back("a" + layer + ".h" + head);
    for (const std::string& from : stream) {
      for (const std::string& head : heads) {
        for (const char* input : {"<q>", "<k>", "<v>"}) {
          names.insert(std::string(from).append("->").append(head).append(input));
        }
      }
    }
    std::vector<std::string> read = stream;
    stream.insert(stream.end(), heads.begin(), heads.end());
    if (!parallel) read = stream;
    for (const std::string& from : read) names.insert(from + "->m" + layer);
    stream.push_back("m" + layer);
  }
  for (const std::string& from : stream) names.insert(from + "->logits");
  return names;
}

class CircuitFile : public testing::TestWithParam<bool> {};

TEST_P(CircuitFile, HasEveryEdgeAndThoseToSharedKeysForEachHead) {
  const bool parallel = GetParam();
  const Results results = random_circuit(parallel);
  const json circuit = json::parse(circuit_json(results, 0));
  EXPECT_EQ(
      circuit["cfg"],
      (json{{"n_layers", 2}, {"n_heads", 4}, {"d_model", 32}, {"parallel_attn_mlp", parallel}}));
  std::set<std::string> names, in_edges, in_graph;
  for (const auto& [name, edge] : circuit["edges"].items()) {
    names.insert(name);
    if (!edge["in_graph"].get<bool>()) continue;
    in_edges.insert(name.substr(0, name.find("->")));
    const std::string end = name.substr(name.find("->") + 2);
    in_edges.insert(end.substr(0, end.find('<')));
  }
  EXPECT_EQ(names, edge_names(parallel));
  for (const auto& [name, node] : circuit["nodes"].items()) {
    if (node["in_graph"].get<bool>()) in_graph.insert(name);
  }
  EXPECT_EQ(circuit["nodes"].size(), 1 + 2 * 5 + 1U);
  EXPECT_EQ(in_graph, in_edges);
  EXPECT_FALSE(in_graph.empty());
  const ResultsGroup& group = results.group("paths");
  const std::size_t from = group.dimension("node").place_of("L0H1").value(),
                    keys = group.dimension("port").place_of("L1H2-3.k").value();
  for (const std::string head : {"2", "3"}) {
    expect_edge(circuit, "a0.h1->a1.h" + head + "<k>",
                group.values("edge_integrated")(0, from, keys),
                group.values("edge_in_circuit")(0, from, keys));
  }
}

INSTANTIATE_TEST_SUITE_P(Residual, CircuitFile, testing::Bool());

TEST(CircuitFiles, AreThoseOfTheResultsAfterARunAndAReport) {
  const test::TemporaryDirectory folder;
  const std::string tasks = folder.file("tasks.jsonl"), out = folder.file("out"),
                    written = out + "/figures/circuit_repeated_random_tokens.json",
                    stale = out + "/figures/circuit_stale.json",
                    foreign = out + "/figures/circuit_of_another_tool.json";
  test::write_file(tasks, R"({"task": "t", "prefix": "see a", "good": " b", "bad": " c"})"
                          "\n");
  const test::Finished run =
      test::run_headscope({"run", "--model", HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                           "--tasks", tasks, "--analyses", "paths", "--paths-repeated", "60",
                           "--paths-exact", "5", "--figures", "svg", "--quiet", "--output", out});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const std::string first = test::read_file(written);
  test::write_file(stale, first);
  test::write_file(foreign, R"({"cfg": {"n_layers": 2}})");
  fs::remove(written);
  const test::Finished report = test::run_headscope({"report", out, "--figures", "svg"});
  ASSERT_EQ(report.exit_status, 0) << report.err;
  EXPECT_EQ(test::read_file(written), first);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(foreign));
  const json without_circuit = json::parse(test::read_file(out + "/figures/circuit_t.json"));
  EXPECT_EQ(without_circuit["edges"].size(), json::parse(first)["edges"].size());
  for (const auto& [name, edge] : without_circuit["edges"].items()) {
    EXPECT_TRUE(edge["score"].is_number()) << name;
    EXPECT_FALSE(edge["in_graph"].get<bool>()) << name;
  }

  // They need no gnuplot, and are no figures that a report without it would lose.
  fs::remove_all(out + "/figures");
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> call{"env", "PATH=/nonexistent"};
    for (const std::string& word : test::headscope_call({"report", out})) call.push_back(word);
    const test::Finished without_gnuplot = test::run_program(call);
    ASSERT_EQ(without_gnuplot.exit_status, 0) << without_gnuplot.err;
    EXPECT_EQ(test::read_file(written), first);
  }

  const json circuit = json::parse(first);
  const Results results = read_results(out + "/results.h5");
  const ResultsGroup& group = results.group("paths");
  const std::size_t task = group.dimension("task").place_of("repeated_random_tokens").value();
  const Array score = group.values("edge_integrated").part(task),
              member = group.values("edge_in_circuit").part(task);
  const auto expect = [&](const char* name, const char* node, const char* port) {
    const std::size_t from = group.dimension("node").place_of(node).value(),
                      to = group.dimension("port").place_of(port).value();
    expect_edge(circuit, name, score(from, to), member(from, to));
  };
  expect("input->a0.h0<q>", "embed", "L0H0.q");
  expect("a0.h0->a1.h0<k>", "L0H0", "L1H0.k");
  expect("a0.h1->m0", "L0H1", "MLP0");
  expect("m0->m1", "MLP0", "MLP1");
  expect("m0->a1.h1<v>", "MLP0", "L1H1.v");
  expect("a1.h0->logits", "L1H0", "logits");
  EXPECT_TRUE(circuit["edges"]["a0.h0->a1.h0<k>"]["in_graph"].get<bool>()) << "is planted";
  std::size_t n_edge = 0, n_member = 0, n_in_file = 0;
  for (const double value : score.values) n_edge += std::isfinite(value) ? 1 : 0;
  for (const double value : member.values) n_member += value == 1 ? 1 : 0;
  for (const json& edge : circuit["edges"]) n_in_file += edge["in_graph"].get<bool>() ? 1 : 0;
  EXPECT_EQ(circuit["edges"].size(), n_edge);
  EXPECT_EQ(n_in_file, n_member);
}

TEST(CircuitFiles, AreNotWrittenOfResultsThatLackVariablesOfEdges) {
  const test::TemporaryDirectory folder;
  for (const char* const name : {"edge_integrated", "edge_in_circuit"}) {
    Results results = random_circuit(false);
    std::erase_if(results.group("paths").variables,
                  [&](const Variable& variable) { return variable.name == name; });
    write_circuits(results, folder.path());
    EXPECT_TRUE(folder.files().empty()) << name;
  }
}

}  // namespace
}  // namespace headscope
