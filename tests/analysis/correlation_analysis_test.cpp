#include <gtest/gtest.h>

#include "compute/divergence.hpp"
#include "correlation/results.hpp"
#include "correlation/sums.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/figure.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using test::TemporaryDirectory;

TEST(HeadSpaceProducts, LeaveOutPositionZeroAndCountEachToken) {
  // Two heads of width 2; columns are tokens. Position 0 is left out.
  const Matrix z{{9, 3, 0}, {9, 4, 1}, {9, 4, 0}, {9, -3, 2}};
  const HeadProducts products = head_space_products(z, 2);
  EXPECT_DOUBLE_EQ(products.total(0, 0), 25 + 1);
  EXPECT_DOUBLE_EQ(products.total(1, 1), 25 + 4);
  EXPECT_DOUBLE_EQ(products.total(0, 1), 0 + 2);
  EXPECT_DOUBLE_EQ(products.cosine(0, 1), 0 + 1);
  EXPECT_DOUBLE_EQ(products.cosine(0, 0), 2);
}

TEST(ResidualSpaceProducts, EqualExplicitOutputsOfAllLayers) {
  test::Normal normal(4);
  // 99 units, in more than one part of the columns.
  const Index n_layer = 33, n_head = 3, d_head = 4, d_model = 12, n_token = 21;
  std::vector<Matrix> z, weights;
  for (Index layer = 0; layer < n_layer; ++layer) {
    z.push_back(normal.matrix(d_model, n_token));
    weights.push_back(normal.matrix(d_model, d_model));
  }
  std::vector<const Matrix*> W_O;
  for (const Matrix& each : weights) W_O.push_back(&each);
  const arma::mat totals = residual_space_totals(z, W_O, n_head);
  const auto output = [&](Index head_index, Index t) {
    const Index layer = head_index / n_head, first = head_index % n_head * d_head;
    return arma::conv_to<arma::vec>::from(weights[layer].cols(first, first + d_head - 1) *
                                          z[layer].col(t).subvec(first, first + d_head - 1));
  };
  for (Index i = 0; i < n_layer * n_head; ++i) {
    const Index layer = i / n_head;
    const HeadProducts own = residual_space_products(z[layer], weights[layer], n_head);
    for (const Index j : {layer * n_head, layer * n_head + 1, Index{0}, Index{50}, Index{98}}) {
      double total = 0, cosine = 0;
      for (Index t = 1; t < n_token; ++t) {
        const arma::vec u = output(i, t), v = output(j, t);
        total += arma::dot(u, v);
        cosine += arma::norm_dot(u, v);
      }
      EXPECT_NEAR(totals(i, j), total, 1e-3);  // sums of about 1e3 in single precision
      if (j / n_head != layer) continue;
      EXPECT_NEAR(own.total(i % n_head, j % n_head), total, 2e-4);    // 1e3 of float32
      EXPECT_NEAR(own.cosine(i % n_head, j % n_head), cosine, 3e-6);  // 20 of float32
    }
  }
}

/// The definition, in double precision.
double exact_divergence(const std::vector<float>& p, const std::vector<float>& q) {
  const auto term = [](double x, double mean) { return x > 0 ? x * std::log(x / mean) : 0; };
  double divergence = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    const double mean = 0.5 * (static_cast<double>(p[k]) + q[k]);
    divergence += 0.5 * (term(p[k], mean) + term(q[k], mean));
  }
  return divergence;
}

TEST(JsDivergence, AgreesWithItsDefinitionFromAlmostEqualToDisjoint) {
  test::Normal normal(9);
  for (const float apart : {3e-3F, 0.1F, 1.0F, 5.0F, 20.0F}) {
    for (const Index n : {1U, 2U, 7U, 300U, 1000U}) {
      std::vector<float> p(n), q(n);
      double sum_p = 0, sum_q = 0;
      const Vector scores = normal.vector(n, 3), changes = normal.vector(n, apart);
      for (Index k = 0; k < n; ++k) {
        p[k] = std::exp(scores(k));
        q[k] = std::exp(scores(k) + changes(k));
        sum_p += p[k];
        sum_q += q[k];
      }
      for (Index k = 0; k < n; ++k) {
        p[k] = static_cast<float>(p[k] / sum_p);
        q[k] = static_cast<float>(q[k] / sum_q);
      }
      const double exact = exact_divergence(p, q);
      // Terms to 5e-7 and float32 sums of 256; the definition loses digits to 1 in 1e16 of 1.
      EXPECT_NEAR(js_divergence(p.data(), q.data(), n), exact, 1e-6 * exact + 1e-15)
          << apart << " " << n;
      EXPECT_EQ(js_divergence(p.data(), p.data(), n), 0);
    }
  }
}

TEST(JsDivergence, IsRightForEveryRatio) {
  for (float ratio = 1; ratio > 1e-42F; ratio *= 0.97F) {
    const float p = 0.25F, q = 0.25F * ratio;
    const double mean = (static_cast<double>(p) + q) / 2,
                 r = (static_cast<double>(p) - q) / (2 * mean);
    const double exact =
        mean * ((1 + r) * std::log1p(r) + (r < 1 ? (1 - r) * std::log1p(-r) : 0)) / 2;
    // Terms to 5e-7; below 1e-38 one minus r is taken for 1e-38.
    EXPECT_NEAR(js_divergence(&p, &q, 1), exact, 1e-6 * exact) << ratio;
  }
}

TEST(JsDivergence, TakesDenormalProbabilities) {
  const float p[] = {1, 1e-42F, 1e-38F, 0, 3e-45F}, q[] = {1, 0, 2e-38F, 1e-44F, 3e-45F};
  const double divergence = js_divergence(p, q, 5);
  // Exactly 8.5e-40; below 1e-38 float32 loses digits.
  EXPECT_GE(divergence, 0);
  EXPECT_LT(divergence, 1e-38);
}

TEST(JsDistance, IsZeroForEqualAndRootOfLogTwoForDisjoint) {
  const float p[] = {0.5F, 0.5F, 0}, q[] = {0, 0, 1};
  EXPECT_EQ(js_distance(p, p, 3), 0);
  // One float32 of ln 2.
  EXPECT_NEAR(js_distance(p, q, 3), std::sqrt(std::log(2.0)), 1e-7);
}

TEST(LinearCka, IsOneForARotatedScaledCopyAndZeroForUncorrelated) {
  test::Normal normal(8);
  const Index n_token = 4000;
  const arma::mat a = arma::conv_to<arma::mat>::from(normal.matrix(2, n_token, 1, 3));
  const arma::mat rotation{{0.6, -0.8}, {0.8, 0.6}};
  arma::mat z(6, n_token);
  z.rows(0, 1) = a;
  z.rows(2, 3) = 2.5 * rotation * a;
  z.rows(4, 5) = arma::conv_to<arma::mat>::from(normal.matrix(2, n_token));
  const arma::mat cka = linear_cka(arma::sum(z, 1), z * z.t(), n_token, 3);
  EXPECT_NEAR(cka(0, 1), 1, 1e-12);  // sums of 4000 squares of about 10 in double
  // Of 2 by 2 independent dimensions it is chi-squared of 4 degrees / 8000: once in 10,000 above.
  EXPECT_NEAR(cka(0, 2), 0, 0.003);
  EXPECT_NEAR(cka(2, 2), 1, test::double_rounding);
}

TEST(LinearCka, OfAConstantOutputIsNotANumber) {
  test::Normal normal(8);
  const Index n_token = 400;
  arma::mat z(4, n_token);
  z.rows(0, 1) = arma::conv_to<arma::mat>::from(normal.matrix(2, n_token));
  z.row(2).fill(0.1F);
  z.row(3).fill(-3.7F);
  const arma::mat cka = linear_cka(arma::sum(z, 1), z * z.t(), n_token, 2);
  EXPECT_NEAR(cka(0, 0), 1, test::double_rounding);
  EXPECT_TRUE(std::isnan(cka(0, 1)));
  EXPECT_TRUE(std::isnan(cka(1, 1)));
}

TEST(LinearCka, IsThatOfWhatVariesAboutALargeMean) {
  test::Normal normal(8);
  const Index n_token = 400;
  const Matrix varying = normal.matrix(4, n_token);
  const auto cka_with = [&](float size, float mean) {
    Matrix z = varying;
    z.rows(2, 3) = mean + size * z.rows(2, 3);
    const arma::mat product = from_lower_triangle(product_triangle(blas::ConstView(z)), 4);
    const arma::vec sum = arma::sum(arma::conv_to<arma::mat>::from(z), 1);
    return linear_cka(sum, product, n_token, 2)(0, 1);
  };
  // float32 rounds z to 6e-8 of the mean, 6e-4 of what varies.
  EXPECT_NEAR(cka_with(1e-4F, 1), cka_with(1, 0), 1e-3 * cka_with(1, 0));
  EXPECT_TRUE(std::isnan(cka_with(0, 0.1F)));
}

TEST(PatternOverlap, SumsProductsOverKeysForQueriesAfterTheFirst) {
  Cube pattern(2, 2, 2, arma::fill::zeros);
  pattern(0, 0, 0) = pattern(0, 0, 1) = 1;
  pattern(0, 1, 0) = 0.25F;
  pattern(1, 1, 0) = 0.75F;
  pattern(0, 1, 1) = 1;
  const arma::mat overlap = pattern_overlap(pattern);
  EXPECT_DOUBLE_EQ(overlap(0, 0), 0.0625 + 0.5625);
  EXPECT_DOUBLE_EQ(overlap(0, 1), 0.25);
  EXPECT_DOUBLE_EQ(overlap(1, 1), 1);
}

TEST(MetricMds, RecoversDistancesOfPointsInAPlane) {
  const arma::mat points{{0, 0}, {3, 0}, {0, 4}, {5, 5}, {-1, 2}};
  arma::mat distances(5, 5, arma::fill::zeros);
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 5; ++j) distances(i, j) = arma::norm(points.row(i) - points.row(j));
  }
  const arma::mat found = metric_mds(distances, CounterRandom(0));
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 5; ++j) {
      // The start, by eigenvectors in double, is exact in a plane.
      EXPECT_NEAR(arma::norm(found.row(i) - found.row(j)), distances(i, j), 1e-12);
    }
  }
}

/// Runs the command line on the tiny model and documents of the PyTorch goldens.
class CorrelationAnalysis : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TemporaryDirectory;
    std::vector<TokenIds> documents;
    for (std::size_t d = 0; d < 3; ++d) documents.push_back(test::golden_tokens(golden_path(), d));
    test::write_token_corpus(directory_->file("corpus.h5"), documents);
    const test::Finished finished = test::run_headscope_without_gnuplot(
        {"run", "--model", std::string(HEADSCOPE_TEST_DATA) + "/tiny_safetensors/model.safetensors",
         "--corpus", directory_->file("corpus.h5"), "--no-bos", "--analyses", "correlation",
         "--control", "random", "--output", directory_->file("out")});
    ASSERT_EQ(finished.exit_status, 0) << finished.err;
    results_ = new Results(read_results(directory_->file("out/results.h5")));
  }
  static void TearDownTestSuite() {
    delete results_;
    delete directory_;
  }
  static std::string golden_path() {
    return std::string(HEADSCOPE_TEST_DATA) + "/forward_golden.h5";
  }
  const ResultsGroup& group() const { return results_->group("correlation"); }

  static TemporaryDirectory* directory_;
  static Results* results_;
};
TemporaryDirectory* CorrelationAnalysis::directory_ = nullptr;
Results* CorrelationAnalysis::results_ = nullptr;

TEST_F(CorrelationAnalysis, CosinesEqualThoseOfPyTorchsHeadOutputs) {
  const hdf5::InputFile golden(golden_path());
  const char* const arrays[] = {"z", "head_output"};
  for (std::size_t space = 0; space < 2; ++space) {
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          double product = 0, square_i = 0, square_j = 0, cosine_token = 0, n_token = 0;
          for (std::size_t d = 1; d < 3; ++d) {
            const Array u =
                golden.read_reals("documents/" + std::to_string(d) + "/" + arrays[space]);
            for (std::size_t t = 1; t < u.shape[2]; ++t) {
              double dot = 0, dot_i = 0, dot_j = 0;
              for (std::size_t k = 0; k < u.shape[3]; ++k) {
                dot += u(layer, i, t, k) * u(layer, j, t, k);
                dot_i += u(layer, i, t, k) * u(layer, i, t, k);
                dot_j += u(layer, j, t, k) * u(layer, j, t, k);
              }
              product += dot;
              square_i += dot_i;
              square_j += dot_j;
              cosine_token += dot / std::sqrt(dot_i * dot_j);
              n_token += 1;
            }
          }
          EXPECT_NEAR(group().variable("cosine").values(space, layer, i, j),
                      product / std::sqrt(square_i * square_j), test::rounding_tolerance);
          EXPECT_NEAR(group().variable("cosine_token").values(space, layer, i, j),
                      cosine_token / n_token, test::rounding_tolerance);
        }
      }
    }
  }
}

TEST_F(CorrelationAnalysis, ClustersAreColouredByTheHeadsTypes) {
  Results results;
  results.groups = {group()};
  const auto points = [&] {
    for (const Figure& figure : correlation_figures(results)) {
      if (figure.name == "clark2019_clusters") {
        return std::get<Chart>(figure.content).panels.at(0).series;
      }
    }
    return std::vector<Series>();
  };
  ASSERT_EQ(points().size(), 1u);
  EXPECT_EQ(points()[0].x.size(), 6u);
  ResultsGroup types;
  types.name = "types";
  types.add_dimension(Dimension::count("layer", 2));
  types.add_dimension(Dimension::count("head", 3));
  types.add_dimension(Dimension::labels("head_type", {"sink", "rare", "long_range"}));
  types.add(Declaration::flag("type", "head_type layer head", {"no", "yes"}, "Types"),
            Array({3, 2, 3}, 0));
  types.add(
      Declaration::flag("primary", "layer head", {"none", "sink", "rare", "long_range"}, "Type"),
      Array({2, 3}, {3, 0, 0, 0, 1, 3}));
  results.groups.push_back(types);
  const std::vector<Series> series = points();
  ASSERT_EQ(series.size(), 3u);  // no head is rare
  EXPECT_EQ(series[0].label, "sink");
  EXPECT_EQ(series[0].colour, 0u);
  EXPECT_EQ(series[0].point_labels, std::vector<std::string>{"L1H1"});
  EXPECT_EQ(series[1].label, "long range");
  EXPECT_EQ(series[1].colour, 2u);
  EXPECT_EQ(series[1].point_labels, (std::vector<std::string>{"L0H0", "L1H2"}));
  EXPECT_EQ(series[2].label, "no type");
  EXPECT_EQ(series[2].colour, no_colour);
}

TEST_F(CorrelationAnalysis, AcrossLayersContainsEachLayersMatrix) {
  const Array& all = group().variable("cosine_all").values;
  const Array& cosine = group().variable("cosine").values;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        // Float32 sums over one token or over eight.
        EXPECT_NEAR(all(layer * 3 + i, layer * 3 + j), cosine(1, layer, i, j),
                    test::rounding_tolerance);
      }
    }
  }
}

TEST_F(CorrelationAnalysis, CosinesAcrossLayersCanBeLeftOut) {
  const test::Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", std::string(HEADSCOPE_TEST_DATA) + "/tiny_safetensors/model.safetensors",
       "--corpus", directory_->file("corpus.h5"), "--no-bos", "--analyses", "correlation",
       "--no-cosine-all", "--output", directory_->file("within")});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const Results results = read_results(directory_->file("within/results.h5"));
  const ResultsGroup& within = results.group("correlation");
  EXPECT_FALSE(within.has("cosine_all"));
  for (const char* name : {"cosine", "cosine_token", "mean_abs_cosine"}) {
    const Array& expected = group().variable(name).values;
    const Array& found = within.variable(name).values;
    ASSERT_EQ(found.shape, expected.shape);
    // float32 products of different shapes, summed in double.
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found.values[i], expected.values[i], test::rounding_tolerance) << name;
    }
  }
}

TEST_F(CorrelationAnalysis, ControlIsReportedAndTheDifferenceIsBetweenTheTwo) {
  const Array &control = results_->group("control/correlation").variable("mean_abs_cosine").values,
              &controls = group().variable("mean_abs_cosine_control").values,
              &difference = group().variable("mean_abs_cosine_difference").values;
  ASSERT_EQ(controls.shape[0], 5U);
  EXPECT_EQ(controls.part(0).values, control.values);
  EXPECT_NE(controls.part(1).values, control.values);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    double mean = 0;
    for (std::size_t model = 0; model < 5; ++model) mean += controls.part(model).values[i] / 5;
    EXPECT_NEAR(difference.values[i], group().variable("mean_abs_cosine").values.values[i] - mean,
                test::double_rounding);
  }
}

TEST_F(CorrelationAnalysis, DistancesAreSymmetricAndZeroOnTheDiagonal) {
  const Array& distance = group().variable("js_distance").values;
  for (std::size_t i = 0; i < distance.shape[0]; ++i) {
    EXPECT_EQ(distance(i, i), 0);
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_EQ(distance(i, j), distance(j, i));
      EXPECT_GT(distance(i, j), 0);
      EXPECT_LT(distance(i, j), std::sqrt(std::log(2.0)));
    }
  }
}

}  // namespace
}  // namespace headscope
