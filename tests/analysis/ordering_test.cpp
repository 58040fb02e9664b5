#include "paths/ordering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// Layers of two heads that share their keys and values.
ModelConfig grouped_config() {
  ModelConfig config = test::config_of({.n_layer = 1, .n_head = 2});
  config.n_kv_head = 1;
  return config;
}

/// A file of that model, as another tool writes it, with these scores.
json circuit_of_scores(const std::map<std::string, double>& scores) {
  json edges = json::object();
  for (const char* name :
       {"input->a0.h0<q>", "input->a0.h1<q>", "input->a0.h0<k>", "input->a0.h1<k>",
        "input->a0.h0<v>", "input->a0.h1<v>", "input->m0", "a0.h0->m0", "a0.h1->m0",
        "input->logits", "a0.h0->logits", "a0.h1->logits", "m0->logits"}) {
    edges[name] = {{"score", scores.contains(name) ? scores.at(name) : 0.0}, {"in_graph", false}};
  }
  const auto d_model = grouped_config().d_model;
  return {{"cfg",
           {{"n_layers", 1}, {"n_heads", 2}, {"d_model", d_model}, {"parallel_attn_mlp", false}}},
          {"nodes", json::object()},
          {"edges", edges}};
}

TEST(EdgeOrder, GoesBySizeAndTakesTheLargestScoreOfHeadsThatShareKeys) {
  const test::TemporaryDirectory folder;
  const EdgeGraph graph(grouped_config());
  const std::string path = folder.file("circuit_t.json");
  test::write_file(path, circuit_of_scores({{"input->a0.h0<k>", 0.1},
                                            {"input->a0.h1<k>", -4},
                                            {"a0.h1->logits", 3},
                                            {"m0->logits", -3.5},
                                            {"input->a0.h1<q>", 1e-9}})
                             .dump());
  const std::vector<Index> order = read_edge_order(path, grouped_config());
  ASSERT_EQ(order.size(), 11U);
  ASSERT_EQ(order.size(), graph.n_edge());
  const auto edge = [&](Index node, Index port) { return graph.edge(node, port); };
  EXPECT_EQ(order[0], edge(EdgeGraph::embed, graph.port(PathPort::Kind::k, 0, 0)));
  EXPECT_EQ(order[1], edge(graph.mlp(0), graph.logits_port()));
  EXPECT_EQ(order[2], edge(graph.head(0, 1), graph.logits_port()));
  EXPECT_EQ(order[3], edge(EdgeGraph::embed, graph.port(PathPort::Kind::q, 0, 1)));
  EXPECT_EQ(order[4], edge(EdgeGraph::embed, graph.port(PathPort::Kind::q, 0, 0))) << "ties";
}

/// A change of the file, and the message after its name.
struct BadFile {
  const char* name;
  std::function<std::string(json file)> text;
  const char* message;
};

class BadOrdering : public testing::TestWithParam<BadFile> {};

TEST_P(BadOrdering, IsRefusedWithItsPlace) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("circuit_t.json");
  test::write_file(path, GetParam().text(circuit_of_scores({})));
  EXPECT_EQ(test::message_of<DataError>([&] { read_edge_order(path, grouped_config()); }),
            path + ":" + GetParam().message);
}

/// The text of a file that `change` has changed.
std::function<std::string(json)> changed(std::function<void(json&)> change) {
  return [change = std::move(change)](json file) {
    change(file);
    return file.dump();
  };
}

/// A file with a score of 0 of this edge in addition.
std::function<std::string(json)> with_score_of(const char* edge) {
  return changed([edge](json& file) { file["edges"][edge]["score"] = 0; });
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadOrdering,
    testing::Values(
        BadFile{"Cut", [](const json& file) { return file.dump().substr(0, 90); },
                " expected JSON, got unfinished or other text"},
        BadFile{"List", [](const json&) { return std::string("[]"); },
                "cfg: expected an object, got none"},
        BadFile{"NoEdges", changed([](json& file) { file.erase("edges"); }),
                "edges: expected an object, got none"},
        BadFile{"OtherModel", changed([](json& file) { file["cfg"]["n_layers"] = 12; }),
                "cfg.n_layers: expected 1, as the model has, got 12"},
        BadFile{"OtherHeads", changed([](json& file) { file["cfg"].erase("n_heads"); }),
                "cfg.n_heads: expected 2, as the model has, got none"},
        BadFile{"UnknownNode", with_score_of("a7.h0->m0"),
                "edge a7.h0->m0: expected a node of the model, got a7.h0"},
        BadFile{"Backwards", with_score_of("m0->a0.h0<q>"),
                "edge m0->a0.h0<q>: expected an edge to a later part, to a head by <q>, <k> or "
                "<v>, got none of the model's"},
        BadFile{"NoInput", with_score_of("input->a0.h0"),
                "edge input->a0.h0: expected an edge to a later part, to a head by <q>, <k> or "
                "<v>, got none of the model's"},
        BadFile{"NoArrow", with_score_of("a0.h0"),
                "edge a0.h0: expected an edge FROM->TO, got no arrow"},
        BadFile{"Missing", changed([](json& file) { file["edges"].erase("a0.h1->m0"); }),
                "edges: expected all 13 edges of the model, got none named a0.h1->m0"},
        BadFile{"NotANumber",
                [](const json& file) {
                  std::string text = file.dump();
                  const std::size_t place = text.find("\"score\":0.0");
                  return text.replace(place, 11, "\"score\":NaN");
                },
                "edge a0.h0->logits: expected a finite score, got \"NaN\""},
        BadFile{"NoScore", changed([](json& file) { file["edges"]["input->m0"].erase("score"); }),
                "edge input->m0: expected a finite score, got none"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(CircuitTask, IsNamedByTheFile) {
  const std::vector<std::string> tasks{"agreement", "wh questions"};
  EXPECT_EQ(task_of_circuit("some/circuit_wh_questions.json", tasks), 1U);
  EXPECT_EQ(test::message_of<OptionError>([&] { task_of_circuit("some/agreement.json", tasks); }),
            "--paths-ordering: expected a file of one of the run's tasks (circuit_agreement.json, "
            "circuit_wh_questions.json), got \"agreement.json\"");
}

/// Results of the planted model on repeated tokens, with more options.
Results run_of_planted_model(const std::string& out, const std::vector<std::string>& more) {
  const std::string tasks = out + ".jsonl";
  test::write_file(tasks, R"({"task": "t", "prefix": "see a", "good": " b", "bad": " c"})"
                          "\n");
  std::vector<std::string> call{"run",
                                "--model",
                                HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                                "--tasks",
                                tasks,
                                "--analyses",
                                "paths",
                                "--paths-repeated",
                                "60",
                                "--paths-exact",
                                "5",
                                "--engine",  // a trial in each folder need not choose the same
                                "float32",
                                "--quiet",
                                "--output",
                                out};
  call.insert(call.end(), more.begin(), more.end());
  const test::Finished run = test::run_headscope_without_gnuplot(call);
  EXPECT_EQ(run.exit_status, 0) << run.err;
  return read_results(out + "/results.h5");
}

// The run's file has its order; with the first-order effects as scores it has the other order.
TEST(PathsOrdering, OfTheRunsOwnCircuitGivesTheFaithfulnessOfItsOrder) {
  const test::TemporaryDirectory folder;
  const std::string first = folder.file("first"),
                    file = first + "/figures/circuit_repeated_random_tokens.json",
                    other = folder.file("circuit_repeated_random_tokens.json");
  const Results own = run_of_planted_model(first, {});
  EXPECT_FALSE(own.group("paths").has("faithfulness_given"));
  json circuit = json::parse(test::read_file(file));
  const ResultsGroup& group = own.group("paths");
  const std::size_t task = group.dimension("task").place_of("repeated_random_tokens").value();
  const std::vector<std::string>&nodes = group.labels("node"), &ports = group.labels("port");
  const auto renamed = [](std::string name) {
    if (name == "embed") return std::string("input");
    if (name.starts_with("MLP")) return "m" + name.substr(3);
    if (!name.starts_with('L')) return name;
    const std::size_t dot = name.find('.');
    const std::string input = dot == std::string::npos ? "" : "<" + name.substr(dot + 1) + ">";
    return "a" + name.substr(1, 1) + ".h" + name.substr(3, 1) + input;
  };
  const Array effect = group.values("edge_first_order").part(task);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t port = 0; port < ports.size(); ++port) {
      if (std::isnan(effect(node, port))) continue;
      const std::string name =
          std::string(renamed(nodes[node])).append("->").append(renamed(ports[port]));
      ASSERT_TRUE(circuit["edges"].contains(name)) << name;
      circuit["edges"][name]["score"] = -effect(node, port);
    }
  }
  test::write_file(other, circuit.dump());
  std::size_t order = 0;
  for (const std::string& given : {file, other}) {
    const Results again = run_of_planted_model(folder.file("again" + std::to_string(order)),
                                               {"--paths-ordering", given});
    const ResultsGroup& paths = again.group("paths");
    const Array all = paths.values("faithfulness").part(task),
                read = paths.values("faithfulness_given").part(task);
    ASSERT_EQ(all.shape[1], read.size());
    for (std::size_t step = 0; step < read.size(); ++step) {
      EXPECT_EQ(read(step), all(order, step)) << given << " " << step;
    }
    EXPECT_TRUE(std::isnan(paths.values("faithfulness_given").part(1 - task)(0)));
    EXPECT_THAT(paths.summary, HasSubstr("in the order of --paths-ordering "));
    ++order;
  }
}

}  // namespace
}  // namespace headscope
