#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "headscope/error.hpp"
#include "headscope/figure.hpp"
#include "headscope/parameters.hpp"
#include "headscope/prune.hpp"
#include "headscope/statistics.hpp"
#include "parameters/block_energy.hpp"
#include "parameters/cost.hpp"
#include "parameters/parameters.hpp"
#include "parameters/splitting.hpp"
#include "random_draws.hpp"
#include "support/random_weights.hpp"
#include "support/shared_data.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;

ModelConfig parameters_config(Index n_head = 4) {
  return test::config_of(
      {.n_layer = 3, .n_head = n_head, .d_model = 16, .d_mlp = 64, .n_ctx = 20, .d_vocab = 11});
}

ResultsGroup parameters_of(const Model& model, const AnalysisSettings& settings = {}) {
  blas::set_thread_count(0);  // OpenBLAS on one thread, as the command line sets it
  return parameters_analysis().make({model, nullptr, settings})->finish(Statistics()).front();
}

double value(const ResultsGroup& group, const std::string& variable, const std::string& dimension,
             const std::string& label) {
  const std::vector<std::string>& labels = group.dimensions.at(dimension).text;
  const auto at = std::find(labels.begin(), labels.end(), label);
  EXPECT_NE(at, labels.end()) << label;
  return group.variable(variable).values(static_cast<std::size_t>(at - labels.begin()));
}

Matrix gaussian_square(Index n, std::uint64_t seed) {
  arma::mat W(n, n);
  fill_normal(W.memptr(), W.n_elem, CounterRandom(seed));
  return arma::conv_to<Matrix>::from(W);
}

TEST(RandomDraws, NormalsHaveMeanZeroAndUnitVariance) {
  std::vector<double> values(20001);
  fill_normal(values.data(), values.size(), CounterRandom(3));
  const arma::vec draws(values);
  EXPECT_NEAR(arma::mean(draws), 0, 0.03) << "standard error 0.007";
  EXPECT_NEAR(arma::stddev(draws), 1, 0.02) << "standard error 0.005";
}

TEST(RandomDraws, SubsetsAreAllEquallyLikely) {
  std::map<std::set<Index>, int> counts;
  for (std::uint64_t draw = 0; draw < 6000; ++draw) {
    ++counts[random_subset(4, 2, CounterRandom(5, draw))];
  }
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [subset, count] : counts) {
    EXPECT_EQ(subset.size(), 2U);
    EXPECT_NEAR(count, 1000, 120);  // four standard deviations
  }
  EXPECT_EQ(random_subset(3, 3, CounterRandom(0)), (std::set<Index>{0, 1, 2}));
  EXPECT_TRUE(random_subset(3, 0, CounterRandom(0)).empty());
}

TEST(RandomDraws, PermutationsAreAllEquallyLikely) {
  std::map<std::vector<Index>, int> counts;
  for (std::uint64_t draw = 0; draw < 6000; ++draw) {
    ++counts[permutation(3, CounterRandom(1, draw))];
  }
  EXPECT_EQ(counts.size(), 6U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150) << "5 standard errors";
}

TEST(AttentionParameters, MatchPublishedArchitectures) {
  const std::vector<double> dense{2359296,   4194304,  6553600, 10240000,
                                  603979776, 67108864, 3072,    3072};
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const NamedArchitecture& a = named_architectures()[i];
    for (const auto scheme : {ProjectionScheme::dense, ProjectionScheme::single_head}) {
      EXPECT_EQ(attention_parameters(
                    scheme, AttentionShape::of(a.d_model, a.n_head, a.has_output_projection)),
                dense[i])
          << a.name;
    }
  }
  EXPECT_EQ(attention_parameters(ProjectionScheme::block_diagonal_qkv, AttentionShape::of(768, 12)),
            737280);
  EXPECT_EQ(attention_parameters(ProjectionScheme::block_diagonal_all, AttentionShape::of(768, 12)),
            196608);
}

TEST(AttentionCost, IsThatOfASmallCaseByHand) {
  const auto cost = [](ProjectionScheme scheme, CostTerm term) {
    return attention_cost(scheme, term, AttentionShape::of(4, 2), 3);
  };
  using S = ProjectionScheme;
  using T = CostTerm;
  EXPECT_EQ(cost(S::dense, T::projections), 3 * 3 * 16);
  EXPECT_EQ(cost(S::block_diagonal_qkv, T::projections), 3 * 3 * 8);
  EXPECT_EQ(cost(S::dense, T::output), 3 * 16);
  EXPECT_EQ(cost(S::block_diagonal_qkv, T::output), 3 * 16);
  EXPECT_EQ(cost(S::block_diagonal_all, T::output), 3 * 8);
  for (const S scheme : {S::dense, S::single_head}) {
    EXPECT_EQ(cost(scheme, T::qk), 9 * 4);
    EXPECT_EQ(cost(scheme, T::av), 9 * 4);
  }
  EXPECT_EQ(cost(S::dense, T::softmax_exponentials), 2 * 9);
  EXPECT_EQ(cost(S::single_head, T::softmax_exponentials), 9);
}

// SmolLM2-135M's attention: 9 heads of width 64, 3 of keys and values.
TEST(Cost, SharedKeysAndValuesAreProjectedOnce) {
  const AttentionShape shape{576, 9, 3, 64};
  EXPECT_EQ(attention_parameters(ProjectionScheme::dense, shape), 2 * 576 * 576 + 2 * 576 * 192);
  EXPECT_EQ(attention_parameters(ProjectionScheme::single_head, shape), 4 * 576 * 576);
  EXPECT_EQ(attention_parameters(ProjectionScheme::block_diagonal_qkv, shape),
            3 * 576 * 64 + 576 * 576);
  EXPECT_EQ(attention_cost(ProjectionScheme::dense, CostTerm::projections, shape, 10),
            10 * (576 * 576 + 2 * 576 * 192));
  EXPECT_EQ(attention_cost(ProjectionScheme::dense, CostTerm::qk, shape, 10), 100 * 576);
}

TEST(BlockEnergy, OfKeysHasABlockForEachGroup) {
  Matrix W(4, 6, arma::fill::zeros);  // two groups of width 2, reading 3 inputs each
  W(0, 0) = W(1, 2) = W(3, 5) = 1;
  W(2, 1) = 1;
  EXPECT_DOUBLE_EQ(block_energy(W, 2, 0, 0, 0).energy, 0.75);
}

TEST(BlockEnergy, OfASideThatBlocksDoNotDivideHasNoValue) {
  EXPECT_TRUE(std::isnan(block_energy(Matrix(4, 6, arma::fill::ones), 4, 5, 0, 0).energy));
  EXPECT_TRUE(std::isnan(block_energy(Matrix(4, 4, arma::fill::ones), 3, 5, 0, 0).energy));
}

TEST(BlockEnergy, IsTheShareOfSquaresInTheDiagonalBlocks) {
  const Matrix W{{3, 1}, {1, 3}};
  const BlockEnergy block = block_energy(W, 2, 200, 0, 0);
  EXPECT_NEAR(block.energy, 0.9, test::double_rounding);
  // The two possible orders give 0.9 and 0.1.
  EXPECT_NEAR(block.null_mean, 0.5, 0.15) << "5 standard errors";
  EXPECT_NEAR(block.p, 0.5, 0.18) << "5 standard errors";
}

TEST(BlockEnergy, OfABlockDiagonalMatrixIsOneAndNoPermutationReachesIt) {
  Matrix W(16, 16, arma::fill::zeros);
  for (Index b = 0; b < 4; ++b)
    W.submat(4 * b, 4 * b, 4 * b + 3, 4 * b + 3) = gaussian_square(4, b);
  const BlockEnergy block = block_energy(W, 4, 100, 0, 0);
  EXPECT_NEAR(block.energy, 1, test::double_rounding);
  EXPECT_NEAR(block.p, 1.0 / 101, test::double_rounding);
  EXPECT_GT(block.z, 5);
}

TEST(BlockEnergy, OfARandomMatrixIsChance) {
  const BlockEnergy block = block_energy(gaussian_square(96, 1), 8, 100, 0, 0);
  // Four standard errors of the mean of 100 orders, and four deviations of a single one.
  EXPECT_NEAR(block.null_mean, 1.0 / 8, 4 * block.null_std / 10);
  EXPECT_LT(std::abs(block.z), 4);
  EXPECT_NEAR(block.energy, 1.0 / 8, 4.4 * block.null_std);
}

TEST(BlockEnergy, DoesNotDependOnWhichAxisIsCalledInput) {
  const Matrix W = gaussian_square(24, 2);
  EXPECT_NEAR(block_energy(W, 4, 0, 0, 0).energy, block_energy(W.t(), 4, 0, 0, 0).energy,
              test::double_rounding);
}

TEST(HeldParameters, AreAllOfACompleteModelAndFewerOfAttentionAlone) {
  const ModelConfig config = parameters_config();
  Model model = random_model(config, 1);
  EXPECT_EQ(held_parameters(model).by_component, parameter_counts(config).by_component);
  model.W_E.reset();
  model.layers[1].W_in.reset();
  EXPECT_EQ(held_parameters(model).total(), parameter_counts(config).total() - Index{11 + 64} * 16);
}

TEST(Splitting, OneLargeProjectionEqualsSeparateOnes) {
  const SplittingDifference difference =
      splitting_difference(random_model(parameters_config(), 1), 0);
  EXPECT_LT(difference.relative, test::rounding_tolerance);
  EXPECT_EQ(difference.n_token, 20U);
}

TEST(ParametersAnalysis, CountsByHand) {
  const ResultsGroup group = parameters_of(random_model(parameters_config(), 1));
  EXPECT_EQ(value(group, "count", "component", "token_embedding"), 11 * 16);
  EXPECT_EQ(value(group, "count", "component", "position_embedding"), 20 * 16);
  EXPECT_EQ(value(group, "count", "component", "attention_k"), 3 * 16 * 16);
  EXPECT_EQ(value(group, "count", "component", "attention_bias"), 3 * 4 * 16);
  EXPECT_EQ(value(group, "count", "component", "mlp"), 3 * (2 * 16 * 64 + 64 + 16));
  EXPECT_EQ(value(group, "count", "component", "layer_norm"), 14 * 16);
  EXPECT_EQ(value(group, "count", "component", "lm_head"), 0);
  const std::vector<double>& count = group.variable("count").values.values;
  EXPECT_EQ(count.back(), arma::accu(arma::vec(count)) - count.back());
  EXPECT_EQ(value(group, "d_head", "architecture", "loaded_model"), 4);
}

TEST(ParametersAnalysis, SettlesItsClaimsOnADenseModel) {
  const std::vector<Claim> claims = parameters_of(random_model(parameters_config(), 1)).claims;
  ASSERT_EQ(claims.size(), 4U);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(claims[i].number, i + 1);
  EXPECT_EQ(claims[0].verdict, Verdict::holds);
  EXPECT_EQ(claims[1].verdict, Verdict::holds);
  EXPECT_EQ(claims[2].verdict, Verdict::holds);
  EXPECT_EQ(claims[3].verdict, Verdict::does_not_hold);
  EXPECT_NEAR(claims[3].effect.value, 0.25, 0.05);  // the standard error of 12 matrices is 0.011
  EXPECT_THAT(claims[1].evidence,
              HasSubstr("Each layer with its 4 heads holds 1,024 attention weights"));
}

TEST(ParameterClaims, OfAModelThatHasLostHeadsAreOfALayerWithAllOfThem) {
  Model model = random_model(parameters_config(), 1);
  prune_heads(model, std::vector<HeadIndex>{{0, 1}}, PruneMode::remove);
  const ResultsGroup group = parameters_of(model);
  EXPECT_THAT(group.claims[1].evidence, HasSubstr("A layer with all of its 4 heads holds 1,024 "));
  EXPECT_THAT(group.claims[2].evidence, HasSubstr(" a layer with all of its 4 heads and "));
  EXPECT_THAT(group.summary, HasSubstr("weights with all of its 4 heads as with one."));
}

TEST(ParametersAnalysis, FindsBlockDiagonalProjectionsWhereThereAreSome) {
  Model model = random_model(parameters_config(), 1);
  Matrix mask(16, 16, arma::fill::zeros);
  for (Index b = 0; b < 4; ++b) mask.submat(4 * b, 4 * b, 4 * b + 3, 4 * b + 3).ones();
  for (LayerWeights& layer : model.layers) {
    layer.W_QKV %= arma::join_cols(mask, mask, mask);
    layer.W_O %= mask;
  }
  EXPECT_EQ(parameters_of(model).claims[3].verdict, Verdict::holds);
  model.layers[0].W_O = gaussian_square(16, 3);
  EXPECT_EQ(parameters_of(model).claims[3].verdict, Verdict::undecided);
}

TEST(ParametersAnalysis, ClaimsNothingAboutBlocksOfASingleHead) {
  const ResultsGroup group = parameters_of(random_model(parameters_config(1), 1));
  EXPECT_EQ(group.claims[3].verdict, Verdict::undecided);
  EXPECT_TRUE(std::isnan(group.claims[3].effect.value));
  EXPECT_EQ(group.variable("block_energy_p").values(0, 0), 1);
}

TEST(ParametersAnalysis, FewPermutationsShowNoSignificance) {
  const auto evidence = [](std::size_t n_null) {
    AnalysisSettings settings;
    settings.n_null = n_null;
    return parameters_of(random_model(parameters_config(), 1), settings).claims[3].evidence;
  };
  EXPECT_THAT(evidence(19), HasSubstr("so few permutations give no p < 0.05 (at least 20 can)."));
  EXPECT_THAT(evidence(20),
              HasSubstr(" of 12 matrices lie above chance at p < 0.05 (0.6 expected"));
}

// One group of keys and values is one block, of energy 1.
TEST(ParametersAnalysis, LeavesProjectionsOfOneBlockOutOfTheClaim) {
  ModelConfig config = parameters_config();
  config.n_kv_head = 1;
  const ResultsGroup group = parameters_of(random_model(config, 1));
  EXPECT_NEAR(group.values("block_energy")(1, 0), 1, test::double_rounding);
  const Claim& claim = group.claims[3];
  EXPECT_EQ(claim.verdict, Verdict::does_not_hold);
  EXPECT_NEAR(claim.effect.value, 0.25, 0.06);
  EXPECT_LT(claim.effect.high, 0.5);
  EXPECT_THAT(claim.evidence, HasSubstr(", chance 0.2500, largest 0."));
  EXPECT_THAT(claim.evidence,
              HasSubstr(". Keys and values, which all heads share, are one block and left out."));
  EXPECT_THAT(claim.evidence, HasSubstr(" of 6 matrices lie above chance"));
  EXPECT_THAT(group.summary, testing::Not(HasSubstr("100 %")));
}

// Six heads do not divide 16 dimensions, their two groups do.
TEST(ParametersAnalysis, ChanceIsOfTheProjectionsThatAreCut) {
  ModelConfig config = parameters_config(6);
  config.n_kv_head = 2;
  config.head_width = 4;
  Results results;
  results.groups = {parameters_of(random_model(config, 1))};
  results.attributes["n_kv_head"] = std::int64_t{2};
  const ResultsGroup& group = results.groups.front();
  EXPECT_TRUE(std::isnan(group.values("block_energy")(0, 0)));
  EXPECT_THAT(group.claims[3].evidence, HasSubstr(", chance 0.5000, largest 0."));
  EXPECT_THAT(group.claims[3].evidence,
              HasSubstr(" Queries and outputs are left out: 16 dimensions cannot be cut into 6 "
                        "equal blocks."));
  EXPECT_THAT(group.summary, HasSubstr(" of the squared weights, where 50 % is chance."));
  // 3 d d_head of queries, keys and values, d d_head of outputs.
  EXPECT_THAT(group.claims[1].evidence, HasSubstr("Block-diagonal projections would need 256."));
  const Figure figure = parameters_figures(results).at(2);
  EXPECT_EQ(std::get<Chart>(figure.content).panels.size(), 2U);
  EXPECT_THAT(figure.caption, HasSubstr("cannot be cut into h equal blocks"));
}

TEST(ParametersFigures, AreDrawnFromResultsAlone) {
  Results results;
  results.groups.push_back(parameters_of(random_model(parameters_config(), 1)));
  const std::vector<Figure> figures = parameters_figures(results);
  std::vector<std::string> names;
  for (const Figure& figure : figures) names.push_back(figure.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"parameter_counts", "attention_macs", "block_energy"}));
  const auto& chart = std::get<Chart>(figures[2].content);
  EXPECT_EQ(chart.panels[3].series[1].y[2],
            results.group("parameters").variable("block_energy").values(3, 2));
  EXPECT_EQ(chart.panels[3].reference_lines[0].y, 0.25);
}

TEST(ParametersFigures, ShowNoEnergyWhereOneBlockHasAllOfIt) {
  Results results;
  results.groups.push_back(parameters_of(random_model(parameters_config(1), 1)));
  EXPECT_EQ(parameters_figures(results).size(), 2u);
  ModelConfig config = parameters_config();
  config.n_kv_head = 1;
  results.groups = {parameters_of(random_model(config, 1))};
  results.attributes["n_kv_head"] = std::int64_t{1};
  const Figure block_energy = parameters_figures(results).at(2);
  const auto& panels = std::get<Chart>(block_energy.content).panels;
  ASSERT_EQ(panels.size(), 2u);
  EXPECT_EQ(panels[0].title, "W_Q");
  EXPECT_EQ(panels[1].title, "W_O");
  EXPECT_THAT(block_energy.caption, HasSubstr("are one block and left out."));
}

TEST(ParametersOfGpt2Small, AreCountedAndNotBlockDiagonal) {
  const std::string path = test::shared_data + "/models/gpt2-small-attention.h5";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "GPT-2's weights are not at " << path;
  const ResultsGroup group = parameters_of(load_model(path));
  EXPECT_EQ(group.variable("count").values.values.back(), 124439808);
  EXPECT_EQ(value(group, "count_held", "component", "attention_o"), 12 * 768 * 768);
  EXPECT_EQ(value(group, "count_held", "component", "token_embedding"), 0);
  for (const double energy : group.variable("block_energy").values.values) {
    EXPECT_NEAR(energy, 1.0 / 12, 0.02);  // training moves it by up to a fifth
  }
  EXPECT_EQ(group.claims[0].verdict, Verdict::holds);
  EXPECT_EQ(group.claims[3].verdict, Verdict::does_not_hold);
}

}  // namespace
}  // namespace headscope
