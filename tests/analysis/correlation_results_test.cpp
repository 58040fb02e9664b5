#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlation/likeness.hpp"
#include "correlation/results.hpp"
#include "correlation/sums.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;

/// The analysis's sums for one layer with two heads of width 1. In document d their cosine is
/// head[d] in head space and residual[d] in residual space. Each stands for as many documents as an
/// interval takes.
Statistics sums_of(const std::vector<double>& head, const std::vector<double>& residual) {
  Statistics statistics;
  DocumentStatistics sums(statistics, 0);
  const Shape heads{1, 2, 2};
  const auto fill = [](Array& products, std::size_t block, double cosine) {
    double* const product = products.values.data() + block * 4;
    product[0] = product[3] = 1;
    product[1] = product[2] = cosine;
  };
  const Shape blocks{n_document_block, 1, 2, 2};
  for (std::size_t d = 0; d < head.size(); ++d) {
    fill(sums.sum("head_total", blocks), d, head[d]);
    fill(sums.sum("residual_total", blocks), d, residual[d]);
    sums.sum("n_document", {n_document_block})(d) = least_documents;
  }
  for (const char* name : {"head_cosine", "residual_cosine", "value_total", "overlap"}) {
    fill(sums.sum(name, heads), 0, 0);
  }
  sums.sum("all_total", {2, 2});
  sums.sum(z_product_name(0), {3});
  sums.sum("z_sum", {1, 2});
  sums.sum("n_token", {1})(0) = 1;
  sums.end();
  return statistics;
}

ModelConfig correlation_config() {
  return test::config_of({.n_layer = 1, .n_head = 2, .d_model = 2});
}

AnalysisSettings settings() {
  AnalysisSettings settings;
  settings.n_bootstrap = 200;
  return settings;
}

/// Verdict on low correlation for documents with these cosines in residual space.
/// Their cosines in head space would give the opposite verdict.
Verdict low_correlation_verdict(const std::vector<double>& residual) {
  const std::vector<double> head(residual.size(), residual[0] < 0.3 ? 0.9 : 0.0);
  const ResultsGroup group =
      correlation_results(sums_of(head, residual), correlation_config(), settings());
  return group.claims.at(0).verdict;
}

TEST(LowCorrelationClaim, IsSettledByTheWholeIntervalAgainstThreeTenths) {
  EXPECT_EQ(low_correlation_verdict({0.28, 0.29}), Verdict::holds);
  EXPECT_EQ(low_correlation_verdict({0.31, 0.32}), Verdict::does_not_hold);
  EXPECT_EQ(low_correlation_verdict({0.2, 0.35}), Verdict::undecided);
  EXPECT_EQ(low_correlation_verdict({0.4, 0.25}), Verdict::undecided);
  EXPECT_EQ(low_correlation_verdict({0.1, 0.1}), Verdict::undecided) << "documents do not differ";
}

// Two layers of one head each.
TEST(LowCorrelationClaim, NamesNoCosineWhereLayersHaveOneHead) {
  Statistics statistics;
  DocumentStatistics sums(statistics, 0);
  for (const char* name : {"head_total", "residual_total"}) {
    std::ranges::fill(sums.sum(name, {n_document_block, 2, 1, 1}).values, 1);
  }
  for (const char* name : {"head_cosine", "residual_cosine", "value_total", "overlap"}) {
    std::ranges::fill(sums.sum(name, {2, 1, 1}).values, 1);
  }
  for (const Index layer : {0, 1}) sums.sum(z_product_name(layer), {1})(0) = 1;
  std::ranges::fill(sums.sum("n_document", {n_document_block}).values, 1);
  sums.sum("z_sum", {2, 1});
  sums.sum("n_token", {1})(0) = 1;
  sums.end();
  const ModelConfig config = test::config_of({.n_layer = 2, .n_head = 1, .d_model = 1});
  Results results;
  results.groups.push_back(correlation_results(statistics, config, settings()));
  ResultsGroup& group = results.groups.front();
  const std::vector<ControlValues> controls(5, correlation_control_values(statistics));
  add_control_comparison(statistics, controls, config, settings(), group);
  EXPECT_EQ(group.claims.size(), 3u);
  for (const Claim& claim : group.claims) {
    EXPECT_EQ(claim.verdict, Verdict::undecided);
    EXPECT_TRUE(std::isnan(claim.effect.value)) << claim.statement;
    EXPECT_EQ(claim.evidence, "The layers have no two heads to compare.");
  }
  EXPECT_EQ(group.summary, "The layers have no two heads to compare.");
  EXPECT_TRUE(correlation_presentation().describe(results).findings.empty());
}

/// One document of two heads with these norms in either space, at right angles.
Statistics sums_of_norms(double first, double second) {
  Statistics statistics = sums_of({0}, {0});
  DocumentStatistics change(statistics, 1);
  for (const char* const name : {"head_total", "residual_total"}) {
    Array& products = change.sum(name, {n_document_block, 1, 2, 2});
    products(0, 0, 0, 0) = first - 1;
    products(0, 0, 1, 1) = second - 1;
  }
  change.end();
  return statistics;
}

TEST(LowCorrelationClaim, SaysThatHeadsHaveNoOutputWhereTheModelHasTwo) {
  const std::string no_output = "No two heads of a layer have an output that is not zero.";
  ModelConfig config = correlation_config();
  const Statistics statistics = sums_of_norms(1, 0);
  const ResultsGroup group = correlation_results(statistics, config, settings());
  EXPECT_EQ(group.claims.at(0).evidence, no_output);
  EXPECT_EQ(group.claims.at(1).evidence, no_output);
  EXPECT_EQ(group.summary, no_output);
  config.pruned_heads = {{0, 1}};
  EXPECT_EQ(correlation_results(statistics, config, settings()).summary,
            "The layers have no two heads to compare.");
}

TEST(LowCorrelationClaim, OneDocumentSettlesNothing) {
  EXPECT_EQ(low_correlation_verdict({0.1}), Verdict::undecided);
}

/// The results group with the claim about the control, from these cosines in residual space. The
/// cosines in head space are 0.
ResultsGroup compared(const std::vector<double>& trained, const std::vector<double>& untrained,
                      std::size_t n_control = 5) {
  const std::vector<double> none(trained.size(), 0);
  ResultsGroup group =
      correlation_results(sums_of(none, trained), correlation_config(), settings());
  const std::vector<ControlValues> controls(n_control,
                                            correlation_control_values(sums_of(none, untrained)));
  add_control_comparison(sums_of(none, trained), controls, correlation_config(), settings(), group);
  return group;
}

TEST(ControlClaim, HoldsWhenTheTrainedHeadsAreLessAlike) {
  const auto verdict = [](const std::vector<double>& trained,
                          const std::vector<double>& untrained) {
    return compared(trained, untrained).claims.back().verdict;
  };
  EXPECT_EQ(verdict({0.1, 0.2}, {0.3, 0.3}), Verdict::holds);
  EXPECT_EQ(verdict({0.4, 0.5}, {0.3, 0.3}), Verdict::does_not_hold);
  EXPECT_EQ(verdict({0.1, 0.6}, {0.3, 0.3}), Verdict::undecided);
}

// With cosine c two heads of norm 1 have the overlap c / (1 + c).
TEST(MixingClaim, IsSettledByUntrainedModels) {
  const auto claim = [](const std::vector<double>& trained, const std::vector<double>& untrained,
                        std::size_t n_control = 5) {
    return compared(trained, untrained, n_control).claims.at(1);
  };
  EXPECT_EQ(claim({0.1, 0.2}, {0.3, 0.3}).verdict, Verdict::does_not_hold);
  EXPECT_EQ(claim({0.4, 0.5}, {0.3, 0.3}).verdict, Verdict::holds);
  EXPECT_EQ(claim({0.1, 0.6}, {0.3, 0.3}).verdict, Verdict::undecided);
  EXPECT_EQ(claim({0.4, 0.5}, {0.3, 0.3}, 4).verdict, Verdict::undecided);
  EXPECT_NEAR(claim({0.5, 0.5}, {0.25, 0.25}).effect.value, 0.5 / 1.5 - 0.25 / 1.25,
              test::double_rounding);
  const ResultsGroup alone =
      correlation_results(sums_of({0, 0}, {0.5, 0.5}), correlation_config(), settings());
  EXPECT_NEAR(alone.scalar("output_overlap"), 0.5 / 1.5, test::double_rounding);
  EXPECT_EQ(alone.claims.at(1).verdict, Verdict::undecided) << "no untrained model";
}

// Products of two heads, by layer with this cosine in both spaces; NaN where the heads write
// nothing.
Statistics layers_of(const std::vector<double>& cosines) {
  Statistics statistics;
  DocumentStatistics sums(statistics, 0);
  for (const char* const name : {"head_total", "residual_total"}) {
    Array& products = sums.sum(name, {n_document_block, cosines.size(), 2, 2});
    for (Index layer = 0; layer < cosines.size(); ++layer) {
      if (std::isnan(cosines[layer])) continue;
      products(0, layer, 0, 0) = products(0, layer, 1, 1) = 1;
      products(0, layer, 0, 1) = products(0, layer, 1, 0) = cosines[layer];
    }
  }
  sums.sum("n_document", {n_document_block})(0) = least_documents;
  sums.end();
  return statistics;
}

TEST(MixingClaim, LeavesOutTheLayersWithoutTwoHeadsInTheUntrainedModelsToo) {
  const double none = arma::datum::nan;
  const auto overlap = [&](const std::vector<double>& trained,
                           const std::vector<double>& untrained) {
    const std::vector<ControlValues> controls(5, correlation_control_values(layers_of(untrained)));
    return likeness_difference(layers_of(trained), controls, settings()).output_overlap.value;
  };
  EXPECT_NEAR(overlap({none, 0.25}, {0.75, 0.25}), 0, test::double_rounding);
  EXPECT_NEAR(overlap({0.5, none}, {0.25, 0.9}), 0.5 / 1.5 - 0.25 / 1.25, test::double_rounding);
  EXPECT_TRUE(std::isnan(overlap({none, none}, {0.75, 0.25})));
}

TEST(ControlClaim, IsNotSettledByFewerThanFiveUntrainedModels) {
  EXPECT_EQ(compared({0.1, 0.2}, {0.3, 0.3}, 4).claims.back().verdict, Verdict::undecided);
  EXPECT_LT(compared({0.1, 0.2}, {0.3, 0.3}, 4).claims.back().effect.high, 0);
}

TEST(ControlClaim, CountsWhatUntrainedModelsDifferBy) {
  const std::vector<double> none(2, 0), trained{0.3, 0.3};
  ResultsGroup group =
      correlation_results(sums_of(none, trained), correlation_config(), settings());
  std::vector<ControlValues> controls;
  for (const double cosine : {0.1, 0.2, 0.35, 0.4, 0.55}) {
    controls.push_back(correlation_control_values(sums_of(none, {cosine, cosine})));
  }
  add_control_comparison(sums_of(none, trained), controls, correlation_config(), settings(), group);
  const Estimate effect = group.claims.back().effect;
  EXPECT_NEAR(effect.value, -0.02, test::double_rounding);
  // The standard error of a mean of five is 0.08; the documents of a model are all alike.
  EXPECT_LT(effect.low, -0.1);
  EXPECT_GT(effect.high, 0.05);
  EXPECT_NEAR(group.variable("mean_abs_cosine_control").values(4, 1, 0), 0.55,
              test::double_rounding);
}

TEST(ControlClaim, IsUndecidedWhereAFurtherUntrainedModelMightLieAsFar) {
  const std::vector<double> none(2, 0), trained{0.05, 0.05};
  const auto claim_beside = [&](const std::vector<double>& untrained) {
    ResultsGroup group =
        correlation_results(sums_of(none, trained), correlation_config(), settings());
    std::vector<ControlValues> controls;
    for (const double cosine : untrained) {
      controls.push_back(correlation_control_values(sums_of(none, {cosine, cosine})));
    }
    add_control_comparison(sums_of(none, trained), controls, correlation_config(), settings(),
                           group);
    return group.claims.back();
  };
  // Student's t with 4 degrees of freedom has 97.5 % below 2.776, the standard deviation is 0.178.
  const Claim far_apart = claim_beside({0.1, 0.2, 0.35, 0.4, 0.55});
  EXPECT_LT(far_apart.effect.high, 0) << "an interval of the mean alone";
  EXPECT_EQ(far_apart.verdict, Verdict::undecided);
  EXPECT_THAT(far_apart.evidence, HasSubstr("would lie up to 0.533 from this mean"));
  EXPECT_EQ(claim_beside({0.3, 0.31, 0.32, 0.33, 0.34}).verdict, Verdict::holds);
}

TEST(ControlClaim, ComparesTheSameDocumentsInEachResample) {
  // Documents differ far more than models.
  const ResultsGroup group = compared({0.1, 0.7}, {0.2, 0.8});
  const Claim& claim = group.claims.back();
  EXPECT_NEAR(claim.effect.value, -0.1, test::double_rounding);
  EXPECT_NEAR(claim.effect.low, -0.1, test::double_rounding);
  EXPECT_NEAR(claim.effect.high, -0.1, test::double_rounding);
  EXPECT_NEAR(group.variable("mean_abs_cosine_difference").values(1, 0), -0.1,
              test::double_rounding);
  EXPECT_NEAR(group.variable("mean_abs_cosine_difference_mean").values.values[0], -0.1,
              test::double_rounding);
  EXPECT_NEAR(group.variable("mean_abs_cosine_difference").estimate(1).high, -0.1,
              test::double_rounding);
}

TEST(LikenessLine, ComparesWithTheControlWhereThereIsOne) {
  const ResultsGroup alone =
      correlation_results(sums_of({0, 0}, {0.1, 0.7}), correlation_config(), settings());
  const auto line = [](const ResultsGroup& of) {
    Results results;
    results.groups = {of};
    return correlation_presentation().describe(results).findings.at(0).text;
  };
  EXPECT_EQ(line(alone), "The outputs of two heads of a layer have a mean absolute cosine of 0.4.");
  const ResultsGroup group = compared({0.1, 0.7}, {0.2, 0.8});
  EXPECT_EQ(line(group),
            "The outputs of two heads of a layer have a mean absolute cosine of 0.4; in untrained "
            "models of this shape it is 0.5. Compared with untrained models, before W_O the "
            "outputs are not measurably different in any layer; after W_O they are less alike in "
            "layer 0.");
}

TEST(LikenessLine, NamesNoLayerWhereAFurtherUntrainedModelMightLieAsFar) {
  const std::vector<double> none(2, 0), trained{0.05, 0.05};
  const auto line_beside = [&](const std::vector<double>& untrained) {
    Results results;
    results.groups = {
        correlation_results(sums_of(none, trained), correlation_config(), settings())};
    std::vector<ControlValues> controls;
    for (const double cosine : untrained) {
      controls.push_back(correlation_control_values(sums_of(none, {cosine, cosine})));
    }
    add_control_comparison(sums_of(none, trained), controls, correlation_config(), settings(),
                           results.groups.front());
    return correlation_presentation().describe(results).findings.at(0).text;
  };
  EXPECT_THAT(line_beside({0.1, 0.2, 0.35, 0.4, 0.55}),
              HasSubstr("after W_O they are not measurably different in any layer."));
  EXPECT_THAT(line_beside({0.3, 0.31, 0.32, 0.33, 0.34}),
              HasSubstr("after W_O they are less alike in layer 0."));
}

TEST(CorrelationSummary, NamesThePairOfResidualSpaceWithTheLargestCosine) {
  const ResultsGroup group =
      correlation_results(sums_of({0.9, 0.9}, {-0.25, -0.25}), correlation_config(), settings());
  EXPECT_THAT(group.summary, HasSubstr("largest absolute cosine is L0H0 and L0H1: -0.25."));
}

TEST(CorrelationLines, TellHeadsThatShareKeysAndValuesFromTheOthers) {
  Results results;
  ResultsGroup& group = results.groups.emplace_back();
  group.name = "correlation";
  group.add_dimension(Dimension::labels("space", {"head", "residual"}));
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head_i", 4));
  group.add_dimension(Dimension::count("head_j", 4));
  Array cosines({2, 1, 4, 4}, 0.1);
  cosines(0, 0, 0, 1) = 0.5;
  cosines(0, 0, 2, 3) = -0.7;
  cosines(0, 0, 1, 2) = std::nan("");
  cosines(1, 0, 2, 3) = 0.9;
  group.add(Declaration{"cosine", "space layer head_i head_j", "cosine", "cosine"}, cosines);
  EXPECT_EQ(sharing_text(results, head_space), "") << "all heads have their keys";
  results.attributes["n_kv_head"] = std::int64_t{2};
  EXPECT_EQ(sharing_text(results, head_space),
            "Heads that share keys and values have a mean absolute cosine of 0.6 in head space, "
            "other heads of a layer 0.1.");
  EXPECT_THAT(sharing_text(results, residual_space), HasSubstr("of 0.5 in residual space, "));
  results.attributes["n_kv_head"] = std::int64_t{1};
  EXPECT_EQ(sharing_text(results, residual_space),
            "Heads that share keys and values have a mean absolute cosine of 0.23 in residual "
            "space.");
}

TEST(CorrelationCosines, OfAHeadWithoutOutputAreNotANumber) {
  Statistics statistics = sums_of({0}, {0});
  DocumentStatistics batch(statistics, 1);
  for (const char* const name : {"head_total", "residual_total"}) {
    batch.sum(name, {n_document_block, 1, 2, 2})(0, 0, 1, 1) = -1;
  }
  for (const char* const name : {"head_cosine", "residual_cosine"}) {
    batch.sum(name, {1, 2, 2})(0, 1, 1) = -1;
  }
  batch.end();
  const ResultsGroup group = correlation_results(statistics, correlation_config(), settings());
  for (const char* const name : {"cosine", "cosine_token"}) {
    const Array& cosine = group.values(name);
    for (const std::size_t space : {0, 1}) {
      EXPECT_EQ(cosine(space, 0, 0, 0), 1) << name;
      EXPECT_TRUE(std::isnan(cosine(space, 0, 0, 1))) << name;
      EXPECT_TRUE(std::isnan(cosine(space, 0, 1, 1))) << name;
    }
  }
}

/// Recomputes every number in NumPy from stacked outputs. The parameter is --js-queries.
class CorrelationAgainstNumPy : public testing::TestWithParam<const char*> {};

TEST_P(CorrelationAgainstNumPy, AgreesOnDocumentsOfDifferentLengths) {
  const std::string golden = std::string(HEADSCOPE_TEST_DATA) + "/forward_golden.h5";
  const std::string model = std::string(HEADSCOPE_TEST_DATA) + "/tiny_flat/float64.h5";
  const test::TemporaryDirectory folder;
  std::vector<TokenIds> documents{{7}};
  for (const std::size_t d : {0, 1, 2}) documents.push_back(test::golden_tokens(golden, d));
  // One is longer than the context; the others make enough documents for an interval.
  documents.push_back(test::Normal(4).tokens(75, 61));
  for (Index n_token = 3; documents.size() < least_documents; ++n_token) {
    documents.push_back(test::Normal(n_token).tokens(n_token, 61));
  }
  test::write_token_corpus(folder.file("corpus.h5"), documents);
  const test::Finished run = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--corpus", folder.file("corpus.h5"), "--no-bos", "--analyses",
       "correlation", "--bootstrap", "40", "--js-queries", GetParam(), "--seed", "3", "--quiet",
       "--output", folder.path()});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  test::run_reference("correlation_check.py", {folder.file("results.h5"), model,
                                               folder.file("corpus.h5"), "40", GetParam()});
}

// Fewer queries than documents, fewer than all queries, more than all.
INSTANTIATE_TEST_SUITE_P(JsQueries, CorrelationAgainstNumPy, testing::Values("3", "30", "1000"),
                         [](const auto& test) { return std::string("Of") + test.param; });

}  // namespace
}  // namespace headscope
