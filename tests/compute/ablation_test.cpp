#include "headscope/ablation.hpp"

#include <gtest/gtest.h>

#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using testing::reference_run;

// float32 against double precision: a few units in the last place of each layer's sums.
constexpr double tolerance = 1e-5;

/// Calls `check` with each layer during a clean pass.
class EachLayer : public LayerObserver {
 public:
  explicit EachLayer(std::function<void(const LayerView&)> check) : check_(std::move(check)) {}
  void observe_layer(const LayerView& view) override { check_(view); }

 private:
  std::function<void(const LayerView&)> check_;
};

void for_each_layer(const Model& model, const TokenIds& tokens,
                    const std::function<void(const LayerView&)>& check) {
  Forward forward(model);
  EachLayer observer(check);
  LayerObserver* const observers[] = {&observer};
  forward.run(tokens, observers);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class HeadAblationTest : public ::testing::Test {
 protected:
  const Model model_ = testing::random_weights(testing::small_config(), 7);
  const Index d_head_ = model_.config.d_head();
  const TokenIds tokens_ = testing::Normal(5).tokens(11, model_.config.d_vocab);
  HeadAblation ablation_{model_};
};

TEST_F(HeadAblationTest, ZeroingAnyHeadEqualsANaiveMaskedForward) {
  for_each_layer(model_, tokens_, [&](const LayerView& view) {
    std::vector<HeadVariant> variants;
    for (Index h = 0; h < model_.config.n_head; ++h) variants.push_back({{h}, nullptr});
    const std::vector<TokenLoss> losses = ablation_.losses(view, tokens_, variants);
    ASSERT_EQ(losses.size(), variants.size());
    for (Index h = 0; h < model_.config.n_head; ++h) {
      const auto naive = reference_run(model_, tokens_, [&](Index layer, arma::mat& z) {
        if (layer == view.layer) z.rows(h * d_head_, (h + 1) * d_head_ - 1).zeros();
      });
      EXPECT_NEAR(mean_of(losses[h].nll), mean_of(naive.nll), tolerance * mean_of(naive.nll))
          << HeadIndex{view.layer, h}.text();
    }
  });
}

TEST_F(HeadAblationTest, ReplacingSeveralHeadsEqualsANaiveForwardWithThemReplaced) {
  const Matrix replacement = testing::Normal(3).matrix(model_.config.d_model, tokens_.size());
  for_each_layer(model_, tokens_, [&](const LayerView& view) {
    const std::vector<HeadVariant> variants{{{0, model_.config.n_head - 1}, &replacement}};
    const TokenLoss loss = ablation_.losses(view, tokens_, variants).front();
    const auto naive = reference_run(model_, tokens_, [&](Index layer, arma::mat& z) {
      if (layer != view.layer) return;
      for (const Index h : variants[0].heads) {
        z.rows(h * d_head_, (h + 1) * d_head_ - 1) =
            testing::widen(Matrix(replacement.rows(h * d_head_, (h + 1) * d_head_ - 1)));
      }
    });
    EXPECT_NEAR(mean_of(loss.nll), mean_of(naive.nll), tolerance * mean_of(naive.nll));
  });
}

TEST_F(HeadAblationTest, ReplacingZByItselfChangesNothing) {
  Forward forward(model_);
  const TokenLoss clean = forward.loss(forward.run(tokens_), tokens_);
  for_each_layer(model_, tokens_, [&](const LayerView& view) {
    const Matrix own = view.z;
    const std::vector<HeadVariant> variants{{{0, 1}, &own}};
    const TokenLoss same = ablation_.losses(view, tokens_, variants).front();
    EXPECT_NEAR(same.sum(), clean.sum(), tolerance * clean.sum());
  });
}

TEST_F(HeadAblationTest, MaskingHeadsOfSeveralLayersEqualsZeroingTheirOutputColumns) {
  HeadMask mask(model_.config.n_head, model_.config.n_layer, arma::fill::ones);
  mask(1, 0) = 0;
  mask(0, model_.config.n_layer - 1) = 0;
  Model pruned = model_;
  for (Index l = 0; l < model_.config.n_layer; ++l) {
    for (Index h = 0; h < model_.config.n_head; ++h) {
      if (mask(h, l) == 0) pruned.layers[l].W_O.cols(h * d_head_, (h + 1) * d_head_ - 1).zeros();
    }
  }
  Forward forward(pruned);
  const double expected = forward.loss(forward.run(tokens_), tokens_).sum();
  for_each_layer(model_, tokens_, [&](const LayerView& view) {
    if (view.layer != 0) return;
    const std::vector<TokenLoss> losses = ablation_.masked_losses(view, tokens_, {{mask, mask}});
    ASSERT_EQ(losses.size(), 2u);
    EXPECT_NEAR(losses[0].sum(), expected, tolerance * expected);
    // Not bit for bit: sgemm's rounding depends on a column's place in the stack.
    EXPECT_NEAR(losses[0].sum(), losses[1].sum(), tolerance * expected);
  });
}

// Enough variants for several groups of several stacks each.
class ManyVariants : public HeadAblationTest {
 protected:
  static constexpr Index n_variant = 60;
  const TokenIds document_ = testing::Normal(6).tokens(160, model_.config.d_vocab);

  static void expect_equal(const TokenLoss& loss, const TokenLoss& expected, Index variant) {
    ASSERT_EQ(loss.nll.size(), expected.nll.size());
    for (std::size_t t = 0; t < loss.nll.size(); ++t) {
      ASSERT_NEAR(loss.nll[t], expected.nll[t], tolerance * expected.nll[t])
          << "variant " << variant;
    }
  }
};

TEST_F(ManyVariants, OfMasksEachGiveWhatTheyGiveByThemselves) {
  static_assert(n_variant * 160 > HeadAblation::columns_at_once);
  std::vector<HeadMask> masks;
  for (Index i = 0; i < n_variant; ++i) {
    HeadMask mask(model_.config.n_head, model_.config.n_layer, arma::fill::ones);
    for (Index unit = 0; unit < mask.n_elem; ++unit) mask(unit) = (i * 37 + 5) >> unit & 1;
    masks.push_back(mask);
  }
  for_each_layer(model_, document_, [&](const LayerView& view) {
    if (view.layer != 0) return;
    const std::vector<TokenLoss> losses = ablation_.masked_losses(view, document_, masks);
    ASSERT_EQ(losses.size(), masks.size());
    HeadAblation alone(model_);
    for (Index i = 0; i < n_variant; ++i) {
      expect_equal(losses[i], alone.masked_losses(view, document_, {{masks[i]}}).front(), i);
    }
  });
}

TEST_F(ManyVariants, OfReplacementsEachGiveWhatTheyGiveByThemselves) {
  std::vector<Matrix> replacements;
  std::vector<HeadVariant> variants;
  for (Index i = 0; i < n_variant; ++i) {
    replacements.push_back(testing::Normal(40 + i).matrix(model_.config.d_model, document_.size()));
  }
  for (Index i = 0; i < n_variant; ++i) variants.push_back({{i % 4}, &replacements[i]});
  for_each_layer(model_, document_, [&](const LayerView& view) {
    if (view.layer != 1) return;
    const std::vector<TokenLoss> losses = ablation_.losses(view, document_, variants);
    ASSERT_EQ(losses.size(), variants.size());
    HeadAblation alone(model_);
    for (Index i = 0; i < n_variant; ++i) {
      expect_equal(losses[i], alone.losses(view, document_, {{variants[i]}}).front(), i);
    }
  });
}

TEST_F(HeadAblationTest, RefusesHeadsAndReplacementsThatDoNotFit) {
  for_each_layer(model_, tokens_, [&](const LayerView& view) {
    const std::vector<HeadVariant> no_such_head{{{model_.config.n_head}, nullptr}};
    EXPECT_THROW(ablation_.losses(view, tokens_, no_such_head), ShapeError);
    const Matrix too_short(model_.config.d_model, 2, arma::fill::zeros);
    const std::vector<HeadVariant> short_replacement{{{0}, &too_short}};
    EXPECT_THROW(ablation_.losses(view, tokens_, short_replacement), ShapeError);
  });
}

TEST(HeadAblationDefaultModel, EveryHeadAndMethodEqualsANaiveForward) {
  const Model model = load_model(std::string(HEADSCOPE_PROJECT_DIR) + "/data/default-model.h5");
  const Index n_head = model.config.n_head, d_head = model.config.d_head();
  const TokenIds tokens = testing::Normal(5).tokens(40, model.config.d_vocab);
  const Matrix replacement = testing::Normal(3).matrix(model.config.d_model, tokens.size());
  HeadAblation ablation(model);
  for_each_layer(model, tokens, [&](const LayerView& view) {
    std::vector<HeadVariant> variants;
    for (Index h = 0; h < n_head; ++h) {
      variants.push_back({{h}, nullptr});
      variants.push_back({{h}, &replacement});
      variants.emplace_back();
      for (Index other = 0; other < n_head; ++other) {
        if (other != h) variants.back().heads.push_back(other);
      }
    }
    const std::vector<TokenLoss> losses = ablation.losses(view, tokens, variants);
    ASSERT_EQ(losses.size(), variants.size());
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const auto naive = reference_run(model, tokens, [&](Index layer, arma::mat& z) {
        if (layer != view.layer) return;
        for (const Index h : variants[v].heads) {
          const Index first = h * d_head, last = first + d_head - 1;
          if (variants[v].z == nullptr) {
            z.rows(first, last).zeros();
          } else {
            z.rows(first, last) = testing::widen(Matrix(replacement.rows(first, last)));
          }
        }
      });
      EXPECT_NEAR(mean_of(losses[v].nll), mean_of(naive.nll), tolerance * mean_of(naive.nll))
          << "layer " << view.layer << " variant " << v;
    }
  });
}

/// PyTorch's losses come from a full masked forward pass per head, in double precision.
TEST(HeadAblationGolden, EveryHeadAndMethodEqualsPyTorch) {
  const std::string data = HEADSCOPE_TEST_DATA;
  const Model model = load_model(data + "/tiny_safetensors/model.safetensors");
  const hdf5::InputFile golden(data + "/gradient_golden.h5");
  const ModelConfig& config = model.config;
  const Index n_head = config.n_head, d_head = config.d_head();
  const Array mean_z = golden.read_reals("mean_z");
  const std::vector<std::int64_t> donors = golden.read_integers("donor");
  const auto document = [&](std::int64_t d) {
    TokenIds tokens;
    for (const std::int64_t id :
         golden.read_integers("documents/" + std::to_string(d) + "/tokens")) {
      tokens.push_back(static_cast<TokenId>(id));
    }
    return tokens;
  };
  const char* const methods[] = {"zero", "mean", "resample", "all_but_one"};
  HeadAblation ablation(model);
  for (std::size_t d = 0; d < donors.size(); ++d) {
    const TokenIds tokens = document(static_cast<std::int64_t>(d));
    std::vector<Matrix> donor_z;
    for_each_layer(model, document(donors[d]),
                   [&](const LayerView& view) { donor_z.push_back(view.z); });
    for_each_layer(model, tokens, [&](const LayerView& view) {
      Matrix mean(config.d_model, tokens.size());
      for (Index i = 0; i < config.d_model; ++i) {
        mean.row(i).fill(static_cast<float>(mean_z(view.layer, i / d_head, i % d_head)));
      }
      Matrix donor = view.z;
      const Index shared = std::min(donor.n_cols, donor_z[view.layer].n_cols);
      donor.head_cols(shared) = donor_z[view.layer].head_cols(shared);
      for (std::size_t method = 0; method < 4; ++method) {
        const Array expected =
            golden.read_reals(std::string("loss_") + methods[method] + "_document");
        std::vector<HeadVariant> variants(n_head);
        for (Index h = 0; h < n_head; ++h) {
          for (Index other = 0; other < n_head; ++other) {
            if ((method == 3) != (other == h)) variants[h].heads.push_back(other);
          }
          if (method == 1) variants[h].z = &mean;
          if (method == 2) variants[h].z = &donor;
        }
        const std::vector<TokenLoss> losses = ablation.losses(view, tokens, variants);
        for (Index h = 0; h < n_head; ++h) {
          const double reference = expected(view.layer, h, d);
          EXPECT_NEAR(mean_of(losses[h].nll), reference, tolerance * reference)
              << methods[method] << " " << HeadIndex{view.layer, h}.text() << " document " << d;
        }
      }
    });
  }
}

}  // namespace
}  // namespace headscope
