#include "report/report_heads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "headscope/report.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"
#include "results/results_claims.hpp"
#include "support/results_sample.hpp"

namespace headscope {
namespace {

using nlohmann::json;
using testing::ElementsAre;

Variable real_variable(const std::string& name, std::vector<std::string> dimensions, Shape shape) {
  return Declaration{name, std::move(dimensions), "1", name}.of(Array(std::move(shape)));
}

TEST(FigureData, PanelsHaveTheirLabelsAlongXOrThoseOfTheChart) {
  std::vector<DrawnFigure> figures(1);
  figures[0].figure.name = "best";
  figures[0].figure.content =
      Chart{.panels = {{.title = "a", .x_labels = {"L0H1", "L2H0"}}, {.title = "b"}},
            .x_labels = {"1", "2"}};
  const Results results;
  const std::vector<Presentation> none;
  const json data = json::parse(figure_data_json({results, none, figures}));
  const json& panels = data.at("figures").at("best").at("chart").at("panels");
  EXPECT_EQ(panels.at(0).at("xLabels"), json({"L0H1", "L2H0"}));
  EXPECT_EQ(panels.at(1).at("xLabels"), json({"1", "2"}));
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
  const json data =
      json::parse(head_data_json(test::results_sample(), test::sample_presentations()));
  EXPECT_EQ(data["layers"], 2);
  EXPECT_EQ(data["heads"], 3);
  EXPECT_EQ(data["types"]["flags"], json::parse("[[], [0], [], [], [], [0, 1]]"));
  EXPECT_EQ(data["types"]["primary"], json::parse("[null, 0, null, null, null, 1]"));
  const json& zero = data["scores"][0];
  EXPECT_EQ(zero["label"], "zero");
  EXPECT_EQ(zero["values"][5], 2.5);
  EXPECT_EQ(zero["high"][5], 2.6);
  EXPECT_EQ(data["scores"][1]["values"][0], nullptr) << "a missing number";
  EXPECT_EQ(data["neighbours"][0]["byHead"][5][0], json::parse("[0, 1]"));
  for (const json& list : data["neighbours"][0]["byHead"][5]) EXPECT_NE(list[0], 5) << "itself";
}

TEST(HeadData, MarkTheScoresThatAreAuxiliary) {
  std::vector<Presentation> presentations = test::sample_presentations();
  presentations[0].auxiliary = {"loss_increase"};
  const json data = json::parse(head_data_json(test::results_sample(), presentations));
  for (const json& score : data["scores"]) {
    EXPECT_EQ(score["auxiliary"], score["name"] == "loss_increase") << score["name"];
  }
}

TEST(HeadData, NameLabelsAndCategoriesInTheWordsOfTheirGroup) {
  Results results = test::results_sample();
  results.group("pruning").add(
      Declaration::flag("needs", "layer head", {"none", "zero", "mean"}, "What it needs"),
      Array({2, 3}, 1));
  std::vector<Presentation> presentations = test::sample_presentations();
  presentations[0].label_words = [](const ResultsGroup& group, const std::string& label) {
    return label + " of " + group.name;
  };
  const json data = json::parse(head_data_json(results, presentations));
  EXPECT_EQ(data["scores"][0]["label"], "zero of pruning");
  EXPECT_EQ(data["categories"][0]["names"],
            json::parse(R"(["none of pruning", "zero of pruning", "mean of pruning"])"));
}

TEST(HeadData, HaveNoExamplesWhereAColumnIsMissing) {
  Results results = test::results_sample();
  const auto n_example = [&] {
    const json data = json::parse(head_data_json(results, test::sample_presentations()));
    return std::ranges::count_if(data["examples"], [](const json& head) { return !head.empty(); });
  };
  EXPECT_GT(n_example(), 0);
  std::erase_if(results.group("classification/examples").variables,
                [](const Variable& variable) { return variable.name == "found"; });
  EXPECT_EQ(n_example(), 0);
}

TEST(HeadData, SayWhichHeadsAreRemoved) {
  Results results = test::results_sample();
  results.attributes["pruned_heads"] = std::string("L0H1,L1H2,L10H1");
  EXPECT_EQ(json::parse(head_data_json(results, test::sample_presentations()))["removed"],
            json::parse("[false, true, false, false, false, true]"));
}

TEST(HeadData, ListOnlyEligibleRowsAboveTheirBaseline) {
  const json table = json::parse(
      head_data_json(test::results_sample(), test::sample_presentations()))["tables"][0];
  EXPECT_EQ(table["title"], "Relations it finds best");
  EXPECT_EQ(table["headings"][0], "Relation");
  EXPECT_EQ(table["byHead"].size(), 6u);
  EXPECT_EQ(table["byHead"][0], json::parse("[[1, 0.75]]"));
  EXPECT_EQ(table["rows"][1], json::parse(R"({"label": "nsubj, dependent_to_head",
      "baseline": 0.5, "count": 29})"));
}

TEST(HeadData, ListsEveryRowAboveItsBaselineBestFirst) {
  Results results = test::results_sample();
  ResultsGroup many;
  many.name = "many";
  many.add_dimension(Dimension::labels("row", {"a", "b", "c", "d", "e"}));
  many.add_dimension(Dimension::count("layer", 2));
  many.add_dimension(Dimension::count("head", 3));
  Array value({5, 2, 3}, 0.5);
  for (std::size_t row = 0; row < 5; ++row)
    value(row, 1, 1) = 0.6 + 0.01 * static_cast<double>(row);
  many.add({"value", "row layer head", "1", "v"}, value);
  many.add({"baseline", "row", "1", "b"}, Array({5}, 0.5));
  many.add({"count", "row", "1", "c"}, Array({5}, 9));
  many.add({"eligible", "row", "1", "e"}, Array({5}, 1));
  results.groups.push_back(many);
  const std::vector<Presentation> presentations{
      {.group = "many", .tables = {{"Rows", {"row"}, "value", "baseline", "count", "eligible"}}}};
  const json table = json::parse(head_data_json(results, presentations))["tables"][0];
  EXPECT_EQ(table["byHead"][4],
            json::parse("[[4, 0.64], [3, 0.63], [2, 0.62], [1, 0.61], [0, 0.6]]"));
  EXPECT_EQ(table["byHead"][0], json::array());
}

TEST(HeadData, SaysFirstWhatAnAnalysisSaysOfAHeadWithItsPlaces) {
  Results results = test::results_sample();
  ResultsGroup said;
  said.name = "said";
  said.add_dimension(Dimension::count("layer", 2));
  said.add_dimension(Dimension::count("head", 3));
  said.add_dimension(Dimension::count("example", 2));
  said.add_dimension(Dimension::count("mark", 4));
  std::vector<std::string> text(6), places(12);
  Array marks({2, 3, 2, 4}, -1);
  text[4] = "Attends by position.";
  places[9] = "the cat sat";
  marks(1, 1, 1, 0) = 8;
  marks(1, 1, 1, 1) = 11;
  said.add({"text", "layer head", "1", "t", "r", "", Variable::Type::text}, text);
  said.add({"places", "layer head example", "1", "p", "r", "", Variable::Type::text}, places);
  said.add(Declaration::integer("marks", "layer head example mark", "m"), marks);
  results.groups.push_back(said);
  const std::vector<Presentation> presentations{
      {.group = "said", .summaries = {{"text", "Places", "places", "marks"}}}};
  const json summaries = json::parse(head_data_json(results, presentations))["summaries"];
  ASSERT_EQ(summaries.size(), 6U);
  EXPECT_EQ(summaries[0], json::array());
  EXPECT_EQ(summaries[4], json::parse(R"([{"text": "Attends by position.", "title": "Places",
      "places": [{"text": "the cat sat", "query": [8, 11], "target": [-1, -1], "found": true}]}])"));
}

TEST(HeadData, SectionsFollowThePresentationsAndJoinUnderOneTitle) {
  Results results = test::results_sample();
  ResultsGroup late;
  late.name = "late";
  late.add_dimension(Dimension::count("layer", 2));
  late.add_dimension(Dimension::count("head", 3));
  late.add(real_variable("share", {"layer", "head"}, {2, 3}));
  results.groups.push_back(late);
  std::vector<Presentation> presentations = test::sample_presentations();
  presentations.back().scores = {{"Where it attends", {"cosine_all"}}};
  presentations.push_back(
      {.group = "late", .scores = {{"Last", {"unknown"}}, {"Where it attends", {"share"}}}});
  presentations.push_back({.group = "not_run", .scores = {{"Not run", {"share"}}}});
  const json data = json::parse(head_data_json(results, presentations));
  std::vector<std::string> titles, listed;
  for (const json& section : data["sections"]) {
    titles.push_back(section["title"]);
    for (const json& index : section["scores"]) {
      listed.push_back(data["scores"][index.get<std::size_t>()]["name"]);
    }
  }
  EXPECT_THAT(titles, ElementsAre("What pruning it costs", "Where it attends", "Last"));
  EXPECT_THAT(listed, ElementsAre("loss_increase", "loss_increase", "sink", "share"));
}

TEST(HeadData, VariablesWithTooManyValuesAHeadAreNamed) {
  Results results = test::results_sample();
  ResultsGroup& group = results.group("classification");
  for (const std::size_t n : {most_head_slices, most_head_slices + 1}) {
    const std::string name = "values_" + std::to_string(n);
    group.add_dimension(Dimension::count(name, n));
    group.add(real_variable("by_" + name, {name, "layer", "head"}, {n, 2, 3}));
  }
  const json data = json::parse(head_data_json(results, test::sample_presentations()));
  const auto n_listed = std::ranges::count_if(
      data["scores"], [](const json& score) { return score["name"] == "by_values_24"; });
  EXPECT_EQ(n_listed, 24);
  ASSERT_EQ(data["leftOut"].size(), 1u);
  EXPECT_EQ(data["leftOut"][0]["name"], "by_values_25");
  EXPECT_EQ(data["leftOut"][0]["values"], 25);
}

TEST(HeadData, NearestHeadsAreListedByLabelAlongRowsOrColumns) {
  Results results = test::results_sample();
  ResultsGroup& group = results.group("correlation");
  group.add_dimension(Dimension::labels("kind", {"q", "k"}));
  Variable pairs = real_variable("pairs", {"kind", "unit_i", "unit_j"}, {2, 6, 6});
  for (std::size_t i = 0; i < 72; ++i) pairs.values.values[i] = static_cast<double>(i % 36);
  pairs.values(std::size_t{1}, std::size_t{0}, std::size_t{4}) = -100;
  group.add(pairs);
  group.add({"chance", "kind", "1", "c"}, Array({2}, {0.5, 0.25}));
  NearestHeads rows{.title = " row", .variable = "pairs", .most = 2, .chance = "chance"};
  NearestHeads columns = rows;
  columns.title = " column";
  columns.by_column = columns.smallest = true;
  const std::vector<Presentation> presentations{
      {.group = "correlation", .nearest = {rows, columns}}};
  const json lists = json::parse(head_data_json(results, presentations))["neighbours"];
  ASSERT_EQ(lists.size(), 4u);
  EXPECT_EQ(lists[0]["title"], "q row");
  EXPECT_EQ(lists[0]["byHead"][0], json::parse("[[5, 5], [4, 4]]"));
  EXPECT_EQ(lists[1]["title"], "k row");
  EXPECT_EQ(lists[1]["byHead"][0], json::parse("[[4, -100], [5, 5]]")) << "by absolute value";
  EXPECT_EQ(lists[1]["chance"], 0.25);
  EXPECT_EQ(lists[2]["title"], "q column");
  EXPECT_EQ(lists[2]["byHead"][0], json::parse("[[1, 6], [2, 12]]"));
}

TEST(HeadData, EdgesAreListedAtBothEndsWithThePortThatReads) {
  Results results = test::results_sample();
  ResultsGroup group;
  group.name = "edges";
  group.add_dimension(Dimension::labels("task", {"skipped", "agreement"}));
  group.add_dimension(Dimension::labels("node", {"embed", "L0H1", "MLP0"}));
  group.add_dimension(
      Dimension::labels("port", {"L0H1.v", "L1H2.q", "L1H1-2.k", "MLP1", "logits"}));
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Array effect({2, 3, 5}, {9,    9,     9,    9,    9, 9,    9,   9,
                                 9,    9,     9,    9,    9, 9,    9,  // a task that is left out
                                 0.5,  0.25,  -1,   0.75, 4, none, 2,   -3,
                                 -0.5, 0.125, none, 1.5,  8, none, none});
  Array q({2, 3, 5}, 0.01);
  q(1, 2, 2) = 0.05;
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (std::isnan(effect.values[i])) q.values[i] = none;
  }
  group.add({"effect", "task node port", "nats", "e"}, effect);
  group.add({"q", "task node port", "1", "q"}, q);
  group.add({"can", "task", "1", "c"}, Array({2}, {0, 1}));
  results.groups.push_back(group);
  const std::vector<Presentation> presentations{
      {.group = "edges", .edges = {{"Reads", "Largest", "effect", "q", 0.05, "can", 4}}}};
  const json section = json::parse(head_data_json(results, presentations))["edges"][0];
  EXPECT_EQ(section["caption"], "Largest");
  ASSERT_EQ(section["lists"].size(), 1u);
  const json& list = section["lists"][0];
  EXPECT_EQ(list["label"], "agreement");
  EXPECT_EQ(list["reads"][5], json::parse(R"([["L0H1", -3, "k"], ["L0H1", 2, "q"],
      ["MLP0", 1.5, "q"], ["embed", -1, "k"]])"));
  EXPECT_EQ(list["reads"][4], json::parse(R"([["L0H1", -3, "k"], ["embed", -1, "k"]])"))
      << "shares its keys with L1H2";
  EXPECT_EQ(list["reads"][1], json::parse(R"([["embed", 0.5, "v"]])"));
  EXPECT_EQ(list["readers"][1], json::parse(R"([["L1H1-2", -3, "k"], ["L1H2", 2, "q"],
      ["MLP1", -0.5, ""], ["logits", 0.125, ""]])"));
  EXPECT_EQ(list["readers"][0], json::array());

  results.attributes["pruned_heads"] = std::string("L1H1");
  const json left = json::parse(head_data_json(results, presentations))["edges"][0]["lists"][0];
  EXPECT_EQ(left["reads"][4], json::array()) << "removed, though its port is read";
  EXPECT_EQ(left["reads"][5], list["reads"][5]);
}

TEST(HeadData, WithoutPresentationsAreWhatTheVariablesSay) {
  const json data = json::parse(head_data_json(test::results_sample(), {}));
  EXPECT_GT(data["scores"].size(), 2u);
  EXPECT_EQ(data["types"]["names"].size(), 2u);
  EXPECT_EQ(data["documents"].size(), 1u);
  EXPECT_EQ(data["reasons"], nullptr);
  for (const char* const part : {"sections", "tables", "neighbours", "edges"}) {
    EXPECT_EQ(data[part], json::array()) << part;
  }
}

TEST(HeadData, AreEmptyWithoutHeads) {
  Results results;
  EXPECT_EQ(head_data_json(results, test::sample_presentations()), "");
  EXPECT_EQ(summary_section({results, test::sample_presentations(), {}}), "");
  EXPECT_TRUE(findings(results, {}).empty());
}

TEST(PatternDocuments, StayWithinTheirBudgetAt24LayersOf16Heads) {
  const Results results = with_patterns(6, 24, 16, 80);
  const json documents = pattern_documents(results, {24, 16});
  EXPECT_EQ(documents.size(), most_pattern_documents);
  std::size_t bytes = 0;
  for (const json& document : documents) {
    for (const json& kind : document["kinds"]) {
      bytes += kind["bytes"].get<std::string>().size() / 4 * 3;
    }
    EXPECT_GT(document["tokens"].size(), 40u);
  }
  // Base64 fills up to three bytes; whole documents leave up to a tenth of the budget.
  EXPECT_LE(bytes, most_pattern_bytes + 3 * documents.size());
  EXPECT_GT(bytes, most_pattern_bytes * 9 / 10);
}

TEST(PatternDocuments, ScaleOtherWeightingsByTheirLargest) {
  Results results = with_patterns(1, 2, 3, 4);
  ResultsGroup& group = results.groups[0];
  Variable weighted = real_variable("weighted", {"layer", "head", "query", "key"}, {2, 3, 4, 4});
  weighted.values(1, 2, 3, 0) = 8;
  weighted.values(1, 2, 3, 1) = 2;
  group.add(weighted);
  group.add(real_variable("rollout", {"layer", "query", "key"}, {2, 4, 4}));
  const json kinds = pattern_documents(results, {2, 3})[0]["kinds"];
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[1]["largest"], json::parse("[0, 0, 0, 0, 0, 8]"));
  EXPECT_EQ(kinds[1]["shared"], false);
  EXPECT_EQ(kinds[2]["shared"], true);
  // The last query's bytes, after five zeros: 255, round(255 / 2), 0, 0.
  EXPECT_THAT(kinds[1]["bytes"].get<std::string>(), testing::EndsWith("AAAAAAD/gAAA"));
}

TEST(PatternDocuments, AreNamedByTheirWordsWhereTokensSplitCharacters) {
  const auto title = [](const std::vector<std::string>& tokens) {
    Results results = with_patterns(1, 2, 3, tokens.size());
    results.groups[0].add({"token_text", "query", "1", "tokens"}, tokens);
    return pattern_documents(results, {2, 3})[0]["title"].get<std::string>();
  };
  EXPECT_EQ(title({"<|endoftext|>", " \\xD0", "\\xBF", "\\xD1", "\\x80"}), "“пр”");
  EXPECT_EQ(title({"a \\x", std::string(35, 'y'), "\\xD0", "\\xBFzz"}),
            "“a \\x" + std::string(35, 'y') + " …”");
}

TEST(PatternDocuments, AreNamedWithoutTheTokenThatDocumentsBeginWith) {
  const auto title = [](const std::string& first_token) {
    Results results = with_patterns(1, 2, 3, 3);
    results.attributes["first_token"] = first_token;
    results.groups[0].add({"token_text", "query", "1", "tokens"}, {"<s>", " One", "<s>"});
    return pattern_documents(results, {2, 3})[0]["title"].get<std::string>();
  };
  EXPECT_EQ(title("<s> (from bos_token_id of the config)"), "“One<s>”");
  EXPECT_EQ(title("no token of their own (--no-bos)"), "“<s> One<s>”");
}

TEST(PatternDocuments, SayHowManyTokensTheDocumentHasAndHowManyAreKept) {
  Results results = with_patterns(1, 2, 3, 4);
  const auto tokens_of = [&] {
    const json document = pattern_documents(results, {2, 3})[0];
    return std::pair(document["kept"].get<double>(), document["of"].get<double>());
  };
  EXPECT_EQ(tokens_of(), std::pair(4.0, 4.0)) << "nothing says how long the document is";
  results.groups[0].add({"n_token", "", "count", "tokens"}, 9.0);
  EXPECT_EQ(tokens_of(), std::pair(4.0, 9.0));
  for (const double forged : {2.0, HUGE_VAL, std::nan("")}) {
    results.groups[0].variables.back().values.values[0] = forged;
    EXPECT_EQ(tokens_of(), std::pair(4.0, 4.0)) << forged;
  }
}

TEST(PatternDocuments, LeaveOutOtherShapes) {
  EXPECT_EQ(pattern_documents(with_patterns(1, 2, 3, 4), {2, 4}).size(), 0u);
  EXPECT_EQ(pattern_documents(with_patterns(1, 2, 3, 4), {2, 3}).size(), 1u);
}

TEST(Findings, SpeakOnlyOfWhatWasRun) {
  Results results = test::results_sample();
  const auto said = [&] {
    std::vector<std::string> about;
    for (const Finding& finding :
         findings(results, describe(results, test::sample_presentations()))) {
      about.push_back(finding.about);
    }
    return about;
  };
  EXPECT_THAT(said(), ElementsAre("Model", "Pruning one head", "Jobs", "Attention sink", "Claims"));
  std::erase_if(results.groups, [](const ResultsGroup& group) { return group.name == "pruning"; });
  EXPECT_THAT(said(), ElementsAre("Model", "Jobs", "Attention sink"));
}

TEST(Findings, CountOneDocumentAsOne) {
  Results results = test::results_sample();
  results.attributes["n_token"] = std::int64_t{28830};
  results.attributes["n_document"] = std::int64_t{1};
  std::vector<Description> descriptions = describe(results, test::sample_presentations());
  descriptions.back().model_size = "2.321 million parameters";
  EXPECT_EQ(findings(results, descriptions)[0].text,
            "tiny <b>.h5 has 2 layers of 3 heads and 2.321 million parameters. It read "
            "28,830 tokens in 1 document; its loss is 3.2 nats per token.");
}

TEST(Findings, SayHowManyHeadsAreRemoved) {
  Results results = test::results_sample();
  const auto said = [&](const std::string& removed, const std::vector<Description>& descriptions) {
    results.attributes["pruned_heads"] = removed;
    return findings(results, descriptions)[0].text;
  };
  EXPECT_EQ(said("", {}), "tiny <b>.h5 has 2 layers of 3 heads.");
  EXPECT_EQ(said("L0H1", {}), "tiny <b>.h5 has 2 layers of 3 heads, of which 1 is removed.");
  Description size;
  size.model_size = "2.321 million parameters";
  EXPECT_EQ(said("L0H1,L1H2", {size}),
            "tiny <b>.h5 has 2 layers of 3 heads, of which 2 are removed, and 2.321 million "
            "parameters.");
}

TEST(Claims, AreAllCountedAboveTheirList) {
  Results results = test::results_sample();
  EXPECT_EQ(claims_by_group(results.groups).size(), 4u);
  EXPECT_EQ(
      claims_paragraph(results),
      "Of 2 claims about heads put to the test, 1 holds for this model, 0 do not, and 1 cannot "
      "be decided. 1 more claim was not tested; 1 more claim is decided by arithmetic alone.");
  const auto keep = [&](auto is_kept) {
    for (ResultsGroup& group : results.groups) {
      std::erase_if(group.claims, [&](const Claim& claim) { return !is_kept(claim); });
    }
  };
  keep([](const Claim& claim) { return claim.arithmetic || std::isnan(claim.effect.value); });
  EXPECT_EQ(claims_paragraph(results),
            "1 claim was not tested; 1 more claim is decided by arithmetic alone.");
  keep([](const Claim& claim) { return claim.arithmetic; });
  EXPECT_EQ(claims_paragraph(results), "1 claim is decided by arithmetic alone.");
}

TEST(Claims, AreListedTestedOnesFirstAndArithmeticLast) {
  const auto claim = [](double effect, bool arithmetic) {
    Claim made;
    made.effect.value = effect;
    made.arithmetic = arithmetic;
    return made;
  };
  const double untested = std::nan("");
  std::vector<ResultsGroup> groups(2);
  groups[0].claims = {claim(1, true), claim(untested, false), claim(2, false)};
  groups[1].claims = {claim(untested, false), claim(3, false)};
  std::vector<double> effects;
  for (const PlacedClaim& placed : claims_by_group(groups)) {
    effects.push_back(placed.claim->effect.value);
  }
  EXPECT_THAT(effects, testing::ElementsAre(2, 3, testing::IsNan(), testing::IsNan(), 1));
}

TEST(Findings, WithoutDescriptionsAreTheModelAndTheClaims) {
  const std::vector<Finding> lines = findings(test::results_sample(), {});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "tiny <b>.h5 has 2 layers of 3 heads.");
  EXPECT_EQ(lines[1].about, "Claims");
}

}  // namespace
}  // namespace headscope
