#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pruning/direct_effects.hpp"
#include "pruning/results.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::size_t n_layer = 2, n_head = 5, n_pruning_unit = n_layer * n_head;
using Curve = std::array<double, n_curve_step>;

using Curves = std::array<Curve, 2>;

/// As many documents as an interval takes, all with these curves.
std::vector<Curves> enough(const Curves& curves) {
  return std::vector<Curves>(least_documents, curves);
}

/// The analysis's statistics: each document predicts 10 tokens at a loss of 2 nats, and pruning
/// adds `documents[d][order][step]` nats a token.
Statistics rows_of(const std::vector<Curves>& documents) {
  Statistics statistics;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    DocumentStatistics document(statistics, d);
    Array& baseline = document.row("baseline", {2});
    baseline(0) = 20;
    baseline(1) = 10;
    Array& ablated = document.row("ablated", {n_ablation_row, n_layer, n_head});
    std::fill(ablated.values.begin(), ablated.values.end(), 20);
    document.row("importance", {n_importance_row, n_layer, n_head});
    document.row("direct_head", {n_layer, n_head});
    document.row("direct_part", {n_layer + n_direct_part});
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

ModelConfig pruning_config() {
  ModelConfig config;
  config.n_layer = n_layer;
  config.n_head = n_head;
  config.d_vocab = 100;
  return config;
}

ResultsGroup results_of(const Statistics& statistics) {
  AnalysisSettings settings;
  settings.n_bootstrap = 200;
  return pruning_results(statistics, pruning_config(), settings);
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
    EXPECT_NEAR(share, 0.302, 1e-12);
  }
}

TEST(PrunableClaim, AllowsOneAndFivePercentOfTheBaseline) {
  Curve rising{};
  for (std::size_t step = 1; step < n_curve_step; ++step) rising[step] = 0.019 * step;
  const Statistics statistics = rows_of(enough({rising, rising}));
  const ResultsGroup group = results_of(statistics);
  EXPECT_NEAR(group.claims[0].effect.value, 0.02 / 0.19, 1e-12) << "0.02 nats are 1 % of 2";
  EXPECT_NEAR(group.claims[1].effect.value, 0.1 / 0.19, 1e-12) << "0.1 nats are 5 % of 2";
}

TEST(PrunableClaim, IsScoredOnDocumentsOfOddNumberInAnOrderMadeOnEvenOnes) {
  std::vector<Curves> documents = enough({free_until(3), free_until(3)});
  for (std::size_t d = 0; d < documents.size(); d += 2) documents[d] = {Curve{}, Curve{}};
  EXPECT_NEAR(results_of(rows_of(documents)).claims[0].effect.value, 0.302, 1e-12);

  // By even documents the first head costs least, by odd ones the last.
  Statistics statistics = rows_of(documents);
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    Array& ablated =
        DocumentStatistics(statistics, d).row("ablated", {n_ablation_row, n_layer, n_head});
    for (Index unit = 0; unit < n_layer * n_head; ++unit) {
      ablated.values[unit] += static_cast<double>(d % 2 == 0 ? unit : n_layer * n_head - unit);
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
  EXPECT_EQ(above_chance.report.warning, "");
  EXPECT_EQ(above_chance.claims[0].verdict, Verdict::holds);
  EXPECT_EQ(below_chance.report.warning,
            "the loss of 2 nats per token is above 1.95, that of guessing among the 7 tokens: "
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
    EXPECT_NEAR(increase.estimate(i).value, 0.5, 1e-12);
    EXPECT_NEAR(increase.estimate(i).low, 0.5, 1e-12);
    EXPECT_NEAR(increase.estimate(i).high, 0.5, 1e-12);
  }
  for (const double loss : group.variable("loss_all_but_one").values.values) {
    EXPECT_NEAR(loss, 4.5, 1e-12);
  }
}

TEST(PruningResults, NineteenDocumentsGiveNoIntervalAndSettleNoClaim) {
  const Curves curves{free_until(4), free_until(4)};
  const ResultsGroup group = results_of(rows_of(std::vector<Curves>(19, curves)));
  EXPECT_NEAR(group.claims[0].effect.value, 0.402, 1e-12);
  EXPECT_TRUE(std::isnan(group.claims[0].effect.low));
  EXPECT_EQ(group.claims[0].verdict, Verdict::undecided);
  EXPECT_FALSE(group.variable("loss_increase").estimate(0).has_interval());
}

TEST(PruningResults, WithoutIntervalsNoHeadIsCalledHarmless) {
  const ResultsGroup one_document = results_of(rows_of({{free_until(4), free_until(4)}}));
  EXPECT_EQ(one_document.variable("n_interval").values(0), 0);
  EXPECT_EQ(one_document.variable("n_harmless").values(0), 0);
  EXPECT_THAT(one_document.summary, HasSubstr("On 1 document the loss"));
  EXPECT_THAT(one_document.summary, HasSubstr("cannot be told: there are no intervals"));
  EXPECT_THAT(one_document.summary, Not(HasSubstr("of 10 heads")));
}

TEST(PruningResults, SummaryNamesTheCostliestHeadAndCountsTheHarmless) {
  Statistics statistics = rows_of(enough({free_until(2), free_until(2)}));
  for (std::uint64_t d = 0; d < least_documents; ++d) {
    Array& ablated =
        DocumentStatistics(statistics, d).row("ablated", {n_ablation_row, n_layer, n_head});
    ablated(0, 1, 2) = 30;                // 1 nat a token on all documents
    ablated(0, 0, 1) = d == 0 ? 30 : 20;  // 1 nat a token on one document
    ablated(0, 0, 3) = 10;                // lowers the loss
  }
  const ResultsGroup group = results_of(statistics);
  EXPECT_THAT(group.summary, HasSubstr("L1H2 (+1 nats)"));
  EXPECT_THAT(group.summary, HasSubstr(" 9 of 10 heads"));
  EXPECT_EQ(group.variable("n_harmless").values(0), 9);
  EXPECT_EQ(group.variable("n_interval").values(0), 10);
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
  EXPECT_THAT(group.summary, HasSubstr("; on the 20 of them, spread evenly, on which heads were "
                                       "ablated it is 2 nats per token."));
}

/// Recomputes every number in NumPy from whole forward passes.
TEST(PruningAgainstNumPy, AgreesOnDocumentsOfDifferentLengths) {
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
  const test::Finished run = test::run_headscope(
      {"run", "--model", model, "--corpus", folder.file("corpus.h5"), "--no-bos", "--analyses",
       "pruning", "--bootstrap", "40", "--prune-documents", "22", "--seed", "3", "--figures", "svg",
       "--quiet", "--output", folder.path()});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const test::Finished check = test::run_program(
      {"/usr/bin/python3", HEADSCOPE_PROJECT_DIR "/tests/reference/pruning_check.py",
       folder.file("results.h5"), model, folder.file("corpus.h5"), "40", "22"});
  EXPECT_EQ(check.exit_status, 0) << check.out << check.err;
}

}  // namespace
}  // namespace headscope
