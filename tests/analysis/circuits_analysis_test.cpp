#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "circuits/circuits.hpp"
#include "circuits/composition.hpp"
#include "circuits/measures.hpp"
#include "circuits/position.hpp"
#include "headscope/figure.hpp"
#include "headscope/prune.hpp"
#include "headscope/statistics.hpp"
#include "random_draws.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/random_weights.hpp"
#include "support/shared_data.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Error allowed to decompositions in double of matrices of up to 24 rows with numbers of about 1.
constexpr double rounding = 1e-13;
/// Error allowed to composition, whose products are float32 sums of up to 20 terms.
constexpr double float_rounding = 3e-7;

arma::mat gaussian_weights(Index rows, Index columns, std::uint64_t stream) {
  arma::mat W(rows, columns);
  fill_normal(W.memptr(), W.n_elem, CounterRandom(11, stream));
  return W;
}

double frobenius(const arma::mat& A) {
  return std::sqrt(arma::accu(arma::square(A)));
}

ModelConfig circuits_config(Index n_layer = 2, Index n_head = 3) {
  return test::config_of({.n_layer = n_layer,
                          .n_head = n_head,
                          .d_model = 24,
                          .d_mlp = 96,
                          .n_ctx = 12,
                          .d_vocab = 7});
}

ResultsGroup circuits_of(const Model& model, const AnalysisSettings& settings = {}) {
  blas::set_thread_count(0);  // OpenBLAS on one thread, as the command line sets it
  return circuits_analysis().make({model, nullptr, settings})->finish(Statistics()).front();
}

TEST(OvCopying, IdentityCopiesAndItsNegativeOpposes) {
  const arma::mat W(6, 3, arma::fill::eye);
  EXPECT_NEAR(ov_copying(W, W), 1, rounding);
  EXPECT_NEAR(ov_copying(W, -2 * W), -1, rounding);
}

TEST(OvCopying, RotationByAQuarterTurnDoesNeither) {
  const arma::mat W_V(4, 2, arma::fill::eye);
  const arma::mat W_O{{0, 1}, {-1, 0}, {0, 0}, {0, 0}};
  EXPECT_NEAR(ov_copying(W_V, W_O), 0, rounding);
}

TEST(OvCopying, SmallFormHasTheEigenvaluesOfTheFullCircuit) {
  const arma::mat W_V = gaussian_weights(20, 4, 1), W_O = gaussian_weights(20, 4, 2);
  const arma::cx_vec full = arma::eig_gen(arma::mat(W_V * W_O.t()));
  EXPECT_NEAR(ov_copying(W_V, W_O), arma::accu(arma::real(full)) / arma::accu(arma::abs(full)),
              rounding);
}

TEST(OvCopying, NoCircuitHasNoValue) {
  EXPECT_TRUE(std::isnan(ov_copying(arma::mat(6, 3), gaussian_weights(6, 3, 1))));
}

TEST(OvCopyingFull, SmallFormHasTheEigenvaluesFromTokenToToken) {
  Model model = random_model(circuits_config(), 1);
  model.ln_f_gain = arma::linspace<Vector>(0.5, 1.5, model.ln_f_gain.n_elem);
  const Index d = model.config.d_model;
  const arma::mat W_V = gaussian_weights(d, 4, 1), W_O = gaussian_weights(d, 4, 2);
  arma::mat E = arma::conv_to<arma::mat>::from(model.W_E), U = E;
  U.each_col() %= arma::conv_to<arma::vec>::from(model.ln_f_gain);
  for (arma::mat* tokens : {&U, &E}) tokens->each_row() -= arma::rowvec(arma::mean(*tokens, 0));
  const arma::cx_vec full = arma::eig_gen(arma::mat(E.t() * W_V * W_O.t() * U));
  EXPECT_NEAR(ov_copying_full(W_V, W_O, token_circuit(model, true)),
              arma::accu(arma::real(full)) / arma::accu(arma::abs(full)), rounding);
}

TEST(OvCopyingFull, ShowsCopySuppressionThatTheOvCircuitAloneDoesNot) {
  ModelConfig config = circuits_config();
  config.tied_unembedding = false;
  Model model = random_model(config, 1);
  model.W_U = -model.W_E;
  const arma::mat W(config.d_model, 4, arma::fill::eye);
  EXPECT_NEAR(ov_copying(W, W), 1, rounding);
  EXPECT_NEAR(ov_copying_full(W, W, token_circuit(model, false)), -1, rounding);
}

TEST(Rank90, CountsTheLargestUntilNineTenths) {
  EXPECT_EQ(rank90({0.5, 9, 0.5}), 1U);
  EXPECT_EQ(rank90({1, 1, 1, 1}), 4U);
  EXPECT_EQ(rank90({5, 1, 4}), 2U);
  EXPECT_EQ(rank90({0, 0}), 0U);
}

TEST(Rank90, QkIsThatOfTheFullProduct) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const arma::mat W_Q = gaussian_weights(30, 8, 2 * seed),
                    W_K = gaussian_weights(30, 8, 2 * seed + 1);
    const Index naive = rank90(arma::square(arma::svd(arma::mat(W_Q * W_K.t()))));
    EXPECT_EQ(qk_rank90(W_Q, W_K), naive);
    EXPECT_EQ(qk_rank90_joint(W_Q, W_K), naive);
  }
}

TEST(GramRoot, KeepsInnerProducts) {
  const arma::mat W = gaussian_weights(20, 5, 3);
  const arma::mat S = gram_root(W);
  EXPECT_EQ(S.n_rows, 5U);
  EXPECT_LT(frobenius(S.t() * S - W.t() * W), 20 * rounding);  // sums of 20 squares
}

constexpr double degree_rounding = 60 * rounding;  // a radian is 57 degrees

TEST(Subspaces, OrthogonalOverlapNotAtAllAndEqualFully) {
  arma::mat W(8, 6, arma::fill::zeros);
  W.submat(0, 0, 1, 1) = gaussian_weights(2, 2, 1);
  W.submat(2, 2, 3, 3) = gaussian_weights(2, 2, 2);
  W.cols(4, 5) = W.cols(0, 1) * gaussian_weights(2, 2, 3);
  const SubspaceAngles angles = subspace_angles(head_subspaces(W, 3));
  EXPECT_NEAR(angles.overlap(0, 1), 0, rounding);
  EXPECT_NEAR(angles.angle_min(0, 1), 90, degree_rounding);
  EXPECT_NEAR(angles.overlap(0, 2), 1, rounding);
  EXPECT_NEAR(angles.angle_min(0, 2), 0, 1e-5) << "an arc cosine near 1 keeps half the digits";
  EXPECT_NEAR(angles.overlap(1, 1), 1, rounding);
  EXPECT_EQ(angles.angle_min(1, 1), 0);
}

TEST(Subspaces, AreMeasuredByTheAngleBetweenThem) {
  const double angle = std::numbers::pi / 6;
  // Two heads of width 2 in 4 dimensions, with principal angles of 30 and 90 degrees.
  const arma::mat W{
      {1, 0, std::cos(angle), 0}, {0, 0, std::sin(angle), 0}, {0, 1, 0, 0}, {0, 0, 0, 5}};
  const SubspaceAngles angles = subspace_angles(head_subspaces(W, 2));
  EXPECT_NEAR(angles.overlap(0, 1), 0.75 / 2, rounding);
  EXPECT_NEAR(angles.overlap(1, 0), 0.75 / 2, rounding);
  EXPECT_NEAR(angles.angle_min(0, 1), 30, degree_rounding);
}

TEST(Subspaces, OfLesserRankCountTheirOwnDimensions) {
  arma::mat W(6, 6, arma::fill::zeros);
  W.col(0) = gaussian_weights(6, 1, 1);
  W.col(1) = W.col(0);
  W.cols(2, 3) = arma::join_rows(W.col(0), gaussian_weights(6, 1, 2));
  const HeadSubspaces subspaces = head_subspaces(W, 3);
  EXPECT_EQ(subspaces.rank, (std::vector<Index>{1, 2, 0}));
  const SubspaceAngles angles = subspace_angles(subspaces);
  EXPECT_NEAR(angles.overlap(0, 1), 1, rounding) << "a line inside a plane";
  EXPECT_TRUE(std::isnan(angles.overlap(0, 2)));
  EXPECT_TRUE(std::isnan(angles.angle_min(2, 2)));
}

TEST(Subspaces, RandomOnesOverlapByChance) {
  const auto mean = [](Index d_model, Index d_head, bool centred) {
    double sum = 0;
    for (std::uint64_t draw = 0; draw < 400; ++draw) {
      sum += random_subspace_overlap(d_model, d_head, centred, CounterRandom(5, draw));
    }
    return sum / 400;
  };
  // Standard deviation: about 0.02 for one draw, 0.001 for the mean of 400.
  EXPECT_NEAR(mean(48, 8, false), 8.0 / 48, 0.004);
  // Here about 0.2 and 0.01.
  EXPECT_NEAR(mean(5, 2, false), 2.0 / 5, 0.04);
  EXPECT_NEAR(mean(5, 2, true), 2.0 / 4, 0.04);
}

TEST(CircuitWeights, FoldingChangesNothingThatLayerNormLetsThrough) {
  Model model = random_model(circuits_config(), 3);
  LayerWeights& layer = model.layers[0];
  layer.ln_1_gain = arma::conv_to<Vector>::from(gaussian_weights(24, 1, 9));
  const CircuitWeights raw = circuit_weights(model, 0, false);
  const CircuitWeights folded = circuit_weights(model, 0, true);
  arma::vec x = gaussian_weights(24, 1, 1);
  x -= arma::mean(x);
  const arma::vec scaled = x % arma::conv_to<arma::vec>::from(layer.ln_1_gain);
  for (const Projection read : {Projection::q, Projection::k, Projection::v}) {
    // Weights are about 0.02, and so smaller is what sums of 24 products round to.
    EXPECT_LT(frobenius(folded.of(read).t() * x - raw.of(read).t() * scaled), 1e-15);
    EXPECT_LT(frobenius(arma::mean(folded.of(read), 0)), 1e-16);
  }
  const arma::vec written = raw.W_O * gaussian_weights(24, 1, 2);
  const arma::vec centred = folded.W_O * gaussian_weights(24, 1, 2);
  EXPECT_LT(frobenius(written - arma::mean(written) - centred), 1e-15);
}

TEST(CircuitWeights, HeadsOfAGroupHaveItsKeysAndValues) {
  const Model model = load_model(test::data_path("architectures/llama"));  // 6 heads, 2 groups
  const CircuitWeights weights = circuit_weights(model, 1, false);
  const Matrix& W_QKV = model.layers[1].W_QKV;
  EXPECT_LT(frobenius(weights.of(Projection::k, 4) -
                      arma::conv_to<arma::mat>::from(W_QKV.rows(48 + 8, 48 + 15).t())),
            1e-12);
  EXPECT_LT(frobenius(weights.of(Projection::v, 2) -
                      arma::conv_to<arma::mat>::from(W_QKV.rows(64, 64 + 7).t())),
            1e-12);
  // RMSNorm lets the mean through, so folding leaves it.
  const arma::vec gain = arma::conv_to<arma::vec>::from(model.layers[1].ln_1_gain);
  const CircuitWeights folded = circuit_weights(model, 1, true);
  EXPECT_LT(frobenius(folded.W_Q - arma::mat(weights.W_Q.each_col() % gain)), 1e-12);
  EXPECT_LT(frobenius(folded.W_O - weights.W_O), 1e-12);
}

TEST(OverlapFigure, HasAMeanOfEachLayerWhereHeadsShareKeysAndValues) {
  const Model model = load_model(test::data_path("architectures/llama"));  // 6 heads, 2 groups
  Results results;
  results.groups.push_back(circuits_of(model));
  const std::vector<Figure> figures = circuits_figures(results);
  const auto overlap = std::ranges::find(figures, "subspace_overlap", &Figure::name);
  ASSERT_NE(overlap, figures.end());
  const Array& values = results.groups[0].values("subspace_overlap");
  for (const ChartPanel& panel : std::get<Chart>(overlap->content).panels) {
    const std::size_t projection = std::string("QKVO").find(panel.title.back());
    const Series& mean = panel.series.back();
    ASSERT_EQ(mean.y.size(), 2U) << panel.title;
    for (std::size_t layer = 0; layer < 2; ++layer) {
      double sum = 0;
      std::size_t n_pair = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double value = values(projection, layer, i, j);
          if (std::isnan(value)) continue;
          sum += value;
          ++n_pair;
        }
      }
      // 9 pairs of heads of different groups, or all 15.
      EXPECT_EQ(n_pair, projection == 1 || projection == 2 ? 9U : 15U);
      EXPECT_NEAR(mean.y[layer], sum / static_cast<double>(n_pair), test::double_rounding);
    }
  }
}

TEST(CircuitWeights, HeadsAreRowsOfQkvAndColumnsOfO) {
  const Model model = random_model(circuits_config(), 4);
  const CircuitWeights weights = circuit_weights(model, 1, false);
  const LayerWeights& layer = model.layers[1];
  const Index d = model.config.d_model, d_head = model.config.d_head();
  const auto rows = [&](Index projection) {
    const Index begin = projection * d + 2 * d_head;
    return Matrix(layer.W_QKV.rows(begin, begin + d_head - 1).t());
  };
  const auto same = [](const arma::mat& got, const Matrix& expected) {
    return frobenius(got - arma::conv_to<arma::mat>::from(expected)) == 0;
  };
  EXPECT_TRUE(same(weights.of(Projection::q, 2), rows(0)));
  EXPECT_TRUE(same(weights.of(Projection::k, 2), rows(1)));
  EXPECT_TRUE(same(weights.of(Projection::v, 2), rows(2)));
  EXPECT_TRUE(
      same(weights.of(Projection::o, 2), Matrix(layer.W_O.cols(2 * d_head, 3 * d_head - 1))));
}

TEST(Composition, IsThePlainFormulaWithoutTheLargeMatrices) {
  const CircuitWeights first{2, gaussian_weights(20, 8, 1), gaussian_weights(20, 8, 2),
                             gaussian_weights(20, 8, 3), gaussian_weights(20, 8, 4)};
  const CircuitWeights second{2, gaussian_weights(20, 8, 5), gaussian_weights(20, 8, 6),
                              gaussian_weights(20, 8, 7), gaussian_weights(20, 8, 8)};
  const WritingFactors earlier = writing_factors(first);
  const ReadingFactors later = reading_factors(second);
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 2; ++j) {
      const arma::mat OV = first.of(Projection::v, i) * first.of(Projection::o, i).t();
      const arma::mat QK = second.of(Projection::q, j) * second.of(Projection::k, j).t();
      const arma::mat next = second.of(Projection::v, j) * second.of(Projection::o, j).t();
      const std::array<arma::mat, 3> read{QK, QK.t(), next};
      for (std::size_t kind = 0; kind < 3; ++kind) {
        const double naive = frobenius(OV * read[kind]) / (frobenius(OV) * frobenius(read[kind]));
        EXPECT_NEAR(composition(earlier, later, kind)(i, j), naive, float_rounding);
      }
    }
  }
}

TEST(Composition, IsFullWhereOneHeadReadsOnlyWhatAnotherWrites) {
  arma::mat direction(6, 1, arma::fill::zeros), other(6, 1, arma::fill::zeros);
  direction(2) = 3;
  other(4) = 1;
  const CircuitWeights heads{1, direction, other, other, direction};
  const WritingFactors written = writing_factors(heads);
  const ReadingFactors read = reading_factors(heads);
  EXPECT_NEAR(composition(written, read, 0)(0, 0), 1, float_rounding) << "W_Q reads it";
  EXPECT_NEAR(composition(written, read, 1)(0, 0), 0, float_rounding) << "W_K does not";
}

TEST(Composition, WithAHeadOfZerosHasNoValue) {
  const arma::mat zero(6, 2, arma::fill::zeros);
  const CircuitWeights pruned{1, gaussian_weights(6, 2, 1), gaussian_weights(6, 2, 2),
                              gaussian_weights(6, 2, 3), zero};
  EXPECT_TRUE(std::isnan(composition(writing_factors(pruned), reading_factors(pruned), 0)(0, 0)));
}

TEST(CompositionNull, IsOneOverTheRootOfTheWidth) {
  const CompositionNull null = composition_null(64, 8, 100, 1);
  for (std::size_t kind = 0; kind < 3; ++kind) {
    // The squared score adds up 8 * 8 squares, each of a relative variance of 2: the score varies
    // by sqrt(2 / 64) / 2 = 9 % of 1 / 8, and lengths of weights by a little. Of 100 draws, five
    // standard errors of the mean are 0.006, and of the deviation 0.004.
    EXPECT_NEAR(null.mean[kind], 1 / 8.0, 0.006);
    EXPECT_NEAR(null.std[kind], 0.011, 0.004);
  }
  EXPECT_TRUE(std::isnan(composition_null(64, 8, 0, 1).mean[0]));
}

TEST(PositionOnly, WithoutQueriesIsUniform) {
  ModelConfig config = circuits_config();
  config.n_ctx = 4;
  Model model = random_model(config, 1);
  model.layers[0].W_QKV.head_rows(24).zeros();
  const PositionOnlyAttention attention = position_only_attention(model, 0);
  // Query 2 attends to 3 keys evenly, query 3 to 4.
  const double both = (1.0 / 3 + 1.0 / 4) / 2;
  for (Index offset = 0; offset < 3; ++offset) {
    EXPECT_NEAR(attention.share(1, offset), both, rounding);
  }
  EXPECT_NEAR(attention.share(1, 3), 1.0 / 8, rounding);
  EXPECT_EQ(attention.share(1, 4), 0);
  EXPECT_NEAR(attention.sink(1), both, rounding);
}

TEST(PositionOnly, ReadsTheNeighbourThatTheWeightsPointTo) {
  ModelConfig config = circuits_config(1, 1);
  config.n_ctx = 24;
  Model model = random_model(config, 1);
  // Position p embeds as unit vector p; its key matches the query of position p + 1.
  model.W_P.eye(24, 24);
  model.layers[0].W_QKV.zeros();
  for (Index p = 0; p < 24; ++p) {
    model.layers[0].W_QKV(p, p) = 10;
    model.layers[0].W_QKV(24 + (p + 1) % 24, p) = 10;
  }
  const PositionOnlyAttention attention = position_only_attention(model, 0);
  // The neighbour's score stands hundreds above the others.
  EXPECT_NEAR(attention.share(0, 1), 1, rounding);
  EXPECT_LT(attention.share(0, 0), rounding);
  EXPECT_LT(attention.share(0, 2), rounding);
}

TEST(PositionOnly, ScalesScoresByLayerWhereTheModelDoes) {
  Model scaled = random_model(circuits_config(), 1);
  scaled.config.scale_by_inverse_layer = true;
  for (LayerWeights& layer : scaled.layers) layer.W_QKV *= 30;
  Model halved = scaled;
  halved.config.scale_by_inverse_layer = false;
  const Model unscaled = halved;
  halved.layers[1].W_QKV.head_rows(24) /= 2;
  const auto share = [](const Model& model, Index layer) {
    return position_only_attention(model, layer).share;
  };
  EXPECT_LT(test::largest_size(arma::mat(share(scaled, 0) - share(unscaled, 0))), rounding);
  EXPECT_LT(test::largest_size(arma::mat(share(scaled, 1) - share(halved, 1))), rounding);
  EXPECT_GT(test::largest_size(arma::mat(share(scaled, 1) - share(unscaled, 1))), 0.01);
}

TEST(CircuitsAnalysis, CountsTheHeadsThatCopyAndThoseThatWriteTheOpposite) {
  Model model = random_model(circuits_config(2, 3), 1);
  for (LayerWeights& layer : model.layers) {
    layer.W_QKV.tail_rows(24).eye();
    layer.W_O.eye();
  }
  model.layers[1].W_O.head_cols(8) *= -1;  // L1H0
  AnalysisSettings raw;
  raw.options<CircuitsOptions>().fold_layer_norm = false;
  const ResultsGroup group = circuits_of(model, raw);
  EXPECT_EQ(group.variable("n_copying").values.values[0], 5);
  EXPECT_EQ(group.variable("n_opposite").values.values[0], 1);
  EXPECT_THAT(group.summary, HasSubstr("heads that copy (OV copying above 0.5): 5 of 6, heads that "
                                       "write the opposite (below -0.5): 1;"));
}

TEST(CircuitsAnalysis, NamesCompositionAboveRandomAndThePairsOfInductionHeads) {
  ResultsGroup group = circuits_of(random_model(circuits_config(), 1));
  for (Variable& variable : group.variables) {
    if (variable.name == "composition") {
      variable.values(1, 2, 3) = 0.8;  // k, L0H2 to L1H0
      variable.values(2, 0, 5) = 0.9;  // v, L0H0 to L1H2
    }
    if (variable.name == "composition_null") variable.values.values = {0.1, 0.1, 0.6};
  }
  const std::string without = circuit_summary(group, {});
  EXPECT_THAT(without, HasSubstr("Composition furthest above random: k L0H2 to L1H0 (0.800, random "
                                 "0.100); "));
  EXPECT_THAT(without, Not(HasSubstr("Induction")));
  EXPECT_THAT(circuit_summary(group, {3}),
              HasSubstr(" Induction pairs: k L0H2 to L1H0 (0.800, random 0.100)."));
  for (Variable& variable : group.variables) {
    if (variable.name == "composition_null") std::ranges::fill(variable.values.values, 2);
  }
  EXPECT_THAT(circuit_summary(group, {}), HasSubstr(" No composition lies above random."));
}

TEST(CircuitsAnalysis, SaysThatNoHeadHasAValueCircuit) {
  Model model = random_model(circuits_config(), 1);
  for (LayerWeights& layer : model.layers) layer.W_O.zeros();
  EXPECT_THAT(circuits_of(model).summary, testing::AllOf(HasSubstr("No head has a value circuit."),
                                                         HasSubstr(" Composition has no value."),
                                                         Not(HasSubstr("no head has"))));
}

TEST(CircuitsAnalysis, AnAttentionOnlyModelHasNoCircuitFromTokenToToken) {
  Model model = random_model(circuits_config(), 1);
  model.W_E.reset();
  for (LayerWeights& layer : model.layers) layer.W_in.reset();
  EXPECT_FALSE(circuits_of(model).has("ov_copying_full"));
}

TEST(CircuitsAnalysis, SaysWhichPositionsItLookedAt) {
  const ResultsGroup group = circuits_of(random_model(circuits_config(), 1));
  for (const char* const name : {"position_only_share", "position_only_sink"}) {
    EXPECT_THAT(group.variable(name).long_name,
                HasSubstr("reads only the position embeddings 0 .. 11"))
        << name;
  }
}

TEST(CircuitsAnalysis, ComposesWithLaterLayersOnly) {
  const ResultsGroup group = circuits_of(random_model(circuits_config(3, 2), 1));
  const Array& scores = group.variable("composition").values;
  for (std::size_t from = 0; from < 6; ++from) {
    for (std::size_t to = 0; to < 6; ++to) {
      EXPECT_EQ(std::isnan(scores(1, from, to)), to / 2 <= from / 2) << from << " " << to;
    }
  }
}

TEST(CircuitsAnalysis, RepeatsFromItsSeedAlone) {
  const Model model = random_model(circuits_config(), 1);
  AnalysisSettings settings;
  settings.seed = 5;
  const auto null = [&] { return circuits_of(model, settings).variable("composition_null"); };
  const std::vector<double> first = null().values.values;
  EXPECT_EQ(null().values.values, first);
  settings.seed = 6;
  EXPECT_NE(null().values.values, first);
}

TEST(CircuitsAnalysis, TellsOrthogonalFromSharedSubspaces) {
  Model model = random_model(circuits_config(), 1);
  for (LayerWeights& layer : model.layers) {
    layer.W_QKV.head_rows(24).eye();
    layer.W_QKV.rows(24, 31) = layer.W_QKV.rows(40, 47);
    layer.W_QKV.rows(32, 39) = layer.W_QKV.rows(40, 47);
  }
  AnalysisSettings raw;
  raw.options<CircuitsOptions>().fold_layer_norm = false;
  const std::vector<Claim> claims = circuits_of(model, raw).claims;
  EXPECT_EQ(claims[0].verdict, Verdict::holds) << "W_Q";
  EXPECT_NEAR(claims[0].effect.value, 0, rounding);
  EXPECT_EQ(claims[1].verdict, Verdict::does_not_hold) << "W_K";
  // Chance is the mean of 100 draws, which is known to 1 %.
  EXPECT_NEAR(claims[1].effect.value, 3, 0.1) << "full overlap is n_head times chance";
}

TEST(CircuitsAnalysis, HeadsOfLessThanFullRankAreNotComparedWithChance) {
  Model model = random_model(circuits_config(), 1);
  const std::string all = circuits_of(model).claims[0].evidence;
  EXPECT_THAT(all, HasSubstr("(6 pairs in all)"));
  for (Index row = 1; row < 8; ++row) {
    model.layers[0].W_QKV.row(row) = model.layers[0].W_QKV.row(0);
  }
  EXPECT_THAT(circuits_of(model).claims[0].evidence,
              HasSubstr("(4 pairs in all; 2 more have less than full rank and are left out)"));
  for (LayerWeights& layer : model.layers) {
    for (Index row = 0; row < 24; ++row) {
      if (row % 8 != 0) layer.W_QKV.row(row) = layer.W_QKV.row(row - row % 8);
    }
  }
  const Claim none = circuits_of(model).claims[0];
  EXPECT_EQ(none.verdict, Verdict::undecided);
  EXPECT_EQ(none.evidence, "No two heads of a layer have projections of full rank.");
}

TEST(CircuitsAnalysis, HeadsWiderThanTheStreamHaveFullRankAtItsWidth) {
  ModelConfig config = circuits_config();
  config.head_width = 2 * config.d_model;
  AnalysisSettings raw;
  raw.options<CircuitsOptions>().fold_layer_norm = false;
  EXPECT_THAT(circuits_of(random_model(config, 1), raw).claims[0].evidence,
              HasSubstr("(6 pairs in all)"));
}

TEST(CircuitsAnalysis, SharedKeysAndValuesAreComparedOnce) {
  const Model model = load_model(test::data_path("architectures/llama"));  // 6 heads, 2 groups
  const ResultsGroup group = circuits_of(model);
  EXPECT_THAT(group.claims[0].evidence, HasSubstr("(30 pairs in all)"));
  EXPECT_THAT(group.claims[1].evidence, HasSubstr("(2 pairs in all, one of two groups"));
  const Array& overlap = group.values("subspace_overlap");
  EXPECT_NEAR(
      group.claims[1].effect.value,
      (overlap(1, 0, 0, 3) + overlap(1, 1, 0, 3)) / 2 / group.scalar("subspace_overlap_null_mean"),
      1e-6);
}

TEST(CircuitsAnalysis, NamesOneHeadAndOnePairInTheSingular) {
  Model model = random_model(circuits_config(1, 3), 1);
  prune_heads(model, std::vector<HeadIndex>{{0, 0}}, PruneMode::zero);
  const ResultsGroup two = circuits_of(model);
  EXPECT_THAT(two.claims[0].evidence, HasSubstr("(1 pair in all)"));
  EXPECT_THAT(two.summary,
              HasSubstr("the layer 0 heads that look most at the previous token are "));
  prune_heads(model, std::vector<HeadIndex>{{0, 1}}, PruneMode::zero);
  EXPECT_THAT(circuits_of(model).summary,
              HasSubstr("the layer 0 head that looks most at the previous token is L0H2 ("));
}

TEST(CircuitsAnalysis, SaysWhyNoSubspacesAreCompared) {
  Model model = random_model(circuits_config(), 1);
  for (LayerWeights& layer : model.layers) layer.W_QKV.tail_rows(24).zeros();
  EXPECT_EQ(circuits_of(model).claims[2].evidence,
            "No two heads of a layer have a projection that is not zero.");
  prune_heads(model, std::vector<HeadIndex>{{0, 0}, {0, 1}, {1, 0}, {1, 2}}, PruneMode::remove);
  EXPECT_EQ(circuits_of(model).claims[0].evidence, "The layers have no two heads to compare.");
}

TEST(CircuitsAnalysis, FindsNoMoreThanChanceInRandomWeights) {
  for (const Claim& claim : circuits_of(random_model(circuits_config(8), 1)).claims) {
    EXPECT_EQ(claim.verdict, Verdict::holds) << claim.statement;
    EXPECT_NEAR(claim.effect.value, 1, 0.1);  // the mean of 24 pairs of heads varies by 2 %
  }
}

TEST(CircuitsAnalysis, MedianRankIsOfHeadsThatAreNotPruned) {
  Model model = random_model(circuits_config(), 1);
  const double whole = circuits_of(model).scalar("qk_rank90_median");
  prune_heads(model, std::vector<HeadIndex>{{0, 0}, {0, 1}, {1, 0}, {1, 2}}, PruneMode::zero);
  const ResultsGroup group = circuits_of(model);
  EXPECT_EQ(group.values("qk_rank90")(0, 0), 0);
  EXPECT_EQ(group.scalar("qk_rank90_median"),
            (group.values("qk_rank90")(0, 2) + group.values("qk_rank90")(1, 1)) / 2);
  EXPECT_NEAR(group.scalar("qk_rank90_median"), whole, 1);
  prune_heads(model, std::vector<HeadIndex>{{0, 2}, {1, 1}}, PruneMode::zero);
  EXPECT_THAT(circuits_of(model).summary, Not(HasSubstr("singular values")));
}

TEST(CircuitsAnalysis, MediansOverLayersLeaveOutLayersWithoutHeads) {
  Model model = random_model(circuits_config(3), 1);
  prune_heads(model, std::vector<HeadIndex>{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}},
              PruneMode::zero);
  const ResultsGroup group = circuits_of(model);
  const auto joint = static_cast<int>(group.values("qk_rank90_joint")(0));
  EXPECT_GT(joint, 0);
  EXPECT_THAT(group.summary, HasSubstr("The heads of a layer together need " +
                                       std::to_string(joint) + "; added up head by head, "));
}

TEST(CircuitsAnalysis, MeanOverlapOfFewLayersHasStudentsInterval) {
  const ResultsGroup group = circuits_of(random_model(circuits_config(3), 1));
  const Array overlap = group.values("subspace_overlap").part(0);
  arma::vec means(3);
  for (Index l = 0; l < means.size(); ++l) {
    means[l] = (overlap(l, 0, 1) + overlap(l, 0, 2) + overlap(l, 1, 2)) / 3 /
               group.scalar("subspace_overlap_null_mean");
  }
  // Student's t with 2 degrees of freedom has 97.5 % below 4.30265.
  const double half_width = 4.30265272974946 * arma::stddev(means) / std::sqrt(3);
  const Estimate& effect = group.claims[0].effect;
  EXPECT_NEAR(effect.value, arma::mean(means), test::double_rounding);
  EXPECT_NEAR(effect.low, effect.value - half_width, 1e-12);
  EXPECT_NEAR(effect.high, effect.value + half_width, 1e-12);
}

TEST(CircuitsAnalysis, ClaimsNothingAboutSubspacesOfASingleHead) {
  const std::vector<Claim> claims = circuits_of(random_model(circuits_config(2, 1), 1)).claims;
  EXPECT_EQ(claims[0].verdict, Verdict::undecided);
  EXPECT_TRUE(std::isnan(claims[0].effect.value));
}

TEST(CircuitsFigures, AreDrawnFromResultsAlone) {
  Results results;
  results.groups.push_back(circuits_of(random_model(circuits_config(), 1)));
  const std::vector<Figure> figures = circuits_figures(results);
  std::vector<std::string> names;
  for (const Figure& figure : figures) names.push_back(figure.name);
  EXPECT_EQ(names, (std::vector<std::string>{"elhage2021_copying", "elhage2021_composition",
                                             "cordonnier2020_rank", "subspace_overlap",
                                             "position_only", "position_only_offsets"}));
  const auto& map = std::get<Heatmap>(figures[1].content);
  const ResultsGroup& group = results.group("circuits");
  EXPECT_DOUBLE_EQ(map.panels[2].values(1, 4), group.variable("composition").values(2, 1, 4) -
                                                   group.variable("composition_null").values(2));
}

TEST(CircuitsFigures, RemovedHeadsAreEmptyInMapsOfPositions) {
  Results results;
  results.attributes["pruned_heads"] = "L0H1";
  results.groups.push_back(circuits_of(random_model(circuits_config(), 1)));
  const std::vector<Figure> figures = circuits_figures(results);
  for (const HeatmapPanel& panel : std::get<Heatmap>(figures[4].content).panels) {
    EXPECT_TRUE(std::isnan(panel.values(0, 1))) << panel.title;
    EXPECT_FALSE(std::isnan(panel.values(0, 0))) << panel.title;
  }
  const Array& offsets = std::get<Heatmap>(figures[5].content).panels[0].values;
  EXPECT_TRUE(std::isnan(offsets(1, 0)));
  EXPECT_FALSE(std::isnan(offsets(0, 0)));
}

TEST(CircuitsOfGpt2Small, ShowTheKnownPreviousTokenAndInductionHeads) {
  const std::string path = test::shared_data + "/models/gpt2-small-attention.h5";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "GPT-2's weights are not at " << path;
  AnalysisSettings settings;
  settings.n_null = 10;
  const ResultsGroup group = circuits_of(load_model(path), settings);
  const Array& scores = group.variable("composition").values;
  const auto head_index = [](Index layer, Index head) { return layer * 12 + head; };
  // L4H11 attends to the previous token; the induction heads L5H1, L5H5, L6H9 and
  // L7H10 find the token after an earlier copy through it, by K-composition.
  const double null = group.variable("composition_null").values(1);
  for (const std::size_t induction :
       {head_index(5, 1), head_index(5, 5), head_index(6, 9), head_index(7, 10)}) {
    EXPECT_GT(scores(1, head_index(4, 11), induction), 2 * null);
    for (std::size_t from = 0; from < head_index(4, 11); ++from) {
      EXPECT_LT(scores(1, from, induction), scores(1, head_index(4, 11), induction));
    }
  }
  const Array& rank = group.variable("qk_rank90").values;
  for (std::size_t layer = 0; layer < 12; ++layer) {
    double added = 0;
    for (std::size_t head = 0; head < 12; ++head) added += rank(layer, head);
    EXPECT_LT(group.variable("qk_rank90_joint").values(layer), 0.5 * added);
  }
}

}  // namespace
}  // namespace headscope
