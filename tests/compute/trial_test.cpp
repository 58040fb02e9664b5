#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include "compute/product/engines.hpp"
#include "headscope/error.hpp"
#include "headscope/precision.hpp"
#include "support/message_of.hpp"
#include "support/subprocess.hpp"

namespace headscope {
namespace {

constexpr Engine plain = Engine::float32, six_bfloat16 = Engine::bfloat16_six,
                 three = Engine::bfloat16_three, one = Engine::bfloat16_one, int16 = Engine::int16;

TEST(FastestEngines, AreTheFastestThatKeepThePrecision) {
  const EngineSpeeds amx{{six_bfloat16, 1.4}, {three, 2.3}, {int16, 1.5}, {one, 3.9}};
  EXPECT_EQ(fastest_engines(Precision::float32, amx),
            (Engines{six_bfloat16, six_bfloat16, three, six_bfloat16, one}));
  EXPECT_EQ(fastest_engines(Precision::high, amx), (Engines{six_bfloat16, three, one, three, one}));
  EXPECT_EQ(fastest_engines(Precision::fast, amx), (Engines{six_bfloat16, one, one, three, one}));
  const EngineSpeeds vnni{{int16, 1.5}};
  EXPECT_EQ(fastest_engines(Precision::float32, vnni),
            (Engines{plain, plain, plain, plain, int16}));
  EXPECT_EQ(fastest_engines(Precision::high, vnni), (Engines{plain, int16, int16, plain, int16}));
  EXPECT_EQ(fastest_engines(Precision::fast, vnni), (Engines{plain, int16, int16, plain, int16}));
  EXPECT_EQ(fastest_engines(Precision::fast, {}), Engines());
}

TEST(FastestEngines, AreTheMoreExactOfThoseEquallyFast) {
  EXPECT_EQ(fastest_engines(Precision::fast, {{int16, 1.08}}).differences, plain);
  EXPECT_EQ(fastest_engines(Precision::fast, {{int16, 1.12}}).differences, int16);
  EXPECT_EQ(fastest_engines(Precision::fast, {{int16, 1.9}, {one, 2.0}}).differences, int16);
  EXPECT_EQ(fastest_engines(Precision::fast, {{one, 2.0}, {int16, 1.9}}).differences, int16)
      << "whatever their order";
  EXPECT_EQ(fastest_engines(Precision::fast, {{int16, 1.9}, {one, 2.2}}).differences, one);
}

TEST(ForcedEngines, AreUsedWhereTheyAreExactEnough) {
  EXPECT_EQ(forced_engines(Precision::fast, three), (Engines{plain, three, three, three, three}));
  EXPECT_EQ(forced_engines(Precision::high, int16), (Engines{plain, int16, int16, plain, int16}));
  EXPECT_EQ(forced_engines(Precision::float32, plain), Engines());
  EXPECT_EQ(test::message_of([] { forced_engines(Precision::float32, int16); }),
            "--engine: expected an engine that keeps --precision float32: one of float32, "
            "bfloat16x6; got int16");
  EXPECT_EQ(test::message_of([] { forced_engines(Precision::high, one); }),
            "--engine: expected an engine that keeps --precision high: one of float32, bfloat16x6, "
            "bfloat16x3, int16; got bfloat16");
}

TEST(AblationPrecision, HighByIntegersComputesLargeEffectsAgain) {
  constexpr Index gpt2_vocabulary = 50257;
  const AblationPrecision high = ablation_precision(Precision::high, int16, gpt2_vocabulary, 3),
                          fast = ablation_precision(Precision::fast, int16, gpt2_vocabulary, 3);
  EXPECT_LT(high.exact_above, 10);
  EXPECT_TRUE(high.sample.is_whole());
  EXPECT_TRUE(std::isinf(fast.exact_above));
  EXPECT_EQ(fast.sample.seed, 3);
  EXPECT_FALSE(fast.sample.is_whole());
  EXPECT_TRUE(ablation_precision(Precision::fast, int16, 0, 3).sample.is_whole());
  EXPECT_TRUE(std::isinf(ablation_precision(Precision::high, three, 0, 0).exact_above))
      << "as exact for every effect";
}

ModelConfig wide_config() {
  ModelConfig config;
  config.n_head = 4;
  config.d_model = 512;
  config.d_mlp = 1024;
  config.n_ctx = 512;
  return config;
}

TEST(Trial, MeasuresTheEnginesThatThisProcessorHasInstructionsFor) {
  std::vector<Engine> expected, measured;
  for (const EngineEntry& entry : engines()) {
    if (entry.arithmetic != nullptr && entry.arithmetic->has_instructions()) {
      expected.push_back(entry.engine);
    }
  }
  for (const EngineSpeed& speed : try_engines(wide_config())) {
    measured.push_back(speed.engine);
    EXPECT_GT(speed.times_float32, 0.02);
    EXPECT_LT(speed.times_float32, 50);
  }
  EXPECT_THAT(measured, testing::ElementsAreArray(expected));
}

TEST(Trial, HasNothingToMeasureWithoutAShape) {
  EXPECT_TRUE(try_engines(ModelConfig()).empty());
}

/// Processes that compute without end, three for each processor.
class Load {
 public:
  Load() {
    for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
      processes_.push_back(std::make_unique<test::Running>(
          std::vector<std::string>{"sh", "-c", "while :; do :; done"}));
    }
  }

 private:
  std::vector<std::unique_ptr<test::Running>> processes_;
};

TEST(Trial, IsNotMovedByOtherProcesses) {
#ifdef HEADSCOPE_SANITIZED
  GTEST_SKIP() << "sanitizers make kernels slow by different factors";
#endif
  ModelConfig config = wide_config();
  config.n_ctx = 128;
  std::vector<double> changes;
  for (int repeat = 0; repeat < 5; ++repeat) {
    // The machine's own speed moves within seconds: a trial with load is compared with the one just
    // before.
    const EngineSpeeds before = try_engines(config);
    if (before.empty()) GTEST_SKIP() << "this processor has no engine but float32";
    const Load load;
    const EngineSpeeds now = try_engines(config);
    ASSERT_EQ(now.size(), before.size());
    for (std::size_t e = 0; e < now.size(); ++e) {
      // AMX is shared with other virtual machines: its speed moves whatever is measured.
      if (now[e].engine != Engine::int16) continue;
      changes.push_back(std::abs(std::log(now[e].times_float32 / before[e].times_float32)));
    }
  }
  if (changes.empty()) GTEST_SKIP() << "this processor has no instructions for int16";
  // Neighbours share caches and clock: the ratio moves by a few per cent; a wall clock's by
  // factors.
  std::ranges::sort(changes);
  EXPECT_LT(changes[changes.size() / 2], 0.2);
}

TEST(CheckEngines, RefusesByNameWhatThisProcessorRoundsOtherwise) {
  check_engines({plain, int16, int16, plain, one}, "out");  // screening decides nothing
  if (entry_of(three).arithmetic->has_instructions()) GTEST_SKIP() << "this processor has AMX";
  EXPECT_NE(test::message_of([] { check_engines({.logits = three}, "out"); }), "");
  EXPECT_THAT(test::message_of([] {
                check_engines({plain, three, plain, plain, plain}, "out");
              }),
              testing::StartsWith(
                  "out: the run multiplies by bfloat16 x 3, whose instructions this processor ("));
}

}  // namespace
}  // namespace headscope
