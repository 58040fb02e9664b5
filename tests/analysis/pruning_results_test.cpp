#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "headscope/figure.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "pruning/direct_effects.hpp"
#include "pruning/pruning.hpp"
#include "pruning/results.hpp"
#include "support/passes.hpp"
#include "support/random_weights.hpp"
#include "support/shared_data.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::size_t n_layer = 2, n_head = 5, n_pruning_head = n_layer * n_head;
using Curve = std::array<double, n_curve_step>;

using Curves = std::array<Curve, 2>;

/// As many documents as an interval takes, all with these curves.
std::vector<Curves> enough(const Curves& curves) {
  return std::vector<Curves>(least_documents, curves);
}

ModelConfig pruning_config(std::vector<HeadIndex> pruned_heads = {}) {
  ModelConfig config = test::config_of({.n_layer = n_layer, .n_head = n_head, .d_vocab = 100});
  config.pruned_heads = std::move(pruned_heads);
  return config;
}

/// The analysis's statistics: each document predicts 10 tokens at a loss of 2 nats, and pruning
/// adds `documents[d][order][step]` nats a token.
Statistics rows_of(const std::vector<Curves>& documents,
                   const ModelConfig& config = pruning_config()) {
  const Index layers = config.n_layer, heads = config.n_head;
  Statistics statistics;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    DocumentStatistics document(statistics, d);
    Array& baseline = document.row("baseline", {2});
    baseline(0) = 20;
    baseline(1) = 10;
    Array& ablated = document.row("ablated", {n_ablation_row, layers, heads});
    std::fill(ablated.values.begin(), ablated.values.end(), 20);
    document.row("importance", {n_importance_row, layers, heads});
    document.row("direct_head", {layers, heads});
    document.row("direct_part", {layers + n_direct_part});
    document.sum("donor_variance", {layers * heads + n_donor_part});
    document.sum("n_document", {n_document_block})(d % n_document_block) = 1;
    Array& loss = document.sum("loss", {n_document_block, 2});
    loss(d % n_document_block, 0) = 20;
    loss(d % n_document_block, 1) = 10;
    Array& curve = document.row("curve", {2, n_curve_order, n_curve_step});
    for (std::size_t order = 0; order < n_curve_order; ++order) {
      for (std::size_t step = 0; step < n_curve_step; ++step) {
        curve(0, order, step) = 10 * (2 + (order < 2 ? documents[d][order][step] : 3));
      }
    }
    document.end();
  }
  return statistics;
}

ResultsGroup results_of(const Statistics& statistics,
                        const ModelConfig& config = pruning_config()) {
  AnalysisSettings settings;
  settings.n_bootstrap = 200;
  return pruning_results(statistics, config, settings);
}

/// A curve that adds nothing through `step` and 1 nat after it.
Curve free_until(std::size_t step) {
  Curve curve{};
  for (std::size_t i = step + 1; i < n_curve_step; ++i) curve[i] = 1;
  return curve;
}

// A fiftieth of the nat that the next step costs is within 1 % of 2 nats.
TEST(PrunableClaim, TakesTheBetterOrderAndInterpolatesToTheFirstCostlyStep) {
  Curve dips = free_until(1);
  dips[9] = 0;
  const ResultsGroup group = results_of(rows_of(enough({dips, free_until(3)})));
  ASSERT_EQ(group.claims.size(), 2u);
  for (const double share :
       {group.claims[0].effect.value, group.claims[0].effect.low, group.claims[0].effect.high,
        group.variable("prunable_share").values(0)}) {
    EXPECT_NEAR(share, 0.302, test::double_rounding);
  }
}

// Of three heads steps 0.1 to 0.3 remove none, and step 0.4 removes one.
TEST(PrunableClaim, CountsTheWholeHeadsThatAStepRemoves) {
  const ModelConfig three = test::config_of({.n_layer = 3, .n_head = 1, .d_vocab = 100});
  const ResultsGroup group =
      results_of(rows_of(enough({free_until(3), free_until(3)}), three), three);
  EXPECT_NEAR(group.claims[0].effect.value, 0.02 / 3, test::double_rounding);
  EXPECT_EQ(group.claims[0].verdict, Verdict::does_not_hold);
  EXPECT_NEAR(group.claims[1].effect.value, 0.1 / 3, test::double_rounding);
}

// Of the eight heads that are left steps 0.3 and 0.4 set two and three to zero.
TEST(PrunableClaim, LeavesOutHeadsThatTheModelHasLost) {
  const ModelConfig pruned = pruning_config({{0, 0}, {1, 4}});
  const Statistics statistics = rows_of(enough({free_until(3), free_until(3)}));
  const ResultsGroup group = results_of(statistics, pruned);
  EXPECT_NEAR(group.claims[0].effect.value, (2 + 0.02) / 8, test::double_rounding);
  const std::vector<std::vector<Index>> orders = pruning_orders(statistics, pruned, 0);
  ASSERT_EQ(orders.size(), n_curve_order);
  for (const std::vector<Index>& order : orders) {
    EXPECT_THAT(order, testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  }
  std::vector<HeadIndex> all;
  for (Index i = 0; i < n_pruning_head; ++i) all.push_back(HeadIndex::of(i, n_head));
  const ResultsGroup none_left = results_of(statistics, pruning_config(all));
  EXPECT_TRUE(std::isnan(none_left.claims[0].effect.value));
  EXPECT_EQ(none_left.claims[0].verdict, Verdict::undecided);
  EXPECT_THAT(none_left.summary, testing::EndsWith(" The model has no head left."));
}

TEST(PruningResults, WarnsOfACorpusThatAlternates) {
  const auto warning = [](double nats_of_odd) {
    Statistics statistics = rows_of(enough({free_until(3), free_until(3)}));
    for (std::uint64_t d = 1; d < least_documents; d += 2) {
      DocumentStatistics document(statistics, d);
      document.sum("loss", {n_document_block, 2})(d, 0) = nats_of_odd - 20;
      document.end();
    }
    Results results;
    results.groups = {results_of(statistics)};
    EXPECT_NEAR(results.groups[0].values("loss_by_half")(1), nats_of_odd / 10,
                test::double_rounding);
    EXPECT_EQ(results.groups[0].values("loss_by_half")(0), 2);
    return pruning_presentation().describe(results).warning;
  };
  EXPECT_THAT(warning(40), HasSubstr("their losses are 2 and 4 nats per token. Even ones choose"));
  EXPECT_THAT(warning(10), HasSubstr("their losses are 2 and 1 nats per token."));
  EXPECT_EQ(warning(20.5), "") << "too near to decide a verdict";
  EXPECT_EQ(warning(20), "");
}

TEST(PrunableClaim, SaysWhetherOtherDocumentsMakeTheOrders) {
  const Curves curves{free_until(4), free_until(4)};
  const auto caption = [](const ResultsGroup& group) {
    Results results;
    results.groups = {group};
    const std::vector<Figure> figures = pruning_figures(results);
    return std::ranges::find(figures, "michel2019_curve", &Figure::name)->caption;
  };
  const ResultsGroup two = results_of(rows_of({curves, curves}));
  EXPECT_EQ(two.scalar("curve_held_out"), 1);
  EXPECT_THAT(two.claims[0].evidence, HasSubstr("Even-numbered documents make and choose"));
  EXPECT_THAT(caption(two), HasSubstr("odd-numbered documents measure the loss"));
  const ResultsGroup one = results_of(rows_of({curves}));
  EXPECT_EQ(one.scalar("curve_held_out"), 0);
  EXPECT_THAT(one.claims[0].evidence, HasSubstr("The same documents make and choose"));
  EXPECT_THAT(one.claims[0].evidence, Not(HasSubstr("odd-numbered")));
  EXPECT_THAT(caption(one), HasSubstr("The same documents make the orders and measure the loss"));
}

TEST(PruningResults, RankCorrelationsLeaveOutHeadsThatTheModelHasLost) {
  const auto correlation = [](const std::vector<HeadIndex>& pruned_heads) {
    Statistics statistics = rows_of(enough({Curve{}, Curve{}}));
    for (std::uint64_t d = 0; d < least_documents; ++d) {
      DocumentStatistics document(statistics, d);
      Array &ablated = document.row("ablated", {n_ablation_row, n_layer, n_head}),
            &importance = document.row("importance", {n_importance_row, n_layer, n_head});
      for (Index i = 0; i < n_pruning_head; ++i) {
        // Opposite orders, but for the heads that are lost.
        ablated.values[i] += i < 6 ? static_cast<double>(6 - i) : 0;
        for (Index row = 0; row < n_importance_row; ++row) {
          importance.values[row * n_pruning_head + i] = i < 6 ? static_cast<double>(i + 1) : 0;
        }
      }
    }
    return results_of(statistics, pruning_config(pruned_heads))
        .values("importance_correlation")
        .values;
  };
  EXPECT_GT(correlation({})[0], 0.5);
  EXPECT_THAT(correlation({{1, 1}, {1, 2}, {1, 3}, {1, 4}})[0], testing::DoubleEq(-1));
}

TEST(PrunableClaim, AllowsOneAndFivePercentOfTheBaseline) {
  Curve rising{};
  for (std::size_t step = 1; step < n_curve_step; ++step) rising[step] = 0.019 * step;
  const Statistics statistics = rows_of(enough({rising, rising}));
  const ResultsGroup group = results_of(statistics);
  EXPECT_NEAR(group.claims[0].effect.value, 0.02 / 0.19, test::double_rounding)
      << "0.02 nats are 1 % of 2";
  EXPECT_NEAR(group.claims[1].effect.value, 0.1 / 0.19, test::double_rounding)
      << "0.1 nats are 5 % of 2";
}

TEST(PrunableClaim, IsScoredOnDocumentsOfOddNumberInAnOrderMadeOnEvenOnes) {
  std::vector<Curves> documents = enough({free_until(3), free_until(3)});
  for (std::size_t d = 0; d < documents.size(); d += 2) documents[d] = {Curve{}, Curve{}};
  EXPECT_NEAR(results_of(rows_of(documents)).claims[0].effect.value, 0.302, test::double_rounding);

  // By even documents the first head costs least, by odd ones the last.
  Statistics statistics = rows_of(documents);
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    Array& ablated =
        DocumentStatistics(statistics, d).row("ablated", {n_ablation_row, n_layer, n_head});
    for (Index head_index = 0; head_index < n_layer * n_head; ++head_index) {
      ablated.values[head_index] +=
          static_cast<double>(d % 2 == 0 ? head_index : n_layer * n_head - head_index);
    }
  }
  const std::vector<Index> order = pruning_orders(statistics, pruning_config(), 0)[0];
  EXPECT_EQ(order.front(), 0U);
  EXPECT_EQ(order.back(), n_layer * n_head - 1);
}

TEST(PrunableClaim, HoldsFromAFifthOfTheHeadsByItsWholeInterval) {
  const auto verdict = [](std::size_t first, std::size_t second) {
    std::vector<Curves> documents = enough({free_until(second), free_until(second)});
    documents[1] = {free_until(first), free_until(first)};
    return results_of(rows_of(documents)).claims[0].verdict;
  };
  EXPECT_EQ(verdict(2, 2), Verdict::holds);
  EXPECT_EQ(verdict(1, 1), Verdict::does_not_hold);
  // A third of the resamples leave out this document; in the others the smaller share counts.
  EXPECT_EQ(verdict(1, 4), Verdict::undecided);
}

TEST(PruningResults, ALossAboveThatOfGuessingWarnsAndSettlesNoClaim) {
  const auto with_vocabulary = [](Index d_vocab) {
    ModelConfig small = pruning_config();
    small.d_vocab = d_vocab;
    return pruning_results(rows_of(enough({free_until(2), free_until(2)})), small, {});
  };
  // The loss is 2 nats; ln 8 = 2.08 and ln 7 = 1.95.
  const ResultsGroup above_chance = with_vocabulary(8), below_chance = with_vocabulary(7);
  EXPECT_EQ(loss_warning(above_chance, 8), "");
  EXPECT_EQ(above_chance.claims[0].verdict, Verdict::holds);
  EXPECT_EQ(loss_warning(below_chance, 7),
            "the loss of 2 nats per token is above 1.95, the loss of guessing among the 7 tokens: "
            "tokenizer, corpus or model may be the wrong one.");
  for (const Claim& claim : below_chance.claims) {
    EXPECT_EQ(claim.verdict, Verdict::undecided);
    EXPECT_THAT(claim.evidence, HasSubstr("Not decided, since the loss of 2 nats"));
  }
}

TEST(PruningResults, AnIntervalIsOverDocumentsInPairsWithTheirBaselines) {
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  // Every second document has the higher loss; ablation adds 0.5 nats a token to all.
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    DocumentStatistics document(statistics, d);
    document.row("baseline", {2})(0) = d % 2 == 0 ? 20 : 60;
    Array& ablated = document.row("ablated", {n_ablation_row, n_layer, n_head});
    std::fill(ablated.values.begin(), ablated.values.end(), d % 2 == 0 ? 25 : 65);
  }
  const ResultsGroup group = results_of(statistics);
  const Variable& increase = group.variable("loss_increase");
  for (std::size_t i = 0; i < increase.values.size(); ++i) {
    EXPECT_NEAR(increase.estimate(i).value, 0.5, test::double_rounding);
    EXPECT_NEAR(increase.estimate(i).low, 0.5, test::double_rounding);
    EXPECT_NEAR(increase.estimate(i).high, 0.5, test::double_rounding);
  }
  for (const double loss : group.variable("loss_all_but_one").values.values) {
    EXPECT_NEAR(loss, 4.5, test::double_rounding);
  }
}

TEST(PruningResults, NineteenDocumentsGiveNoIntervalAndSettleNoClaim) {
  const Curves curves{free_until(4), free_until(4)};
  const ResultsGroup group = results_of(rows_of(std::vector<Curves>(19, curves)));
  EXPECT_NEAR(group.claims[0].effect.value, 0.402, test::double_rounding);
  EXPECT_TRUE(std::isnan(group.claims[0].effect.low));
  EXPECT_EQ(group.claims[0].verdict, Verdict::undecided);
  EXPECT_FALSE(group.variable("loss_increase").estimate(0).has_interval());
}

TEST(PruningResults, WithoutIntervalsNoHeadIsCalledHarmless) {
  const ResultsGroup one_document = results_of(rows_of({{free_until(4), free_until(4)}}));
  EXPECT_EQ(one_document.variable("n_interval").values(0), 0);
  EXPECT_EQ(one_document.variable("n_harmless").values(0), 0);
  EXPECT_THAT(one_document.summary, HasSubstr("On 1 document the loss"));
  EXPECT_THAT(one_document.summary, HasSubstr("Without intervals the run cannot tell"));
  EXPECT_THAT(one_document.summary, Not(HasSubstr("of 10 heads")));
}

TEST(PruningResults, AHeadThatCostsTheSameOnAllDocumentsIsNeitherShownToMatterNorHarmless) {
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    DocumentStatistics(statistics, d).row("ablated", {n_ablation_row, n_layer, n_head})(0, 1, 2) =
        30;
  }
  const ResultsGroup group = results_of(statistics);
  EXPECT_THAT(group.summary, HasSubstr("No head is shown to matter by itself"));
  EXPECT_EQ(group.variable("n_harmless").values(0), 9);
}

TEST(PruningResults, SummaryNamesTheCostliestHeadAndCountsTheHarmless) {
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    Array& ablated =
        DocumentStatistics(statistics, d).row("ablated", {n_ablation_row, n_layer, n_head});
    // 1 nat a token on all documents, which differ a little.
    ablated(0, 1, 2) = d % 2 == 0 ? 30 + 0x1p-20 : 30 - 0x1p-20;
    ablated(0, 0, 1) = d == 0 ? 30 : 20;  // 1 nat a token on one document
    ablated(0, 0, 3) = 10;                // lowers the loss
    ablated(0, 1, 4) = 20 + 1e-6;         // 1e-7 nats a token, less than float32 rounds 2 nats to
  }
  const ResultsGroup group = results_of(statistics);
  EXPECT_THAT(group.summary, HasSubstr("Setting L1H2 to zero costs most (+1 nats)."));
  EXPECT_THAT(group.summary, HasSubstr(" 9 of 10 heads"));
  EXPECT_EQ(group.variable("n_harmless").values(0), 9);
  EXPECT_EQ(group.variable("n_interval").values(0), 10);
  EXPECT_THAT(results_of(statistics, pruning_config({{0, 3}, {1, 0}})).summary,
              HasSubstr(" 7 of 8 heads"));
}

// No head changes the loss, so that importance has nothing to follow.
TEST(PruningResults, SummaryNamesNoHeadAndNoCorrelationWhereNoLossRises) {
  Results results;
  results.groups.push_back(results_of(rows_of(enough({free_until(2), free_until(2)}))));
  const std::string& summary = results.groups.front().summary;
  EXPECT_THAT(summary, HasSubstr(" No head's removal raises the loss. 10 of 10 heads"));
  EXPECT_THAT(summary, Not(HasSubstr("Spearman")));
  const std::vector<Figure> figures = pruning_figures(results);
  const auto importance = std::ranges::find(figures, "michel2019_importance", &Figure::name);
  EXPECT_EQ(std::get<Chart>(importance->content).panels.front().title, "absolute, per example");
}

// Five heads are pruned: by float32 products they change nothing, by others 1e-7 nats a token. Of
// the other heads' 0.1 nats a token the others miss 0.001.
TEST(PruningResults, PrecisionErrorsAreRelativeToHeadsThatAreNotPruned) {
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  const std::vector<Index> sample = precision_sample(n_pruning_head);
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    DocumentStatistics document(statistics, d);
    Array& ablated = document.row("ablated", {n_ablation_row, n_layer, n_head});
    for (Index head_index = 0; head_index < n_pruning_head; ++head_index) {
      ablated.values[head_index] = head_index < n_pruning_head / 2 ? 20 + 1e-6 : 21.01;
    }
    Array& float32 = document.row("float32", {sample.size()});
    for (std::size_t i = 0; i < sample.size(); ++i) {
      float32(i) = sample[i] < n_pruning_head / 2 ? 20 : 21;
    }
    document.end();
  }
  const Array error = results_of(statistics).values("precision_error");
  EXPECT_NEAR(error(0), 0.01, 1e-12);
  EXPECT_NEAR(error(1), 0.001 / 0.101, 1e-12);
}

TEST(PruningResults, SummaryNamesTheLossOfAllDocumentsAndOfThoseAblated) {
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  EXPECT_THAT(results_of(statistics).summary, HasSubstr("On 20 documents the loss is 2 nats"));
  // Twenty more documents that were only read.
  DocumentStatistics read(statistics, 40);
  Array& n_document = read.sum("n_document", {n_document_block});
  Array& loss = read.sum("loss", {n_document_block, 2});
  for (std::size_t d = 20; d < 40; ++d) {
    n_document(d) = 1;
    loss(d, 0) = 40;
    loss(d, 1) = 10;
  }
  read.end();
  const ResultsGroup group = results_of(statistics);
  EXPECT_DOUBLE_EQ(group.variable("loss").estimate(0).value, 3);
  EXPECT_LT(group.variable("loss").estimate(0).low, 2.9);
  EXPECT_EQ(group.variable("n_document").values.values[0], 40);
  EXPECT_EQ(group.variable("n_document_ablated").values.values[0], 20);
  EXPECT_THAT(group.summary, HasSubstr("On 40 documents the loss is 3 nats per token (95 %"));
  EXPECT_THAT(group.summary, HasSubstr(". On the 20 documents, spread evenly, on which heads were "
                                       "ablated the loss is 2 nats per token."));
}

struct SampledDocument {
  std::uint64_t number, of;
  bool is_ablated;
};

/// Adds what the analysis keeps of a document.
/// @param baseline    nats summed, predicted tokens.
/// @param ablated     n_ablation_row x layer x head, nats summed.
/// @param importance  n_importance_row x layer x head.
void add_document(const SampledDocument& sampled, const std::vector<double>& baseline,
                  const Array& ablated, const Array& importance, Statistics& statistics) {
  const std::size_t block = document_block(sampled.number, sampled.of),
                    n_head_total = importance.part(0).size();
  const Index layers = ablated.shape[1], heads = ablated.shape[2];
  DocumentStatistics document(statistics, sampled.number);
  const auto add_loss = [&](const char* name) {
    Array& sums = document.sum(name, {n_document_block, 2});
    for (std::size_t i = 0; i < 2; ++i) sums(block, i) = baseline[i];
  };
  document.sum("n_document", {n_document_block})(block) = 1;
  add_loss("loss");
  if (sampled.is_ablated) {
    document.row("baseline", {2}) = Array({2}, baseline);
    document.row("ablated", ablated.shape) = ablated;
    document.row("importance", importance.shape) = importance;
    document.row("direct_head", {layers, heads});
    document.row("direct_part", {layers + n_direct_part});
    document.sum("donor_variance", {n_head_total + n_donor_part});
  } else {
    document.sum("other_n_document", {n_document_block})(block) = 1;
    add_loss("other_baseline");
    std::vector<float> increases;
    for (std::size_t i = n_head_total; i < importance.size(); ++i) {
      increases.push_back(static_cast<float>(-importance.values[i]));
    }
    document.add("other_first_order", {n_document_block, n_first_order, layers, heads},
                 block * increases.size(), increases);
  }
  document.end();
}

/// Documents whose increases follow the predicted ones, of which some are ablated; a head each.
struct TwoPhases {
  std::size_t n_document, n_ablated;
  double slope, noise;  ///< increase = 0.2 + slope * prediction + noise, nats per token

  struct Drawn {
    Statistics statistics;
    std::vector<double> increase;  ///< of the corpus, a head each
  };
  Drawn draw(std::uint64_t number) const {
    test::Normal normal(number);
    const auto draw_normal = [&] { return static_cast<double>(normal.matrix(1, 1, 1)(0)); };
    Statistics statistics;
    std::vector<double> increase(n_pruning_head, 0);
    double n_predicted_of_all = 0;
    for (std::size_t d = 0; d < n_document; ++d) {
      const bool is_ablated = d * n_ablated / n_document != (d + 1) * n_ablated / n_document;
      const double n_predicted = 5 + std::floor(20 * std::abs(draw_normal()));
      Array predicted({n_importance_row, n_layer, n_head}),
          ablated({n_ablation_row, n_layer, n_head});
      for (std::size_t head_index = 0; head_index < n_pruning_head; ++head_index) {
        // Skewed, as losses are.
        const double x = std::exp(0.5 * draw_normal()), y = 0.2 + slope * x + noise * draw_normal();
        predicted.values[n_pruning_head + head_index] = -n_predicted * x;
        ablated.values[head_index] = n_predicted * (2 + y);
        increase[head_index] += n_predicted * y;
      }
      n_predicted_of_all += n_predicted;
      add_document({d, n_document, is_ablated}, {2 * n_predicted, n_predicted}, ablated, predicted,
                   statistics);
    }
    for (double& each : increase) each /= n_predicted_of_all;
    return {std::move(statistics), std::move(increase)};
  }

  double true_increase() const { return 0.2 + slope * std::exp(0.125); }

  struct Intervals {
    double covering = 0, width = 0;
  };
  /// Share of intervals that hold the true increase, and their mean width, over `n_draw` corpora of
  /// ten heads each.
  Intervals intervals(std::uint64_t n_draw) const {
    Intervals result;
    const double n = static_cast<double>(n_draw * n_pruning_head);
    for (std::uint64_t i = 0; i < n_draw; ++i) {
      const ResultsGroup group = results_of(draw(1000 * n_document + i).statistics);
      for (std::size_t head_index = 0; head_index < n_pruning_head; ++head_index) {
        const Estimate increase = group.variable("loss_increase").estimate(head_index);
        result.covering += increase.low <= true_increase() && true_increase() <= increase.high;
        result.width += increase.high - increase.low;
      }
    }
    result.covering /= n;
    result.width /= n;
    return result;
  }
};

// With the gradient's documents taken as known, the intervals of the first case would be half as
// wide and cover two thirds. 400 intervals miss the bounds by chance less than once in 10,000.
TEST(TwoPhasePruning, IntervalsCoverTheTrueIncrease) {
  // Noise such that r2 is 0.9: little is left after the regression; and 0.3.
  for (const TwoPhases& corpus :
       {TwoPhases{120, 40, 1, 0.202}, TwoPhases{300, 40, 1, 0.92}, TwoPhases{40, 40, 1, 0.6}}) {
    const TwoPhases::Intervals found = corpus.intervals(40);
    EXPECT_GT(found.covering, 0.90) << corpus.n_document << " documents, noise " << corpus.noise;
    EXPECT_LT(found.covering, 0.985) << corpus.n_document << " documents, noise " << corpus.noise;
  }
}

// Var = s2 (1 - r2) / n_ablated + s2 r2 / n_document.
TEST(TwoPhasePruning, IntervalsAreAsNarrowAsTheFormulaSays) {
  const double r2 = 0.9;
  const auto width = [](std::size_t n_document, std::size_t n_ablated) {
    return TwoPhases{n_document, n_ablated, 1, 0.202}.intervals(20).width;
  };
  const double both = width(400, 40), exact = width(40, 40);
  const double expected = std::sqrt((1 - r2) + r2 * 40 / 400);
  // Student's t and skewness widen the interval of 40 documents alone by some 10 %.
  EXPECT_NEAR(both / exact, expected, 0.15 * expected);
}

/// How often intervals hold the mean over the corpus, and how wide they are.
struct CorpusIntervals {
  double covering = 0;
  double half_width = 0, half_width_of_text = 0;  ///< for the corpus, for all text
  double spread = 0;  ///< standard deviation of the estimates about the corpus's mean
};
CorpusIntervals corpus_intervals(const TwoPhases& corpus, std::uint64_t n_draw) {
  CorpusIntervals found;
  const auto n = static_cast<double>(n_draw * n_pruning_head);
  for (std::uint64_t i = 0; i < n_draw; ++i) {
    const TwoPhases::Drawn drawn = corpus.draw(1000 * corpus.n_document + i);
    const ResultsGroup group = results_of(drawn.statistics);
    const Array& half_widths = group.values("loss_increase_corpus_half_width");
    for (std::size_t head_index = 0; head_index < n_pruning_head; ++head_index) {
      const Estimate increase = group.variable("loss_increase").estimate(head_index);
      const double error = increase.value - drawn.increase[head_index];
      found.covering += std::abs(error) <= half_widths.values[head_index] ? 1 / n : 0;
      found.half_width += half_widths.values[head_index] / n;
      found.half_width_of_text += (increase.high - increase.low) / 2 / n;
      found.spread += error * error / n;
    }
  }
  found.spread = std::sqrt(found.spread);
  return found;
}

// A quarter of the documents is ablated. The intervals for all text are about the corpus's mean
// much too wide where the gradient predicts well.
TEST(TwoPhasePruning, HalfWidthsForTheCorpusCoverItsMean) {
  for (const TwoPhases& corpus : {TwoPhases{160, 40, 1, 0.202}, TwoPhases{160, 40, 1, 0.92}}) {
    const CorpusIntervals found = corpus_intervals(corpus, 40);
    EXPECT_GT(found.covering, 0.90) << "noise " << corpus.noise;
    EXPECT_LT(found.covering, 0.985) << "noise " << corpus.noise;
    EXPECT_GT(found.half_width, 1.75 * found.spread) << "noise " << corpus.noise;
    EXPECT_LT(found.half_width, 2.5 * found.spread) << "noise " << corpus.noise;
  }
  const CorpusIntervals close = corpus_intervals({160, 40, 1, 0.202}, 40);
  EXPECT_GT(close.half_width_of_text, 1.5 * close.half_width);
}

TEST(PruningResults, HalfWidthsForTheCorpusAreZeroWhereAllDocumentsAreAblated) {
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    DocumentStatistics(statistics, d).row("ablated", {n_ablation_row, n_layer, n_head})(0, 1, 2) =
        20.0 + static_cast<double>(d);
  }
  DocumentStatistics donors(statistics, 0);
  donors.sum("donor_variance", {n_pruning_head + n_donor_part})(7) = 4;
  donors.end();
  const auto half_widths = [&] {
    return results_of(statistics).values("loss_increase_corpus_half_width");
  };
  const double n_predicted = 10 * static_cast<double>(least_documents);
  EXPECT_EQ(half_widths()(0, 1, 2), 0);
  EXPECT_NEAR(half_widths()(resample_place, 1, 2), 1.959963984540054 * 2 / n_predicted,
              test::double_rounding)
      << "other donors would have been as good";
  // As many documents again that were only read.
  DocumentStatistics read(statistics, 40);
  for (std::size_t d = 20; d < 40; ++d) {
    read.sum("n_document", {n_document_block})(d) = 1;
    read.sum("loss", {n_document_block, 2})(d, 1) = 10;
  }
  read.end();
  const Estimate increase = results_of(statistics).variable("loss_increase").estimate(7);
  EXPECT_NEAR(half_widths()(0, 1, 2), std::sqrt(0.5) * (increase.high - increase.low) / 2,
              test::double_rounding);
}

/// Paragraphs of a book of 25 to 60 words, the first so many.
std::string paragraphs_of(const std::string& book, int count) {
  std::ifstream file(book);
  std::string paragraph, all;
  for (std::string line; count > 0 && std::getline(file, line);) {
    if (!line.empty()) {
      paragraph += line + "\n";
      continue;
    }
    const auto n_space = std::ranges::count(paragraph, ' ');
    if (n_space >= 25 && n_space <= 60) {
      all += paragraph + "\n";
      --count;
    }
    paragraph.clear();
  }
  return all;
}

// Every paragraph of a book is ablated exactly once. Then corpora are drawn from the paragraphs,
// with replacement; of each a third is ablated. Their intervals should hold the mean increase over
// all paragraphs, and be narrower than those of the ablated third alone.
TEST(TwoPhasePruning, ThoroughIntervalsCoverOnRealText) {
  if (!std::filesystem::exists(test::shared_data)) GTEST_SKIP() << "../shared is absent";
  constexpr std::uint64_t n_paragraph = 90, n_draw = 30;
  const test::TemporaryDirectory folder;
  test::write_file(folder.file("book.txt"),
                   paragraphs_of(test::shared_data + "/text/the-war-of-the-worlds.txt",
                                 static_cast<int>(n_paragraph)));
  const Model model = load_model(test::shared_data + "/models/english-mini.h5");
  const Tokenizer tokenizer =
      Tokenizer::from_directory(test::shared_data + "/models/english-mini-tokenizer");
  const Corpus corpus({folder.file("book.txt")}, &tokenizer, {});
  ASSERT_EQ(corpus.n_document(), n_paragraph);
  AnalysisSettings settings;
  settings.n_bootstrap = 200;
  settings.options<PruningOptions>().n_document = 0;
  const RegisteredAnalysis pruning = pruning_analysis();
  test::Passes run(pruning, {model, &corpus, settings});
  for (const int pass : {0, 1}) {
    run.begin(pass);
    for (std::uint64_t d = 0; d < n_paragraph; ++d) run.observe(corpus.piece(d));
  }
  const Statistics& all = run.model().statistics().at("pruning");
  const auto row = [&](const char* name, std::uint64_t d) { return all.rows(name).at(d); };
  // Zero, mean and resampled z.
  const std::vector<std::size_t> measured{0, 1, resample_row};
  std::vector<Array> truth(measured.size(), Array({model.config.n_layer, model.config.n_head}));
  double n_predicted = 0;
  for (std::uint64_t d = 0; d < n_paragraph; ++d) {
    n_predicted += row("baseline", d)(1);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const Array ablated = row("ablated", d).part(measured[i]);
      for (std::size_t head_index = 0; head_index < ablated.size(); ++head_index) {
        truth[i].values[head_index] += ablated.values[head_index] - row("baseline", d)(0);
      }
    }
  }
  double covering = 0, width = 0, exact_width = 0, n_interval = 0;
  for (std::uint64_t draw = 0; draw < n_draw; ++draw) {
    const CounterRandom random(7, draw);
    Statistics sample, third;
    for (std::uint64_t i = 0; i < n_paragraph; ++i) {
      const std::uint64_t d = random.below(n_paragraph, i);
      const SampledDocument document{i, n_paragraph, i % 3 == 0};
      const auto add = [&](Statistics& statistics) {
        add_document(document, row("baseline", d).values, row("ablated", d), row("importance", d),
                     statistics);
      };
      add(sample);
      if (document.is_ablated) add(third);
    }
    const Variable both = pruning_results(sample, model.config, settings).variable("loss_increase"),
                   exact = pruning_results(third, model.config, settings).variable("loss_increase");
    for (std::size_t i = 0; i < both.values.size(); ++i) {
      const Estimate found = both.estimate(i);
      const double increase = truth[i / truth[0].size()].values[i % truth[0].size()] / n_predicted;
      covering += found.low <= increase && increase <= found.high ? 1 : 0;
      width += found.high - found.low;
      exact_width += exact.estimate(i).high - exact.estimate(i).low;
      ++n_interval;
    }
  }
  RecordProperty("coverage", std::to_string(covering / n_interval));
  RecordProperty("width", std::to_string(width / exact_width));
  // Heads of one draw share its documents: 30 draws vary more than 2160 intervals would.
  EXPECT_GT(covering / n_interval, 0.89);
  EXPECT_LT(covering / n_interval, 0.985);
  EXPECT_LT(width, 0.85 * exact_width);
}

/// `n_part` times three documents of 10 tokens ablated, x = 1, 2, 3 and y = 2, 4, 9, and one more,
/// x = 6.
ResultsGroup two_phases_by_hand(std::uint64_t n_part) {
  Statistics statistics;
  const double x[] = {1, 2, 3}, y[] = {2, 4, 9};
  for (std::uint64_t d = 0; d < 4 * n_part; ++d) {
    DocumentStatistics document(statistics, d);
    document.sum("n_document", {n_document_block})(d) = 1;
    document.sum("loss", {n_document_block, 2})(d, 1) = 10;
    if (d < 3 * n_part) {
      document.row("baseline", {2})(1) = 10;
      Array& ablated = document.row("ablated", {n_ablation_row, n_layer, n_head});
      ablated(0, 1, 2) = ablated(0, 0, 1) = 10 * y[d % 3];
      Array& importance = document.row("importance", {n_importance_row, n_layer, n_head});
      importance(1, 1, 2) = -10 * x[d % 3];
      importance(1, 0, 1) = -2.3;  // rounding leaves its covariation above 0
      document.row("direct_head", {n_layer, n_head});
      document.row("direct_part", {n_layer + n_direct_part});
      document.sum("donor_variance", {n_pruning_head + n_donor_part});
    } else {
      document.sum("other_n_document", {n_document_block})(d) = 1;
      Array& baseline = document.sum("other_baseline", {n_document_block, 2});
      baseline(d, 0) = 40;
      baseline(d, 1) = 10;
      std::vector<float> increase(n_first_order * n_pruning_head, 0);
      increase[n_head + 2] = 60;
      document.add("other_first_order", {n_document_block, n_first_order, n_layer, n_head},
                   d * increase.size(), increase);
    }
    document.end();
  }
  return results_of(statistics);
}

std::string two_phases_text(const ResultsGroup& group) {
  Results results;
  results.groups = {group};
  for (const Finding& finding : pruning_presentation().describe(results).findings) {
    if (finding.about == "Two phases") return finding.text;
  }
  return "";
}

TEST(TwoPhasePruning, OfAnExampleByHand) {
  const ResultsGroup group = two_phases_by_hand(4);
  EXPECT_DOUBLE_EQ(group.variable("loss_increase").values(0, 1, 2), 5 + 3.5 * (3 - 2));
  EXPECT_EQ(group.variable("loss_increase").values(0, 0, 0), 0) << "no document differs";
  EXPECT_DOUBLE_EQ(group.variable("loss_baseline").values.values[0], 1);
  EXPECT_DOUBLE_EQ(group.variable("first_order_r2").values(1, 2), 49. / 52);
  for (const std::size_t head : {0, 1}) {
    EXPECT_TRUE(std::isnan(group.variable("first_order_r2").values(0, head)))
        << "no document differs in the prediction";
  }
  EXPECT_EQ(group.variable("n_document_ablated").values.values[0], 12);
  EXPECT_EQ(group.variable("n_document_first_order").values.values[0], 16);
  // All heads of the layer but another one: the prediction is that of this head; nothing is lost.
  EXPECT_DOUBLE_EQ(group.variable("loss_all_but_one").values(1, 0), 1);
  EXPECT_EQ(two_phases_text(group),
            "Heads were ablated on 12 documents. The gradient predicted the loss increase on 16 "
            "documents, and regression combined both. Prediction and ablation agree over documents "
            "with r² = 0.94 (median over heads); with this r² the standard errors are those of "
            "ablation on 15 documents.");
}

TEST(TwoPhasePruning, FewDocumentsCorrectThePredictionWithoutRegression) {
  const ResultsGroup group = two_phases_by_hand(3);
  EXPECT_DOUBLE_EQ(group.variable("loss_increase").values(0, 1, 2), 5 + (3 - 2));
  EXPECT_EQ(two_phases_text(group),
            "Heads were ablated on 9 documents. The gradient predicted the loss increase on 12 "
            "documents, and the mean difference on the ablated documents corrected the "
            "prediction.");
}

TEST(PruningResults, SaysWhatIntervalsAreAboutAndHowFarDonorsMatter) {
  const auto lines = [](const Statistics& statistics) {
    Results results;
    results.groups = {results_of(statistics)};
    std::vector<std::string> texts;
    for (const Finding& each : pruning_presentation().describe(results).findings) {
      if (each.about == "Population" || each.about == "Donors") texts.push_back(each.text);
    }
    return texts;
  };
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    Array& ablated =
        DocumentStatistics(statistics, d).row("ablated", {n_ablation_row, n_layer, n_head});
    for (std::size_t i = 0; i < n_pruning_head; ++i) {
      ablated.values[i] = 20.0 + static_cast<double>(d % 5);
      ablated.values[resample_row * n_pruning_head + i] = 21;
    }
  }
  DocumentStatistics donors(statistics, 0);
  donors.sum("donor_variance", {n_pruning_head + n_donor_part})(n_pruning_head) = 100;
  donors.end();
  // 10 heads, 0.1 nats each; sqrt(100) nats over 200 predicted tokens.
  EXPECT_THAT(
      lines(statistics),
      testing::ElementsAre(
          "Intervals of loss increases are about all text of which the corpus is a sample. Of the "
          "corpus's 20 documents, all of which were ablated, the increases of zero and mean "
          "ablation are exact.",
          "With z of other documents (resample) the loss increases of all heads add up to 1 nats. "
          "The choice of those documents gives this sum a standard error of 0.05 nats (5 %)."));
  DocumentStatistics read(statistics, 40);
  for (std::size_t d = 20; d < 80; ++d) {
    read.sum("n_document", {n_document_block})(d) = 1;
    read.sum("loss", {n_document_block, 2})(d, 1) = 10;
  }
  // A piece with a single donor: what another would have given is not known.
  read.sum("donor_variance", {n_pruning_head + n_donor_part})(n_pruning_head + 1) = 1;
  read.end();
  EXPECT_THAT(lines(statistics),
              testing::ElementsAre(
                  "Intervals of loss increases are about all text of which the corpus is a sample. "
                  "For the mean over the corpus's 80 documents they are 0.87 times as wide "
                  "(zero ablation, median over heads; loss_increase_corpus_half_width)."));
}

/// Recomputes every number in NumPy from whole forward passes; of 24 documents, so many ablated.
class PruningAgainstNumPy : public testing::TestWithParam<const char*> {};

TEST_P(PruningAgainstNumPy, AgreesOnDocumentsOfDifferentLengths) {
  const std::string golden = std::string(HEADSCOPE_TEST_DATA) + "/gradient_golden.h5";
  const std::string model = std::string(HEADSCOPE_TEST_DATA) + "/tiny_flat/float64.h5";
  const test::TemporaryDirectory folder;
  // One document is too short to predict a token; one is longer than every possible donor of z.
  std::vector<TokenIds> documents{test::golden_tokens(golden, 0), {7}};
  for (const std::size_t d : {1, 2, 3}) documents.push_back(test::golden_tokens(golden, d));
  documents.push_back(test::Normal(4).tokens(26, 61));
  // One is longer than two contexts. The others make enough documents for an interval, of which the
  // sample leaves out some.
  documents.push_back(test::Normal(5).tokens(75, 61));
  for (Index n_token = 3; documents.size() < 26; ++n_token) {
    documents.push_back(test::Normal(n_token).tokens(n_token % 7 + 2, 61));
  }
  test::write_token_corpus(folder.file("corpus.h5"), documents);
  const test::Finished run = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--corpus", folder.file("corpus.h5"), "--no-bos", "--analyses",
       "pruning", "--bootstrap", "40", "--prune-documents", "24", "--ablate-documents", GetParam(),
       "--seed", "3", "--quiet", "--output", folder.path()});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  test::run_reference("pruning_check.py", {folder.file("results.h5"), model,
                                           folder.file("corpus.h5"), "40", "24", GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Ablated, PruningAgainstNumPy, testing::Values("24", "21"));

}  // namespace
}  // namespace headscope
