#include "headscope/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/number_text.hpp"
#include "comparison/comparison_group.hpp"
#include "support/message_of.hpp"
#include "support/results_sample.hpp"
#include "support/same_results.hpp"
#include "support/temporary_directory.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using test::message_of;
using test::TemporaryDirectory;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A run of 1 layer with an analysis `weather`: `rain` by season and head with intervals of half
/// width 1 and a resample, the kind of each head, and how much it rains in all.
ComparedRun weather(const std::string& label, const std::vector<double>& rain,
                    const std::vector<double>& kinds, double total,
                    const std::vector<std::string>& seasons = {"spring", "autumn"}) {
  ResultsGroup group;
  group.name = "weather";
  group.add_dimension(Dimension::labels("season", seasons));
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", kinds.size()));
  std::vector<double> days(kinds.size());
  std::iota(days.begin(), days.end(), 1);
  std::vector<Estimate> estimates;
  for (const double value : rain) {
    estimates.push_back({value, value - 1, value + 1, {static_cast<float>(value)}});
  }
  group.add({"rain", "season layer head", "mm", "rain by head", "A source", "days resampled"},
            estimates);
  group.add({"days", "layer head", "count", "rainy days", "A source", "", Variable::Type::integer},
            Array({1, kinds.size()}, days));
  group.add({"primary",
             "layer head",
             "1",
             "kind of head",
             "A source",
             "",
             Variable::Type::flag,
             {"none", "wet", "dry"}},
            Array({1, kinds.size()}, kinds));
  group.add({"rain_sum", {}, "mm", "all rain", "A source", "days resampled"},
            std::vector<Estimate>{{total, total - 1, total + 1}});
  group.add({"rain_share", "season", "1", "share of the rain", "A source", "days resampled"},
            std::vector<Estimate>(seasons.size(), Estimate{0.5, 0.4, 0.6}));
  ComparedRun run;
  run.label = label;
  run.path = label + "/results.h5";
  run.results.attributes = {{"corpus_sha256", std::string("sky")}, {"n_document", std::int64_t{9}}};
  run.results.groups = {group};
  return run;
}

const std::vector<Presentation> presentations{
    {.group = "weather",
     .scores = {{"Rain", {"rain"}}},
     .measures = {{"wetness", "rain_sum", ""}, {"wet_share", "rain_share", "time"}},
     .auxiliary = {"rain_null", "wind_p"}}};

const std::vector<double> first_rain{1, 2, 3, 10, 20, 30};
const std::vector<double> rain_of_five{1, 2, 3, 4, 5, 10, 20, 30, 40, 50};
const std::vector<double> five_kinds(5, 0);

ResultsGroup compared(const std::vector<ComparedRun>& runs) {
  return compare_runs(runs, command_line_order, presentations).group;
}

std::vector<std::string> lines(const ResultsGroup& group) {
  Results results;
  results.groups = {group};
  std::vector<std::string> lines;
  for (const Finding& finding : comparison_presentation(presentations).describe(results).findings) {
    lines.push_back(finding.text);
  }
  return lines;
}

std::vector<double> values(const ResultsGroup& group, const std::string& variable) {
  return group.variable(variable).values.values;
}

TEST(Comparison, NamesOfVariablesAreWordsOfTheField) {
  EXPECT_EQ(in_words("circuits_qk_rank90", ""), "circuits query-key rank for 90 %");
  EXPECT_EQ(in_words("pruning_loss_increase", "zero"), "pruning loss increase, zero");
}

TEST(Comparison, SetsEveryVariableByHeadSideBySide) {
  const ResultsGroup group = compared(
      {weather("a", first_rain, {0, 1, 2}, 5), weather("b", {1, 2, 0, 13, 20, 30}, {0, 1, 1}, 5)});
  EXPECT_THAT(group.variable("weather_rain").dimensions,
              ElementsAre("run", "season", "layer", "head"));
  EXPECT_THAT(values(group, "weather_rain"), ElementsAre(1, 2, 3, 10, 20, 30, 1, 2, 0, 13, 20, 30));
  EXPECT_THAT(group.variable("weather_rain").interval->low.values,
              ElementsAre(0, 1, 2, 9, 19, 29, 0, 1, -1, 12, 19, 29));
  EXPECT_THAT(values(group, "weather_rain_difference"),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, -3, 3, 0, 0));
  EXPECT_EQ(group.variable("weather_rain_difference").units, "mm");
  EXPECT_THAT(values(group, "weather_days_difference"), ElementsAre(0, 0, 0, 0, 0, 0));
  // Ranks 1 2 3 against 2 3 1: rho = 1 - 6 * 6 / (3 * 8).
  EXPECT_THAT(group.variable("weather_rain_rank_correlation").dimensions,
              ElementsAre("run", "season"));
  EXPECT_THAT(values(group, "weather_rain_rank_correlation"),
              ElementsAre(DoubleEq(1), DoubleEq(1), DoubleEq(-0.5), DoubleEq(1)));
  EXPECT_FALSE(group.has("weather_primary_difference"));
  EXPECT_FALSE(group.has("weather_rain_sum"));
}

TEST(Comparison, NumbersThatNameSomethingAreNotSubtracted) {
  std::vector<ComparedRun> runs{weather("a", first_rain, {0, 0, 0}, 5),
                                weather("b", first_rain, {0, 0, 0}, 5)};
  for (ComparedRun& run : runs) {
    run.results.groups[0].add(
        Declaration::integer("wettest_day", "layer head", "number of the wettest day"),
        Array({1, 3}, {5, 3, 4}));
    run.results.groups[0].add({"umbrella", "layer head", "m", "where it lies; -1 for none", "test",
                               "", Variable::Type::integer},
                              Array({1, 3}, {-1, 3, 4}));
  }
  const ResultsGroup group = compared(runs);
  EXPECT_FALSE(group.has("weather_umbrella_difference"));
  EXPECT_THAT(values(group, "weather_wettest_day"), ElementsAre(5, 3, 4, 5, 3, 4));
  EXPECT_FALSE(group.has("weather_wettest_day_difference"));
  EXPECT_FALSE(group.has("weather_wettest_day_rank_correlation"));
  EXPECT_TRUE(group.has("weather_days_rank_correlation")) << "a count names nothing";
}

TEST(Comparison, AHeadHasChangedIfItsIntervalsLieApart) {
  // Half widths of 1: apart from a difference above 2 on.
  const ResultsGroup group = compared({weather("a", first_rain, {0, 0, 0}, 5),
                                       weather("b", {3, 4.1, 0.9, 10, nan, 30}, {0, 0, 0}, 5)});
  EXPECT_THAT(values(group, "weather_rain_changed"),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0));
  EXPECT_FALSE(group.has("weather_days_changed"));
}

TEST(Comparison, ChangesAreTestedOverAllHeadsAndScores) {
  const ResultsGroup group = compared({weather("a", first_rain, {0, 0, 0}, 5),
                                       weather("b", {3, 4.1, 0.9, 10, nan, 30}, {0, 0, 0}, 5)});
  const auto is_nan = testing::IsNan();
  const auto near = [](double value) { return testing::DoubleNear(value, 1e-8); };
  // p of normal differences in units of sqrt(2) half widths, times 5 / rank.
  EXPECT_THAT(values(group, "weather_rain_changed_q"),
              ElementsAre(is_nan, is_nan, is_nan, is_nan, is_nan, is_nan, near(0.00929099447),
                          near(0.00902421829), near(0.00902421829), 1, is_nan, 1));
  EXPECT_FALSE(group.has("weather_days_changed_q"));
}

/// The run without what runs are paired by.
ComparedRun without_parts(ComparedRun run) {
  for (Variable& variable : run.results.groups[0].variables) {
    if (variable.interval) variable.interval->influences = variable.interval->resamples = {};
  }
  return run;
}

/// A run whose loss and whose rain by head are means over 30 documents, each with a number of its
/// own and `more` added.
/// @param n_sampled  of the corpus's documents, as the run counts them.
ComparedRun of_documents(const std::string& label, double more, std::int64_t seed = 3,
                         double n_sampled = 30) {
  const std::vector<double> documents(30, 1);
  const Bootstrap bootstrap = Bootstrap::of_documents(documents, 300, 3);
  const std::vector<Estimate> estimates = bootstrap.estimates([&](const BootstrapCounts& weights) {
    double sum = 0, n = 0;
    for (std::size_t d = 0; d < weights.size(); ++d) {
      sum += weights[d] * (static_cast<double>(d) + more * (1 + 0.1 * static_cast<double>(d % 3)));
      n += weights[d];
    }
    return std::vector<double>(3, sum / n);
  });
  ComparedRun run;
  run.label = label;
  run.path = label + "/results.h5";
  run.results.attributes = {{"corpus_sha256", std::string("sky")},
                            {"n_document", std::int64_t{30}},
                            {"version", std::string("1")},
                            {"git_commit", std::string("a")},
                            {"seed", seed}};
  ResultsGroup group;
  group.name = "weather";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 3));
  group.add({"rain", "layer head", "mm", "rain by head", "A source", "documents resampled"},
            estimates);
  group.add({"rain_sum", {}, "mm", "all rain", "A source", "documents resampled"},
            std::vector<Estimate>{estimates[0]});
  group.add(Declaration::count("n_document_sampled", "", "documents with rain"), n_sampled);
  run.results.groups = {group};
  return run;
}

TEST(Comparison, RunsOnTheSameDocumentsArePaired) {
  // Documents differ by up to 29, the runs by 1 to 1.2 on each of them.
  const ResultsGroup group = compared({of_documents("a", 0), of_documents("b", 1)});
  const Estimate a = group.variable("wetness").estimate(0),
                 b = group.variable("wetness").estimate(1);
  ASSERT_LT(b.low, a.high) << "the intervals overlap";
  const Estimate difference = group.variable("wetness_difference").estimate(1);
  EXPECT_NEAR(difference.value, 1.1, test::double_rounding);
  EXPECT_GT(difference.low, 1);
  EXPECT_LT(difference.high, 1.2);
  EXPECT_FALSE(group.variable("wetness_difference").estimate(0).has_interval());
  EXPECT_GT(group.variable("weather_rain_difference").estimate(3).low, 1);
  EXPECT_THAT(values(group, "weather_rain_changed"), ElementsAre(0, 0, 0, 1, 1, 1));
  const auto sentence = [&](const char* run, const char* other, const char* change) {
    return std::string(run) + " differs from " + other + " beyond the intervals: wetness " +
           change + " by " + number_text(difference.low, 3) + " to " +
           number_text(difference.high, 3) + ".";
  };
  EXPECT_THAT(lines(group)[1], HasSubstr(sentence("b", "a", "higher")));
  EXPECT_THAT(lines(compared({of_documents("b", 1), of_documents("a", 0)}))[1],
              HasSubstr(sentence("a", "b", "lower")));
}

TEST(Comparison, RunsOfOtherDocumentsDrawsOrSamplesAreNot) {
  ComparedRun other = of_documents("b", 1);
  other.results.attributes["corpus_sha256"] = std::string("sea");
  for (const ComparedRun& run : {other, of_documents("b", 1, 4), of_documents("b", 1, 3, 20)}) {
    const ResultsGroup group = compared({of_documents("a", 0), run});
    EXPECT_FALSE(group.has("wetness_difference"));
    EXPECT_FALSE(group.variable("weather_rain_difference").interval);
    EXPECT_THAT(values(group, "weather_rain_changed"), ElementsAre(0, 0, 0, 0, 0, 0));
  }
}

TEST(Comparison, NotesWhyRunsAreNotPaired) {
  const ComparedRun first = of_documents("a", 0);
  const auto notes = [&](const ComparedRun& later) {
    return compare_runs({first, later}, command_line_order, presentations).notes;
  };
  const auto unpaired = [](const std::string& why) {
    return "b is not paired with a (" + why +
           "): differences have no intervals of their own, and only large ones show";
  };
  EXPECT_THAT(notes(of_documents("b", 1)), IsEmpty());
  EXPECT_THAT(notes(of_documents("b", 1, 4)), ElementsAre(unpaired("other seed")));
  EXPECT_THAT(notes(of_documents("b", 1, 3, 20)), ElementsAre(unpaired("other documents used")));
  ComparedRun other = of_documents("b", 1, 4);
  other.results.attributes["corpus_sha256"] = std::string("sea");
  EXPECT_THAT(
      notes(other),
      ElementsAre("b was run on another corpus than a; differences may come from the corpus",
                  unpaired("other corpus, other seed")));
  EXPECT_THAT(notes(without_parts(other)), testing::SizeIs(1)) << "nothing could be paired";
}

TEST(Comparison, NotesThatRunsArePairedInPart) {
  std::vector<ComparedRun> runs;
  for (const char* const label : {"a", "b"}) {
    runs.push_back(of_documents(label, 0));
    runs.back().results.groups.push_back(
        of_documents(label, 0, 3, label[0] == 'a' ? 30 : 20).results.groups[0]);
    runs.back().results.groups[1].name = "wind";
  }
  EXPECT_THAT(compare_runs(runs, command_line_order, presentations).notes,
              ElementsAre("b is paired with a only in part (other documents used): the remaining "
                          "differences have no intervals of their own, and only large ones show"));
}

/// A run with the accuracy on the 30 pairs of one task, all right or all wrong.
ComparedRun of_pairs(const std::string& label, bool is_right) {
  ComparedRun run;
  run.label = label;
  run.path = label + "/results.h5";
  run.results.attributes = {{"tasks_sha256", std::string("pairs")},
                            {"version", std::string("1")},
                            {"git_commit", std::string("a")},
                            {"seed", std::int64_t{0}}};
  const double share = is_right ? 1 : 0;
  Estimate accuracy{share, share, share, {}, std::vector<float>(30, 0)};
  ResultsGroup group;
  group.name = "tasks";
  group.add_dimension(Dimension::labels("task", {"agreement"}));
  group.add(
      {"accuracy", "task", "1", "share of pairs that are right", "A source", "pairs resampled"},
      std::vector<Estimate>{with_score_interval(std::move(accuracy), 30)});
  run.results.groups = {group};
  return run;
}

TEST(Comparison, AnAccuracyThatFallsFromAllToNoneHasChanged) {
  const std::vector<Presentation> of_tasks{
      {.group = "tasks", .measures = {{"task_accuracy", "accuracy", "task"}}}};
  const auto finding = [&](const ComparedRun& later) {
    Results results;
    results.groups = {
        compare_runs({of_pairs("a", true), later}, command_line_order, of_tasks).group};
    EXPECT_FALSE(results.groups[0].has("task_accuracy_difference"));
    return comparison_presentation(of_tasks).describe(results).findings.at(1).text;
  };
  EXPECT_EQ(finding(of_pairs("b", false)),
            "b differs from a beyond the intervals: task accuracy, agreement, lower.");
  EXPECT_EQ(finding(of_pairs("b", true)), "b differs from a in no measure beyond its interval.");
}

TEST(Comparison, NotesAnotherTokenizerOfOneModel) {
  const auto run_with = [](const std::string& label, const std::string& tokenizer) {
    ComparedRun run = of_documents(label, 0);
    run.results.attributes["model_sha256"] = std::string("hill");
    run.results.attributes["tokenizer_sha256"] = tokenizer;
    return run;
  };
  const ComparedRun first = run_with("a", "words");
  ComparedRun other = run_with("b", "letters");
  EXPECT_THAT(compare_runs({first, other}, command_line_order, presentations).notes,
              ElementsAre("b was run with another tokenizer than a; differences may come from the "
                          "tokenizer"));
  other.results.attributes["model_sha256"] = std::string("dale");
  EXPECT_THAT(compare_runs({first, other}, command_line_order, presentations).notes, IsEmpty());
}

TEST(Comparison, ARemovedHeadIsRemovedAndNotOfAnotherType) {
  ComparedRun pruned = weather("b", first_rain, {0, 1, 0}, 5);
  pruned.results.attributes["pruned_heads"] = std::string("L0H2,L10H1");
  const ResultsGroup group = compared({weather("a", first_rain, {0, 1, 2}, 5), pruned});
  EXPECT_THAT(group.dimensions.at("type_to").text, ElementsAre("none", "wet", "dry", "removed"));
  EXPECT_EQ(group.variable("type_transition").values(1, 2, 3), 1);
  EXPECT_EQ(group.variable("type_transition").values(1, 2, 0), 0);
  EXPECT_EQ(group.variable("weather_primary").values(1, 0, 2), 3);
  EXPECT_EQ(lines(group).back(),
            "In b 0 of 2 heads have another main type than in a; 1 more head was removed.");
  Results results;
  results.groups = {group};
  const std::vector<Figure> figures =
      comparison_figures(results, comparison_presentation(presentations));
  const auto difference =
      std::ranges::find(figures, "comparison_weather_rain_difference", &Figure::name);
  ASSERT_NE(difference, figures.end());
  EXPECT_THAT(difference->caption, HasSubstr("Removed heads are left empty."));
  const auto changed = std::ranges::find(figures, "comparison_changed", &Figure::name);
  EXPECT_THAT(changed->caption, HasSubstr("the 95 % interval of the difference excludes 0; where "
                                          "it has none, the 95 % intervals of both runs lie "
                                          "apart"));
  const Array& drawn = std::get<Heatmap>(difference->content).panels[0].values;
  EXPECT_THAT(drawn.values, ElementsAre(0, 0, testing::IsNan()));
}

TEST(Comparison, LabelsOfVariablesLeaveOutAllWordsOfTheirGroup) {
  std::vector<ComparedRun> runs{weather("a", first_rain, {0, 1, 2}, 5),
                                weather("b", first_rain, {0, 1, 2}, 5)};
  for (ComparedRun& run : runs) run.results.groups[0].name = "weather_model";
  std::vector<Presentation> named = presentations;
  named[0].group = "weather_model";
  Results results;
  results.groups = {compare_runs(runs, command_line_order, named).group};
  const std::vector<Figure> figures = comparison_figures(results, comparison_presentation(named));
  const auto changed = std::ranges::find(figures, "comparison_changed", &Figure::name);
  ASSERT_NE(changed, figures.end());
  EXPECT_THAT(std::get<Heatmap>(changed->content).row_labels,
              ElementsAre("rain, spring", "rain, autumn"));
}

TEST(Comparison, PointsStandAtTheNumbersThatOrderTheRuns) {
  std::vector<ComparedRun> runs;
  for (const double place : {0.001, 0.001, 0.1}) {
    runs.push_back(
        weather(std::string(1, static_cast<char>('a' + runs.size())), first_rain, {0, 1, 2}, 5));
    runs.back().place = place;
  }
  Results results;
  results.groups = {compare_runs(runs, "dropout", presentations).group};
  const std::vector<Figure> figures =
      comparison_figures(results, comparison_presentation(presentations));
  const auto shares = std::ranges::find(figures, "comparison_wet_share", &Figure::name);
  ASSERT_NE(shares, figures.end());
  const Chart& chart = std::get<Chart>(shares->content);
  EXPECT_TRUE(chart.log_x);
  for (const Series& series : chart.panels.at(0).series) {
    EXPECT_THAT(series.x, ElementsAre(0.001, 0.001, 0.1));
    EXPECT_EQ(series.shift, 0);
  }
}

/// The figure `comparison_changed` of the runs: rows of variables, columns of later runs.
Heatmap changed_figure(const std::vector<ComparedRun>& runs) {
  Results results;
  results.groups = {compared(runs)};
  const std::vector<Figure> figures =
      comparison_figures(results, comparison_presentation(presentations));
  const auto changed = std::ranges::find(figures, "comparison_changed", &Figure::name);
  return changed == figures.end() ? Heatmap() : std::get<Heatmap>(changed->content);
}

TEST(Comparison, NoChangeOfTypeIsMostFrequentByATie) {
  EXPECT_EQ(lines(compared({weather("a", first_rain, {0, 1, 2}, 5),
                            weather("b", first_rain, {1, 2, 0}, 5)}))
                .back(),
            "In b 3 of 3 heads have another main type than in a.");
}

/// The run with heads removed.
ComparedRun with_removed_heads(ComparedRun run, const std::string& heads) {
  run.results.attributes["pruned_heads"] = heads;
  return run;
}

TEST(Comparison, HeadsRemovedFromTheFirstRunChangeNoType) {
  const ComparedRun whole = weather("a", first_rain, {0, 1, 2}, 5),
                    pruned = with_removed_heads(weather("b", first_rain, {0, 2, 0}, 5), "L0H2");
  EXPECT_EQ(
      lines(compared({pruned, whole})).back(),
      "In a 1 of 2 heads has another main type than in b (dry to wet); 1 more head was removed "
      "in b.");
  EXPECT_EQ(lines(compared({with_removed_heads(whole, "L0H0,L0H1"), pruned})).back(),
            "No head is in both b and a.");
  EXPECT_EQ(
      lines(compared({with_removed_heads(whole, "L0H0"), pruned})).back(),
      "In b 1 of 1 head has another main type than in a (wet to dry); 1 more head was removed; "
      "1 more head was removed in a.");
  ComparedRun none = with_removed_heads(whole, "L0H0,L0H1,L0H2"), same = none;
  same.label = "b";
  EXPECT_EQ(lines(compared({none, same})).back(), "No head is in both b and a.");
}

TEST(Comparison, RemovedHeadsHaveNoDifferenceAndHaveNotChanged) {
  const ComparedRun whole = weather("a", first_rain, {0, 0, 0}, 5),
                    pruned = with_removed_heads(weather("b", {5, 2, 90, 10, 20, 90}, {0, 0, 0}, 5),
                                                "L0H2");
  for (const auto& [first, later, sign] :
       {std::tuple(whole, pruned, 1), std::tuple(pruned, whole, -1)}) {
    const ResultsGroup group = compared({first, later});
    const std::vector<double> difference = values(group, "weather_rain_difference");
    EXPECT_EQ(difference[6], 4 * sign);
    for (const std::size_t at : {8U, 11U}) EXPECT_TRUE(std::isnan(difference[at])) << at;
    EXPECT_THAT(values(group, "weather_rain_changed"),
                ElementsAre(0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0));
  }
  const ResultsGroup paired =
      compared({of_documents("a", 0), with_removed_heads(of_documents("b", 1), "L0H2")});
  EXPECT_TRUE(paired.variable("weather_rain_difference").estimate(4).has_interval());
  EXPECT_FALSE(paired.variable("weather_rain_difference").estimate(5).has_interval());
  EXPECT_THAT(values(paired, "weather_rain_changed"), ElementsAre(0, 0, 0, 1, 1, 0));
}

TEST(Comparison, RemovedHeadsHaveNoValuesAndAreNamed) {
  const ComparedRun first = with_removed_heads(weather("a", first_rain, {0, 1, 2}, 5), "L0H0"),
                    later = with_removed_heads(weather("b", first_rain, {0, 1, 2}, 5), "L0H0,L0H2");
  const ResultsGroup group = compared({first, weather("c", first_rain, {0, 1, 2}, 5), later});
  const auto is_nan = testing::IsNan();
  EXPECT_THAT(values(group, "weather_rain"),
              ElementsAre(is_nan, 2, 3, is_nan, 20, 30, 1, 2, 3, 10, 20, 30, is_nan, 2, is_nan,
                          is_nan, 20, is_nan));
  for (const Array& bound : {group.variable("weather_rain").interval->low,
                             group.variable("weather_rain").interval->high}) {
    EXPECT_TRUE(std::isnan(bound.values[0]) && std::isnan(bound.values[14]));
    EXPECT_FALSE(std::isnan(bound.values[6]));
  }
  EXPECT_THAT(values(group, "weather_days"), ElementsAre(is_nan, 2, 3, 1, 2, 3, is_nan, 2, is_nan));
  EXPECT_THAT(group.variable("removed_text").text,
              ElementsAre("Removed in a, b.", "", "Removed in b."));
  EXPECT_EQ(comparison_presentation(presentations).summaries.at(0).text, "removed_text");
  const TemporaryDirectory folder;
  Results results;
  results.groups = {group};
  write_results(results, folder.file("results.h5"));
  EXPECT_EQ(test::first_difference(results, read_results(folder.file("results.h5"))), "");
}

TEST(Comparison, RemovedHeadsAreKnownWithoutTypes) {
  ComparedRun whole = weather("a", first_rain, {0, 0, 0}, 5),
              pruned = weather("b", {9, 2, 0, 10, 20, 0}, {0, 0, 0}, 5);
  pruned.results.attributes["pruned_heads"] = std::string("L0H2");
  for (ComparedRun* const run : {&whole, &pruned}) {
    std::erase_if(run->results.groups[0].variables,
                  [](const Variable& variable) { return variable.name == "primary"; });
  }
  const ResultsGroup group = compared({whole, pruned});
  EXPECT_THAT(values(group, "head_removed"), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(
      lines(group)[2],
      HasSubstr("scores): weather rain, spring (1 of 2 heads in b). In all, 1 of 4 values differs "
                "beyond its interval, where chance"));
  pruned.results.attributes.erase("pruned_heads");
  EXPECT_FALSE(compared({whole, pruned}).has("head_removed"));
}

TEST(Comparison, ARemovedHeadTakesNoPartInTheRankCorrelation) {
  ComparedRun pruned = weather("b", {9, 8, 0, 10, 20, 30}, {0, 0, 0}, 5);
  pruned.results.attributes["pruned_heads"] = std::string("L0H2");
  const ResultsGroup group = compared({weather("a", first_rain, {0, 0, 0}, 5), pruned});
  const std::vector<double> correlation = values(group, "weather_rain_rank_correlation");
  EXPECT_DOUBLE_EQ(correlation[0], 1);
  EXPECT_DOUBLE_EQ(correlation[2], -1);
}

TEST(Comparison, HeadsWithoutAValueTakeNoPartInTheRankCorrelation) {
  const ResultsGroup group = compared({weather("a", {1, 2, 3, 10, 20, 30}, {0, 0, 0}, 5),
                                       weather("b", {9, nan, 8, nan, nan, 30}, {0, 0, 0}, 5)});
  const std::vector<double> correlation = values(group, "weather_rain_rank_correlation");
  EXPECT_DOUBLE_EQ(correlation[2], -1);
  EXPECT_TRUE(std::isnan(correlation[3]));
}

TEST(Comparison, TransitionsCountEachHeadByItsTypesBeforeAndAfter) {
  const ResultsGroup group =
      compared({weather("a", first_rain, {0, 1, 1}, 5), weather("b", first_rain, {2, 1, 0}, 5)});
  EXPECT_THAT(group.dimensions.at("type_from").text, ElementsAre("none", "wet", "dry"));
  EXPECT_THAT(values(group, "type_transition"),
              ElementsAre(1, 0, 0, 0, 2, 0, 0, 0, 0,    // a to itself
                          0, 0, 1, 1, 1, 0, 0, 0, 0));  // none to dry, wet to none, wet to wet
}

TEST(Comparison, MeasuresKeepTheirIntervalsAndLeaveGaps) {
  ComparedRun without = weather("c", {1, 2, 3}, {0, 0, 0}, 7, {"winter"});
  without.results.groups[0].variables.resize(3);
  const ResultsGroup group = compared({weather("a", first_rain, {0, 0, 0}, 5), without,
                                       weather("b", {1, 2, 3}, {0, 0, 0}, 7, {"autumn"})});
  const Variable& wetness = group.variable("wetness");
  EXPECT_THAT(wetness.dimensions, ElementsAre("run"));
  EXPECT_THAT(wetness.values.values, ElementsAre(5, testing::IsNan(), 7));
  EXPECT_THAT(wetness.interval->high.values, ElementsAre(6, testing::IsNan(), 8));
  EXPECT_EQ(wetness.long_name, "all rain");
  EXPECT_EQ(wetness.resampling, "days resampled");
  EXPECT_THAT(group.variable("wet_share").dimensions, ElementsAre("run", "time"));
  EXPECT_THAT(group.dimensions.at("time").text, ElementsAre("spring", "autumn"));
  EXPECT_THAT(group.variable("wet_share").values.values,
              ElementsAre(0.5, 0.5, testing::IsNan(), testing::IsNan(), testing::IsNan(), 0.5));
}

TEST(Comparison, AlongFurtherDimensionsHeadsHaveTheLabelsOfAllRuns) {
  const ResultsGroup group =
      compared({weather("a", {1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 0, 0}, 5, {"x", "y", "z"}),
                weather("b", {30, 31, 32, 10, 11, 12}, {0, 0, 0}, 5, {"z", "x"})});
  EXPECT_THAT(group.variable("weather_rain").dimensions,
              ElementsAre("run", "season", "layer", "head"));
  EXPECT_THAT(group.dimensions.at("season").text, ElementsAre("x", "z"));
  EXPECT_THAT(values(group, "weather_rain"), ElementsAre(1, 2, 3, 7, 8, 9, 10, 11, 12, 30, 31, 32));
}

TEST(Comparison, ADimensionWithOtherLabelsIsNamedAfterItsGroup) {
  std::vector<ComparedRun> runs;
  for (const char* const label : {"a", "b"}) {
    ComparedRun run = weather(label, first_rain, {0, 0, 0}, 5);
    run.results.groups.push_back(
        weather("", {1, 2, 3}, {0, 0, 0}, 5, {"winter"}).results.groups[0]);
    run.results.groups[1].name = "control/weather";
    runs.push_back(std::move(run));
  }
  const ResultsGroup group = compared(runs);
  EXPECT_THAT(group.variable("weather_rain").dimensions,
              ElementsAre("run", "season", "layer", "head"));
  EXPECT_THAT(group.variable("control_weather_rain").dimensions,
              ElementsAre("run", "control_weather_season", "layer", "head"));
}

TEST(Comparison, ARunIsEqualToItself) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("results.h5");
  write_results(test::results_sample(), path);
  std::vector<ComparedRun> runs;
  for (const char* const label : {"one", "two", "three"}) {
    runs.push_back(read_compared_run(path, presentations));
    runs.back().label = label;
  }
  const Comparison comparison = compare_runs(runs, command_line_order, presentations);
  EXPECT_THAT(comparison.notes, IsEmpty());
  std::size_t n_difference = 0, n_changed = 0, n_correlation = 0;
  for (const Variable& variable : comparison.group.variables) {
    for (const double value : variable.values.values) {
      if (variable.name.ends_with("_difference")) {
        ++n_difference;
        EXPECT_TRUE(value == 0 || std::isnan(value)) << variable.name;
      } else if (variable.name.ends_with("_changed")) {
        ++n_changed;
        EXPECT_EQ(value, 0) << variable.name;
      } else if (variable.name.ends_with("_rank_correlation")) {
        n_correlation += std::isnan(value) ? 0 : 1;
        if (!std::isnan(value)) {
          EXPECT_DOUBLE_EQ(value, 1) << variable.name;
        }
      }
    }
  }
  EXPECT_GT(n_difference, 0U);
  EXPECT_GT(n_changed, 0U);
  EXPECT_GT(n_correlation, 0U);
  const Array& transition = comparison.group.variable("type_transition").values;
  double n_stay = 0, n_all = 0;
  for (std::size_t run = 0; run < 3; ++run) {
    for (std::size_t from = 0; from < transition.shape[1]; ++from) {
      for (std::size_t to = 0; to < transition.shape[2]; ++to) {
        n_all += transition(run, from, to);
        if (from == to) n_stay += transition(run, from, to);
      }
    }
  }
  EXPECT_EQ(n_stay, 3 * 2 * 3);
  EXPECT_EQ(n_all, n_stay);
}

TEST(Comparison, RunsThatSampledOtherDocumentsAreNotPairedAsTheirFilesSay) {
  const TemporaryDirectory folder;
  const auto read = [&](const std::string& label, double more, double n_sampled) {
    const std::string path = folder.file(label + ".h5");
    write_results(of_documents(label, more, 3, n_sampled).results, path);
    ComparedRun run = read_compared_run(path, presentations);
    run.label = label;
    return run;
  };
  const ComparedRun first = read("a", 0, 30);
  EXPECT_TRUE(compared({first, read("b", 1, 30)}).variable("weather_rain_difference").interval);
  EXPECT_FALSE(compared({first, read("c", 1, 20)}).variable("weather_rain_difference").interval);
}

TEST(Comparison, LeavesOutPatternsOfDocuments) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("results.h5");
  write_results(test::results_sample(), path);
  const ComparedRun run = read_compared_run(path, presentations);
  EXPECT_THAT(run.results.group("attention/0").variables, IsEmpty());
  EXPECT_TRUE(run.results.group("pruning").has("loss_increase"));
  EXPECT_FALSE(run.results.group("pruning").has("saving"));
}

TEST(Comparison, NotesWhatKeepsRunsApart) {
  ComparedRun other = weather("b", first_rain, {0, 0, 0}, 6);
  other.results.attributes["corpus_sha256"] = std::string("sea");
  ComparedRun fewer = weather("c", first_rain, {0, 0, 0}, 6);
  fewer.results.attributes["n_document"] = std::int64_t{1};
  fewer.results.attributes["version"] = std::string("0.0.1");
  const Comparison comparison = compare_runs({weather("a", first_rain, {0, 0, 0}, 5), other, fewer},
                                             command_line_order, presentations);
  EXPECT_THAT(
      comparison.notes,
      ElementsAre("b was run on another corpus than a; differences may come from the corpus",
                  "c was run on 1 document, a on 9",
                  "c was run with another version of Headscope than a"));
  EXPECT_TRUE(comparison.group.has("weather_rain"));
}

TEST(Comparison, NotesHowTextWasReadAndMultiplied) {
  const auto run_of = [](const std::string& label, std::int64_t context, const std::string& token,
                         const std::string& precision) {
    ComparedRun run = weather(label, first_rain, {0, 0, 0}, 5);
    run.results.attributes["context"] = context;
    run.results.attributes["first_token"] = token;
    run.results.attributes["precision"] = precision;
    return run;
  };
  ComparedRun none = weather("d", first_rain, {0, 0, 0}, 5);
  none.results.attributes = {};
  const std::vector<ComparedRun> runs{run_of("a", 128, "<|endoftext|> (from its config)", "high"),
                                      run_of("b", 64, "<|endoftext|> (from --bos)", "high"),
                                      run_of("c", 128, "no token of their own (--no-bos)", "fast"),
                                      none};
  EXPECT_THAT(compare_runs(runs, command_line_order, presentations).notes,
              ElementsAre("b was run with context 64, a was run with context 128",
                          "c begins documents with no token of their own, a begins documents with "
                          "<|endoftext|>",
                          "c was run with precision fast, a was run with precision high",
                          "d read no corpus, a read one"));
  EXPECT_THAT(compare_runs({none, runs[0]}, command_line_order, presentations).notes,
              ElementsAre("a read a corpus, d read none"));
}

TEST(Comparison, NotesOptionsAndTasksThatDiffer) {
  ComparedRun first = weather("a", first_rain, {0, 0, 0}, 5), later = first;
  later.label = "b";
  first.settings = {{"baseline", "--baseline offset"}, {"seed", "--seed 1"}};
  later.settings = {{"baseline", "--baseline best"}, {"seed", "--seed 2"}, {"raw", "--raw"}};
  first.results.attributes["tasks_sha256"] = std::string("rain");
  later.results.attributes["tasks_sha256"] = std::string("snow");
  const auto notes = [&] {
    return compare_runs({first, later}, command_line_order, presentations).notes;
  };
  EXPECT_THAT(notes(),
              ElementsAre("b was run on other tasks than a; differences may come from the tasks",
                          "b was run with --seed 2, a with --seed 1",
                          "b was run with --baseline best, a with --baseline offset",
                          "b was run with --raw, a without --raw"));
  first.idle_options = {"baseline"};
  later.idle_options = {"raw"};
  EXPECT_THAT(notes(),
              ElementsAre("b was run on other tasks than a; differences may come from the tasks",
                          "b was run with --seed 2, a with --seed 1"));
  later.results.attributes.erase("tasks_sha256");
  first.idle_options = later.idle_options = {};
  later.settings = first.settings;
  EXPECT_THAT(notes(), IsEmpty());
  for (const char option : std::string("cdefghijkl")) {
    later.settings[std::string(1, option)] = std::string("--") + option;
  }
  EXPECT_EQ(notes().size(), 9U);
  EXPECT_EQ(notes().back(), "b and a differ in 2 more options");
}

TEST(Comparison, SaysWhereDefinitionsDiffer) {
  ComparedRun first = weather("a", first_rain, {0, 0, 0}, 5), later = first;
  later.label = "b";
  for (Variable& variable : later.results.groups[0].variables) {
    if (variable.name == "rain" || variable.name == "rain_sum") variable.long_name += ", raw";
  }
  const ResultsGroup group = compared({first, later});
  const std::string said = "; this is the first run's definition, another run has another";
  EXPECT_EQ(group.variable("weather_rain").long_name, "rain by head" + said);
  EXPECT_EQ(group.variable("wetness").long_name, "all rain" + said);
  EXPECT_EQ(group.variable("weather_days").long_name, "rainy days");
}

/// The run with intervals of no value.
ComparedRun without_intervals(ComparedRun run) {
  for (Variable& variable : run.results.groups[0].variables) {
    if (!variable.interval) continue;
    for (Array* const bound : {&variable.interval->low, &variable.interval->high}) {
      std::ranges::fill(bound->values, nan);
    }
  }
  return run;
}

TEST(Comparison, TheShareOfChangedHeadsIsOfThoseWithIntervalsInBothRuns) {
  const ComparedRun first = weather("a", first_rain, {0, 0, 0}, 5),
                    later = weather("b", {9, 2, 3, 10, 20, 30}, {0, 0, 0}, 5);
  EXPECT_THAT(changed_figure({first, later}).panels.at(0).values.values,
              ElementsAre(DoubleEq(1. / 3), 0));
  for (const auto& [a, b] :
       {std::pair(without_intervals(first), later), std::pair(first, without_intervals(later))}) {
    EXPECT_THAT(changed_figure({a, b}).panels.at(0).values.values,
                ElementsAre(testing::IsNan(), testing::IsNan()));
  }
  ComparedRun partly = first;
  partly.results.groups[0].variables[0].interval->low.values[1] = nan;
  EXPECT_THAT(changed_figure({partly, later}).panels.at(0).values.values,
              ElementsAre(DoubleEq(1. / 2), 0));
}

TEST(Comparison, SaysWhichRunsHaveNoIntervals) {
  const std::vector<double> kinds{0, 0, 0};
  const ComparedRun without = without_intervals(weather("c", first_rain, kinds, 5));
  const ComparedRun first = weather("a", first_rain, kinds, 5),
                    same = weather("b", first_rain, kinds, 5);
  const std::vector<std::string> said = lines(compared({first, same, without}));
  EXPECT_EQ(said[1],
            "b differs from a in no measure beyond its interval. No measure has intervals of some "
            "width in both c and a.");
  EXPECT_EQ(said[2],
            "No head differs from a beyond chance (q < 0.05 over all heads and scores); 0 of 6 "
            "values differ beyond their intervals, where chance alone gives up to one of twenty on "
            "average. No score of a head has intervals of some width in both c and a.");
  EXPECT_EQ(lines(compared({without, first}))[2],
            "No score of a head has intervals of some width in both a and c.");
}

TEST(Comparison, IntervalsWithoutWidthAreNoComparison) {
  ComparedRun narrow = weather("a", first_rain, {0, 0, 0}, 5);
  for (Variable& variable : narrow.results.groups[0].variables) {
    if (!variable.interval) continue;
    variable.interval->low.values = variable.interval->high.values = variable.values.values;
  }
  ComparedRun other = narrow;
  other.label = "b";
  const std::vector<std::string> said = lines(compared({narrow, other}));
  EXPECT_EQ(said[1], "No measure has intervals of some width in both b and a.");
  EXPECT_THAT(said[2],
              HasSubstr("No score of a head has intervals of some width in both b and a."));
}

TEST(Comparison, RunsOfOtherShapesShareMeasuresAlone) {
  ComparedRun large = weather("large", first_rain, {0, 0, 0}, 6);
  large.results.groups[0].dimensions.at("layer") = Dimension::count("layer", 3);
  large.results.groups[0].dimensions.at("head") = Dimension::count("head", 1);
  for (Variable& variable : large.results.groups[0].variables) {
    if (variable.dimensions.size() == 2) variable.values.shape = {3, 1};
    if (variable.dimensions.size() == 3) variable.values.shape = {2, 3, 1};
  }
  const Comparison comparison = compare_runs({weather("small", first_rain, {0, 0, 0}, 5), large},
                                             command_line_order, presentations);
  EXPECT_THAT(comparison.notes,
              ElementsAre("large has 3 layers of 1 head, small 1 layer of 3 heads; heads are not "
                          "compared one by one"));
  EXPECT_THAT(values(comparison.group, "wetness"), ElementsAre(5, 6));
  EXPECT_FALSE(comparison.group.has("weather_rain"));
  EXPECT_FALSE(comparison.group.has("type_transition"));
}

TEST(Comparison, SharesOfHeadsThatDifferByAHeadOfUnequalNumbersAreNoChange) {
  const auto said = [](double share, std::size_t n_head, bool is_share_of_heads = true) {
    const auto run = [](const std::string& label, double value, std::size_t n) {
      ComparedRun of_heads =
          weather(label, std::vector<double>(n, 1), std::vector<double>(n), 5, {"spring"});
      Variable& shares = of_heads.results.groups[0].variables.back();
      shares.values.values = {value};
      shares.interval->low.values = {value - 0.001};
      shares.interval->high.values = {value + 0.001};
      return of_heads;
    };
    std::vector<Presentation> counted = presentations;
    counted[0].measures[1].is_share_of_heads = is_share_of_heads;
    Results results;
    results.groups = {
        compare_runs({run("a", 0.25, 20), run("b", share, n_head)}, command_line_order, counted)
            .group};
    return comparison_presentation(counted).describe(results).findings.at(1).text;
  };
  const std::string no_measure = "b differs from a in no measure beyond its interval.",
                    changed = "b differs from a beyond the intervals: wet share, spring, higher.";
  // 5 of 20 heads are nearest to 5 of 19 and to 3 of 10.
  const std::string within = no_measure +
                             " Not counted, since the numbers of heads differ and the "
                             "shares by at most one head: wet share, spring.";
  EXPECT_EQ(said(5.0 / 19, 19), within);
  EXPECT_EQ(said(3.0 / 10, 10), within);
  EXPECT_EQ(said(4.0 / 12, 12), within) << "one head of the smaller model";
  EXPECT_EQ(said(4.0 / 10, 10), changed);
  EXPECT_EQ(said(6.0 / 20, 20), changed) << "one head more of as many";
  EXPECT_EQ(said(5.0 / 19, 19, false), changed);
}

TEST(Comparison, RefusesWhatCannotBeCompared) {
  const ComparedRun run = weather("a", first_rain, {0, 0, 0}, 5);
  EXPECT_EQ(message_of([&] { compare_runs({run}, "", presentations); }),
            "compare: expected at least 2 runs, got 1");
  EXPECT_EQ(message_of([&] {
              compare_runs({run, run}, "", presentations);
            }),
            "compare: expected a different label for each run, got a twice");
  ComparedRun other = weather("b", first_rain, {0, 0, 0}, 5);
  other.results.groups[0].name = "tides";
  EXPECT_EQ(message_of([&] {
              compare_runs({run, other}, "", presentations);
            }),
            "compare: expected runs with something in common, got none: a/results.h5 has weather; "
            "b/results.h5 has tides");
}

TEST(Comparison, IsReadBackWithItsFiguresAndNotComparedAgain) {
  Results results;
  results.groups = {compared(
      {weather("a", first_rain, {0, 1, 2}, 5), weather("b", {1, 2, 0, 13, 20, 30}, {0, 1, 1}, 9)})};
  const TemporaryDirectory folder;
  const std::string path = folder.file("results.h5");
  write_results(results, path);
  const Results read = read_results(path);
  EXPECT_EQ(test::first_difference(results, read), "");
  std::vector<std::string> names;
  for (Figure& figure : comparison_figures(read, comparison_presentation(presentations))) {
    names.push_back(figure.name);
    EXPECT_THAT(write_figure(std::move(figure), folder.file("figures"), {"svg"}).svg,
                HasSubstr("</svg>"));
  }
  EXPECT_THAT(names, ElementsAre("comparison_wetness", "comparison_wet_share",
                                 "comparison_type_transition", "comparison_rank_correlation",
                                 "comparison_changed", "comparison_weather_rain_difference"));
  EXPECT_EQ(message_of([&] { read_compared_run(path, presentations); }),
            path + ": expected the results of a run, got a comparison");
}

TEST(Comparison, FindingsNameWhatChanged) {
  const ResultsGroup group = compared(
      {weather("a", first_rain, {0, 1, 2}, 5), weather("b", {1, 2, 0, 13, 20, 30}, {0, 1, 1}, 9)});
  EXPECT_THAT(
      lines(group),
      ElementsAre(
          "2 runs in the order of the command line: a, b. The second is compared with the "
          "first, a.",
          "b differs from a beyond the intervals: wetness higher.",
          "Scores in which the most heads differ from a (q < 0.05 over all heads and scores): "
          "weather rain, spring (1 of 3 heads in b); weather rain, autumn (1 of 3 heads in b). In "
          "all, 2 of 6 values differ beyond their intervals, where chance alone gives up to one "
          "of twenty on average.",
          "In b 1 of 3 heads has another main type than in a (dry to wet)."));
}

TEST(Comparison, FindingsNameTheScoreOfTheLeastOrderThoughNoPanelShowsIt) {
  std::vector<ComparedRun> runs{weather("a", rain_of_five, five_kinds, 5),
                                weather("b", rain_of_five, five_kinds, 5)};
  const auto add = [&](const char* name, const std::vector<std::vector<double>>& by_run) {
    for (std::size_t run = 0; run < runs.size(); ++run) {
      runs[run].results.groups[0].add({name, "layer head", "1", name}, Array({1, 5}, by_run[run]));
    }
  };
  add("wind", {{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}});
  add("wind_p", {{0.1, 0.2, 0.3, 0.4, 0.5}, {0.5, 0.4, 0.3, 0.2, 0.1}});
  EXPECT_EQ(lines(compared(runs))[3],
            "Scores whose order of heads agrees least with that in a, by Spearman's rho over 5 "
            "heads or more: weather wind (-1 in b).");
}

TEST(Comparison, FindingsNameNoScoreThatOrdersTheHeadsAlike) {
  EXPECT_EQ(lines(compared({weather("a", rain_of_five, five_kinds, 5),
                            weather("b", rain_of_five, five_kinds, 5)}))[3],
            "By every score that 5 heads or more have, the order of heads is that in a.");
}

TEST(Comparison, FindingsSayNothingOfTheOrderOfFourHeads) {
  const ComparedRun first = weather("a", rain_of_five, five_kinds, 5);
  const auto order_line = [&](const ComparedRun& later) {
    return lines(compared({first, later}))[3];
  };
  const ComparedRun four = weather("b", {5, 4, nan, 2, 1, 10, 20, 30, 50, 40}, five_kinds, 5);
  EXPECT_THAT(order_line(four), testing::EndsWith(": weather rain, autumn (0.9 in b)."));
  EXPECT_THAT(order_line(with_removed_heads(four, "L0H1")),
              testing::Not(HasSubstr("order of heads")));
}

TEST(Comparison, FindingsNameNoScoreOfUntrainedModels) {
  std::vector<ComparedRun> runs{weather("a", rain_of_five, five_kinds, 5),
                                weather("b", {9, 2, 3, 4, 5, 10, 20, 30, 40, 50}, five_kinds, 5)};
  for (ComparedRun& run : runs) {
    ResultsGroup control = run.results.groups[0];
    control.name = "control/weather";
    run.results.groups.push_back(std::move(control));
  }
  const ResultsGroup group = compared(runs);
  EXPECT_THAT(values(group, "control_weather_rain_changed"),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_FALSE(group.has("control_weather_rain_changed_q"));
  const std::vector<std::string> said = lines(group);
  EXPECT_THAT(said[2],
              HasSubstr("scores): weather rain, spring (1 of 5 heads in b). In all, 1 of 10 "));
  EXPECT_THAT(said[3], HasSubstr("order of heads"));
  EXPECT_THAT(said[3], testing::Not(HasSubstr("control")));
}

TEST(Comparison, FindingsNameNoNulls) {
  ComparedRun first = weather("a", rain_of_five, five_kinds, 5),
              later = weather("b", {9, 2, 3, 4, 5, 10, 20, 30, 40, 50}, five_kinds, 5);
  for (ComparedRun* const run : {&first, &later}) {
    Variable null = run->results.groups[0].variable("rain");
    null.name = "rain_null";
    run->results.groups[0].add(std::move(null));
  }
  const ResultsGroup group = compared({first, later});
  EXPECT_TRUE(group.has("weather_rain_null_changed"));
  EXPECT_FALSE(group.has("weather_rain_null_changed_q"));
  const std::vector<std::string> said = lines(group);
  EXPECT_THAT(said[2],
              HasSubstr("scores): weather rain, spring (1 of 5 heads in b). In all, 1 of 10 "));
  EXPECT_THAT(said[3], HasSubstr("order of heads"));
  EXPECT_THAT(said[3], testing::Not(HasSubstr("null")));
}

/// The caption of a figure of the runs' comparison.
std::string caption(const std::vector<ComparedRun>& runs, const std::string& figure) {
  Results results;
  results.groups = {compared(runs)};
  const std::vector<Figure> figures =
      comparison_figures(results, comparison_presentation(presentations));
  return std::ranges::find(figures, figure, &Figure::name)->caption;
}

TEST(Comparison, CaptionsSpeakOfIntervalsWhereAnyRunHasOne) {
  const ComparedRun first = weather("a", first_rain, {0, 0, 0}, 5),
                    later = weather("b", first_rain, {0, 0, 0}, 6);
  EXPECT_EQ(caption({first, without_intervals(later)}, "comparison_wetness"),
            "All rain, by run, with 95 % intervals (days resampled).");
  EXPECT_EQ(caption({without_intervals(first), without_intervals(later)}, "comparison_wetness"),
            "All rain, by run.");
}

TEST(Comparison, DifferencesAreDrawnOfTheLabelThatDiffersMost) {
  const std::vector<ComparedRun> runs{weather("a", first_rain, {0, 0, 0}, 5),
                                      weather("b", {1, 2, 3, 10, 20, 36}, {0, 0, 0}, 5)};
  EXPECT_THAT(caption(runs, "comparison_weather_rain_difference"),
              HasSubstr(". Shown is autumn, which differs most."));
  Results results;
  results.groups = {compared(runs)};
  const std::vector<Figure> figures =
      comparison_figures(results, comparison_presentation(presentations));
  const auto drawn =
      std::ranges::find(figures, "comparison_weather_rain_difference", &Figure::name);
  EXPECT_EQ(drawn->title, "Rain, autumn: difference from a");
  EXPECT_THAT(std::get<Heatmap>(drawn->content).panels[0].values.values, ElementsAre(0, 0, 6));
}

}  // namespace
}  // namespace headscope
