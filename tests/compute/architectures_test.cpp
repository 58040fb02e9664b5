#include <gtest/gtest.h>

#include "compute/activations.hpp"
#include "compute/rotary.hpp"
#include "headscope/ablation.hpp"
#include "headscope/direct_effect.hpp"
#include "headscope/gradient.hpp"
#include "support/double_reference.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::mean_of;
using test::Normal;
using test::reference_run;
using test::relative_error;

/// Every kind of model against the reference in double precision.
class EveryArchitecture : public testing::TestWithParam<test::NamedConfig> {
 protected:
  const Model model_ = test::random_weights(GetParam().config, 7);
  const ModelConfig& config_ = model_.config;
  const TokenIds tokens_ = Normal(5).tokens(24, config_.d_vocab);
  const SequenceBatch batch_ = tokens_;
};

TEST_P(EveryArchitecture, PassesAgreeWithDoublePrecisionAtEachRung) {
  const test::ReferenceRun reference = reference_run(model_, tokens_);
  class Compare : public LayerObserver {
   public:
    explicit Compare(const test::ReferenceRun& expected) : expected_(expected) {}
    bool wants_pattern(Index) const override { return true; }
    void observe_layer(const LayerView& view) override {
      const Index l = view.layer;
      EXPECT_LT(relative_error(view.resid_pre, expected_.resid_pre[l]), test::float32_tolerance);
      EXPECT_LT(relative_error(view.z, expected_.z[l]), test::float32_tolerance);
      EXPECT_LT(relative_error(view.resid_mid, expected_.resid_mid[l]), test::float32_tolerance);
      for (Index h = 0; h < view.pattern.n_slices; ++h) {
        EXPECT_LT(relative_error(view.pattern.slice(h), expected_.pattern[l].slice(h)),
                  test::float32_tolerance)
            << "L" << l << "H" << h;
      }
    }

   private:
    const test::ReferenceRun& expected_;
  } compare(reference);
  Forward forward(model_);
  const Matrix resid_final = forward.run(tokens_, {&compare});
  EXPECT_LT(relative_error(forward.logits(resid_final), reference.logits), test::float32_tolerance);
  const TokenLoss loss = forward.loss(resid_final, tokens_);
  for (Index t = 0; t < loss.nll.size(); ++t) {
    EXPECT_NEAR(loss.nll[t], reference.nll[t], test::float32_tolerance * (1 + reference.nll[t]));
  }
}

// Zero, another value in all tokens (as in mean ablation) and one for each token (as in
// resampling).
TEST_P(EveryArchitecture, AblationsIncreaseTheLossAsInDoublePrecision) {
  HeadAblation ablation(model_);
  Forward(model_).run(tokens_, {&ablation});
  Normal normal(3);
  const Matrix by_token = normal.matrix(config_.d_z(), tokens_.size());
  const Vector for_all = normal.vector(config_.d_z());
  const blas::ConstView one_column(for_all.memptr(), config_.d_z(), tokens_.size(), 0);
  std::vector<HeadVariant> variants;
  for (Index l = 0; l < config_.n_layer; ++l) {
    for (Index h = 0; h < config_.n_head; ++h) {
      variants.push_back({l, {h}});
      variants.push_back({l, {h}, one_column});
      variants.push_back({l, {h}, by_token});
    }
    variants.push_back({l, {0, config_.n_head - 1}});
  }
  const std::vector<TokenLoss> losses = ablation.losses(tokens_, variants);
  const double clean = mean_of(reference_run(model_, tokens_).nll);
  const double clean_loss = mean_of(ablation.clean_loss(batch_).nll);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const HeadVariant& variant = variants[v];
    const double expected =
        mean_of(reference_run(model_, tokens_,
                              [&](Index l, arma::mat& z) {
                                if (l != variant.layer) return;
                                for (const Index h : variant.heads) {
                                  for (Index t = 0; t < z.n_cols; ++t) {
                                    for (Index i = config_.q_row(h);
                                         i < config_.q_row(h) + config_.d_head(); ++i) {
                                      const float* const by = variant.z.data;
                                      z(i, t) = by == nullptr ? 0 : by[t * variant.z.stride + i];
                                    }
                                  }
                                }
                              })
                    .nll) -
        clean;
    // A typical increase is 0.05 nats; each rounds to 1e-5 of itself.
    EXPECT_NEAR(mean_of(losses[v].nll) - clean_loss, expected, 1e-5 * (0.05 + std::abs(expected)))
        << "layer " << variant.layer << " variant " << v;
  }
}

TEST_P(EveryArchitecture, MasksOfSeveralLayersAgreeWithDoublePrecision) {
  HeadAblation ablation(model_);
  Forward(model_).run(tokens_, {&ablation});
  HeadMask mask(config_.n_head, config_.n_layer, arma::fill::ones);
  mask(1, 0) = mask(0, 1) = mask(3, 1) = mask(2, config_.n_layer - 1) = 0;
  const double expected =
      mean_of(reference_run(model_, tokens_, [&](Index l, arma::mat& z) {
                for (Index h = 0; h < config_.n_head; ++h) {
                  if (mask(h, l) != 0) continue;
                  z.rows(config_.q_row(h), config_.q_row(h) + config_.d_head() - 1).zeros();
                }
              }).nll);
  const double loss = mean_of(ablation.masked_losses(batch_, {{mask}}).front().nll);
  EXPECT_NEAR(loss, expected, test::float32_tolerance * expected);
}

// Central differences of the loss in double precision, along each head's gradient.
TEST_P(EveryArchitecture, GradientsAgreeWithFiniteDifferences) {
  for (const bool with_projections : {false, true}) {
    Activations clean(config_);
    clean.keep_projections(with_projections);
    Forward(model_).run(tokens_, {&clean});
    HeadGradient(model_).run(clean, tokens_, [&](const LayerGradient& layer) {
      for (Index h = 0; h < config_.n_head; ++h) {
        const Index first = config_.q_row(h), last = first + config_.d_head() - 1;
        const arma::mat dz = test::widen(Matrix(layer.dz.rows(first, last)));
        const double size = arma::norm(dz, "fro");
        const auto loss_at = [&](double distance) {
          return mean_of(reference_run(model_, tokens_, [&](Index l, arma::mat& z) {
                           if (l == layer.layer) z.rows(first, last) += distance / size * dz;
                         }).nll);
        };
        constexpr double step = 1e-5;
        EXPECT_NEAR((loss_at(step) - loss_at(-step)) / (2 * step), size, 1e-5 * size)
            << "L" << layer.layer << "H" << h;
      }
    });
  }
}

TEST_P(EveryArchitecture, DirectEffectsOfPartsAddUpToTheLogit) {
  const LogitDirections next = LogitAttribution(model_).next_tokens(tokens_);
  const Index n = next.directions.n_cols;
  std::vector<double> sum(n, 0);
  class Parts : public LayerObserver {
   public:
    Parts(const Model& model, const Matrix& directions, std::vector<double>& sum)
        : model_(model), directions_(directions), sum_(sum) {}
    void observe_layer(const LayerView& view) override {
      const LayerWeights& weights = model_.layers[view.layer];
      const Index n_used = directions_.n_cols;
      if (view.layer == 0) add(view.resid_pre);
      const arma::mat heads = head_direct_effects(
          weights.W_O, blas::ConstView(view.z).cols(0, n_used), directions_, model_.config.n_head);
      for (Index t = 0; t < n_used; ++t) sum_[t] += arma::accu(heads.col(t));
      if (!weights.b_O.is_empty()) add(arma::repmat(weights.b_O, 1, n_used));
      add(view.resid_post - view.resid_mid);
    }

   private:
    void add(const Matrix& written) {
      const std::vector<double> effects =
          direct_effects(blas::ConstView(written).cols(0, directions_.n_cols), directions_);
      for (Index t = 0; t < effects.size(); ++t) sum_[t] += effects[t];
    }
    const Model& model_;
    const Matrix& directions_;
    std::vector<double>& sum_;
  } parts(model_, next.directions, sum);
  Forward forward(model_);
  const std::vector<double> scales = final_scales(model_, forward.run(tokens_, {&parts}));
  const arma::mat logits = reference_run(model_, tokens_).logits;
  for (Index t = 0; t < n; ++t) {
    const double expected =
        logits(static_cast<Index>(tokens_[t + 1]), t) - arma::mean(logits.col(t));
    // float32's rounding of logits of about 10.
    EXPECT_NEAR(sum[t] / scales[t] + next.constant[t], expected, 2e-5) << "token " << t;
  }
}

// Positions go on after a prefix that sequences share, whatever its columns.
TEST_P(EveryArchitecture, SequencesWithASharedPrefixAreWhatTheyAreAlone) {
  TokenIds good = tokens_, bad = tokens_;
  bad[10] = (bad[10] + 1) % static_cast<TokenId>(config_.d_vocab);
  SequenceBatch pairs;
  pairs.add_pair(Normal(9).tokens(7, config_.d_vocab), Normal(9).tokens(5, config_.d_vocab), 2,
                 false);
  const Index before = pairs.predictions.size();
  pairs.add_pair(good, bad, 10, false);
  Forward forward(model_);
  const Matrix resid_final = forward.run(pairs);
  const TokenLoss loss = forward.loss(resid_final, pairs);
  Index next = before;
  for (const TokenIds& tokens : {good, bad}) {
    const std::vector<double> expected = reference_run(model_, tokens).nll;
    for (Index t = 9; t < expected.size(); ++t) {
      EXPECT_NEAR(loss.nll[next++], expected[t], test::float32_tolerance * (1 + expected[t]));
    }
  }
  EXPECT_EQ(next, loss.nll.size());
}

INSTANTIATE_TEST_SUITE_P(Models, EveryArchitecture, testing::ValuesIn(test::every_architecture()),
                         test::name_of_config);

TEST(Turn, DependsOnDistanceAloneAndBackUndoesIt) {
  ModelConfig config = test::small_config();
  config.positions = PositionKind::rotary;
  Normal normal(4);
  const Index n_token = 40;
  const Vector q = normal.vector(config.d_head()), k = normal.vector(config.d_head());
  Matrix Q = arma::repmat(q, 1, n_token), K = arma::repmat(k, 1, n_token);
  const SequenceBatch::Sequence whole{0, n_token};
  Scratch scratch;
  turn(config, {&whole, 1}, Turn::forward, Q, scratch);
  turn(config, {&whole, 1}, Turn::forward, K, scratch);
  for (const Index distance : {0, 1, 7}) {
    const float expected = arma::dot(Q.col(distance), K.col(0));
    for (Index t = distance; t < n_token; t += 5) {
      EXPECT_NEAR(arma::dot(Q.col(t), K.col(t - distance)), expected, 1e-5);
    }
  }
  turn(config, {&whole, 1}, Turn::back, Q, scratch);
  EXPECT_LT(relative_error(Q, Matrix(arma::repmat(q, 1, n_token))), test::rounding_tolerance);
}

}  // namespace
}  // namespace headscope
