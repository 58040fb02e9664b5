#include "headscope/ablation.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/prune.hpp"
#include "support/double_reference.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::mean_of;
using test::reference_run;

// float32 against double precision: a few units in the last place of each layer's sums.

/// Runs a document and shows its layers to an ablation. @return z of each layer.
std::vector<Matrix> observe(HeadAblation& ablation, const Model& model, const TokenIds& tokens,
                            const ComputeContext& context = {}) {
  class KeepZ : public LayerObserver {
   public:
    void observe_layer(const LayerView& view) override { z.push_back(view.z); }
    std::vector<Matrix> z;
  } kept;
  Forward forward(model, context);
  forward.run(tokens, {&ablation, &kept});
  return kept.z;
}

/// Mean loss in double precision with some heads' z replaced by rows of `by`; zero if it is empty.
double reference_loss(const Model& model, const TokenIds& tokens, Index layer = 0,
                      const std::vector<Index>& heads = {}, const Matrix& by = {}) {
  const Index d_head = model.config.d_head();
  return mean_of(reference_run(model, tokens, [&](Index l, arma::mat& z) {
                   if (l != layer) return;
                   for (const Index h : heads) {
                     const Index first = h * d_head, last = first + d_head - 1;
                     z.rows(first, last).zeros();
                     if (!by.is_empty()) {
                       z.rows(first, last) = test::widen(Matrix(by.rows(first, last)));
                     }
                   }
                 }).nll);
}

std::vector<Index> heads_but(Index head, Index n_head) {
  std::vector<Index> others(n_head);
  std::iota(others.begin(), others.end(), 0);
  std::erase(others, head);
  return others;
}

/// Every head of every layer zeroed, replaced, and left alone.
std::vector<HeadVariant> every_variant(const ModelConfig& config, const Matrix& replacement) {
  std::vector<HeadVariant> variants;
  for (Index l = 0; l < config.n_layer; ++l) {
    for (Index h = 0; h < config.n_head; ++h) {
      variants.push_back({l, {h}});
      variants.push_back({l, {h}, replacement});
      variants.push_back({l, heads_but(h, config.n_head)});
    }
  }
  return variants;
}

double loss_increase(const TokenLoss& loss, const TokenLoss& clean) {
  return mean_of(loss.nll) - mean_of(clean.nll);
}

/// Compares the loss increases of every variant with double precision. @param relative_tolerance of
/// the median increase plus the variant's own.
void expect_increases_of_double_precision(const Model& model, const TokenIds& tokens,
                                          double relative_tolerance,
                                          const ComputeContext& context = {}) {
  const Matrix replacement = test::Normal(3).matrix(model.config.d_model, tokens.size());
  HeadAblation ablation(model, context);
  observe(ablation, model, tokens, context);
  const std::vector<HeadVariant> variants = every_variant(model.config, replacement);
  const std::vector<TokenLoss> losses = ablation.losses(tokens, variants);
  ASSERT_EQ(losses.size(), variants.size());
  const double clean = reference_loss(model, tokens);
  std::vector<double> expected;
  for (const HeadVariant& variant : variants) {
    expected.push_back(reference_loss(model, tokens, variant.layer, variant.heads,
                                      variant.z.data == nullptr ? Matrix() : replacement) -
                       clean);
  }
  std::vector<double> sizes;
  for (const double increase : expected) sizes.push_back(std::abs(increase));
  const double typical = arma::median(arma::vec(sizes));
  for (std::size_t v = 0; v < variants.size(); ++v) {
    EXPECT_NEAR(loss_increase(losses[v], ablation.clean_loss(tokens)), expected[v],
                relative_tolerance * (typical + sizes[v]))
        << "layer " << variants[v].layer << " variant " << v;
  }
}

class HeadAblationTest : public testing::Test {
 protected:
  const Model model_ = test::random_weights(test::small_config(), 7);
  const Index n_head_ = model_.config.n_head;
  const TokenIds tokens_ = test::Normal(5).tokens(11, model_.config.d_vocab);
  HeadAblation ablation_{model_};
  const std::vector<Matrix> z_ = observe(ablation_, model_, tokens_);
};

// float32 rounds each difference to 6e-8 of itself, a few hundred times.
constexpr double increase_tolerance = 2e-5;

TEST_F(HeadAblationTest, IncreasesForEveryHeadAndMethodEqualDoublePrecision) {
  expect_increases_of_double_precision(model_, tokens_, increase_tolerance);
}

TEST(HeadAblationDefaultModel, IncreasesForEveryHeadAndMethodEqualDoublePrecision) {
  const Model model = load_model(std::string(HEADSCOPE_PROJECT_DIR) + "/data/default-model.h5");
  expect_increases_of_double_precision(model, test::Normal(5).tokens(40, model.config.d_vocab),
                                       increase_tolerance);
}

struct EngineError {
  Engine engine;
  double tolerance;
};

class HeadAblationEngine : public testing::TestWithParam<EngineError> {};

TEST_P(HeadAblationEngine, GivesTheIncreasesOfDoublePrecisionWithinItsOwnError) {
  const Model model = load_model(std::string(HEADSCOPE_PROJECT_DIR) + "/data/default-model.h5");
  expect_increases_of_double_precision(
      model, test::Normal(5).tokens(40, model.config.d_vocab), GetParam().tolerance,
      {{.differences = GetParam().engine, .logits = GetParam().engine}});
}

// Enough tokens for the clean stream to be computed by six bfloat16 products. The random model has
// larger activations than the default one, and so has the engine larger errors.
TEST_P(HeadAblationEngine, GivesTheIncreasesOfDoublePrecisionWithPassesBySixBfloat16) {
  const Model model = test::random_weights(test::small_config(), 7);
  expect_increases_of_double_precision(
      model, test::Normal(5).tokens(140, model.config.d_vocab), 2 * GetParam().tolerance,
      {{Engine::bfloat16_six, GetParam().engine, GetParam().engine}});
}

TEST_P(HeadAblationEngine, GivesFloat32LossesWhenAskedTo) {
  const Model model = test::random_weights(test::small_config(), 7);
  const TokenIds tokens = test::Normal(5).tokens(140, model.config.d_vocab);
  HeadAblation ablation(model, {{.differences = GetParam().engine}}), reference(model);
  observe(ablation, model, tokens);
  observe(reference, model, tokens);
  const SequenceBatch batch(tokens);
  const std::vector<HeadVariant> variants{{0, {1}}, {2, {3}}};
  const std::vector<TokenLoss> own = ablation.losses(batch, variants),
                               exact = ablation.float32_losses(batch, variants),
                               expected = reference.losses(batch, variants);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    EXPECT_EQ(exact[v].nll, expected[v].nll);
    EXPECT_NE(own[v].nll, expected[v].nll);
  }
}

double largest_difference(const TokenLoss& a, const TokenLoss& b) {
  return test::largest_size(arma::mat(arma::vec(a.nll) - arma::vec(b.nll)));
}

// The largest error of a loss where heads write a share of what they wrote.
double error_of_small_change(const Engines& engines, float share) {
  const Model model = test::random_weights(test::small_config(), 7);
  const TokenIds tokens = test::Normal(5).tokens(140, model.config.d_vocab);
  HeadAblation ablation(model, engines), reference(model);
  const std::vector<Matrix> z = observe(ablation, model, tokens);
  observe(reference, model, tokens);
  const Matrix less = (1 - share) * z[1];
  const std::vector<HeadVariant> variants{{1, {0, 1, 2, 3}, less}};
  return largest_difference(ablation.losses(tokens, variants)[0],
                            reference.losses(tokens, variants)[0]);
}

// A tenth of a change has a hundredth of the error, while other engines' errors are a tenth.
TEST_P(HeadAblationEngine, OfLogitsHasErrorsOfSecondOrder) {
  const Engine engine = GetParam().engine;
  if (engine == Engine::bfloat16_six || engine == Engine::bfloat16_three) {
    GTEST_SKIP() << "its errors of second order are less than those of float32";
  }
  const double large = error_of_small_change({.logits = engine}, 0.3F),
               small = error_of_small_change({.logits = engine}, 0.03F),
               first_order = error_of_small_change({.differences = engine}, 0.03F);
  EXPECT_LT(small, large / 30 + 1e-6);
  EXPECT_LT(small, first_order / 5 + 1e-6);
}

// Of 40 entries with small logits each holds much of the probability.
TEST(HeadAblationLogits, OfProbableEntriesAreExactWhateverTheirEngine) {
  ModelConfig config = test::small_config();
  const auto error = [&config](Index d_vocab) {
    config.d_vocab = d_vocab;
    Model model = test::random_weights(config, 7);
    model.ln_f_gain *= 0.1F;
    const TokenIds tokens = test::Normal(5).tokens(140, d_vocab);
    HeadAblation rounded(model, {{.logits = Engine::bfloat16_one}}), reference(model);
    observe(rounded, model, tokens);
    observe(reference, model, tokens);
    const std::vector<HeadVariant> variants{{1, {0}}, {2, {1, 3}}};
    const std::vector<TokenLoss> found = rounded.losses(tokens, variants),
                                 expected = reference.losses(tokens, variants);
    return std::max(largest_difference(found[0], expected[0]),
                    largest_difference(found[1], expected[1]));
  };
  EXPECT_LT(20 * error(40), error(1500));
}

// Where differences are as exact as passes, losses are too.
TEST(HeadAblationLogits, OfLargeChangesAreExactWhateverTheirEngine) {
  const Model model = test::random_weights(test::small_config(), 7);
  const TokenIds tokens = test::Normal(5).tokens(140, model.config.d_vocab);
  const Matrix far = 10 * test::Normal(3).matrix(model.config.d_z(), tokens.size());
  const std::vector<HeadVariant> variants{{0, {0, 1, 2, 3}, far}, {2, {0, 1, 2, 3}, far}};
  HeadAblation guarded(model, {{.logits = Engine::bfloat16_one}}), reference(model);
  HeadAblation approximate(model,
                           {{.differences = Engine::bfloat16_one, .logits = Engine::bfloat16_one}});
  for (HeadAblation* ablation : {&guarded, &reference, &approximate}) {
    observe(*ablation, model, tokens);
  }
  const std::vector<TokenLoss> expected = reference.losses(tokens, variants);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const double largest = test::largest_size(arma::mat(arma::vec(expected[v].nll)));
    EXPECT_LT(largest_difference(guarded.losses(tokens, variants)[v], expected[v]),
              test::float32_tolerance * largest);
    EXPECT_GT(largest_difference(approximate.losses(tokens, variants)[v], expected[v]),
              10 * test::float32_tolerance * largest);
  }
}

// Losses by three and by six bfloat16 products differ in their last bits.
TEST(HeadAblationAttention, IsByTheGradientsEngineWhereDifferencesAreLessExactThanPasses) {
  Model model = test::random_weights(test::small_config(), 7);
  for (LayerWeights& layer : model.layers) layer.W_out.zeros();  // these engines' too
  const TokenIds tokens = test::Normal(5).tokens(140, model.config.d_vocab);
  const std::vector<HeadVariant> variants{{0, {1}}, {1, {0, 2}}};
  const auto losses = [&](const Engines& engines) {
    HeadAblation ablation(model, engines);
    observe(ablation, model, tokens);
    return ablation.losses(tokens, variants)[0].nll;
  };
  const Engine three = Engine::bfloat16_three, six = Engine::bfloat16_six;
  EXPECT_NE(losses({.differences = three, .gradients = three}),
            losses({.differences = three, .gradients = six}));
  EXPECT_EQ(losses({.gradients = three}), losses({.gradients = six}));
}

/// By variant, the root mean square over tokens of |W_O dz| / |stream after the attention|, which
/// counts as 0 where the stream is 0.
std::vector<double> first_moves(const Model& model, const TokenIds& tokens,
                                const std::vector<HeadVariant>& variants) {
  class Kept : public LayerObserver {
   public:
    void observe_layer(const LayerView& view) override {
      z.push_back(test::widen(view.z));
      stream.push_back(test::widen(view.resid_mid));
    }
    std::vector<arma::mat> z, stream;
  } kept;
  Forward(model).run(tokens, {&kept});
  std::vector<double> moves;
  for (const HeadVariant& variant : variants) {
    arma::mat dz(arma::size(kept.z[variant.layer]), arma::fill::zeros);
    for (const Index h : variant.heads) {
      const Index first = h * model.config.d_head(), last = first + model.config.d_head() - 1;
      dz.rows(first, last) = -kept.z[variant.layer].rows(first, last);
      for (Index t = 0; variant.z.data != nullptr && t < dz.n_cols; ++t) {
        for (Index row = first; row <= last; ++row) {
          dz(row, t) += static_cast<double>(variant.z.data[t * variant.z.stride + row]);
        }
      }
    }
    const arma::mat step = test::widen(model.layers[variant.layer].W_O) * dz;
    arma::rowvec share =
        arma::sum(arma::square(step), 0) / arma::sum(arma::square(kept.stream[variant.layer]), 0);
    share.replace(arma::datum::nan, 0);
    moves.push_back(std::sqrt(arma::mean(share)));
  }
  return moves;
}

/// By variant, whether its value is above `multiple` times the median of those of as many heads.
std::vector<bool> above_typical(const std::vector<double>& values,
                                const std::vector<HeadVariant>& variants, double multiple) {
  std::map<std::size_t, std::vector<double>> by_heads;
  for (std::size_t v = 0; v < values.size(); ++v) {
    by_heads[variants[v].heads.size()].push_back(values[v]);
  }
  std::vector<bool> above;
  for (std::size_t v = 0; v < values.size(); ++v) {
    above.push_back(values[v] >
                    multiple * arma::median(arma::vec(by_heads[variants[v].heads.size()])));
  }
  return above;
}

/// Expects the losses of exact products for variants with large changes, of rounded ones for the
/// others.
/// @return  the number of variants by whether the losses and whether the stream changes much.
std::map<std::pair<bool, bool>, int> expect_large_changes_exact(
    const Model& model, const TokenIds& tokens, const std::vector<HeadVariant>& variants) {
  const SequenceBatch batch(tokens);
  const ComputeContext int16({.differences = Engine::int16});
  constexpr double multiple = 1.2;
  HeadAblation rounded(model, int16), exact(model), mixed(model, int16, {.exact_above = multiple});
  for (HeadAblation* const ablation : {&rounded, &exact, &mixed}) observe(*ablation, model, tokens);
  const std::vector<TokenLoss> rounded_losses = rounded.losses(batch, variants),
                               exact_losses = exact.losses(batch, variants),
                               losses = mixed.losses(batch, variants);
  const std::vector<double>& clean = exact.clean_loss(batch).nll;
  std::vector<double> sizes;
  for (const TokenLoss& loss : losses) {
    double size = 0;
    for (std::size_t t = 0; t < clean.size(); ++t) size += std::abs(loss.nll[t] - clean[t]);
    sizes.push_back(size);
  }
  const std::vector<bool> is_large = above_typical(sizes, variants, multiple),
                          moves_far = above_typical(first_moves(model, tokens, variants), variants,
                                                    multiple);
  std::map<std::pair<bool, bool>, int> n_variant;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const double error = largest_difference(rounded_losses[v], exact_losses[v]);
    EXPECT_GT(error, 0) << v;
    if (is_large[v] || moves_far[v]) {
      // Some of OpenBLAS's kernels round otherwise when other variants stand beside this one.
      EXPECT_LT(largest_difference(losses[v], exact_losses[v]), 0.1 * error) << v;
    } else {
      EXPECT_EQ(losses[v].nll, rounded_losses[v].nll) << v;
    }
    ++n_variant[{is_large[v], moves_far[v]}];
  }
  return n_variant;
}

TEST(HeadAblationPrecision, ComputesLargeChangesExactlyAmongVariantsOfAsManyHeads) {
  const Model model = test::random_weights(test::small_config(), 7);
  const TokenIds tokens = test::Normal(5).tokens(140, model.config.d_vocab);
  const Matrix replacement = test::Normal(3).matrix(model.config.d_model, tokens.size());
  const std::vector<HeadVariant> variants = every_variant(model.config, replacement);
  std::set<std::size_t> numbers_of_heads;
  for (const HeadVariant& variant : variants) numbers_of_heads.insert(variant.heads.size());
  ASSERT_GT(numbers_of_heads.size(), 1);
  const auto n_variant = expect_large_changes_exact(model, tokens, variants);
  EXPECT_EQ(n_variant.size(), 4) << "variants of every kind";
}

TEST(HeadAblationPrecision, ComputesLargeChangesExactlyBesideATokenWithoutEmbedding) {
  const std::vector<test::NamedConfig> architectures = test::every_architecture();
  const ModelConfig config =
      std::ranges::find(architectures, "llama", &test::NamedConfig::name)->config;
  Model model = test::random_weights(config, 7);
  model.W_E.col(0).zeros();
  TokenIds tokens = test::Normal(5).tokens(140, config.d_vocab);
  tokens[0] = 0;
  Matrix replacement = test::Normal(3).matrix(config.d_z(), tokens.size());
  replacement.col(0).zeros();
  auto n_variant = expect_large_changes_exact(model, tokens, every_variant(config, replacement));
  EXPECT_GT((n_variant[{false, true}]), 0) << "known by the stream alone";
}

// The largest error of all variants, several times the engine's error of one product
// (weight_product_test.cpp); PruningPrecision checks the typical error.
INSTANTIATE_TEST_SUITE_P(Every, HeadAblationEngine,
                         testing::Values(EngineError{Engine::bfloat16_six, increase_tolerance},
                                         EngineError{Engine::bfloat16_three, 3e-5},
                                         EngineError{Engine::bfloat16_one, 4e-2},
                                         EngineError{Engine::int16, 2e-3}),
                         [](const auto& test) { return test::label_of(test.param.engine); });

TEST(HeadAblationActivations, OfEveryKindGiveTheIncreasesOfDoublePrecision) {
  for (const Activation activation : all_activations) {
    ModelConfig config = test::small_config();
    config.activation = activation;
    const Model model = test::random_weights(config, 8);
    expect_increases_of_double_precision(model, test::Normal(6).tokens(9, config.d_vocab),
                                         increase_tolerance);
  }
}

TEST_F(HeadAblationTest, EqualsAForwardPassWithoutTheHead) {
  std::vector<HeadVariant> variants;
  for (Index l = 0; l < model_.config.n_layer; ++l) {
    for (Index h = 0; h < n_head_; ++h) variants.push_back({l, {h}});
  }
  const std::vector<TokenLoss> losses = ablation_.losses(tokens_, variants);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    Model without = model_;
    prune_heads(without, {{{variants[v].layer, variants[v].heads[0]}}}, PruneMode::zero);
    Forward forward(without);
    const TokenLoss masked = forward.loss(forward.run(tokens_), tokens_);
    EXPECT_EQ(losses[v].correct, masked.correct);
    for (std::size_t t = 0; t < masked.nll.size(); ++t) {
      EXPECT_NEAR(losses[v].nll[t], masked.nll[t], test::float32_tolerance * masked.nll[t]);
    }
  }
}

TEST_F(HeadAblationTest, ReplacingSeveralHeadsEqualsANaiveForwardWithThemReplaced) {
  const Matrix replacement = test::Normal(3).matrix(model_.config.d_model, tokens_.size());
  for (Index l = 0; l < model_.config.n_layer; ++l) {
    const std::vector<HeadVariant> variants{{l, {0, n_head_ - 1}, replacement}};
    const TokenLoss loss = ablation_.losses(tokens_, variants).front();
    const double naive = reference_loss(model_, tokens_, l, variants[0].heads, replacement);
    EXPECT_NEAR(mean_of(loss.nll), naive, test::float32_tolerance * naive);
  }
}

TEST_F(HeadAblationTest, AReplacementWithoutStrideIsTheSameForAllTokens) {
  const Matrix column = test::Normal(4).matrix(model_.config.d_model, 1);
  const Matrix everywhere = arma::repmat(column, 1, tokens_.size());
  const blas::ConstView repeated(column.memptr(), column.n_rows, tokens_.size(), 0);
  const std::vector<HeadVariant> variants{{1, {2}, everywhere}, {1, {2}, repeated}};
  const std::vector<TokenLoss> losses = ablation_.losses(tokens_, variants);
  for (std::size_t t = 0; t < losses[0].nll.size(); ++t) {
    EXPECT_NEAR(losses[0].nll[t], losses[1].nll[t], test::float32_tolerance * losses[0].nll[t]);
  }
}

TEST_F(HeadAblationTest, ReplacingZByItselfChangesNothing) {
  for (Index l = 0; l < model_.config.n_layer; ++l) {
    const std::vector<HeadVariant> variants{{l, {0, 1}, z_[l]}};
    const TokenLoss ablated = ablation_.losses(tokens_, variants).front(),
                    clean = ablation_.clean_loss(tokens_);
    for (std::size_t t = 0; t < clean.nll.size(); ++t) {
      // The clean probabilities add up to 1 within float32 rounding.
      EXPECT_NEAR(ablated.nll[t], clean.nll[t], test::rounding_tolerance * clean.nll[t])
          << "layer " << l;
    }
  }
}

TEST_F(HeadAblationTest, CleanLossIsThatOfTheForwardPass) {
  Forward forward(model_);
  const TokenLoss expected = forward.loss(forward.run(tokens_), tokens_);
  EXPECT_EQ(ablation_.clean_loss(tokens_).nll, expected.nll);
  EXPECT_EQ(ablation_.clean_loss(tokens_).correct, expected.correct);
  const std::vector<HeadMask> all{{n_head_, model_.config.n_layer, arma::fill::ones}};
  const TokenLoss unmasked = ablation_.masked_losses(tokens_, all).front();
  EXPECT_EQ(unmasked.nll, expected.nll);
  EXPECT_EQ(unmasked.correct, expected.correct);
}

// The page after the mask cannot be read.
TEST_F(HeadAblationTest, MaskOfAllHeadsIsNotReadBeyondItsEnd) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const end = static_cast<unsigned char*>(pages) + page;
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  const Index n_unit = n_head_ * model_.config.n_layer;
  std::fill(end - n_unit, end, static_cast<unsigned char>(1));
  const auto mask = [&] {
    return HeadMask(end - n_unit, n_head_, model_.config.n_layer, false, true);
  };
  const std::array<HeadMask, 2> masks{mask(), mask()};
  const SequenceBatch batch(tokens_);
  for (const TokenLoss& loss : ablation_.masked_losses(batch, masks)) {
    EXPECT_EQ(loss.nll, ablation_.clean_loss(batch).nll);
  }
  munmap(pages, 2 * page);
}

// Where a logit rises so far that a vanishing clean probability matters.
TEST_F(HeadAblationTest, HoldsWhereLogitsChangeByHundreds) {
  Model model = model_;
  model.ln_f_gain *= 60;
  expect_increases_of_double_precision(model, tokens_, increase_tolerance);
}

// Where almost nothing is left of what the clean model predicts, and an entry counts whose clean
// probability float32 cannot tell from 0.
TEST(HeadAblation, HoldsWhereTheCleanModelIsCertain) {
  ModelConfig config = test::small_config();
  config.n_layer = 1;
  config.d_vocab = 3;
  Model model = test::random_weights(config, 7);
  const Vector gain = model.ln_f_gain;
  for (const float times : {60.0F, 120.0F}) {
    model.ln_f_gain = times * gain;
    for (const std::uint64_t seed : {5, 6}) {
      expect_increases_of_double_precision(model, test::Normal(seed).tokens(60, config.d_vocab),
                                           increase_tolerance);
    }
  }
}

// A constant added to all logits changes no loss. The change common to all logits is some ten times
// the one that counts, and so is its rounding.
TEST_F(HeadAblationTest, HoldsWhereAllLogitsChangeAlike) {
  Model model = model_;
  model.W_E.each_col() += 20 * test::Normal(9).vector(model.config.d_model);
  expect_increases_of_double_precision(model, tokens_, 10 * increase_tolerance);
}

TEST_F(HeadAblationTest, MaskingHeadsOfSeveralLayersEqualsPruningThem) {
  HeadMask mask(n_head_, model_.config.n_layer, arma::fill::ones);
  mask(1, 0) = 0;
  mask(0, model_.config.n_layer - 1) = 0;
  Model pruned = model_;
  prune_heads(pruned, {{{0, 1}, {model_.config.n_layer - 1, 0}}}, PruneMode::zero);
  Forward forward(pruned);
  const TokenLoss expected = forward.loss(forward.run(tokens_), tokens_);
  const std::vector<TokenLoss> losses = ablation_.masked_losses(tokens_, {{mask, mask}});
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].correct, expected.correct);
  EXPECT_NEAR(losses[0].sum(), expected.sum(), test::float32_tolerance * expected.sum());
  // Not bit for bit: sgemm's rounding depends on a column's place in the stack.
  EXPECT_NEAR(losses[0].sum(), losses[1].sum(), test::float32_tolerance * expected.sum());
}

// Enough variants for several groups of several stacks each.
class ManyVariants : public HeadAblationTest {
 protected:
  static constexpr Index n_variant = 450;
  static_assert(n_variant * 160 > HeadAblation::columns_at_once);
  const TokenIds document_ = test::Normal(6).tokens(160, model_.config.d_vocab);

  void SetUp() override { observe(ablation_, model_, document_); }

  static void expect_equal(const TokenLoss& loss, const TokenLoss& expected, Index variant) {
    ASSERT_EQ(loss.nll.size(), expected.nll.size());
    for (std::size_t t = 0; t < loss.nll.size(); ++t) {
      ASSERT_NEAR(loss.nll[t], expected.nll[t], test::float32_tolerance * expected.nll[t])
          << "variant " << variant;
    }
  }
};

TEST_F(ManyVariants, OfMasksEachGiveWhatTheyGiveByThemselves) {
  std::vector<HeadMask> masks;
  for (Index i = 0; i < n_variant; ++i) {
    HeadMask mask(n_head_, model_.config.n_layer, arma::fill::ones);
    for (Index unit = 0; unit < mask.n_elem; ++unit) mask(unit) = (i * 37 + 5) >> unit & 1;
    masks.push_back(mask);
  }
  const std::vector<TokenLoss> losses = ablation_.masked_losses(document_, masks);
  ASSERT_EQ(losses.size(), masks.size());
  for (Index i = 0; i < n_variant; i += 7) {
    expect_equal(losses[i], ablation_.masked_losses(document_, {{masks[i]}}).front(), i);
  }
}

TEST_F(ManyVariants, OfReplacementsInAnyOrderOfLayersEachGiveWhatTheyGiveByThemselves) {
  std::vector<Matrix> replacements;
  std::vector<HeadVariant> variants;
  for (Index i = 0; i < n_variant; ++i) {
    replacements.push_back(test::Normal(40 + i).matrix(model_.config.d_model, document_.size()));
  }
  for (Index i = 0; i < n_variant; ++i) variants.push_back({i % 3, {i % 4}, replacements[i]});
  const std::vector<TokenLoss> losses = ablation_.losses(document_, variants);
  ASSERT_EQ(losses.size(), variants.size());
  for (Index i = 0; i < n_variant; i += 7) {
    expect_equal(losses[i], ablation_.losses(document_, {{variants[i]}}).front(), i);
  }
}

TEST_F(HeadAblationTest, RefusesWhatDoesNotFit) {
  const auto refused = [&](const HeadVariant& variant) {
    EXPECT_THROW(ablation_.losses(tokens_, {{variant}}), ShapeError);
  };
  refused({0, {n_head_}});
  refused({model_.config.n_layer, {0}});
  const Matrix too_short(model_.config.d_model, 2, arma::fill::zeros);
  refused({0, {0}, too_short});
  const TokenIds other(tokens_.begin(), tokens_.end() - 1);
  EXPECT_THROW(ablation_.clean_loss(other), ShapeError);
  EXPECT_THROW(HeadAblation(model_).clean_loss(tokens_), ShapeError) << "nothing observed";
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
    const std::vector<Matrix> donor_z = observe(ablation, model, document(donors[d]));
    const std::vector<Matrix> own_z = observe(ablation, model, tokens);
    for (Index l = 0; l < config.n_layer; ++l) {
      Matrix mean(config.d_model, tokens.size());
      for (Index i = 0; i < config.d_model; ++i) {
        mean.row(i).fill(static_cast<float>(mean_z(l, i / d_head, i % d_head)));
      }
      Matrix donor = own_z[l];
      const Index shared = std::min(donor.n_cols, donor_z[l].n_cols);
      donor.head_cols(shared) = donor_z[l].head_cols(shared);
      for (std::size_t method = 0; method < 4; ++method) {
        const Array expected =
            golden.read_reals(std::string("loss_") + methods[method] + "_document");
        std::vector<HeadVariant> variants;
        for (Index h = 0; h < n_head; ++h) {
          variants.push_back({l, {h}});
          if (method == 1) variants[h].z = mean;
          if (method == 2) variants[h].z = donor;
          if (method == 3) variants[h].heads = heads_but(h, n_head);
        }
        const std::vector<TokenLoss> losses = ablation.losses(tokens, variants);
        for (Index h = 0; h < n_head; ++h) {
          const double reference = expected(l, h, d);
          EXPECT_NEAR(mean_of(losses[h].nll), reference, test::float32_tolerance * reference)
              << methods[method] << " " << HeadIndex{l, h}.text() << " document " << d;
        }
      }
    }
  }
}

}  // namespace
}  // namespace headscope
