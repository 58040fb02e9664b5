#include "report/report_heads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "report/report_contract.hpp"
#include "report/report_findings.hpp"
#include "report/report_pages.hpp"
#include "report/report_patterns.hpp"
#include "support/results_sample.hpp"

namespace headscope {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

Variable real_variable(const std::string& name, std::vector<std::string> dimensions, Shape shape) {
  return Variable::real(name, std::move(dimensions), Array(std::move(shape)), name, "1",
                        own_definition);
}

Results with_patterns(std::size_t n_document, std::size_t n_layer, std::size_t n_head,
                      std::size_t n_token) {
  Results results;
  for (std::size_t document = 0; document < n_document; ++document) {
    ResultsGroup group;
    group.name = "attention/" + std::to_string(document);
    group.add_dimension(Dimension::count("layer", n_layer));
    group.add_dimension(Dimension::count("head", n_head));
    group.add_dimension(Dimension::count("query", n_token));
    group.add_dimension(Dimension::count("key", n_token));
    group.add(real_variable("pattern", {"layer", "head", "query", "key"},
                            {n_layer, n_head, n_token, n_token}));
    results.groups.push_back(std::move(group));
  }
  return results;
}

TEST(HeadSlices, SplitAVariableByItsFurtherLabelsWhereverTheyStand) {
  ResultsGroup group;
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::count("head", 3));
  group.add_dimension(Dimension::numbers("offset", {0, 4}));
  Variable share = real_variable("share", {"layer", "head", "offset"}, {2, 3, 2});
  for (std::size_t i = 0; i < 12; ++i) share.values.values[i] = static_cast<double>(i);
  group.add(share);
  const std::vector<HeadSlice> slices = head_slices(group, share, {2, 3}, 12);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].label, "offset 4");
  EXPECT_THAT(slices[1].values, ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_TRUE(head_slices(group, share, {2, 3}, 1).empty()) << "more slices than are wanted";
  EXPECT_TRUE(head_slices(group, share, {3, 2}, 12).empty()) << "heads of another model";
}

TEST(HeadData, HasScoresWithIntervalsTypesAndClosestHeads) {
  const json data = json::parse(head_data_json(test::results_sample()));
  EXPECT_EQ(data["layers"], 2);
  EXPECT_EQ(data["heads"], 3);
  EXPECT_EQ(data["types"]["flags"], json::parse("[[], [0], [], [], [], [0, 1]]"));
  EXPECT_EQ(data["types"]["primary"], json::parse("[null, 0, null, null, null, 1]"));
  const json& zero = data["scores"][0];
  EXPECT_EQ(zero["label"], "zero");
  EXPECT_EQ(zero["values"][5], 2.5);
  EXPECT_EQ(zero["high"][5], 2.6);
  EXPECT_EQ(data["scores"][1]["values"][0], nullptr) << "a missing number";
  EXPECT_EQ(data["neighbours"][0]["units"][5][0], json::parse("[0, 1]"));
  for (const json& list : data["neighbours"][0]["units"][5]) EXPECT_NE(list[0], 5) << "itself";
}

TEST(HeadData, NameOnlyRelationsThatWereTested) {
  Results results = test::results_sample();
  ResultsGroup& group = results.group("classification");
  group.add_dimension(Dimension::labels("relation", {"det", "nsubj"}));
  group.add_dimension(Dimension::labels("direction", {"dependent_to_head"}));
  const auto add = [&](const char* name, std::vector<std::string> dimensions, Array values) {
    group.add(
        Variable::real(name, std::move(dimensions), std::move(values), name, "1", own_definition));
  };
  add("relation_accuracy_heldout", {"relation", "direction", "layer", "head"},
      Array({2, 1, 2, 3}, 0.75));
  add("relation_baseline_heldout", {"relation", "direction"}, Array({2, 1}, 0.5));
  add("relation_count_heldout", {"relation", "direction"}, Array({2, 1}, 29));
  add("relation_tested", {"relation", "direction"}, Array({2, 1}, {0, 1}));
  const json of_first_head = json::parse(head_data_json(results))["relations"][0];
  ASSERT_EQ(of_first_head.size(), 1u);
  EXPECT_EQ(of_first_head[0]["name"], "nsubj");
}

TEST(HeadData, AreEmptyWithoutHeads) {
  Results results;
  EXPECT_EQ(head_data_json(results), "");
  EXPECT_EQ(summary_section(results), "");
  EXPECT_TRUE(findings(results).empty());
}

TEST(PatternDocuments, StayWithinTheirBudgetAt24LayersOf16Heads) {
  const Results results = with_patterns(6, 24, 16, 80);
  const json documents = pattern_documents(results, {24, 16});
  EXPECT_EQ(documents.size(), most_pattern_documents);
  std::size_t bytes = 0;
  for (const json& document : documents) {
    bytes += document["pattern"].get<std::string>().size() / 4 * 3;
    EXPECT_GT(document["tokens"].size(), 40u);
  }
  EXPECT_LE(bytes, most_pattern_bytes + 3 * documents.size());
  EXPECT_GT(bytes, most_pattern_bytes * 9 / 10);
}

TEST(PatternDocuments, LeaveOutOtherShapes) {
  EXPECT_EQ(pattern_documents(with_patterns(1, 2, 3, 4), {2, 4}).size(), 0u);
  EXPECT_EQ(pattern_documents(with_patterns(1, 2, 3, 4), {2, 3}).size(), 1u);
}

TEST(Findings, SpeakOnlyOfWhatWasRun) {
  Results results = test::results_sample();
  const auto said = [&] {
    std::vector<std::string> about;
    for (const Finding& finding : findings(results)) about.push_back(finding.about);
    return about;
  };
  EXPECT_THAT(said(), ElementsAre("Model", "Jobs", "Resting place", "Pruning one head", "Claims"));
  std::erase_if(results.groups, [](const ResultsGroup& group) { return group.name == "pruning"; });
  EXPECT_THAT(said(), ElementsAre("Model", "Jobs", "Resting place"));
}

TEST(Findings, NameTheHeadThatCostsMost) {
  Results results = test::results_sample();
  results.group("pruning").variables[1].values.values = {5};  // loss_baseline
  ASSERT_EQ(results.group("pruning").variables[1].name, "loss_baseline");
  const std::vector<Finding> lines = findings(results);
  EXPECT_THAT(lines[3].text,
              HasSubstr("Setting L1H2 to zero costs most: the loss rises by 2.5 nats (50 %)"));
}

TEST(Findings, RepeatTheSharesAndCountsOfTheAnalyses) {
  Results results = test::results_sample();
  ResultsGroup& pruning = results.group("pruning");
  pruning.add_dimension(Dimension::numbers("tolerance", {0.01, 0.05}));
  pruning.add(Variable::real("prunable_share", {"tolerance"}, Array({2}, {0.3, 0.525}), "s", "1",
                             own_definition));
  ResultsGroup circuits;
  circuits.name = "circuits";
  circuits.add_dimension(Dimension::count("layer", 2));
  circuits.add_dimension(Dimension::count("head", 3));
  circuits.add(Variable::real("ov_copying", {"layer", "head"}, Array({2, 3}, 0.25), "c", "1",
                              own_definition));
  for (const auto& [name, count] : {std::pair{"n_copying", 4.0}, std::pair{"n_opposite", 2.0}}) {
    circuits.add(Variable::integer(name, {}, Array(Shape{}, count), "n", "count", own_definition));
  }
  results.groups.push_back(circuits);
  std::map<std::string, std::string> said;
  for (const Finding& finding : findings(results)) said[finding.about] = finding.text;
  EXPECT_EQ(said["Pruning many"],
            "Taken together, the least important first, 30 % of the heads can go before the loss "
            "rises by 1 %, and 52.5 % before it rises by 5 %.");
  EXPECT_THAT(said["Weights"], HasSubstr("attend to: 4; that write the opposite: 2."));
}

TEST(Findings, CountOneDocumentAsOne) {
  Results results = test::results_sample();
  results.attributes["n_token"] = std::int64_t{28830};
  results.attributes["n_document"] = std::int64_t{1};
  EXPECT_THAT(findings(results)[0].text, HasSubstr("reading 28,830 tokens in 1 document"));
}

TEST(Findings, SayThatTrainingChangedTheLikenessOnlyWhereItsIntervalDoes) {
  const auto likeness_line = [](std::optional<double> low, std::optional<double> high) {
    Results results = test::results_sample();
    ResultsGroup control;
    control.name = "control/correlation";
    const auto add_cosine = [](ResultsGroup& group, double value) {
      group.add_dimension(Dimension::labels("space", {"head", "residual"}));
      group.add_dimension(Dimension::count("layer", 2));
      group.add(Variable::real("mean_abs_cosine", {"space", "layer"}, Array({2, 2}, value), "c",
                               "cosine", own_definition));
    };
    ResultsGroup& group = results.group("correlation");
    add_cosine(group, 0.1);
    add_cosine(control, 0.2);
    if (low && high) {
      group.add(Variable::estimated("mean_abs_cosine_difference_mean", {}, {},
                                    {{-0.1, *low, *high}}, "documents resampled", "d", "cosine",
                                    own_definition));
    }
    results.groups.push_back(control);
    for (const Finding& finding : findings(results)) {
      if (finding.about == "Likeness") return finding.text;
    }
    return std::string();
  };
  EXPECT_THAT(likeness_line(-0.2, -0.05), HasSubstr("it is 0.2, so that training made them less"));
  EXPECT_THAT(likeness_line(0.05, 0.2), HasSubstr("training made them more alike"));
  EXPECT_THAT(likeness_line(-0.2, 0.05), HasSubstr("The two cannot be told apart"));
  EXPECT_THAT(likeness_line({}, {}), HasSubstr("without an interval of the difference"));
  EXPECT_THAT(likeness_line(std::nan(""), std::nan("")), HasSubstr("without an interval"));
}

TEST(Findings, NoRelationTestedIsNotNoRelationFound) {
  const auto syntax_line = [](double tested, double accuracy) {
    Results results = test::results_sample();
    ResultsGroup& group = results.group("classification");
    group.add_dimension(Dimension::labels("relation", {"nsubj"}));
    group.add_dimension(Dimension::labels("direction", {"dependent_to_head"}));
    const auto add = [&](const char* name, double value) {
      group.add(Variable::real(name, {"relation", "direction"}, Array({1, 1}, value), name, "1",
                               own_definition));
    };
    add("relation_best_accuracy_heldout", accuracy);
    add("relation_baseline_heldout", 0.5);
    add("relation_tested", tested);
    add("relation_best_layer", 0);
    add("relation_best_head", 1);
    return findings(results)[2].text;
  };
  EXPECT_THAT(syntax_line(1, 0.75), HasSubstr("L0H1 is furthest above its baseline"));
  EXPECT_THAT(syntax_line(1, 0.4), HasSubstr("No head finds a syntactic relation"));
  EXPECT_THAT(syntax_line(0, 0.75), HasSubstr("cannot be told"));
}

TEST(Findings, CountTheHarmlessHeadsAsTheAnalysisDid) {
  const auto pruning_line = [](double n_interval, double n_harmless) {
    Results results = test::results_sample();
    ResultsGroup& group = results.group("pruning");
    group.add(Variable::integer("n_interval", {"ablation"}, Array({2}, {n_interval, 6}), "n",
                                "count", own_definition));
    group.add(Variable::integer("n_harmless", {"ablation"}, Array({2}, {n_harmless, 6}), "n",
                                "count", own_definition));
    return findings(results)[3].text;
  };
  EXPECT_THAT(pruning_line(5, 2), HasSubstr("without a measurable increase: 2 of 5."));
  EXPECT_THAT(pruning_line(0, 0), HasSubstr("cannot be told: there are no intervals."));
}

}  // namespace
}  // namespace headscope
