#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "headscope/figure.hpp"
#include "headscope/random.hpp"
#include "headscope/results.hpp"
#include "induction.hpp"
#include "paths/circuit_pruning.hpp"
#include "paths/circuit_size.hpp"
#include "paths/paths.hpp"
#include "paths/repeated_tokens.hpp"
#include "paths/results.hpp"
#include "paths/sums.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using test::TemporaryDirectory;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string project_data = HEADSCOPE_PROJECT_DIR "/data/";

TEST(RepeatedTokens, TheTokenThatFollowedBeforeIsTheGoodOne) {
  const Model model = test::random_weights(test::small_config(), 3);
  const Task task = repeated_tokens_task(model, 7, 30, 1);
  ASSERT_THAT(task.pairs, SizeIs(30));
  for (const TaskPair& pair : task.pairs) {
    ASSERT_EQ(pair.good.size(), pair.n_shared + 1);
    ASSERT_EQ(pair.bad.size(), pair.n_shared + 1);
    EXPECT_EQ(pair.good.front(), 7);
    const auto begin = pair.good.begin(), end = begin + static_cast<std::ptrdiff_t>(pair.n_shared);
    EXPECT_TRUE(std::equal(begin, end, pair.bad.begin()));
    const TokenId last = *(end - 1);
    const auto before = std::find(begin, end, last);
    ASSERT_LT(before, end - 1);
    EXPECT_EQ(pair.good.back(), *(before + 1));
    EXPECT_NE(pair.bad.back(), pair.good.back());
    EXPECT_EQ(std::count(begin + 1, begin + 21, pair.bad.back()), 1);
  }
  Model short_pieces = test::random_weights(test::small_config(), 3);
  short_pieces.config.model_n_ctx = short_pieces.config.n_ctx;
  short_pieces.config.n_ctx = 8;
  EXPECT_EQ(repeated_tokens_task(short_pieces, 7, 30, 1).pairs.back().good, task.pairs.back().good);
  for (const TaskPair& pair : repeated_tokens_task(model, std::nullopt, 30, 1).pairs) {
    EXPECT_EQ(pair.good.size(), pair.n_shared + 1);
    EXPECT_EQ(std::count(pair.good.begin(), pair.good.end(), pair.good.front()), 2);
  }
  ModelConfig tiny = test::small_config();
  tiny.d_vocab = 10;
  EXPECT_THAT(repeated_tokens_task(test::random_weights(tiny, 3), 7, 30, 1).pairs, SizeIs(0));
}

TEST(PathsOptions, SampleAsManyPairsAsAreAskedForAtMostAll) {
  PathsOptions options;
  options.n_pair = 64;
  EXPECT_EQ(options.n_sampled_pair(10), 10U);
  EXPECT_EQ(options.n_sampled_pair(200), 64U);
  options.n_pair = 0;
  EXPECT_EQ(options.n_sampled_pair(200), 200U);
}

ModelConfig one_head() {
  return test::config_of({.n_layer = 1, .n_head = 1});
}

/// Sums of a task of 24 pairs in a model of one head, whose 8 edges have the effects given in every
/// pair but for a little that differs, by integrated gradients, and half of it to first order.
/// Without the largest of the five significant edges every pair loses 3 nats, without the others
/// every other pair wins 1. Circuits keep the margins given.
Statistics example_paths(const std::vector<double>& effects, const std::vector<double>& kept) {
  Statistics statistics;
  DocumentStatistics batch(statistics, 0);
  const PathSums names(0);
  constexpr std::size_t n_pair = 24, n_exact = 5;
  std::vector<float> sum, half, squares;
  for (const double effect : effects) {
    sum.push_back(static_cast<float>(n_pair * effect));
    half.push_back(static_cast<float>(n_pair * effect / 2));
    squares.push_back(static_cast<float>(n_pair * (effect * effect + 0.01)));
  }
  batch.add(names.first_order, {effects.size()}, 0, half);
  batch.add(names.integrated, {effects.size()}, 0, sum);
  batch.add(names.squared_integrated, {effects.size()}, 0, squares);
  const std::size_t n_step = circuit_steps(effects.size()).size();
  for (std::size_t i = 0; i < n_pair; ++i) {
    batch.sum(names.n_pair, {n_document_block})(i) = 1;
    const double noise = i % 2 == 0 ? 1e-6 : -1e-6;  // else intervals had no width
    batch.sum(names.margin, {n_document_block})(i) = 2 + noise;
    batch.sum(names.correct, {n_document_block})(i) = 1;
    batch.sum(names.n_exact, {n_document_block})(i) = 1;
    for (std::size_t edge = 0; edge < n_exact; ++edge) {
      batch.sum(names.change, {n_document_block, n_exact})(i, edge) =
          edge == 0 ? -3.0 : static_cast<double>(i % 2);
      batch.sum(names.squared_change, {n_exact})(edge) +=
          edge == 0 ? 9.0 : static_cast<double>(i % 2);
    }
    for (std::size_t step = 0; step < n_step; ++step) {
      batch.sum(names.kept, {n_document_block, n_path_order, n_step})(i, 0, step) =
          kept[step] + (step + 1 == n_step && kept.front() != kept.back() ? noise : 0);
      for (std::size_t order = 1; order < n_path_order; ++order) {
        batch.sum(names.kept, {n_document_block, n_path_order, n_step})(i, order, step) =
            step + 1 < n_step ? 1 : 2;
      }
    }
  }
  batch.end();
  return statistics;
}

TEST(PathsPlan, OrdersEdgesAndChoosesTheSignificantOnes) {
  const EdgeGraph graph(one_head());
  ASSERT_EQ(graph.n_edge(), 8U);
  AnalysisSettings settings;
  settings.options<PathsOptions>().n_exact = 3;
  const Statistics statistics = example_paths({0.1, -2, 0.5, 0, 0.02, 3, 0, 1}, {1, 1, 1, 1.5, 2});
  const PathPlan plan(statistics, 0, graph, settings);
  EXPECT_THAT(plan.order, ElementsAre(5, 1, 7, 2, 0, 4, 3, 6));
  EXPECT_THAT(plan.exact, ElementsAre(5, 1, 7));
  EXPECT_TRUE(plan.means.can_do());
  EXPECT_DOUBLE_EQ(plan.means.margin.value, 2);
  EXPECT_GT(plan.q[4], 0.05);
  EXPECT_LT(plan.q[2], 0.05);
  settings.options<PathsOptions>().n_exact = 50;
  // 0.1 with a standard deviation of 0.1 in 24 pairs counts, 0.02 does not.
  EXPECT_THAT(PathPlan(statistics, 0, graph, settings).exact, ElementsAre(5, 1, 7, 2, 0));
  EXPECT_THAT(circuit_steps(8), ElementsAre(0, 1, 2, 4, 8));
  EXPECT_THAT(circuit_steps(5), ElementsAre(0, 1, 2, 4, 5));
}

/// Sums of circuits whose margins, alike in 24 pairs but for `noise` that alternates, are given by
/// the number of edges; all passes.
Statistics narrowed_circuits(Index n_edge, const std::function<double(Index)>& margin,
                             double noise = 0) {
  constexpr std::size_t n_pair = 24;
  Statistics statistics;
  const PathSums names(0);
  const std::vector<Index> steps = circuit_steps(n_edge);
  const auto fill = [&](Array& sums, const std::vector<Index>& sizes, const auto& at) {
    for (std::size_t pair = 0; pair < n_pair; ++pair) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double sign = pair % 2 == 0 ? 1 : -1;
        // The margin of all edges varies by so little that its mean is exact.
        at(sums, pair, i) = margin(sizes[i]) + sign * (sizes[i] == n_edge ? 0x1p-30 : noise);
      }
    }
  };
  {
    DocumentStatistics batch(statistics, 0);
    for (std::size_t i = 0; i < n_pair; ++i) batch.sum(names.n_exact, {n_document_block})(i) = 1;
    fill(batch.sum(names.kept, {n_document_block, n_path_order, steps.size()}), steps,
         [](Array& sums, std::size_t pair, std::size_t i) -> double& { return sums(pair, 0, i); });
    batch.end();
  }
  for (int pass = 0; pass < n_narrowing_pass; ++pass) {
    const std::vector<Index> points = CircuitSize(statistics, 0, n_edge, {}).next();
    EXPECT_LE(points.size(), CircuitSize::n_point(n_edge));
    DocumentStatistics batch(statistics, 0);
    fill(batch.sum(names.narrowed(pass), {n_document_block, CircuitSize::n_point(n_edge)}), points,
         [](Array& sums, std::size_t pair, std::size_t i) -> double& { return sums(pair, i); });
    batch.end();
  }
  return statistics;
}

// Margins of a circuit of n edges: 90 % from `enough` edges on.
TEST(CircuitSize, IsNarrowedDownToOneEdge) {
  for (const Index n_edge : {Index{1000}, Index{35'000}}) {
    for (const Index enough : {Index{1}, Index{2}, Index{700}, n_edge}) {
      const Statistics statistics = narrowed_circuits(n_edge, [&](Index n) {
        return n == 0 ? 0 : n == n_edge ? 1 : n >= enough ? 0.95 : 0.3;
      });
      const CircuitSize size(statistics, 0, n_edge, {});
      EXPECT_EQ(size.fewest().value, enough);
      EXPECT_EQ(size.edge_margin().value, 1);
    }
  }
  EXPECT_FALSE(CircuitSize({}, 0, 10, {}).is_known());
  EXPECT_TRUE(std::isnan(CircuitSize({}, 0, 10, {}).fewest().value));
}

// 0.95 from 300 edges on, but 0.6 from 700 to 800: a round is spent on finding that.
TEST(CircuitSize, IsTheNumberFromWhichOnTheMarginStays) {
  const Statistics statistics = narrowed_circuits(1000, [](Index n) {
    if (n == 1000) return 1.0;
    return n < 300 ? 0.0003 * static_cast<double>(n) : n >= 700 && n <= 800 ? 0.6 : 0.95;
  });
  const double fewest = CircuitSize(statistics, 0, 1000, {}).fewest().value;
  EXPECT_GT(fewest, 800);
  EXPECT_LE(fewest, 802);
}

// 2.9 of 3 nats stay without any edge.
TEST(CircuitSize, IsUnknownWhereTheMarginDoesNotDependOnTheEdges) {
  const auto margin = [](Index n) { return n == 1000 ? 3.0 : 2.9; };
  const CircuitSize known(narrowed_circuits(1000, margin, 0.05), 0, 1000, {}),
      unknown(narrowed_circuits(1000, margin, 1), 0, 1000, {});
  EXPECT_TRUE(known.is_known());
  EXPECT_GT(known.edge_margin().low, 0);
  EXPECT_FALSE(unknown.is_known());
  EXPECT_LT(unknown.edge_margin().low, 0);
  EXPECT_NEAR(unknown.edge_margin().value, 0.1, test::double_rounding);
  EXPECT_TRUE(std::isnan(unknown.fewest().value));
  EXPECT_THAT(unknown.next(), SizeIs(0));
}

// Faithfulness n / 1000, but with 0.02 more or less by the pair: 24 pairs tell the crossing, at
// 900, to 1.96 * 0.02 / sqrt(24) of 1000 edges, or 8.
TEST(CircuitSize, HasAnIntervalOverPairs) {
  const Statistics statistics = narrowed_circuits(
      1000, [](Index n) { return 0.001 * static_cast<double>(n); }, 0.02);
  const Estimate fewest = CircuitSize(statistics, 0, 1000, {}).fewest();
  EXPECT_EQ(fewest.value, 900);
  EXPECT_LT(fewest.low, 900);
  EXPECT_GT(fewest.high, 900);
}

// Three of 300 edges carry 1 nat each, the others nothing or, together, half a hundredth.
TEST(PrunedCircuit, IsTheEdgesThatTheMarginNeeds) {
  std::vector<Index> edges(300);
  std::iota(edges.begin(), edges.end(), 0);
  std::size_t n_check = 0;
  const auto margin_of = [&](const std::vector<Index>& kept) {
    ++n_check;
    double margin = 0;
    for (const Index edge : kept) {
      margin += edge == 3 || edge == 150 || edge == 299 ? 1 : edge % 2 == 0 ? 1e-4 : 0;
    }
    return margin;
  };
  const std::vector<Index> left = pruned_circuit(edges, {}, margin_of, 0.03, 2.7, CounterRandom(1));
  EXPECT_THAT(left, ElementsAre(3, 150, 299));
  EXPECT_LT(n_check, 400U);
  // With nothing to lose all even edges stay.
  EXPECT_GE(pruned_circuit(edges, {}, margin_of, 0, 2.7, CounterRandom(1)).size(), 151U);
}

// Edges 4 and 9 undo each other.
TEST(PrunedCircuit, LosesEdgesThatAreNeededTogetherOrNotAtAll) {
  const auto margin_of = [](const std::vector<Index>& kept) {
    const auto has = [&](Index edge) { return std::ranges::find(kept, edge) != kept.end(); };
    return (has(0) ? 1.0 : 0.0) - (has(4) != has(9) ? 0.5 : 0.0);
  };
  const std::vector<Index> edges{4, 0, 9};
  EXPECT_THAT(pruned_circuit(edges, {}, margin_of, 0.01, 0.9, CounterRandom(1)), SizeIs(3));
  EXPECT_THAT(pruned_circuit(edges, {{4, 7, 9}}, margin_of, 0.01, 0.9, CounterRandom(1)),
              ElementsAre(0));
}

TEST(PrunedCircuit, LosesNoPartOfMoreThanAHundredth) {
  std::vector<Index> edges(1000);
  std::iota(edges.begin(), edges.end(), 0);
  const auto margin_of = [](const std::vector<Index>& kept) {
    return 0.001 * static_cast<double>(kept.size());
  };
  const std::vector<Index> left = pruned_circuit(edges, {}, margin_of, 0.01, 0.9, CounterRandom(1));
  EXPECT_THAT(left, SizeIs(1000)) << "a part of 31 edges costs more";
}

TEST(PrunedCircuit, KeepsNineTenths) {
  std::vector<Index> edges(1000);
  std::iota(edges.begin(), edges.end(), 0);
  // Only the second half counts, little by edge, and all of it would go part by part.
  const auto margin_of = [](const std::vector<Index>& kept) {
    const auto n = std::ranges::count_if(kept, [](Index edge) { return edge >= 500; });
    return 0.5 + 0.001 * static_cast<double>(n);
  };
  const std::vector<Index> left =
      pruned_circuit(edges, {}, margin_of, 0.035, 0.9, CounterRandom(1));
  EXPECT_GE(margin_of(left), 0.9);
  EXPECT_LE(left.size(), 470U);
}

TEST(PathsResults, OfAnExampleByHand) {
  const ModelConfig config = one_head();
  const EdgeGraph graph(config);
  const ResultsGroup group =
      paths_results(example_paths({0.1, -2, 0.5, 0, 0.02, 3, 0, 1}, {1, 1, 1.4, 1.92, 2}),
                    {{"agreement", "", {}, 0, 0}}, graph, {});
  const Array faithfulness = group.variable("faithfulness").values;
  EXPECT_EQ(faithfulness(0, 0, 0), 0);
  EXPECT_NEAR(faithfulness(0, 0, 2), 0.4, test::double_rounding);
  EXPECT_EQ(faithfulness(0, 0, 4), 1);
  EXPECT_EQ(faithfulness(0, 1, 3), 0);
  // No passes narrowed it down below the step.
  EXPECT_EQ(group.variable("circuit_edges_90").values(0), 4);
  EXPECT_EQ(group.variable("edge_change").values(0, 0), -3);
  EXPECT_LT(group.variable("edge_change_q").values(0, 0), 1e-100) << "alike in all pairs";
  EXPECT_EQ(group.variable("edge_change").values(0, 1), 0.5);
  // scipy.stats.ttest_1samp([0, 1] * 12, 0).pvalue to six digits; four of five edges have it, the
  // fifth 0.
  EXPECT_NEAR(group.variable("edge_change_p").values(0, 1), 7.74499e-5, 1e-10);
  EXPECT_NEAR(group.variable("edge_change_q").values(0, 1), 7.74499e-5, 1e-10);
  EXPECT_TRUE(std::isnan(group.variable("edge_change").values(0, 5)));
  EXPECT_EQ(group.variable("edge_node").text[0], "embed");
  EXPECT_EQ(group.variable("edge_port").text[0], "logits");
  EXPECT_EQ(group.variable("edge_node").text[5], "");
  EXPECT_EQ(strongest_between_heads(group, 0), "") << "one head";
  const Array& effect = group.variable("edge_integrated").values;
  EXPECT_EQ(effect.shape, (Shape{1, 3, 5}));
  EXPECT_EQ(group.variable("edge_first_order").values(0, 0, 1), -1);
  // Integrated 3, -2, 1, 0.5, 0.1; exact -3, 0.5, 0.5, 0.5, 0.5, whose ranks are 1 and four of 3.5.
  for (std::size_t method = 0; method < 2; ++method) {
    EXPECT_NEAR(group.variable("edge_rank_correlation").values(0, method), -std::sqrt(0.5),
                test::double_rounding);
  }
  EXPECT_EQ(effect(0, 0, 1), -2);                                    // embed, keys
  EXPECT_EQ(effect(0, graph.head(0, 0), graph.mlp_port(0)), 0.02F);  // head, MLP
  EXPECT_TRUE(std::isnan(effect(0, graph.mlp(0), graph.mlp_port(0))));
  EXPECT_EQ(effect(0, graph.mlp(0), graph.logits_port()), 1);
  // By size of the exact change, then in the order of the first-order effects.
  std::vector<std::pair<std::size_t, std::size_t>> circuit;
  for (const CircuitEdge& edge : circuit_of(group, 0)) circuit.emplace_back(edge.node, edge.port);
  EXPECT_THAT(circuit, ElementsAre(std::pair(0, 4), std::pair(0, 1), std::pair(2, 4),
                                   std::pair(0, 2), std::pair(0, 0)));
  EXPECT_EQ(circuit_of(group, 0)[0].change.value, -3);
}

// Of a margin of 2 nats, edges count from 0.02 nats on.
TEST(PathsResults, TheCircuitLeavesOutSignificantEdgesOfLessThanAHundredthOfTheMargin) {
  ResultsGroup group =
      paths_results(example_paths({0.1, -2, 0.5, 0, 0.02, 3, 0, 1}, {1, 1, 1.4, 1.92, 2}),
                    {{"agreement", "", {}, 0, 0}}, EdgeGraph(one_head()), {});
  for (Variable& variable : group.variables) {
    if (variable.name == "edge_change") {
      variable.values(0, 1) = 0.0199;
      variable.values(0, 2) = -0.0201;
    }
    if (variable.name == "edge_change_q") variable.values(0, 3) = 0.06;
  }
  std::vector<double> changes;
  for (const CircuitEdge& edge : circuit_of(group, 0)) changes.push_back(edge.change.value);
  EXPECT_THAT(changes, ElementsAre(-3, 0.5, -0.0201));
  for (Variable& variable : group.variables) {
    if (variable.name == "can_do") variable.values(0) = 0;
  }
  EXPECT_THAT(circuit_of(group, 0), SizeIs(0));
}

TEST(PathsResults, OfNoPairsHaveNoNumbers) {
  const EdgeGraph graph(one_head());
  const ResultsGroup group = paths_results({}, {{"empty", "", {}, 0, 0}}, graph, {});
  for (const char* name : {"edge_first_order", "edge_integrated", "edge_change", "faithfulness",
                           "edge_rank_correlation", "circuit_edges_90"}) {
    EXPECT_THAT(group.variable(name).values.values,
                Each(testing::Truly([](double value) { return std::isnan(value); })))
        << name;
  }
  EXPECT_THAT(group.summary, HasSubstr("empty: no pairs."));
}

/// All sentences about the example, whose circuits keep the margins given.
std::string said_of_example(const std::vector<double>& kept, const AnalysisSettings& settings = {},
                            const std::function<void(ResultsGroup&)>& change = {}) {
  Results results;
  results.groups.push_back(paths_results(example_paths({0.1, -2, 0.5, 0, 0.02, 3, 0, 1}, kept),
                                         {{"agreement", "", {}, 0, 0}}, EdgeGraph(one_head()),
                                         settings));
  if (change) change(results.groups.front());
  const Description description = paths_presentation().describe(results);
  std::string said = description.found;
  for (const Finding& finding : description.findings) {
    for (const std::string& item : finding.items) said += "\n" + item;
  }
  return said;
}

TEST(PathsReport, SaysHowTheMarginDependsOnTheEdges) {
  EXPECT_THAT(
      said_of_example({1, 1, 1.4, 1.92, 2}),
      testing::ContainsRegex(
          ": about [0-9]+ .* of [0-9]+ edges keep 90 % of what all edges add to the margin .1 "));
  const std::string lower = said_of_example({3, 3, 3, 3, 2}),
                    alike = said_of_example({2, 2, 2, 2, 2});
  EXPECT_THAT(lower, HasSubstr("the margin (2 nats, interval 2 to 2) is lower with the edges than "
                               "without them: all edges together add -1 nats, interval -1 to -1"));
  EXPECT_THAT(alike, HasSubstr("the margin (2 nats, interval 2 to 2) is not shown to depend on the "
                               "edges: all edges together add 0 nats, interval 0 to 0"));
  for (const std::string& said : {lower, alike}) {
    EXPECT_THAT(said, HasSubstr("No task is shown to have a circuit: the edges are not shown to "
                                "raise the margin of a task that the model is shown to do."));
  }
}

TEST(PathsReport, SaysWhyACircuitIsNotTold) {
  const auto without_interval = [](const char* name) {
    return [name](ResultsGroup& group) {
      const auto variable = std::ranges::find(group.variables, name, &Variable::name);
      variable->interval->low.values.assign(1, std::nan(""));
    };
  };
  EXPECT_THAT(
      said_of_example(
          {1, 1, 1.4, 1.92, 2}, {},
          [&](ResultsGroup& group) {
            without_interval("edge_margin")(group);
            std::ranges::find(group.variables, "circuit_edges_90", &Variable::name)->values(0) =
                std::nan("");
          }),
      HasSubstr("No task is shown to have a circuit: too few pairs are run exactly "
                "(--paths-pairs) to tell."));
  AnalysisSettings settings;
  settings.n_bootstrap = 0;
  EXPECT_EQ(said_of_example({1, 1, 1.4, 1.92, 2}, settings),
            "No task is shown to have a circuit: no interval to tell by (--bootstrap is below 20)."
            "\nagreement: no interval to tell by (--bootstrap is below 20).");
}

TEST(PathsReport, SaysThatNoEdgeWasAblatedAlone) {
  AnalysisSettings settings;
  settings.options<PathsOptions>().n_exact = 0;
  const std::string said = said_of_example({1, 1, 1.4, 1.92, 2}, settings);
  EXPECT_THAT(said, HasSubstr("; no edge was ablated alone (--paths-exact)."));
}

TEST(PathsReport, NamesNoEdgesOfAGivenOrderWithoutACircuit) {
  const auto given = [](ResultsGroup& group) {
    group.add({"faithfulness_given", "task step", "1", "of a file's order", "a source"},
              Array({1, 5}, {0, 0.25, 0.5, 0.75, 1}));
  };
  EXPECT_THAT(said_of_example({1, 1, 1.4, 1.92, 2}, {}, given),
              HasSubstr("in the order of --paths-ordering keep 75 %"));
  EXPECT_THAT(said_of_example({2, 2, 2, 2, 2}, {}, given), Not(HasSubstr("--paths-ordering")));
}

TEST(PathsResults, EdgesAreNamedInWords) {
  EXPECT_EQ(edge_text("L0H4", "L3H3.k"), "L0H4 → L3H3 by keys");
  EXPECT_EQ(edge_text("MLP0", "L3H3.q"), "MLP0 → L3H3 by queries");
  EXPECT_EQ(edge_text("embed", "L0H0.v"), "embed → L0H0 by values");
  EXPECT_EQ(edge_text("MLP1", "logits"), "MLP1 → logits");
}

/// Results of a run of the analysis with this task of data/tasks.jsonl.
Results run_paths(const std::string& model, const std::string& task,
                  const std::vector<std::string>& more) {
  const TemporaryDirectory folder;
  std::ifstream all(project_data + "tasks.jsonl");
  std::string lines;
  for (std::string line; std::getline(all, line);) {
    if (line.find('"' + task + '"') != std::string::npos) lines += line + "\n";
  }
  test::write_file(folder.file("tasks.jsonl"), lines);
  std::vector<std::string> arguments{"run",
                                     "--model",
                                     project_data + model,
                                     "--tasks",
                                     folder.file("tasks.jsonl"),
                                     "--analyses",
                                     "circuits,paths",
                                     "--figures",
                                     "svg",
                                     "--quiet",
                                     "--nulls",
                                     "3",
                                     "--output",
                                     folder.file("out")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const test::Finished finished = test::run_headscope(arguments);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  for (const char* figure :
       {"paths_faithfulness", "paths_first_order_exact", "paths_composition"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.file("out/figures/") + figure + ".svg")) << figure;
  }
  return read_results(folder.file("out/results.h5"));
}

std::size_t place_of(const ResultsGroup& group, const char* dimension, const std::string& label) {
  const std::vector<std::string>& labels = group.dimensions.at(dimension).text;
  const auto found = std::ranges::find(labels, label);
  EXPECT_NE(found, labels.end()) << label;
  return static_cast<std::size_t>(found - labels.begin());
}

// The previous-token head L0H0 finds the token before by position and hands on its code; the
// induction head L1H0 finds the copy by keys that L0H0 wrote, and moves its token to the logits.
// Its keys read position 0 and the positions too, which no pair needs. Nothing else is significant,
// to first order or exactly: LayerNorm's scale is constant in this model.
TEST(PathsAnalysis, FindsThePlantedCircuitAndNothingElse) {
  const Results results =
      run_paths("planted-model.h5", "control", {"--task-pairs", "4", "--paths-repeated", "60"});
  const ResultsGroup& group = results.group("paths");
  const std::size_t task = place_of(group, "task", "repeated_random_tokens");
  EXPECT_EQ(group.variable("can_do").values(task), 1);
  const std::vector<std::string> circuit{"embed L0H0.q", "embed L0H0.k", "embed L0H0.v",
                                         "L0H0 L1H0.k",  "embed L1H0.q", "embed L1H0.v",
                                         "L1H0 logits"};
  const std::string unneeded = "embed L1H0.k";
  std::vector<std::string> first_order, exact, needed;
  const std::vector<std::string>&nodes = group.dimensions.at("node").text,
        &ports = group.dimensions.at("port").text;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t port = 0; port < ports.size(); ++port) {
      if (group.variable("edge_q").values(task, node, port) < 0.05) {
        first_order.push_back(nodes[node] + " " + ports[port]);
      }
    }
  }
  const double margin = group.variable("margin").values(task);
  const std::size_t n_edge = group.dimensions.at("edge").size();
  for (std::size_t i = 0; i < n_edge; ++i) {
    if (!(group.variable("edge_change_q").values(task, i) < 0.05)) continue;
    exact.push_back(group.variable("edge_node").text[task * n_edge + i] + " " +
                    group.variable("edge_port").text[task * n_edge + i]);
    const double change = group.variable("edge_change").values(task, i);
    // Without an edge of the circuit the two tokens are equally likely, but for the attention that
    // the planted heads leave elsewhere.
    if (exact.back() == unneeded) {
      EXPECT_LT(std::abs(change), 0.001 * margin);
    } else {
      EXPECT_LT(change, -0.98 * margin) << exact.back();
    }
  }
  for (const CircuitEdge& edge : circuit_of(group, task)) {
    needed.push_back(nodes[edge.node] + " " + ports[edge.port]);
  }
  EXPECT_THAT(needed, testing::UnorderedElementsAreArray(circuit));
  std::vector<std::string> all = circuit;
  all.push_back(unneeded);
  EXPECT_THAT(first_order, testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(exact, testing::UnorderedElementsAreArray(all));
  const std::string strongest = strongest_between_heads(group, task);
  EXPECT_THAT(strongest, testing::StartsWith("L0H0 → L1H0 by keys (without it -"));
  EXPECT_THAT(group.summary, HasSubstr("strongest of them between heads: " + strongest));
  const std::vector<Figure> figures = paths_figures(results);
  const auto figure = std::ranges::find(figures, "circuit_repeated_random_tokens", &Figure::name);
  ASSERT_NE(figure, figures.end());
  const Graph& graph = std::get<Graph>(figure->content);
  ASSERT_THAT(graph.edges, testing::Not(testing::IsEmpty()));
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    EXPECT_EQ(graph.is_behind_switch(graph.edges[i]), i > 0) << "one edge between heads";
  }
  EXPECT_EQ(graph.nodes[graph.edges[0].from].name, "L0H0");
  EXPECT_EQ(graph.nodes[graph.edges[0].to].name, "L1H0");
  const std::vector<CircuitEdge> by_size = circuit_of(group, task);
  const auto other = std::ranges::find_if(
      by_size, [&](const CircuitEdge& edge) { return !is_between_heads(group, edge); });
  EXPECT_THAT(figure->caption,
              HasSubstr("Left out: 6 edges that matter from the embeddings, or from or to an MLP "
                        "or the logits, the largest " +
                        edge_text(nodes[other->node], ports[other->port]) + " ("));
  const Array faithfulness = group.variable("faithfulness").values.part(task);
  EXPECT_EQ(faithfulness(0, 0), 0);
  EXPECT_EQ(faithfulness(0, faithfulness.shape[1] - 1), 1);
  // What is left does the task on the pairs that pruning has not seen. It holds the circuit, and at
  // most three edges that undo each other: none can go alone.
  std::vector<std::string> left;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t port = 0; port < ports.size(); ++port) {
      if (group.variable("edge_in_circuit").values(task, node, port) == 1) {
        left.push_back(nodes[node] + " " + ports[port]);
      }
    }
  }
  EXPECT_EQ(group.variable("circuit_edges_pruned").values(task), left.size());
  EXPECT_THAT(left, testing::IsSupersetOf(circuit));
  EXPECT_LE(left.size(), circuit.size() + 3);
  EXPECT_NEAR(group.variable("faithfulness_pruned").values(task), 1, 0.02);
  EXPECT_EQ(group.variable("can_do").values(0), 0) << "the two sides of the control are as good";
  EXPECT_TRUE(std::isnan(group.variable("circuit_edges_90").values(0)));

  // Without intervals, as with few pairs run exactly, a circuit's size cannot be told.
  Results few = results;
  for (ResultsGroup& changed : few.groups) {
    for (Variable& variable : changed.variables) {
      if (variable.name != "edge_margin" && variable.name != "circuit_edges_90") continue;
      variable.interval->low.values.assign(variable.values.size(), std::nan(""));
      variable.interval->high = variable.interval->low;
      if (variable.name == "circuit_edges_90") variable.values = variable.interval->low;
    }
  }
  std::string said;
  for (const Finding& finding : paths_presentation().describe(few).findings) {
    said += finding.text;
    for (const std::string& item : finding.items) said += item;
  }
  EXPECT_THAT(said, HasSubstr("too few pairs are run exactly (--paths-pairs) to tell how many "
                              "edges keep the margin ("));
  EXPECT_THAT(said, Not(HasSubstr("NaN")));
}

/// A model's head that attends most to the token before, over documents of random tokens.
HeadIndex previous_token_head(const Model& model) {
  HeadIndex best{};
  double most = 0;
  const TokenIds tokens =
      induction_sequences(model, induction_first_token(model, nullptr), 0).front();
  for (Index l = 0; l < model.config.n_layer; ++l) {
    for (Index h = 0; h < model.config.n_head; ++h) {
      const Matrix pattern = head_pattern(model, tokens, {l, h});
      double mass = 0;
      for (Index q = 1; q < tokens.size(); ++q) mass += static_cast<double>(pattern(q - 1, q));
      if (mass > most) {
        most = mass;
        best = {l, h};
      }
    }
  }
  return best;
}

// Induction heads of the layer after the previous-token head find the copy by the keys that it
// wrote; on names those of all later layers do.
TEST(PathsAnalysis, ThoroughFindsThatTheDefaultModelsInductionHeadsReadKeysOfItsPreviousTokenHead) {
  const Results results =
      run_paths("default-model.h5", "recurring_name",
                {"--task-pairs", "32", "--paths-pairs", "20", "--paths-exact", "5"});
  const ResultsGroup& group = results.group("paths");
  const Model model = load_model(project_data + "default-model.h5");
  const HeadIndex previous = previous_token_head(model);
  const Array scores = induction_scores(model, induction_first_token(model, nullptr), 0);
  std::size_t n_checked = 0;
  for (const std::string task_name : {"recurring_name", "repeated_random_tokens"}) {
    const std::size_t task = place_of(group, "task", task_name);
    const Array effect = group.variable("edge_first_order").values.part(task),
                q = group.variable("edge_q").values.part(task);
    for (Index l = previous.layer + 1; l < model.config.n_layer; ++l) {
      if (task_name == "repeated_random_tokens" && l > previous.layer + 1) continue;
      for (Index h = 0; h < model.config.n_head; ++h) {
        double score = 0;
        for (std::size_t i = 0; i < scores.shape[0]; ++i) score += scores(i, l, h);
        if (score < least_induction * static_cast<double>(scores.shape[0])) continue;
        const std::string reader = "L" + std::to_string(l) + "H" + std::to_string(h);
        const std::size_t port = place_of(group, "port", reader + ".k");
        std::string sender;
        double largest = 0;
        for (std::size_t node = 0; node < effect.shape[0]; ++node) {
          const std::string& name = group.dimensions.at("node").text[node];
          if (!name.starts_with('L') || !(std::abs(effect(node, port)) > largest)) continue;
          largest = std::abs(effect(node, port));
          sender = name;
        }
        const std::string expected =
            "L" + std::to_string(previous.layer) + "H" + std::to_string(previous.head);
        EXPECT_EQ(sender, expected) << task_name << " " << reader;
        const std::size_t writer = place_of(group, "node", expected);
        EXPECT_LT(effect(writer, port), 0) << task_name << " " << reader;
        EXPECT_LT(q(writer, port), 0.05) << task_name << " " << reader;
        ++n_checked;
      }
    }
  }
  EXPECT_GE(n_checked, 6U);
  ASSERT_EQ(group.claims.size(), 1U);
  const Claim& claim = group.claims[0];
  EXPECT_EQ(claim.number, 17);
  EXPECT_NE(claim.source, "");
  EXPECT_LE(claim.effect.low, claim.effect.value);
  EXPECT_GE(claim.effect.high, claim.effect.value);
}

/// Recomputes the numbers of a run in NumPy from whole forward passes, with a residual stream for
/// every port.
class PathsAgainstNumPy : public testing::TestWithParam<const char*> {};

TEST_P(PathsAgainstNumPy, AgreesOnCopiesOfWhatFollowedBefore) {
  const TemporaryDirectory folder;
  // Means by position need sides of one length: letters that are one token.
  const bool is_by_position = GetParam() == std::string("position_mean");
  const std::string tasks = folder.file("tasks.jsonl"),
                    letters =
                        is_by_position ? "abcdefghjklmnoprstuvwy" : "abcdefghijklmnopqrstuvwxyz";
  const std::size_t n_letter = letters.size();
  std::string lines;
  for (std::size_t i = 0; i < 24; ++i) {
    const std::string x(1, letters[i % n_letter]), y(1, letters[(7 * i + 1) % n_letter]),
        z(1, letters[(11 * i + 2) % n_letter]);
    if (x == y || x == z || y == z) continue;
    lines += R"({"task": "copy", "prefix": "see )" + x + " " + y + " " + z + " " + x +
             R"(", "good": " )" + y + R"(", "bad": " )" + z + "\"}\n";
  }
  test::write_file(tasks, lines);
  const std::string model = project_data + "planted-model.h5";
  const test::Finished run = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--tasks", tasks, "--analyses", "paths", "--paths-ablation",
       GetParam(), "--paths-exact", "10", "--paths-pairs", "0", "--paths-repeated", "0", "--quiet",
       "--output", folder.file("out")});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_EQ(
      read_results(folder.file("out/results.h5")).group("paths").values("replaced_by_position")(0),
      is_by_position ? 1 : 0);
  const std::string compared = test::run_reference(
      "paths_check.py",
      {folder.file("out/results.h5"), model, tasks, project_data + "tokenizer", GetParam()});
  EXPECT_THAT(compared, HasSubstr("fewest edges"));
  EXPECT_THAT(compared, HasSubstr("pruned faithfulness"));
}

INSTANTIATE_TEST_SUITE_P(Replacement, PathsAgainstNumPy, testing::Values("position_mean"));
INSTANTIATE_TEST_SUITE_P(Thorough, PathsAgainstNumPy, testing::Values("mean", "zero"));

/// The claim and p-values on composition of random heads: an edge's composition and its effect are
/// each a product of its heads' strengths, the effect's those of the composition or others. A
/// second task, whose effects follow the weights, is one that the model is not shown to do.
ResultsGroup composition_of_random_heads(std::uint64_t seed, bool related, Index n_kv_head,
                                         Index n_layer = 3,
                                         const std::vector<HeadIndex>& removed = {}) {
  ModelConfig config = test::config_of({.n_layer = n_layer, .n_head = 4});
  config.n_kv_head = n_kv_head;
  config.pruned_heads = removed;
  const EdgeGraph graph(config);
  const std::size_t n_unit = graph.n_layer() * graph.n_head();
  const CounterRandom draws(seed);
  Array composition({3, n_unit, n_unit}), effect({2, graph.n_node(), graph.n_port()}, std::nan(""));
  std::vector<double> strength(4 * n_unit);
  for (std::size_t i = 0; i < strength.size(); ++i) strength[i] = draws.uniform(i);
  const std::size_t other = related ? 0 : 2 * n_unit;
  for (std::size_t kind = 0; kind < 3; ++kind) {
    for (std::size_t a = 0; a < n_unit; ++a) {
      for (std::size_t b = 0; b < n_unit; ++b) {
        if (graph.is_removed(graph.head(a / 4, a % 4)) ||
            graph.is_removed(graph.head(b / 4, b % 4))) {
          composition(kind, a, b) = std::nan("");
          continue;
        }
        composition(kind, a, b) = strength[a] * strength[n_unit + b];
        if (a / 4 >= b / 4) continue;
        const Index port = graph.port(static_cast<PathPort::Kind>(kind), b / 4, b % 4);
        effect(0, graph.head(a / 4, a % 4), port) =
            -strength[other + a] * strength[other + n_unit + b];
        effect(1, graph.head(a / 4, a % 4), port) = strength[a] * strength[n_unit + b];
      }
    }
  }
  const auto group_with = [](std::string name, std::vector<Dimension> dimensions) {
    ResultsGroup group;
    group.name = std::move(name);
    for (Dimension& each : dimensions) group.add_dimension(std::move(each));
    return group;
  };
  std::vector<std::string> units(n_unit), nodes(graph.n_node()), ports(graph.n_port());
  for (std::size_t i = 0; i < n_unit; ++i) units[i] = "unit " + std::to_string(i);
  for (Index i = 0; i < graph.n_node(); ++i) nodes[i] = graph.node_name(i);
  for (Index i = 0; i < graph.n_port(); ++i) ports[i] = graph.port_name(i);
  const Dimension kinds = Dimension::labels("kind", {"q", "k", "v"});
  Results all;
  all.groups.push_back(group_with("circuits", {kinds, Dimension::labels("unit_from", units),
                                               Dimension::labels("unit_to", units)}));
  all.groups[0].add({"composition", "kind unit_from unit_to", "1", "composition", "a source"},
                    composition);
  ResultsGroup group =
      group_with("paths", {Dimension::labels("task", {"agreement", "not_done"}), kinds,
                           Dimension::labels("node", nodes), Dimension::labels("port", ports)});
  group.add({"edge_integrated", "task node port", "nats", "effect", "a source"}, effect);
  group.add({"can_do", "task", "1", "done", "a source"}, std::vector<double>{1, 0});
  AnalysisSettings settings;
  settings.n_bootstrap = 100;
  settings.seed = seed;
  add_composition(all, graph, settings, group);
  return group;
}

// Edges share heads: with nothing to find their correlation is far from 0 as often as heads'
// strengths are, not as often as that of so many single edges.
TEST(PathsComposition, FindsNothingMoreOftenThanItSaysWhereThereIsNothing) {
  constexpr std::size_t n_trial = 150;
  for (const Index n_kv_head : {Index{4}, Index{2}}) {
    std::size_t n_small = 0, n_holds = 0, n_not = 0, n_off_chance = 0;
    for (std::size_t trial = 0; trial < n_trial; ++trial) {
      const ResultsGroup group = composition_of_random_heads(1000 + trial, false, n_kv_head);
      n_small += group.variable("composition_correlation_p").values(0) <= 0.05 ? 1 : 0;
      n_holds += group.claims[0].verdict == Verdict::holds ? 1 : 0;
      n_not += group.claims[0].verdict == Verdict::does_not_hold ? 1 : 0;
      const Estimate found = group.variable("composition_correlation").estimate(0);
      const double chance = group.values("composition_correlation_chance")(0);
      n_off_chance += chance < found.low || chance > found.high ? 1 : 0;
    }
    // Nominal: 7.5, 3.75 and 3.75, with standard deviations of 2.7, 1.9 and 1.9.
    EXPECT_LE(n_small, 16U);
    EXPECT_LE(n_holds, 10U);
    EXPECT_LE(n_not, 10U);
    EXPECT_GE(n_off_chance, 1U);
    EXPECT_LE(n_off_chance, 16U);
  }
}

TEST(PathsComposition, IsFoundWhereEffectsFollowTheWeights) {
  const ResultsGroup group = composition_of_random_heads(5, true, 4);
  for (std::size_t kind = 0; kind < 3; ++kind) {
    EXPECT_NEAR(group.variable("composition_correlation").values(kind), 1, test::double_rounding);
    EXPECT_NEAR(group.variable("composition_correlation_p").values(kind), 1.0 / 101, 1e-12);
    const Estimate found = group.variable("composition_correlation").estimate(kind);
    EXPECT_LT(group.values("composition_correlation_chance")(kind), found.low);
    EXPECT_LE(found.high, 1);
  }
  EXPECT_EQ(group.claims[0].verdict, Verdict::holds);
}

// The one head left of a group is its reader.
TEST(PathsComposition, IsOfTheHeadsLeftOfAGroup) {
  const ResultsGroup group =
      composition_of_random_heads(5, true, 2, 3, {{0, 3}, {1, 0}, {1, 2}, {2, 1}, {2, 2}, {2, 3}});
  for (std::size_t kind = 0; kind < 3; ++kind) {
    EXPECT_NEAR(group.variable("composition_correlation").values(kind), 1, test::double_rounding);
    EXPECT_LT(group.values("composition_correlation_chance")(kind), 1);
  }
}

// One head of each layer is left.
TEST(PathsComposition, IsNotTestedWhereNoLayerHasTwoHeadsToExchange) {
  const ResultsGroup group = composition_of_random_heads(
      1000, false, 4, 3, {{0, 0}, {0, 1}, {0, 3}, {1, 1}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 2}});
  for (std::size_t kind = 0; kind < 3; ++kind) {
    EXPECT_FALSE(std::isnan(group.variable("composition_correlation").values(kind)));
    EXPECT_FALSE(group.variable("composition_correlation").estimate(kind).has_interval());
    EXPECT_TRUE(std::isnan(group.values("composition_correlation_chance")(kind)));
    EXPECT_TRUE(std::isnan(group.values("composition_correlation_p")(kind)));
  }
  EXPECT_TRUE(std::isnan(group.claims[0].effect.value));
  EXPECT_EQ(group.claims[0].evidence, "Cannot be told: no layer has two heads to exchange.");
}

// One head writes, and the heads that read share keys and values: a single edge leads to these.
TEST(PathsComposition, ClaimNamesNoKindOfEdgesWithoutACorrelation) {
  const ResultsGroup group = composition_of_random_heads(5, true, 1, 2, {{0, 1}, {0, 2}, {0, 3}});
  EXPECT_THAT(group.claims[0].evidence,
              testing::StartsWith("The mean correlation over tasks is 1.00 by queries; "));
}

TEST(PathsComposition, NamesAndDrawsOnlyTasksThatTheModelIsShownToDo) {
  ResultsGroup group = composition_of_random_heads(1000, false, 4);
  EXPECT_NEAR(group.variable("composition_correlation").values(1, 0), 1, test::double_rounding);
  EXPECT_THAT(group.claims[0].evidence, testing::HasSubstr(", is that on agreement by "));
  group.add({"circuit_edges_90", "task", "count", "edges", "a source"},
            std::vector<double>(2, std::nan("")));
  Results results;
  results.groups = {std::move(group)};
  const std::vector<Figure> figures = paths_figures(results);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_THAT(std::get<Chart>(figures[0].content).x_labels, testing::ElementsAre("agreement"));
}

TEST(PathsComposition, CannotBeToldInAModelOfOneLayer) {
  const ResultsGroup group = composition_of_random_heads(1000, false, 4, 1);
  EXPECT_EQ(group.claims[0].verdict, Verdict::undecided);
  EXPECT_EQ(
      group.claims[0].evidence,
      "Cannot be told: too few edges lead from a head to a head of a later layer to correlate "
      "them.");
}

TEST(PathsAnalysis, EdgesThatLeaveAHeadAddUpToItsFirstOrderEffectInTasks) {
  const TemporaryDirectory folder;
  const test::Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--tasks", HEADSCOPE_TEST_DATA "/two_tasks.jsonl", "--task-pairs", "6", "--analyses",
       "tasks,paths", "--paths-ablation", "zero", "--paths-exact", "1", "--paths-repeated", "0",
       "--bootstrap", "0", "--quiet", "--output", folder.file("out")});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const Results results = read_results(folder.file("out/results.h5"));
  const Array whole = results.group("tasks").variable("margin_change_first_order").values,
              edges = results.group("paths").variable("edge_first_order").values;
  const std::size_t n_head = whole.shape[2];
  for (std::size_t task = 0; task < whole.shape[0]; ++task) {
    double size = 0;
    for (const double value : whole.part(task).values) size = std::max(size, std::abs(value));
    for (std::size_t head_index = 0; head_index < whole.shape[1] * n_head; ++head_index) {
      const std::size_t node = 1 + head_index / n_head * (n_head + 1) + head_index % n_head;
      double sum = 0;
      for (std::size_t port = 0; port < edges.shape[2]; ++port) {
        if (std::isfinite(edges(task, node, port))) sum += edges(task, node, port);
      }
      // float32's rounding of some hundred edges.
      EXPECT_NEAR(sum, whole.part(task).values[head_index], 2e-5 * size + 1e-6)
          << task << " " << head_index;
    }
  }
}

}  // namespace
}  // namespace headscope
