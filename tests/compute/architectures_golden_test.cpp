#include <gtest/gtest.h>

#include "headscope/ablation.hpp"
#include "headscope/direct_effect.hpp"
#include "headscope/gradient.hpp"
#include "support/architecture_models.hpp"
#include "support/double_reference.hpp"

namespace headscope {
namespace {

using test::float32_tolerance;
using test::largest_size;
using test::mean_of;
using test::relative_error;

struct GoldenDocument {
  TokenIds tokens;
  std::vector<double> nll;
  arma::cube pattern;        ///< key x query x (layer, head)
  arma::cube z, grad_z;      ///< d_z x token x layer
  arma::cube direct_effect;  ///< predicted token x head x layer
};

GoldenDocument read_document(const hdf5::InputFile& file, const std::string& group) {
  const auto in_group = [&](const char* name) { return group + "/" + name; };
  return {.tokens = test::read_tokens(file, in_group("tokens")),
          .nll = file.read_reals(in_group("nll")).values,
          .pattern = test::read_slices(file, in_group("pattern"), 2),
          .z = test::read_slices(file, in_group("z"), 1),
          .grad_z = test::read_slices(file, in_group("grad_z"), 1),
          .direct_effect = test::read_slices(file, in_group("direct_effect"), 1)};
}

/// Sums of z . gradient over a head's rows: n_head x n_token.
arma::mat golden_z_dot_gradient(const arma::mat& z, const arma::mat& gradient, Index n_head) {
  arma::mat sums(n_head, z.n_cols);
  const Index d_head = z.n_rows / n_head;
  for (Index h = 0; h < n_head; ++h) {
    const auto rows = arma::span(h * d_head, (h + 1) * d_head - 1);
    sums.row(h) = arma::sum(z.rows(rows.a, rows.b) % gradient.rows(rows.a, rows.b), 0);
  }
  return sums;
}

/// Models as Hugging Face writes them, against what Hugging Face computes of them in double
/// precision (make_architectures.py).
class ModelOfHuggingFace : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const hdf5::InputFile file(test::data_path("architectures_golden.h5"));
    const std::string& group = GetParam();
    for (int d = 0; d < 3; ++d) {
      documents_.push_back(read_document(file, group + "/documents/" + std::to_string(d)));
    }
    mean_z_ = test::read_slices(file, group + "/mean_z", 1);
    loss_zero_ = test::read_slices(file, group + "/loss_zero", 1);
    loss_mean_ = test::read_slices(file, group + "/loss_mean", 1);
  }

  /// Calls `check` for each document with an ablation that has observed it.
  void for_each_document(const std::function<void(Index, HeadAblation&)>& check) {
    for (Index d = 0; d < documents_.size(); ++d) {
      HeadAblation ablation(model_);
      Forward(model_).run(documents_[d].tokens, {&ablation});
      check(d, ablation);
    }
  }

  const Model model_ = load_model(test::architecture_model(GetParam()));
  const ModelConfig& config_ = model_.config;
  std::vector<GoldenDocument> documents_;
  arma::cube mean_z_;                 ///< d_head x head x layer
  arma::cube loss_zero_, loss_mean_;  ///< document x head x layer
};

TEST_P(ModelOfHuggingFace, LossesPatternsAndHeadsAgree) {
  class Compare : public LayerObserver {
   public:
    Compare(const GoldenDocument& expected, Index n_head) : expected_(expected), n_head_(n_head) {}
    bool wants_pattern(Index) const override { return true; }
    void observe_layer(const LayerView& view) override {
      EXPECT_LT(relative_error(view.z, expected_.z.slice(view.layer)), float32_tolerance);
      for (Index h = 0; h < n_head_; ++h) {
        EXPECT_LT(relative_error(view.pattern.slice(h),
                                 expected_.pattern.slice(view.layer * n_head_ + h)),
                  float32_tolerance)
            << "L" << view.layer << "H" << h;
      }
    }

   private:
    const GoldenDocument& expected_;
    Index n_head_;
  };
  for (const GoldenDocument& document : documents_) {
    Compare compare(document, config_.n_head);
    Forward forward(model_);
    const TokenLoss loss = forward.loss(forward.run(document.tokens, {&compare}), document.tokens);
    ASSERT_EQ(loss.nll.size(), document.nll.size());
    for (Index t = 0; t < loss.nll.size(); ++t) {
      EXPECT_NEAR(loss.nll[t], document.nll[t], float32_tolerance * (1 + document.nll[t])) << t;
    }
  }
}

TEST_P(ModelOfHuggingFace, ZeroAndMeanAblationsAgree) {
  for_each_document([&](Index d, HeadAblation& ablation) {
    const TokenIds& tokens = documents_[d].tokens;
    const Index n_head = config_.n_head;
    std::vector<Vector> means;
    for (Index l = 0; l < config_.n_layer; ++l) {
      means.push_back(test::narrow(arma::vectorise(mean_z_.slice(l))));
    }
    std::vector<HeadVariant> variants;
    for (Index unit = 0; unit < config_.n_layer * n_head; ++unit) {
      const Index l = unit / n_head, h = unit % n_head;
      variants.push_back({l, {h}});
      variants.push_back({l, {h}, {means[l].memptr(), config_.d_z(), tokens.size(), 0}});
    }
    const std::vector<TokenLoss> losses = ablation.losses(tokens, variants);
    const double clean = mean_of(ablation.clean_loss(tokens).nll);
    const double golden_clean = mean_of(documents_[d].nll);
    for (Index v = 0; v < variants.size(); ++v) {
      const arma::cube& golden = v % 2 == 0 ? loss_zero_ : loss_mean_;
      const double expected = golden(d, variants[v].heads[0], variants[v].layer) - golden_clean;
      // A typical increase is 0.1 nats; each rounds to 1e-5 of itself.
      EXPECT_NEAR(mean_of(losses[v].nll) - clean, expected, 1e-5 * (0.1 + std::abs(expected)))
          << "document " << d << ", L" << variants[v].layer << "H" << variants[v].heads[0];
    }
  });
}

TEST_P(ModelOfHuggingFace, GradientsAndImportanceAgree) {
  for_each_document([&](Index d, HeadAblation& ablation) {
    HeadGradient(model_).run(
        ablation.activations(), documents_[d].tokens, [&](const LayerGradient& layer) {
          const arma::mat& gradient = documents_[d].grad_z.slice(layer.layer);
          EXPECT_LT(relative_error(layer.dz, gradient), float32_tolerance) << "L" << layer.layer;
          const arma::mat expected =
              golden_z_dot_gradient(documents_[d].z.slice(layer.layer), gradient, config_.n_head);
          const arma::mat importance = z_dot_gradient(layer, config_.n_head);
          EXPECT_LT(largest_size(arma::mat(importance - expected)),
                    float32_tolerance * largest_size(expected))
              << "L" << layer.layer;
        });
  });
}

TEST_P(ModelOfHuggingFace, DirectEffectsAgree) {
  class Effects : public LayerObserver {
   public:
    Effects(const Model& model, const Matrix& directions)
        : model_(model), directions_(directions) {}
    void observe_layer(const LayerView& view) override {
      heads.push_back(head_direct_effects(model_.layers[view.layer].W_O,
                                          blas::ConstView(view.z).cols(0, directions_.n_cols),
                                          directions_, model_.config.n_head));
    }
    std::vector<arma::mat> heads;  ///< n_head x n, one per layer

   private:
    const Model& model_;
    const Matrix& directions_;
  };
  for (const GoldenDocument& document : documents_) {
    const LogitDirections next = LogitAttribution(model_).next_tokens(document.tokens);
    Effects effects(model_, next.directions);
    Forward forward(model_);
    const std::vector<double> scales =
        final_scales(model_, forward.run(document.tokens, {&effects}));
    const arma::cube& golden = document.direct_effect;
    const double tolerance = float32_tolerance * arma::abs(golden).max();
    for (Index l = 0; l < config_.n_layer; ++l) {
      for (Index h = 0; h < config_.n_head; ++h) {
        for (Index t = 0; t < golden.n_rows; ++t) {
          EXPECT_NEAR(effects.heads[l](h, t) / scales[t], golden(t, h, l), tolerance)
              << "L" << l << "H" << h << ", token " << t;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelOfHuggingFace, testing::ValuesIn(test::architecture_models()),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace headscope
