#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headscope/random.hpp"
#include "score_model/logit.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

/// Eight heads with random attention over the keys of random queries.
class LogitModel : public testing::Test {
 protected:
  static constexpr Index n_query = 40, longest = 30;

  LogitModel() : features_({.has_text = true, .has_words = true}, {}) {
    for (Index i = 0; i < n_query; ++i) {
      const Index query = 2 + random_.below(longest - 2, ++draw_);
      sample_.queries.push_back({sample_.n_pair(), query, i % 4, 0});
      for (Index key = 1; key <= query; ++key) {
        for (std::uint16_t mark = 1; mark < features_.size(); ++mark) {
          if (uniform() < 0.1 && !is_number(mark)) sample_.marks.push_back(mark);
        }
        sample_.begin.push_back(static_cast<std::uint32_t>(sample_.marks.size()));
        for (std::size_t n = 0; n < n_numeric_feature; ++n) sample_.numeric.push_back(uniform());
        for (std::size_t l = 0; l < n_logit_lane; ++l) lexical_.push_back(4 * uniform() - 2);
      }
    }
    problem_ = {&sample_, &features_, lexical_.data(),
                LaneValues(features_.size() * n_logit_lane, 0)};
    for (Index i = 0; i < n_query; ++i) {
      const Index n_key = sample_.queries[i].query + 1;
      attention_.emplace_back(n_key, n_logit_lane);
      for (std::size_t l = 0; l < n_logit_lane; ++l) {
        float sum = 0;
        for (Index key = 0; key < n_key; ++key) {
          attention_[i](key, l) = std::exp(4 * uniform());
          sum += attention_[i](key, l);
        }
        attention_[i].col(l) /= sum;
        std::vector<float> own(n_key - 1);
        for (Index pair = 0; pair + 1 < n_key; ++pair) {
          own[pair] = lexical_[(sample_.queries[i].first_pair + pair) * n_logit_lane + l];
        }
        std::vector<double> sums(features_.size(), 0);
        add_attended(sample_, features_, i, own.data(), attention_[i].colptr(l), sums.data());
        for (std::size_t f = 0; f < sums.size(); ++f) {
          problem_.attended[f * n_logit_lane + l] += sums[f] / n_query;
        }
      }
    }
  }

  bool is_number(std::uint16_t feature) const {
    for (std::size_t n = 0; n < n_numeric_feature; ++n) {
      if (features_.numeric(static_cast<NumericFeature>(n)) == feature) return true;
    }
    return feature == features_.lexical();
  }

  float uniform() { return static_cast<float>(random_.uniform(++draw_)); }

  /// x_f(q, k) of a head, spelt out.
  double value(std::size_t query, Index key, std::size_t feature, std::size_t lane) const {
    if (key == 0) return feature == 0 ? 1 : 0;
    const std::size_t pair = sample_.queries[query].first_pair + key - 1;
    for (std::size_t n = 0; n < n_numeric_feature; ++n) {
      if (features_.numeric(static_cast<NumericFeature>(n)) == feature) {
        return sample_.numeric[pair * n_numeric_feature + n];
      }
    }
    if (feature == features_.lexical()) return lexical_[pair * n_logit_lane + lane];
    const auto first = sample_.marks.begin() + sample_.begin[pair],
               last = sample_.marks.begin() + sample_.begin[pair + 1];
    return std::find(first, last, feature) != last ? 1 : 0;
  }

  /// The fit's objective of a head, from its definition.
  double objective(const LaneValues& theta, std::size_t lane) const {
    double sum = 0;
    for (std::size_t i = 0; i < n_query; ++i) {
      std::vector<double> scores;
      double total = 0;
      for (Index key = 0; key <= sample_.queries[i].query; ++key) {
        scores.push_back(0);
        for (std::size_t f = 0; f < features_.size(); ++f) {
          scores.back() += theta[f * n_logit_lane + lane] * value(i, key, f, lane);
        }
        total += std::exp(scores.back());
      }
      for (Index key = 0; key < scores.size(); ++key) {
        sum -= attention_[i](key, lane) * (scores[key] - std::log(total));
      }
    }
    double squares = 0;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      squares += theta[f * n_logit_lane + lane] * theta[f * n_logit_lane + lane];
    }
    return sum / n_query + 1e-4 * squares;
  }

  CounterRandom random_{7};
  std::uint64_t draw_ = 0;
  FeatureList features_;
  FitSample sample_;
  std::vector<float> lexical_;
  std::vector<Matrix> attention_;
  LogitProblem problem_;
};

TEST_F(LogitModel, NoCoefficientOfAFitCanBeMovedToABetterValue) {
  const LaneMask mask(features_.size() * n_logit_lane, 1);
  const LogitFit fit = fit_logit(problem_, mask, nullptr);
  for (std::size_t lane = 0; lane < n_logit_lane; lane += 3) {
    EXPECT_LT(fit.largest_gradient[lane], logit_tolerance);
    const double least = objective(fit.theta, lane);
    for (std::size_t f = 0; f < features_.size(); ++f) {
      for (const double step : {-0.01, 0.01}) {
        LaneValues moved = fit.theta;
        moved[f * n_logit_lane + lane] += step;
        // The penalty alone adds 1e-8 at this step; attention is float32 and does not quite sum
        // to 1.
        EXPECT_GT(objective(moved, lane), least - 1e-9) << features_.names()[f] << " " << step;
      }
    }
  }
}

TEST_F(LogitModel, FeaturesThatAModelLacksStayAtZeroWhereverTheFitBegins) {
  LaneMask mask(features_.size() * n_logit_lane, 1);
  const LogitFit full = fit_logit(problem_, mask, nullptr);
  const std::size_t left_out = features_.place_of("log_distance");
  for (std::size_t lane = 0; lane < n_logit_lane; ++lane) mask[left_out * n_logit_lane + lane] = 0;
  const LogitFit from_full = fit_logit(problem_, mask, &full),
                 from_zero = fit_logit(problem_, mask, nullptr);
  for (std::size_t v = 0; v < mask.size(); ++v) {
    if (mask[v] == 0) {
      EXPECT_EQ(from_full.theta[v], 0);
    }
    // The curvature is at least twice the penalty, 2e-4: gradients of 1e-8 leave 1e-4.
    EXPECT_NEAR(from_full.theta[v], from_zero.theta[v], 1e-4);
  }
}

TEST_F(LogitModel, AttentionIsTheSoftmaxOfTheScores) {
  LaneValues theta(features_.size() * n_logit_lane);
  for (double& each : theta) each = uniform() - 0.5;
  const LogPartitions partitions = log_partitions(problem_, theta);
  std::vector<std::vector<double>> attentions(n_query);
  for_each_attention(problem_, theta, [&](std::size_t i, const double* attention) {
    const Index n_key = sample_.queries[i].query + 1;
    attentions[i].assign(attention, attention + n_key * n_logit_lane);
  });
  for (std::size_t i = 0; i < n_query; i += 7) {
    const Index n_key = sample_.queries[i].query + 1;
    const std::vector<double>& attention = attentions[i];
    for (std::size_t lane = 0; lane < n_logit_lane; ++lane) {
      double all = 0, beyond = 0;
      std::vector<double> exponentials;
      for (Index key = 0; key < n_key; ++key) {
        double score = 0;
        for (std::size_t f = 0; f < features_.size(); ++f) {
          score += theta[f * n_logit_lane + lane] * value(i, key, f, lane);
        }
        exponentials.push_back(std::exp(score));
        all += exponentials.back();
        if (key > 0) beyond += exponentials.back();
      }
      EXPECT_NEAR(partitions.all[i * n_logit_lane + lane], std::log(all), test::double_rounding);
      EXPECT_NEAR(partitions.beyond_sink[i * n_logit_lane + lane], std::log(beyond),
                  test::double_rounding);
      for (Index key = 0; key < n_key; ++key) {
        EXPECT_NEAR(attention[key * n_logit_lane + lane], exponentials[key] / all,
                    test::double_rounding);
      }
    }
  }
}

TEST_F(LogitModel, CurvatureIsTheChangeOfTheExpectedFeatures) {
  LaneValues theta(features_.size() * n_logit_lane);
  for (double& each : theta) each = uniform() - 0.5;
  const std::vector<arma::mat> curvature = curvature_at(problem_, theta);
  const auto expected = [&](const LaneValues& at) {
    LaneValues sum(theta.size(), 0);
    for (const LaneValues& of_block : expected_features(problem_, at, 4)) {
      for (std::size_t v = 0; v < sum.size(); ++v) sum[v] += of_block[v] / n_query;
    }
    return sum;
  };
  constexpr double step = 1e-5;
  for (const char* name : {"sink", "offset_1", "log_distance", "lexical", "upos_VERB"}) {
    const std::size_t moved = features_.place_of(name);
    LaneValues up = theta, down = theta;
    for (std::size_t lane = 0; lane < n_logit_lane; ++lane) {
      up[moved * n_logit_lane + lane] += step;
      down[moved * n_logit_lane + lane] -= step;
    }
    const LaneValues above = expected(up), below = expected(down);
    for (std::size_t f = 0; f < features_.size(); ++f) {
      for (std::size_t lane = 0; lane < n_logit_lane; ++lane) {
        const std::size_t v = f * n_logit_lane + lane;
        // Central differences: step^2 and rounding over the step.
        EXPECT_NEAR(curvature[lane](moved, f), (above[v] - below[v]) / (2 * step), 1e-8) << name;
      }
    }
  }
}

}  // namespace
}  // namespace headscope
