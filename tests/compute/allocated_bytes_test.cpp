#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <optional>

#include "compute/activations.hpp"
#include "headscope/ablation.hpp"
#include "headscope/blas.hpp"
#include "headscope/circuit.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/edge_gradient.hpp"
#include "headscope/gradient.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

/// A function of the preloaded counter of allocations; null without it.
std::size_t (*counter(const char* name))() {
  return reinterpret_cast<std::size_t (*)()>(dlsym(RTLD_DEFAULT, name));
}

/// The most bytes in use while `work` runs, beyond those in use before.
std::uint64_t allocated(const std::function<void()>& work) {
  const std::size_t before = counter("start_counting_allocations")();
  work();
  return counter("most_allocated")() - before;
}

/// Wide enough that matrices take most of the memory, and as many tokens as fill every block.
ModelConfig wide(ModelConfig config) {
  config.n_layer = 2;
  config.d_model = 128;
  config.d_mlp = 256;
  config.n_ctx = 256;
  config.d_vocab = 800;
  return config;
}

struct MeasuredModel {
  std::string name;
  ModelConfig config;
  Engine engine;
};

/// What a class allocates, on a document of 256 tokens, against what the class says that it does.
class AllocatedBytes : public testing::TestWithParam<MeasuredModel> {
 protected:
  void SetUp() override {
    if (counter("most_allocated") == nullptr) GTEST_SKIP() << "the counter is not preloaded";
    blas::set_thread_count(n_thread);
  }

  /// Expects at most `bound` bytes and what products share; with float32's products, which are not
  /// packed, also not much less.
  void expect_bound(std::uint64_t bound, const std::function<void()>& work) const {
    const auto most =
        static_cast<double>(bound + ComputeContext::bytes(config, n_token, n_thread, engines));
    const auto bytes = static_cast<double>(allocated(work));
    EXPECT_LE(bytes, most);
    if (engine == Engine::float32) {
      EXPECT_GE(bytes, 0.6 * most);
    }
  }

  std::uint64_t forward_bytes() const { return Forward::bytes(config, n_token, false); }

  static constexpr int n_thread = 2;
  const ModelConfig config = GetParam().config;
  const Index n_token = config.n_ctx;
  const Engine engine = GetParam().engine;
  const Engines engines{engine, engine, engine, engine};
  const Model model = test::random_weights(config, 1);
  const TokenIds tokens = test::Normal(2).tokens(n_token, config.d_vocab);
};

TEST_P(AllocatedBytes, OfAForwardPassAreThoseStated) {
  // Hidden units take more than all else.
  ModelConfig tall = config;
  tall.d_mlp = 4096;
  const Model tall_model = test::random_weights(tall, 1);
  std::optional<Forward> forward;
  expect_bound(Forward::bytes(tall, n_token, false) + Forward::loss_bytes(tall, n_token, n_thread),
               [&] {
                 forward.emplace(tall_model, engines);
                 forward->loss(forward->run(tokens), tokens);
               });
}

TEST_P(AllocatedBytes, OfHeadAblationAreThoseStated) {
  // As many variants as run together.
  std::vector<HeadVariant> variants;
  while (variants.size() * n_token < HeadAblation::columns_at_once) {
    variants.push_back({variants.size() % config.n_layer, {variants.size() % config.n_head}, {}});
  }
  for (const VocabularySample& sample : {VocabularySample{}, VocabularySample{64, 128, 1}}) {
    std::optional<Forward> forward;
    std::optional<HeadAblation> ablation;
    expect_bound(forward_bytes() + HeadAblation::bytes(config, n_token, n_thread, engines, sample),
                 [&] {
                   const ComputeContext context(engines);
                   forward.emplace(model, context);
                   ablation.emplace(model, context, AblationPrecision{.sample = sample});
                   LayerObserver* const observers[] = {&*ablation};
                   forward->run(tokens, observers);
                   ablation->losses(tokens, variants);
                 });
  }
}

/// What reads the activations of a clean pass.
class AllocatedBytesOfReaders : public AllocatedBytes {
 protected:
  void SetUp() override {
    AllocatedBytes::SetUp();
    if (IsSkipped()) return;
    Forward(model, engines).run(tokens, {&ablation});
    ablation.clean_loss(batch);
  }

  HeadAblation ablation{model, engines};
  const SequenceBatch batch = tokens;
  const EdgeGraph graph{config};
  const Matrix replacement{config.d_model, graph.n_node(), arma::fill::zeros};
};

TEST_P(AllocatedBytesOfReaders, OfHeadGradientAreThoseStated) {
  std::optional<HeadGradient> gradient;
  expect_bound(HeadGradient::bytes(config, n_token, n_thread, engines), [&] {
    gradient.emplace(model, engines);
    for (int document = 0; document < 2; ++document) {  // buffers are kept from one to the next
      gradient->run(ablation.activations(), tokens, [](const LayerGradient&) {});
    }
  });
}

TEST_P(AllocatedBytesOfReaders, OfEdgeGradientAreThoseStated) {
  const std::vector<float> weights(batch.predictions.size(), 1);
  std::vector<Index> ends(n_token);  // a group a token
  std::iota(ends.begin(), ends.end(), 1);
  std::optional<EdgeGradient> gradient;
  expect_bound(EdgeGradient::bytes(config, n_token, 1, n_thread, engines), [&] {
    gradient.emplace(model, engines);
    gradient->run(ablation.activations(), batch, weights, replacement, ends,
                  [](Index, std::span<const float>, std::span<const float>) {});
  });
}

TEST_P(AllocatedBytesOfReaders, OfCircuitForwardAreThoseStated) {
  const std::vector<unsigned char> kept(graph.n_edge(), 1);
  std::optional<CircuitForward> circuit;
  expect_bound(CircuitForward::bytes(config, n_token, n_thread), [&] {
    circuit.emplace(model, engines);
    circuit->run(batch, replacement, kept);
  });
}

/// Every architecture with float32's products, and one with products that pack their operands.
std::vector<MeasuredModel> measured_models() {
  std::vector<MeasuredModel> models;
  for (const test::NamedConfig& named : test::every_architecture()) {
    models.push_back({named.name, wide(named.config), Engine::float32});
  }
  MeasuredModel packed = models.front();
  packed.engine = Engine::int16;
  packed.name += "_int16";
  models.push_back(std::move(packed));
  return models;
}

const auto name_of = [](const auto& test) { return test.param.name; };

INSTANTIATE_TEST_SUITE_P(Every, AllocatedBytes, testing::ValuesIn(measured_models()), name_of);
INSTANTIATE_TEST_SUITE_P(Every, AllocatedBytesOfReaders, testing::ValuesIn(measured_models()),
                         name_of);

}  // namespace
}  // namespace headscope
