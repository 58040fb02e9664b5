#include "headscope/prune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "headscope/ablation.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/results.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using test::Finished;
using test::run_headscope;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<HeadIndex> golden_heads{{0, 1}, {1, 0}, {1, 2}};

Shape shape_in_file(const std::string& path, const std::string& tensor) {
  for (const TensorInfo& info : describe_file(path).arrays) {
    if (info.name == tensor) return info.shape;
  }
  throw std::runtime_error("no tensor " + tensor);
}

void expect_same_weights(const Model& a, const Model& b) {
  for (const TensorSpec& spec : tensors_of({})) {
    for (Index layer = 0; layer < (spec.per_layer() ? a.layers.size() : 1); ++layer) {
      const auto left = tensor_values(a, spec, layer), right = tensor_values(b, spec, layer);
      EXPECT_TRUE(std::equal(left.begin(), left.end(), right.begin(), right.end()))
          << spec.name_in(layer);
    }
  }
}

class Prune : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("pruned.h5");
  const Model model_ = test::random_weights(test::small_config(), 7);
  const TokenIds tokens_ = test::Normal(5).tokens(11, model_.config.d_vocab);

  /// Losses in double precision with the z of heads set to zero; weights stay unchanged.
  std::vector<double> masked_nll(const std::vector<HeadIndex>& heads) const {
    const Index d_head = model_.config.d_head();
    return test::reference_run(model_, tokens_,
                               [&](Index layer, arma::mat& z) {
                                 for (const HeadIndex head : heads) {
                                   if (head.layer != layer) continue;
                                   z.rows(head.head * d_head, (head.head + 1) * d_head - 1).zeros();
                                 }
                               })
        .nll;
  }
};

TEST_F(Prune, WrittenModelHasTheLossOfMaskingTheHeads) {
  const std::vector<HeadIndex> heads{{0, 0}, {1, 1}};
  const std::vector<double> expected = masked_nll(heads);
  EXPECT_NE(expected, masked_nll({}));
  for (const PruneMode mode : {PruneMode::zero, PruneMode::remove}) {
    Model pruned = model_;
    prune_heads(pruned, heads, mode);
    save_model(pruned, path_);
    const Model loaded = load_model(path_);
    expect_same_weights(pruned, loaded);
    Forward forward(loaded);
    const std::vector<double> nll = forward.loss(forward.run(tokens_), tokens_).nll;
    ASSERT_EQ(nll.size(), expected.size());
    for (std::size_t t = 0; t < nll.size(); ++t) {
      EXPECT_NEAR(nll[t], expected[t], test::float32_tolerance * expected[t]);
    }
  }
}

TEST_F(Prune, RemovedHeadsLeaveTheFileAndZeroedOnesStay) {
  const ModelConfig& config = model_.config;
  const Index d = config.d_model, kept = d - config.d_head();
  Model pruned = model_;
  prune_heads(pruned, std::vector<HeadIndex>{{1, 0}}, PruneMode::remove);
  save_model(pruned, path_);
  EXPECT_THAT(shape_in_file(path_, "h.1.attn.c_attn.weight"), ElementsAre(d, 3 * kept));
  EXPECT_THAT(shape_in_file(path_, "h.1.attn.c_attn.bias"), ElementsAre(3 * kept));
  EXPECT_THAT(shape_in_file(path_, "h.1.attn.c_proj.weight"), ElementsAre(kept, d));
  EXPECT_THAT(shape_in_file(path_, "h.0.attn.c_attn.weight"), ElementsAre(d, 3 * d));
  EXPECT_THAT(load_model(path_).config.pruned_heads, ElementsAre(HeadIndex{1, 0}));
  const ModelDescription described = *describe_file(path_).model;
  const std::uint64_t saved = 4 * d * config.d_head() + 3 * config.d_head();
  EXPECT_EQ(described.counts.total() + saved, parameter_counts(config).total());

  Model zeroed = model_;
  prune_heads(zeroed, std::vector<HeadIndex>{{1, 0}}, PruneMode::zero);
  save_model(zeroed, path_);
  EXPECT_THAT(shape_in_file(path_, "h.1.attn.c_attn.weight"), ElementsAre(d, 3 * d));
  const Model loaded = load_model(path_);
  EXPECT_TRUE(loaded.config.pruned_heads.empty());
  expect_same_weights(loaded, pruned);
}

TEST_F(Prune, AllHeadsOfALayerCanGo) {
  std::vector<HeadIndex> heads;
  for (Index h = 0; h < model_.config.n_head; ++h) heads.push_back({0, h});
  Model pruned = model_;
  prune_heads(pruned, heads, PruneMode::remove);
  save_model(pruned, path_);
  EXPECT_THAT(shape_in_file(path_, "h.0.attn.c_proj.weight"),
              ElementsAre(0, model_.config.d_model));
  expect_same_weights(load_model(path_), pruned);
}

TEST_F(Prune, HeadsPrunedBeforeStayPruned) {
  Model pruned = model_;
  prune_heads(pruned, std::vector<HeadIndex>{{1, 1}}, PruneMode::remove);
  prune_heads(pruned, std::vector<HeadIndex>{{0, 0}, {1, 1}}, PruneMode::remove);
  EXPECT_THAT(pruned.config.pruned_heads, ElementsAre(HeadIndex{0, 0}, HeadIndex{1, 1}));
}

TEST(PruneGolden, RemovingHeadsEqualsHuggingFacesPruneHeads) {
  const Model theirs = load_model(test::data_path("tiny_safetensors_pruned/model.safetensors"));
  EXPECT_EQ(theirs.config.pruned_heads, golden_heads);
  Model ours = load_model(test::data_path("tiny_safetensors/model.safetensors"));
  prune_heads(ours, golden_heads, PruneMode::remove);
  EXPECT_EQ(ours.config.pruned_heads, golden_heads);
  expect_same_weights(ours, theirs);
}

TEST_F(Prune, ConfigThatNamesOtherHeadsThanTheShapesIsRefused) {
  std::filesystem::copy(test::data_path("tiny_safetensors_pruned"), folder_.file("model"));
  const std::string config = folder_.file("model/config.json");
  const std::string original = test::read_file(config);
  const std::string model = folder_.file("model/model.safetensors");
  const auto with = [&](const std::string& value) {
    const std::size_t from = original.find("\"pruned_heads\": ") + 16;
    std::string text = original;
    text.replace(from, original.find("\n  },", from) + 4 - from, value);
    test::write_file(config, text);
    return test::message_of<DataError>([&] { load_model(model); });
  };
  EXPECT_EQ(with(R"({"0": [1], "1": [0, 2]})"), "no error");
  EXPECT_EQ(with(R"({"0": [1]})"), model +
                                       ":transformer.h.1.attn.c_attn.weight: expected shape "
                                       "[18, 54], got [18, 18]");
  EXPECT_EQ(with(R"({"0": [3]})"),
            config + ":pruned_heads: expected heads of a model with 2 layers of 3 heads, got L0H3");
  EXPECT_EQ(with(R"({"0": [1, 1]})"),
            config +
                ":pruned_heads: expected each head once, in ascending order, got L0H1 after "
                "L0H1");
  for (const char* malformed : {R"({"x": [1]})", R"({"0": 1})", R"({"0": [-1]})", "[1]", "7"}) {
    EXPECT_THAT(
        with(malformed),
        HasSubstr(config + R"(:pruned_heads: expected heads by layer, as in {"5": [1, 2]},)"))
        << malformed;
  }
}

TEST_F(Prune, CommandWritesAModelThatRuns) {
  const std::string in = test::data_path("tiny_flat/float64.h5");
  const Finished pruned = run_headscope({"prune", in, "--heads", "L0H1,L1H0,L1H2,L0H1", path_});
  EXPECT_EQ(pruned.exit_status, 0) << pruned.err;
  EXPECT_EQ(pruned.out, path_ + ": 3 of 6 heads removed\n");
  EXPECT_EQ(load_model(path_).config.pruned_heads, golden_heads);
  const Finished zeroed =
      run_headscope({"prune", in, folder_.file("zero.h5"), "--heads", "L0H1", "--mode", "zero"});
  EXPECT_EQ(zeroed.out, folder_.file("zero.h5") + ": 1 of 6 heads set to zero\n");
  const Finished run = run_headscope(
      {"run", "--model", path_, "--output", folder_.file("out"), "--figures", "svg", "--quiet"});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_EQ(read_results(folder_.file("out/results.h5")).attributes.at("pruned_heads"),
            AttributeValue("L0H1,L1H0,L1H2"));
}

TEST_F(Prune, CommandRefusesRemovedHeadsAndCountsThem) {
  const std::string more = folder_.file("more.h5");
  const auto prune = [&](const std::string& heads, const std::string& mode) {
    return run_headscope({"prune", path_, more, "--heads", heads, "--mode", mode});
  };
  run_headscope({"prune", test::data_path("tiny_flat/float64.h5"), path_, "--heads", "L0H1,L1H0"});
  for (const char* const mode : {"remove", "zero"}) {
    const Finished refused = prune("L0H0,L0H1", mode);
    EXPECT_EQ(refused.exit_status, 2);
    EXPECT_EQ(refused.err,
              "headscope: --heads: expected heads that " + path_ + " still has, got L0H1\n");
    EXPECT_FALSE(std::filesystem::exists(more));
  }
  EXPECT_EQ(prune("L1H2", "remove").out,
            more + ": 3 of 6 heads are removed, 1 of them by this command\n");
  EXPECT_EQ(load_model(more).config.pruned_heads, golden_heads);
  EXPECT_EQ(prune("L1H2", "zero").out, more + ": 1 of 6 heads set to zero\n");
}

TEST_F(Prune, RemovedHeadsAreOfNoType) {
  const std::string model = std::string(HEADSCOPE_PROJECT_DIR) + "/data/planted-model.h5";
  const auto types = [&](const std::string& file) {
    const std::string output = folder_.file("out");
    const Finished finished =
        run_headscope({"run", "--model", file, "--corpus",
                       std::string(HEADSCOPE_PROJECT_DIR) + "/data/stories.conllu",
                       "--max-documents", "8", "--analyses", "classification", "--output", output,
                       "--force", "--figures", "svg", "--quiet"});
    EXPECT_EQ(finished.exit_status, 0) << finished.err;
    return read_results(output + "/results.h5").group("classification").variable("type").values;
  };
  const auto flags = [](const Array& type, std::size_t layer, std::size_t head) {
    double sum = 0;
    for (std::size_t t = 0; t < type.shape[0]; ++t) sum += type(t, layer, head);
    return sum;
  };
  EXPECT_GT(flags(types(model), 0, 0), 0);
  run_headscope({"prune", model, path_, "--heads", "L0H0"});
  EXPECT_EQ(flags(types(path_), 0, 0), 0);
}

TEST_F(Prune, NamesAModelOfOneHeadInTheSingular) {
  Model model = random_model(
      test::config_of(
          {.n_layer = 1, .n_head = 1, .d_model = 4, .d_mlp = 4, .n_ctx = 4, .d_vocab = 4}),
      1);
  const std::vector<HeadIndex> heads{{0, 1}};
  EXPECT_EQ(test::message_of<OptionError>([&] { prune_heads(model, heads, PruneMode::remove); }),
            "--heads: expected a head of a model with 1 layer of 1 head, got L0H1");
}

TEST_F(Prune, CommandRefusesWhatIsNoHeadOrMode) {
  const std::string in = test::data_path("tiny_flat/float64.h5");
  const auto refusal = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments{"prune", in, path_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Finished finished = run_headscope(arguments);
    EXPECT_EQ(finished.exit_status, 2);
    EXPECT_FALSE(std::filesystem::exists(path_));
    return finished.err;
  };
  EXPECT_EQ(refusal({"--heads", "L2H0"}),
            "headscope: --heads: expected a head of a model with 2 layers of 3 heads, got L2H0\n");
  EXPECT_EQ(refusal({"--heads", "5.1"}),
            "headscope: --heads: expected the form L5H1, got \"5.1\"\n");
  EXPECT_EQ(refusal({"--heads", "L0H0,"}),
            "headscope: --heads: expected names with commas between them, got \"L0H0,\"\n");
  EXPECT_EQ(refusal({}), "headscope: --heads: expected heads, such as L5H1,L6H9, got none\n");
  EXPECT_EQ(refusal({"--heads", "L0H0", "--mode", "drop"}),
            "headscope: --mode: expected one of remove, zero; got \"drop\"\n");
}

}  // namespace
}  // namespace headscope
