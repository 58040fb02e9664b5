#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "files/hdf5_file.hpp"
#include "headscope/ablation.hpp"
#include "headscope/figure.hpp"
#include "headscope/results.hpp"
#include "pair_batches.hpp"
#include "support/golden.hpp"
#include "support/random_weights.hpp"
#include "support/same_results.hpp"
#include "support/shared_data.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/tolerance.hpp"
#include "tasks/results.hpp"
#include "tasks/tasks.hpp"

namespace headscope {
namespace {

using test::TemporaryDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

const std::string data = HEADSCOPE_PROJECT_DIR "/data/";

/// Results of a run of the analysis alone on these lines.
Results run_tasks(const std::string& model, const std::vector<std::string>& lines,
                  const std::vector<std::string>& more = {}) {
  const TemporaryDirectory folder;
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  test::write_file(folder.file("tasks.jsonl"), text);
  std::vector<std::string> arguments{
      "run",        "--model", model,     "--tasks",  folder.file("tasks.jsonl"),
      "--analyses", "tasks",   "--quiet", "--output", folder.file("out")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const test::Finished finished = test::run_headscope_without_gnuplot(arguments);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  return read_results(folder.file("out/results.h5"));
}

TEST(PairBatches, HoldConsecutivePairsOfOneTaskUpToAWidth) {
  const TaskPair pair{TokenIds(300, 1), TokenIds(301, 1), 300},
      longer{TokenIds(900, 1), TokenIds(900, 2), 1};
  const std::vector<PairBatch> batches = pair_batches({{"a", "", {pair, pair, pair, pair}, 0, 0},
                                                       {"none", "", {}, 0, 0},
                                                       {"b", "", {longer, pair}, 0, 0}});
  std::vector<std::vector<std::size_t>> got;
  for (const PairBatch& batch : batches) got.push_back({batch.task, batch.first, batch.count});
  EXPECT_THAT(got, ElementsAre(ElementsAre(0, 0, 3), ElementsAre(0, 3, 1), ElementsAre(2, 0, 1),
                               ElementsAre(2, 1, 1)));
}

TEST(PairMargins, AreTheGoodSidesLogProbabilityMinusTheBadSides) {
  const Task task{"a", "", {{{0, 1, 2}, {0, 3}, 1}, {{0, 4}, {0, 5, 6}, 1}}, 0, 0};
  EXPECT_THAT(margins_of(task, {0, 0, 2}, {1, 2, 10, 4, 100, 200}), ElementsAre(7, 296));
  EXPECT_THAT(margins_of(task, {0, 1, 1}, {4, 100, 200}), ElementsAre(296));
}

/// What makes equal pairs differ: intervals without width show nothing. Adds up to 0.
double noise_of(std::size_t pair) {
  constexpr double size = 0x1p-30;
  return pair > 1 ? 0 : pair == 0 ? size : -size;
}

/// Statistics of one task of four pairs and a model of one layer of two heads. Without head 0 the
/// margins change by `changes`; head 1 changes nothing.
Statistics example_statistics(const std::vector<double>& margins,
                              const std::vector<double>& changes) {
  Statistics statistics;
  DocumentStatistics batch(statistics, 0);
  const TaskSums names(0);
  for (std::size_t i = 0; i < margins.size(); ++i) {
    batch.sum(names.n_pair, {n_document_block})(i) = 1;
    batch.sum(names.margin, {n_document_block})(i) = margins[i] + noise_of(i);
    batch.sum(names.correct, {n_document_block})(i) = margins[i] > 0 ? 1 : 0;
    for (std::size_t ablation = 0; ablation < 2; ++ablation) {
      batch.sum(names.margin_change, {n_document_block, 2, 1, 2})(i, ablation, 0, 0) = changes[i];
      batch.sum(names.squared_change, {2, 1, 2})(ablation, 0, 0) += changes[i] * changes[i];
      batch.sum(names.correct_change, {2, 1, 2})(ablation, 0, 0) +=
          (margins[i] + changes[i] > 0 ? 1 : 0) - (margins[i] > 0 ? 1 : 0);
    }
  }
  batch.sum(names.first_order, {1, 2}).values = {-8, 0};
  // All pairs but the first differ after their first word.
  for (std::size_t i = 1; i < margins.size(); ++i) {
    batch.sum(names.n_direct_effect, {n_document_block})(i) = 1;
    batch.sum(names.direct_effect, {n_document_block, 1, 2})(i, 0, 0) = 2;
    batch.sum(names.direct_effect, {n_document_block, 1, 2})(i, 0, 1) = 1;
    batch.sum(names.difference_change, {n_document_block, 1, 2})(i, 0, 0) = changes[i];
  }
  batch.end();
  return statistics;
}

ModelConfig example_config() {
  return test::config_of({.n_layer = 1, .n_head = 2});
}

/// The values six times over.
std::vector<double> repeated(const std::vector<double>& values) {
  std::vector<double> all;
  for (int i = 0; i < 6; ++i) all.insert(all.end(), values.begin(), values.end());
  return all;
}

TEST(TasksResults, OfAnExampleByHand) {
  const std::vector<Task> tasks{{"agreement", "nsubj", {}, 2, 1}};
  const ResultsGroup group = tasks_results(example_statistics({4, 2, -1, 3}, {-3, -4, -2, -3}),
                                           tasks, example_config(), {});
  EXPECT_EQ(group.variable("n_pair").values(0), 4);
  EXPECT_EQ(group.variable("n_same").values(0), 2);
  EXPECT_EQ(group.variable("n_too_long").values(0), 1);
  EXPECT_EQ(group.variable("accuracy").values(0), 0.75);
  EXPECT_EQ(group.variable("margin").values(0), 2);
  EXPECT_EQ(group.variable("margin_change").values(0, 0, 0, 0), -3);
  EXPECT_EQ(group.variable("margin_change").values(0, 0, 0, 1), 0);
  // scipy.stats.ttest_1samp([-3, -4, -2, -3], 0).pvalue, to five digits
  EXPECT_NEAR(group.variable("margin_change_p").values(0, 0, 0, 0), 0.0052079, 1e-7);
  EXPECT_EQ(group.variable("margin_change_p").values(0, 0, 0, 1), 1);
  EXPECT_NEAR(group.variable("margin_change_q").values(0, 0, 0, 0), 2 * 0.0052079, 2e-7);
  // Of three pairs won, only the one with 4 - 3 is won without the head.
  EXPECT_EQ(group.variable("accuracy_change").values(0, 0, 0, 0), -0.5);
  EXPECT_EQ(group.variable("margin_change_first_order").values(0, 0, 0), -2);
  EXPECT_EQ(group.variable("direct_effect").values(0, 0, 0), 2);
  EXPECT_EQ(group.variable("n_pair_direct").values(0), 3);
  // 2 logits directly, and a change by -4, -2 and -3.
  EXPECT_EQ(group.variable("self_repair").values(0, 0, 0), -1);
  EXPECT_EQ(group.variable("self_repair").values(0, 0, 1), 1);
  EXPECT_THAT(needed_heads(group, 0), ElementsAre()) << "too few pairs for an interval";
  EXPECT_THAT(group.summary, HasSubstr("agreement: too few pairs to tell (4)."));
  EXPECT_THAT(group.summary, HasSubstr("2 pairs whose sides have the same tokens"));
  EXPECT_THAT(group.summary, HasSubstr("1 pair longer than the context"));
}

// Without the floor of float32's rounding, changes of 1e-9 of the margin that vary as little would
// be significant.
TEST(TasksResults, AChangeBelowTheRoundingOfTheMarginIsNotSignificant) {
  const auto p_of = [](double change) {
    std::vector<double> changes;
    for (int i = 0; i < 24; ++i) changes.push_back(change * (i % 2 == 0 ? 0.9 : 1.1));
    return tasks_results(example_statistics(repeated({4, 2, 1, 3}), changes),
                         {{"agreement", "", {}, 0, 0}}, example_config(), {})
        .values("margin_change_p")(0, 0, 0, 0);
  };
  EXPECT_GT(p_of(-2.5e-9), 0.9);
  EXPECT_LT(p_of(-2.5e-5), 1e-9);
}

TEST(TasksResults, ATaskWithoutPairsHasNoNumbers) {
  const ResultsGroup group = tasks_results({}, {{"empty", "", {}, 3, 0}}, example_config(), {});
  EXPECT_EQ(group.variable("n_pair").values(0), 0);
  for (const char* name : {"accuracy", "margin", "margin_change", "margin_change_q",
                           "direct_effect", "first_order_correlation"}) {
    EXPECT_TRUE(std::isnan(group.variable(name).values.values[0])) << name;
  }
  EXPECT_THAT(group.summary, HasSubstr("empty: no pair."));
}

TEST(TasksResults, AHeadIsNeededOfATaskThatTheModelCanDo) {
  const ResultsGroup group =
      tasks_results(example_statistics(repeated({4, 2, 1, 3}), repeated({-1, -1, -0.5, -1.5})),
                    {{"agreement", "", {}, 0, 0}}, example_config(), {});
  EXPECT_EQ(group.variable("has_margin").values(0), 1);
  for (std::size_t ablation = 0; ablation < n_task_ablation; ++ablation) {
    const Array share = group.variable("share_lost").values.part(ablation);
    EXPECT_NEAR(share(0, 0, 0), 0.4, test::double_rounding);
    EXPECT_TRUE(std::isnan(share(0, 0, 1)));
  }
  EXPECT_THAT(needed_heads(group, 0), ElementsAre(0));
  EXPECT_THAT(group.summary, HasSubstr("agreement (margin 2.5 nats, interval"));
  EXPECT_THAT(group.summary, HasSubstr("): L0H0 (40 %, 40 %)."));
}

/// Zero ablation of heads 0, 1 and 2 loses 1.5, 1 and 2 nats, mean ablation 0.5, 0.8 and 0.2, of a
/// margin of 2.5; a little differs between pairs.
Statistics statistics_of_three_heads(double margin) {
  Statistics statistics;
  DocumentStatistics batch(statistics, 0);
  const TaskSums names(0);
  const std::vector<double> lost{1.5, 1, 2, 0.5, 0.8, 0.2};
  for (std::size_t i = 0; i < 24; ++i) {
    batch.sum(names.n_pair, {n_document_block})(i) = 1;
    batch.sum(names.margin, {n_document_block})(i) = margin + noise_of(i);
    batch.sum(names.correct, {n_document_block})(i) = 1;
    for (std::size_t variant = 0; variant < lost.size(); ++variant) {
      const double change = -lost[variant] * (i % 2 == 0 ? 0.9 : 1.1);
      batch.sum(names.margin_change, {n_document_block, 2, 1, 3}).values[i * 6 + variant] = change;
      batch.sum(names.squared_change, {2, 1, 3}).values[variant] += change * change;
    }
  }
  batch.sum(names.correct_change, {2, 1, 3});
  batch.sum(names.first_order, {1, 3});
  batch.sum(names.n_direct_effect, {n_document_block});
  batch.sum(names.direct_effect, {n_document_block, 1, 3});
  batch.sum(names.difference_change, {n_document_block, 1, 3});
  batch.end();
  return statistics;
}

// Shares: 60 and 20 %, 40 and 32 %, 80 and 8 %.
TEST(TasksResults, HeadsAreRankedByTheSmallerShareAndListedWhereBothReachATenth) {
  const ModelConfig config = test::config_of({.n_layer = 1, .n_head = 3});
  const ResultsGroup group =
      tasks_results(statistics_of_three_heads(2.5), {{"agreement", "", {}, 0, 0}}, config, {});
  EXPECT_THAT(needed_heads(group, 0), ElementsAre(1, 0));
  EXPECT_EQ(needed_text(group, 0), "L0H1 (40 %, 32 %), L0H0 (60 %, 20 %)");
  EXPECT_NEAR(group.variable("share_lost_least").values(0, 0, 2), 0.08, test::double_rounding);
}

TEST(TasksResults, RemovedHeadsAreNotTestedAndHaveNoRank) {
  Statistics statistics = statistics_of_three_heads(2.5);
  DocumentStatistics batch(statistics, 1);
  batch.sum(TaskSums(0).first_order, {1, 3}).values = {-20, -10, -30};
  batch.end();
  const std::vector<Task> tasks{{"agreement", "", {}, 0, 0}};
  ModelConfig config = test::config_of({.n_layer = 1, .n_head = 3});
  const ResultsGroup complete = tasks_results(statistics, tasks, config, {});
  config.pruned_heads = {{0, 2}};
  const ResultsGroup pruned = tasks_results(statistics, tasks, config, {});
  for (const char* const name : {"margin_change_p", "margin_change_q", "share_lost"}) {
    for (std::size_t ablation = 0; ablation < n_task_ablation; ++ablation) {
      EXPECT_TRUE(std::isnan(pruned.values(name)(ablation, 0, 0, 2))) << name;
      EXPECT_FALSE(std::isnan(complete.values(name)(ablation, 0, 0, 2))) << name;
    }
  }
  // Three tests of the same t, and two.
  const Array &p = pruned.values("margin_change_p"), &q = pruned.values("margin_change_q");
  EXPECT_DOUBLE_EQ(q(0, 0, 0, 0), std::max(p(0, 0, 0, 0), p(0, 0, 0, 1)));
  EXPECT_EQ(needed_text(pruned, 0), "L0H1 (40 %, 32 %), L0H0 (60 %, 20 %)");
  EXPECT_DOUBLE_EQ(complete.scalar("first_order_correlation"), 1);
  EXPECT_DOUBLE_EQ(pruned.scalar("first_order_correlation"), 1);
  config.pruned_heads = {{0, 0}, {0, 1}};
  EXPECT_TRUE(
      std::isnan(tasks_results(statistics, tasks, config, {}).scalar("first_order_correlation")))
      << "of one head";
}

const Figure* figure_of(const std::vector<Figure>& figures, const std::string& name) {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  return found == figures.end() ? nullptr : &*found;
}

TEST(TasksFigures, ShowSharesOfTheMarginOfTasksThatTheModelIsShownToDo) {
  const ModelConfig config = test::config_of({.n_layer = 1, .n_head = 3});
  Results results;
  results.groups.push_back(
      tasks_results(statistics_of_three_heads(2.5), {{"agreement", "", {}, 0, 0}}, config, {}));
  const std::vector<Figure> figures = tasks_figures(results);
  const auto& map = std::get<Heatmap>(figure_of(figures, "tasks_heads")->content);
  ASSERT_EQ(map.panels.size(), 2U);
  EXPECT_NEAR(map.panels[0].values(0, 2), 0.8, test::double_rounding) << "lost";
  EXPECT_NEAR(map.panels[1].values(0, 2), 0.08, test::double_rounding);
  const auto& chart = std::get<Chart>(figure_of(figures, "tasks_best_heads")->content);
  EXPECT_THAT(chart.panels.at(0).x_labels, ElementsAre("L0H1", "L0H0", "L0H2"));
  EXPECT_NEAR(chart.panels[0].series[1].y[0], 0.32, test::double_rounding);

  results.attributes["pruned_heads"] = std::string("L0H2");
  const std::vector<Figure> of_two = tasks_figures(results);
  const auto& left = std::get<Heatmap>(figure_of(of_two, "tasks_heads")->content);
  EXPECT_TRUE(std::isnan(left.panels[0].values(0, 2))) << "a removed head";
  EXPECT_EQ(left.panels[0].values(0, 1), map.panels[0].values(0, 1));

  // The effects are significant all the same.
  results.groups[0] =
      tasks_results(statistics_of_three_heads(-2.5), {{"agreement", "", {}, 0, 0}}, config, {});
  EXPECT_LT(results.groups[0].variable("margin_change_q").values(0, 0, 0, 0), significant_q);
  EXPECT_EQ(figure_of(tasks_figures(results), "tasks_heads"), nullptr);
}

/// Two layers of two heads. Head 0 writes 2 logits and its ablation loses 0.5; without it head 2
/// writes 1 logit more, head 3 as often more as less. Head 1 is before head 2, too.
Statistics statistics_of_a_backup(double lost) {
  Statistics statistics;
  DocumentStatistics batch(statistics, 0);
  const TaskSums names(0);
  for (std::size_t i = 0; i < 24; ++i) {
    const double noise = i % 2 == 0 ? 0.1 : -0.1;
    batch.sum(names.n_pair, {n_document_block})(i) = 1;
    batch.sum(names.margin, {n_document_block})(i) = 3 + noise_of(i);
    batch.sum(names.correct, {n_document_block})(i) = 1;
    batch.sum(names.n_direct_effect, {n_document_block})(i) = 1;
    batch.sum(names.direct_effect, {n_document_block, 2, 2})(i, 0, 0) = 2 + noise;
    batch.sum(names.difference_change, {n_document_block, 2, 2})(i, 0, 0) = -lost + noise_of(i);
    Array& backup = batch.sum(names.backup_change, {n_document_block, 1, 4});
    backup(i, 0, 1) = 7;
    backup(i, 0, 2) = 1 + noise;
    backup(i, 0, 3) = noise;
    batch.sum(names.squared_backup, {1, 4})(0, 2) += (1 + noise) * (1 + noise);
    batch.sum(names.squared_backup, {1, 4})(0, 3) += noise * noise;
  }
  batch.sum(names.margin_change, {n_document_block, 2, 2, 2});
  for (const std::string* name : {&names.squared_change, &names.correct_change}) {
    batch.sum(*name, {2, 2, 2});
  }
  batch.sum(names.first_order, {2, 2});
  batch.end();
  return statistics;
}

TEST(TasksResults, BackupHeadsAreLaterOnesThatWriteMoreWithoutAHeadWithRepair) {
  const ModelConfig config = test::config_of({.n_layer = 2, .n_head = 2});
  const std::vector<Task> tasks{{"agreement", "", {}, 0, 0}};
  const Statistics statistics = statistics_of_a_backup(0.5);
  EXPECT_THAT(repaired_heads(statistics, 0, config, {}), ElementsAre(0));
  const ResultsGroup group = tasks_results(statistics, tasks, config, {});
  EXPECT_NEAR(group.variable("self_repair").values(0, 0, 0), 1.5, test::double_rounding);
  const Array& change = group.variable("backup_change").values;
  EXPECT_TRUE(std::isnan(change(0, 0, 1))) << "of the same layer";
  EXPECT_NEAR(change(0, 0, 2), 1, test::double_rounding);
  EXPECT_NEAR(change(0, 0, 3), 0, test::double_rounding);
  EXPECT_GT(group.variable("backup_change_q").values(0, 0, 3), 0.5);
  EXPECT_THAT(backup_heads(group, 0, 0), ElementsAre(2));
  EXPECT_THAT(group.summary,
              HasSubstr("agreement: L0H0 (direct effect 2 logits, self-repair 1.5; L1H0 +1)."));
  EXPECT_TRUE(is_made_up_for(group, 0, 0));
  EXPECT_FALSE(is_made_up_for(group, 0, 1)) << "without a direct effect";
  // All that the head writes is lost, and more.
  EXPECT_THAT(repaired_heads(statistics_of_a_backup(2.5), 0, config, {}), ElementsAre());
}

TEST(TasksResults, NothingMakesUpForAHeadOfNoSizeBesideTheMargin) {
  const ModelConfig config = test::config_of({.n_layer = 2, .n_head = 2});
  const ResultsGroup group =
      tasks_results(statistics_of_a_backup(0.5), {{"agreement", "", {}, 0, 0}}, config, {});
  const auto with = [&](const char* name, double value) {
    ResultsGroup changed = group;
    Variable& variable = *std::ranges::find(changed.variables, name, &Variable::name);
    variable.values.values[0] = value;
    variable.interval->low.values[0] = 0.9 * value;
    variable.interval->high.values[0] = 1.1 * value;
    return is_made_up_for(changed, 0, 0);
  };
  const double least = 0.01 * group.values("margin")(0);
  for (const char* const name : {"direct_effect", "self_repair"}) {
    EXPECT_TRUE(with(name, 1.01 * least)) << name;
    EXPECT_FALSE(with(name, 0.99 * least)) << name;
  }
}

TEST(TasksResults, RemovedHeadsAreNotTestedForBackup) {
  ModelConfig config = test::config_of({.n_layer = 2, .n_head = 2});
  const std::vector<Task> tasks{{"agreement", "", {}, 0, 0}};
  const auto q_of = [&] {
    return tasks_results(statistics_of_a_backup(0.5), tasks, config, {}).values("backup_change_q");
  };
  const double of_two = q_of()(0, 0, 2);
  config.pruned_heads = {{1, 1}};
  EXPECT_NEAR(q_of()(0, 0, 2) / of_two, 0.5, test::double_rounding);
  EXPECT_TRUE(std::isnan(q_of()(0, 0, 3)));
}

TEST(TasksResults, ABackupBelowTheRoundingOfTheMarginIsNotSignificant) {
  Statistics statistics = statistics_of_a_backup(0.5);
  DocumentStatistics batch(statistics, 1);
  const TaskSums names(0);
  for (std::size_t i = 0; i < 24; ++i) {
    const double noise = i % 2 == 0 ? 0.1 : -0.1, growth = i % 2 == 0 ? 2e-9 : 3e-9;
    batch.sum(names.backup_change, {n_document_block, 1, 4})(i, 0, 3) = growth - noise;
    batch.sum(names.squared_backup, {1, 4})(0, 3) += growth * growth - noise * noise;
  }
  batch.end();
  const ResultsGroup group = tasks_results(statistics, {{"agreement", "", {}, 0, 0}},
                                           test::config_of({.n_layer = 2, .n_head = 2}), {});
  EXPECT_NEAR(group.values("backup_change")(0, 0, 3), 2.5e-9, 1e-12);
  EXPECT_GT(group.values("backup_change_q")(0, 0, 3), 0.9);
}

TEST(TasksResults, AHeadThatMeanAblationDoesNotFindIsNotNeeded) {
  Statistics statistics =
      example_statistics(repeated({4, 2, 1, 3}), repeated({-1, -1, -0.5, -1.5}));
  // By mean ablation the margins change as much in both directions.
  DocumentStatistics batch(statistics, 1);
  for (std::size_t i = 0; i < 24; ++i) {
    batch.sum(TaskSums(0).margin_change, {n_document_block, 2, 1, 2})(i, 1, 0, 0) = 1;
  }
  batch.end();
  const ResultsGroup group =
      tasks_results(statistics, {{"agreement", "", {}, 0, 0}}, example_config(), {});
  EXPECT_LT(group.variable("margin_change_q").values(0, 0, 0, 0), significant_q);
  EXPECT_GT(group.variable("margin_change_q").values(1, 0, 0, 0), significant_q);
  EXPECT_EQ(group.variable("has_margin").values(0), 1);
  EXPECT_THAT(needed_heads(group, 0), ElementsAre());
}

TEST(TasksResults, AccuracyHasAnIntervalWhereEveryPairIsRight) {
  const ResultsGroup group =
      tasks_results(example_statistics(std::vector<double>(24, 10), repeated({-3, -4, -2, -3})),
                    {{"agreement", "", {}, 0, 0}}, example_config(), {});
  const Estimate accuracy = group.variable("accuracy").estimate(0);
  EXPECT_EQ(accuracy.value, 1);
  EXPECT_EQ(accuracy.high, 1);
  EXPECT_NEAR(accuracy.low, 24 / (24 + 1.959964 * 1.959964), 1e-6);  // seven digits of 1.96
}

TEST(TasksResults, WithoutResamplesThereIsNoIntervalToTellBy) {
  AnalysisSettings settings;
  settings.n_bootstrap = 0;
  const ResultsGroup group =
      tasks_results(example_statistics(std::vector<double>(24, 2), std::vector<double>(24, -1)),
                    {{"agreement", "", {}, 0, 0}}, example_config(), settings);
  EXPECT_EQ(needed_text(group, 0), "no interval to tell by (--bootstrap is below 20)");
}

// Thirteen of 24 right: the interval of accuracy holds one half, though that of the margin is above
// 0 and both ablations find the head.
TEST(TasksResults, NoHeadIsNeededOfATaskAtChance) {
  std::vector<double> margins(24, 10);
  std::fill(margins.begin(), margins.begin() + 11, -1);
  const ResultsGroup group = tasks_results(example_statistics(margins, repeated({-3, -4, -2, -3})),
                                           {{"agreement", "", {}, 0, 0}}, example_config(), {});
  EXPECT_GT(group.variable("margin").estimate(0).low, 0);
  EXPECT_LT(group.variable("accuracy").estimate(0).low, 0.5);
  EXPECT_LT(group.variable("margin_change_q").values(1, 0, 0, 0), significant_q);
  EXPECT_EQ(group.variable("has_margin").values(0), 0);
  EXPECT_THAT(needed_heads(group, 0), ElementsAre());
  EXPECT_THAT(group.summary,
              HasSubstr("agreement: the model is not shown to do this task with 24 pairs."));
}

TEST(TasksResults, TheTableGivesAnIntervalWhereThereIsOne) {
  const auto margin_of = [](std::size_t n_pair, double margin = 2) {
    Results results;
    results.groups.push_back(tasks_results(
        example_statistics(std::vector<double>(n_pair, margin), std::vector<double>(n_pair, -1)),
        {{"agreement", "", {}, 0, 0}}, example_config(), {}));
    return tasks_presentation().describe(results).tasks.rows.at(0).cells.at(1);
  };
  EXPECT_EQ(margin_of(2), "2");
  EXPECT_EQ(margin_of(24), "2 [2, 2]");
  EXPECT_EQ(margin_of(24, 123.6), "124 [124, 124]") << "no power of ten";
}

TEST(TasksResults, TheSentenceNamesEveryHeadThatMostTasksNeed) {
  const auto found = [](const Statistics& statistics, const ModelConfig& config) {
    Results results;
    results.groups.push_back(tasks_results(statistics, {{"agreement", "", {}, 0, 0}}, config, {}));
    return tasks_presentation().describe(results).found;
  };
  EXPECT_EQ(found(example_statistics(repeated({4, 2, 1, 3}), repeated({-1, -1, -0.5, -1.5})),
                  example_config()),
            "The model is shown to do 1 of 1 task; L0H0 is needed by 1 task, more than any other "
            "head.");
  EXPECT_EQ(found(statistics_of_three_heads(2.5), test::config_of({.n_layer = 1, .n_head = 3})),
            "The model is shown to do 1 of 1 task; L0H0, L0H1 are each needed by 1 task, more than "
            "any other head.");
}

TEST(TasksResults, CopiesOfOnePairShowNothing) {
  Statistics statistics =
      example_statistics(std::vector<double>(24, 2), std::vector<double>(24, -1));
  DocumentStatistics batch(statistics, 1);
  for (const std::size_t pair : {0, 1}) {
    batch.sum(TaskSums(0).margin, {n_document_block})(pair) = -noise_of(pair);
  }
  batch.end();
  const ResultsGroup group =
      tasks_results(statistics, {{"agreement", "", {}, 0, 0}}, example_config(), {});
  EXPECT_EQ(group.variable("margin").estimate(0).low, group.variable("margin").estimate(0).high);
  EXPECT_EQ(group.values("has_margin")(0), 0);
  EXPECT_THAT(needed_heads(group, 0), ElementsAre());
}

TEST(TasksResults, NoHeadIsNeededWhereTheModelFails) {
  const ResultsGroup group =
      tasks_results(example_statistics(repeated({-4, -2, -1, -3}), repeated({-3, -4, -2, -3})),
                    {{"agreement", "", {}, 0, 0}}, example_config(), {});
  EXPECT_LT(group.variable("margin_change_q").values(0, 0, 0, 0), significant_q);
  EXPECT_THAT(needed_heads(group, 0), ElementsAre());
}

/// Groups `tasks` and `classification` of a model with two layers of four heads: every head in
/// `looks` finds nsubj, and the task about it loses 1 nat without each head in `needed`.
Results looking_and_needed(const std::vector<Index>& looks, const std::vector<Index>& needed) {
  const auto flags = [](const std::vector<Index>& units, double set, double unset) {
    std::vector<double> values(8, unset);
    for (const Index head_index : units) values[head_index] = set;
    return values;
  };
  Results results;
  ResultsGroup classification, tasks;
  classification.name = "classification";
  for (ResultsGroup* group : {&classification, &tasks}) {
    group->add_dimension(Dimension::count("layer", 2));
    group->add_dimension(Dimension::count("head", 4));
  }
  classification.add_dimension(Dimension::labels("relation", {"det", "nsubj"}));
  classification.add_dimension(Dimension::labels("direction", {"dependent_to_head"}));
  const auto add = [&](const char* name, const std::vector<double>& of_nsubj, double of_det) {
    std::vector<double> values(of_nsubj.size(), of_det);
    values.insert(values.end(), of_nsubj.begin(), of_nsubj.end());
    const bool by_head = of_nsubj.size() == 8;
    classification.add({name,
                        by_head ? std::vector<std::string>{"relation", "direction", "layer", "head"}
                                : std::vector<std::string>{"relation", "direction"},
                        "1", "x", "x"},
                       Array(by_head ? Shape{2, 1, 2, 4} : Shape{2, 1}, values));
  };
  add("relation_passed", flags(looks, 1, 0), 1);
  tasks.name = "tasks";
  tasks.add_dimension(Dimension::labels("ablation", {"zero", "mean"}));
  tasks.add_dimension(Dimension::labels("task", {"agreement"}));
  std::vector<double> change = flags(needed, -1, 0);
  change.resize(16, 0);
  tasks.add({"margin_change", "ablation task layer head", "1", "x", "x"},
            Array({2, 1, 2, 4}, change));
  tasks.add({"has_margin", "task", "1", "x", "x", "", Variable::Type::flag, {"no", "yes"}},
            Array({1}, 1));
  tasks.add({"relation", "task", "1", "x", "x"}, {"nsubj"});
  results.groups = {classification, tasks};
  return results;
}

TEST(LooksDoesClaim, HoldsWhereTheHeadsThatLookAreThoseThatTheTaskNeeds) {
  const Results same = looking_and_needed({1, 6}, {1, 6});
  const auto claim = relation_heads_claim(same.group("tasks"), same, {});
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->number, 11);
  EXPECT_DOUBLE_EQ(claim->effect.value, 1);
  EXPECT_THAT(claim->evidence, HasSubstr("agreement: L0H1, L1H2."));
  // One of 16 ways to mark a head of each layer is as good: more than 2.5 %.
  EXPECT_EQ(claim->verdict, Verdict::undecided);

  const Results other = looking_and_needed({1, 6}, {0, 7});
  EXPECT_NEAR(relation_heads_claim(other.group("tasks"), other, {})->effect.value, -1.0 / 3,
              test::double_rounding);

  const Results more = looking_and_needed({0, 1, 6, 7}, {0, 1, 6, 7});
  // One of 36.
  const auto clear = relation_heads_claim(more.group("tasks"), more, {});
  EXPECT_DOUBLE_EQ(clear->effect.value, 1);
  EXPECT_GE(clear->effect.low, 0);
}

// Permuted apart, three tasks of one relation would look like three times the evidence: one of 64
// ways of marking would be as good.
TEST(LooksDoesClaim, TasksOfOneRelationArePermutedTogether) {
  Results results = looking_and_needed({1}, {1});
  ResultsGroup& tasks = results.group("tasks");
  ResultsGroup three;
  three.name = "tasks";
  for (const char* const name : {"layer", "head", "ablation"}) {
    three.add_dimension(tasks.dimensions.at(name));
  }
  three.add_dimension(Dimension::labels("task", {"a", "b", "c"}));
  Array change({2, 3, 2, 4});
  for (std::size_t task = 0; task < 3; ++task) change(0, task, 0, 1) = -1;
  three.add({"margin_change", "ablation task layer head", "1", "x", "x"}, change);
  three.add({"has_margin", "task", "1", "x", "x", "", Variable::Type::flag, {"no", "yes"}},
            Array({3}, 1));
  three.add({"relation", "task", "1", "x", "x"}, {"nsubj", "nsubj", "nsubj"});
  tasks = three;
  const auto claim = relation_heads_claim(tasks, results, {});
  EXPECT_DOUBLE_EQ(claim->effect.value, 1);
  EXPECT_EQ(claim->verdict, Verdict::undecided) << "one of four ways";
  EXPECT_LE(claim->effect.low, 0);
}

TEST(LooksDoesClaim, LayersWhereAllHeadsLookSayNothing) {
  const Results results = looking_and_needed({0, 1, 2, 3, 6}, {0, 6});
  EXPECT_DOUBLE_EQ(relation_heads_claim(results.group("tasks"), results, {})->effect.value, 1);
}

// Layer 0 loses 2 nats without L0H0, which looks, and 1 without L0H1; its other heads are removed.
TEST(LooksDoesClaim, RemovedHeadsAreNoHeadsToCompareWith) {
  Results results = looking_and_needed({0}, {0, 1});
  for (Variable& variable : results.group("tasks").variables) {
    if (variable.name == "margin_change") variable.values(0, 0, 0, 0) = -2;
  }
  const auto claim = [&](const std::string& removed) {
    results.attributes["pruned_heads"] = removed;
    return *relation_heads_claim(results.group("tasks"), results, {});
  };
  EXPECT_DOUBLE_EQ(claim("").effect.value, 2 - 1.0 / 3);
  const Claim pruned = claim("L0H2,L0H3");
  EXPECT_DOUBLE_EQ(pruned.effect.value, 1);
  // Marks lie on L0H0 or L0H1: the difference is 1 or -1, by chance as often.
  EXPECT_DOUBLE_EQ(pruned.effect.low, 0);
  EXPECT_DOUBLE_EQ(pruned.effect.high, 2);
  EXPECT_EQ(claim("L0H1,L0H2,L0H3").evidence,
            "Cannot be told: no layer has heads that attend along a relation of the tasks and "
            "heads that do not.");
}

TEST(LooksDoesClaim, IsUndecidedWithoutHeadsThatLook) {
  Results results = looking_and_needed({}, {1});
  const auto none = relation_heads_claim(results.group("tasks"), results, {});
  EXPECT_EQ(none->verdict, Verdict::undecided);
  EXPECT_EQ(none->evidence,
            "Cannot be told: no layer has heads that attend along a relation of the tasks and "
            "heads that do not.");
  results.groups.erase(results.groups.begin());
  const auto alone = relation_heads_claim(results.group("tasks"), results, {});
  EXPECT_THAT(alone->evidence, HasSubstr("no relation of a task that the model is shown to do"));
}

/// A model in which one head, L1H1, attends to all tokens alike and adds their codes to the stream,
/// so that tokens of the context become likelier. The other heads are random and write where
/// nothing reads.
Model model_with_one_copying_head() {
  ModelConfig config = test::config_of(
      {.n_layer = 2, .n_head = 2, .d_model = 128, .d_mlp = 8, .n_ctx = 32, .d_vocab = 2560});
  const Index d = config.d_model, d_head = config.d_head(), n_code = d / 2;
  test::Normal random(51);
  Model model;
  model.config = config;
  model.W_E = arma::join_cols(arma::sign(random.matrix(n_code, config.d_vocab)),
                              Matrix(d - n_code, config.d_vocab, arma::fill::zeros));
  model.W_P.zeros(d, config.n_ctx);
  for (Index l = 0; l < config.n_layer; ++l) {
    LayerWeights layer;
    layer.ln_1_gain.ones(d);
    layer.ln_1_bias.zeros(d);
    layer.W_QKV = random.matrix(3 * d, d, 0.1F);
    layer.b_QKV.zeros(3 * d);
    layer.W_O.zeros(d, d);
    layer.W_O.tail_rows(d - n_code) = random.matrix(d - n_code, d, 0.005F);
    layer.b_O.zeros(d);
    layer.ln_2_gain.ones(d);
    layer.ln_2_bias.zeros(d);
    layer.W_in.zeros(config.d_mlp, d);
    layer.b_in.zeros(config.d_mlp);
    layer.W_out.zeros(d, config.d_mlp);
    layer.b_out.zeros(d);
    model.layers.push_back(layer);
  }
  LayerWeights& last = model.layers.back();
  last.W_QKV.rows(d_head, 2 * d_head - 1).zeros();
  last.W_QKV.rows(d + d_head, d + 2 * d_head - 1).zeros();
  last.W_QKV.rows(2 * d + d_head, 2 * d + 2 * d_head - 1) = arma::eye<Matrix>(d_head, d);
  last.W_O.cols(d_head, 2 * d_head - 1) = arma::eye<Matrix>(d, d_head);
  model.ln_f_gain =
      arma::join_cols(Vector(n_code, arma::fill::ones), Vector(d - n_code, arma::fill::zeros));
  model.ln_f_bias.zeros(d);
  return model;
}

TEST(TasksAnalysis, FindsTheOneHeadThatWasPlanted) {
  const Tokenizer tokenizer = Tokenizer::from_directory(data + "tokenizer");
  const std::vector<std::string> words{" box",  " king",  " garden", " water", " table", " door",
                                       " boat", " river", " house",  " bird",  " horse", " window"};
  for (const std::string& word : words) ASSERT_EQ(tokenizer.encode(word).ids.size(), 1U) << word;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 60; ++i) {
    const auto word = [&](std::size_t k) { return words[(i + k * (1 + 4 * (i / 12 % 3))) % 12]; };
    nlohmann::json pair{{"task", "said before"}, {"good", word(i % 2)}, {"bad", word(4 + i % 3)}};
    pair["prefix"] = word(0) + word(1) + word(2) + word(3);
    lines.push_back(pair.dump());
  }
  const TemporaryDirectory folder;
  save_model(model_with_one_copying_head(), folder.file("model.h5"));
  const Results results =
      run_tasks(folder.file("model.h5"), lines, {"--tokenizer", data + "tokenizer"});
  const ResultsGroup& group = results.group("tasks");
  const Index planted = 1 * 2 + 1;
  EXPECT_GT(group.variable("accuracy").values(0), 0.7);
  EXPECT_THAT(needed_heads(group, 0), ElementsAre(planted));
  EXPECT_GT(group.variable("share_lost_least").values.values[planted], 0.5);
  // The others reach the logits only through the scale and mean of LayerNorm, by about 0.1 % of the
  // margin.
  const double margin = group.variable("margin").values(0);
  const std::vector<double>& direct = group.variable("direct_effect").values.values;
  for (Index head_index = 0; head_index < 4; ++head_index) {
    if (head_index == planted) continue;
    for (std::size_t ablation = 0; ablation < 2; ++ablation) {
      const Array change = group.variable("margin_change").values.part(ablation);
      EXPECT_LT(std::abs(change.values[head_index]), 0.005 * margin);
    }
    EXPECT_LT(std::abs(direct[head_index]), 0.001 * direct[planted]);
  }
  EXPECT_THAT(group.summary, HasSubstr("): L1H1 ("));
}

// On "a b a" the planted model says b, not c: its previous-token head and its induction head do it,
// and of the two only the induction head writes to the logits. L1H2, which takes the last token out
// of the stream, sharpens the prediction.
TEST(TasksAnalysis, NeedsTheInductionCircuitOfThePlantedModelMost) {
  const std::vector<std::string> words{" box",  " king",  " garden", " water", " table", " door",
                                       " boat", " river", " house",  " bird",  " horse", " window"};
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 36; ++i) {
    const auto word = [&](std::size_t k) { return words[(i + k * (1 + 4 * (i / 12))) % 12]; };
    const nlohmann::json pair{{"task", "induction"},
                              {"prefix", word(0) + word(1) + word(2) + word(0)},
                              {"good", word(1)},
                              {"bad", word(4)}};
    lines.push_back(pair.dump());
  }
  const Results results = run_tasks(data + "planted-model.h5", lines);
  const ResultsGroup& group = results.group("tasks");
  const Index previous_token = 0, induction = 4;
  EXPECT_GT(group.variable("accuracy").values(0), 0.9);
  std::vector<Index> needed = needed_heads(group, 0);
  ASSERT_GE(needed.size(), 2U);
  EXPECT_LE(needed.size(), 3U);
  std::ranges::sort(needed, std::greater(), [&](Index head_index) {
    return group.variable("share_lost_least").values.values[head_index];
  });
  needed.resize(2);
  EXPECT_THAT(needed, UnorderedElementsAre(previous_token, induction));
  const std::vector<double> direct = group.variable("direct_effect").values.values;
  EXPECT_EQ(std::ranges::max_element(direct) - direct.begin(), induction);
  EXPECT_LT(std::abs(direct[previous_token]), test::rounding_tolerance * direct[induction]);
}

/// Tasks of two pairs each, as tests/data/make_tasks.py made them from data/tasks.jsonl.
std::vector<std::string> golden_lines() {
  std::ifstream file(data + "tasks.jsonl");
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t number = 0; std::getline(file, line); ++number) {
    if (number % 70 != 0) continue;
    nlohmann::json pair = nlohmann::json::parse(line);
    pair["task"] = "task " + std::to_string(lines.size() / 2);
    pair.erase("relation");
    lines.push_back(pair.dump());
  }
  return lines;
}

TEST(TasksAnalysis, EqualsHuggingFacesMaskedForwardsAndAutograd) {
  const hdf5::InputFile golden(test::data_path("tasks_golden.h5"));
  const Results results = run_tasks(data + "default-model.h5", golden_lines());
  const ResultsGroup& group = results.group("tasks");
  const Array margin = golden.read_reals("default/margin");
  for (std::size_t task = 0; task < 10; ++task) {
    const double expected = (margin(task, 0) + margin(task, 1)) / 2;
    // float32 rounding of sums of log probabilities of up to about 100.
    EXPECT_NEAR(group.variable("margin").values(task), expected, 2e-4);
    EXPECT_EQ(group.variable("accuracy").values(task),
              ((margin(task, 0) > 0 ? 1 : 0) + (margin(task, 1) > 0 ? 1 : 0)) / 2.0);
  }
  const auto expect_equal = [&](const char* name, const char* dataset, double tolerance) {
    const Array expected = golden.read_reals(dataset), &got = group.variable(name).values;
    ASSERT_EQ(got.size(), expected.size()) << name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(got.values[i], expected.values[i], tolerance) << name << " " << i;
    }
  };
  expect_equal("margin_change", "default/margin_change", 2e-4);
  // A sum of products over all tokens and features; values of up to about 20.
  expect_equal("margin_change_first_order", "default/first_order", 2e-4);
  // A product over the features of one token.
  expect_equal("direct_effect", "default/direct_effect", 2e-5);
}

/// Recomputes self-repair and backup heads in NumPy from whole forward passes.
TEST(TasksAnalysis, SelfRepairAndBackupHeadsEqualNumPys) {
  const TemporaryDirectory folder;
  const std::string tasks = folder.file("tasks.jsonl");
  std::ifstream file(data + "tasks.jsonl");
  std::string lines;
  std::size_t n_pair = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("recurring_name") == std::string::npos || n_pair == 20) continue;
    lines += line + "\n";
    ++n_pair;
  }
  test::write_file(tasks, lines);
  const std::string model = data + "default-model.h5";
  const test::Finished run = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--tasks", tasks, "--analyses", "tasks", "--bootstrap", "100",
       "--quiet", "--output", folder.file("out")});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const std::string compared = test::run_reference(
      "tasks_check.py", {folder.file("out/results.h5"), model, tasks, data + "tokenizer"});
  EXPECT_THAT(compared, Not(HasSubstr("\n0 heads with repair")));
}

TEST(TasksAnalysis, MarginsOfBlimpEqualHuggingFaces) {
  if (!std::filesystem::exists(test::shared_data + "/blimp"))
    GTEST_SKIP() << "needs ../shared/data";
  const hdf5::InputFile golden(test::data_path("tasks_golden.h5"));
  const Tokenizer tokenizer =
      Tokenizer::from_directory(test::shared_data + "/models/english-mini-tokenizer");
  const Model model = load_model(test::shared_data + "/models/english-mini.h5");
  Forward forward(model);
  for (const std::string name :
       {"anaphor_gender_agreement", "regular_plural_subject_verb_agreement_1"}) {
    const TaskFiles files({test::shared_data + "/blimp/" + name + ".jsonl"}, tokenizer, {256, 0});
    ASSERT_EQ(files.tasks().size(), 1U);
    EXPECT_EQ(files.tasks()[0].name, name);
    const Array expected = golden.read_reals("blimp/" + name);
    ASSERT_EQ(files.tasks()[0].pairs.size(), expected.size());
    std::size_t next = 0;
    for (const PairBatch& batch : pair_batches(files.tasks())) {
      const SequenceBatch sequences = sequences_of(files.tasks()[0], batch, false);
      const TokenLoss loss = forward.loss(forward.run(sequences), sequences);
      for (const double margin : margins_of(files.tasks()[0], batch, loss.nll)) {
        // float32 rounding of sums of log probabilities of up to about 100.
        EXPECT_NEAR(margin, expected.values[next++], 2e-4);
      }
    }
    EXPECT_EQ(next, expected.size());
  }
}

// The same tokens: as text, and with the first of them as the first token.
TEST(TasksAnalysis, WithoutAFirstTokenSidesBeginWithTheirText) {
  const std::string model = data + "default-model.h5";
  const Results text = run_tasks(model,
                                 {R"({"prefix": " cat was", "good": " the", "bad": " said"})",
                                  R"({"prefix": " cat", "good": " is", "bad": " were the"})",
                                  R"({"prefix": "", "good": " cat", "bad": " clock"})"},
                                 {"--no-bos"}),
                first_token = run_tasks(model,
                                        {R"({"prefix": " was", "good": " the", "bad": " said"})",
                                         R"({"prefix": "", "good": " is", "bad": " were the"})"},
                                        {"--bos", "\u0120cat"});
  const ResultsGroup &group = text.group("tasks"), &expected = first_token.group("tasks");
  EXPECT_EQ(group.variable("n_unpredicted").values(0), 1);
  EXPECT_EQ(group.variable("n_pair").values(0), 2);
  for (const char* const name : {"margin", "margin_change", "margin_change_first_order"}) {
    EXPECT_EQ(group.values(name).values, expected.values(name).values) << name;
  }
  EXPECT_THAT(group.summary, HasSubstr("1 pair whose sides differ at their first token"));
}

TEST(TasksAnalysis, NeedsTasksAndATokenizer) {
  const TemporaryDirectory folder;
  const std::string tiny = HEADSCOPE_TEST_DATA "/tiny_safetensors/model.safetensors";
  const auto error_of = [&](const std::vector<std::string>& more, const std::string& model) {
    std::vector<std::string> arguments{"run",   "--model", model,      "--analyses",
                                       "tasks", "--quiet", "--output", folder.file("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const test::Finished finished = test::run_headscope(arguments);
    EXPECT_NE(finished.exit_status, 0);
    EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
    return finished.err;
  };
  EXPECT_THAT(error_of({}, tiny), HasSubstr("--analyses tasks: expected --tasks, got none"));
  EXPECT_THAT(error_of({"--tasks", data + "tasks.jsonl"}, tiny),
              HasSubstr("tasks.jsonl: expected a tokenizer to read text with, got none"));
  test::write_file(folder.file("bad.jsonl"), "{\"prefix\": 3}\n");
  EXPECT_THAT(error_of({"--tasks", folder.file("bad.jsonl")}, data + "default-model.h5"),
              HasSubstr("bad.jsonl:1: expected text in prefix, got number"));
}

}  // namespace
}  // namespace headscope
