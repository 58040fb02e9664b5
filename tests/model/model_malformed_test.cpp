#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include "files/hdf5_call.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "model/architecture/architecture.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

// The tensors of a tiny valid model, for tests to damage and write by name.
struct FileContent {
  std::map<std::string, std::pair<Shape, std::vector<float>>> tensors;
  std::map<std::string, hdf5::Attribute> attributes;
  std::map<std::string, std::vector<std::int64_t>> integer_tensors;

  FileContent() {
    ModelConfig config = test::config_of(
        {.n_layer = 2, .n_head = 2, .d_model = 4, .d_mlp = 16, .n_ctx = 3, .d_vocab = 5});
    const Model model = random_model(config, 1);
    for (const TensorSpec& spec : tensors_of({})) {
      if (spec.presence == Presence::optional) continue;
      for (Index layer = 0; layer < (spec.per_layer() ? 2 : 1); ++layer) {
        const auto values = tensor_values(model, spec, layer);
        tensors[spec.name_in(layer)] = {spec.shape(config), {values.begin(), values.end()}};
      }
    }
    attributes = {{"n_layer", std::int64_t{2}},
                  {"n_head", std::int64_t{2}},
                  {"n_embd", std::int64_t{4}},
                  {"n_positions", std::int64_t{3}},
                  {"vocab_size", std::int64_t{5}}};
  }

  void reshape(const std::string& name, const Shape& shape) {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    tensors.at(name) = {shape, std::vector<float>(count, 0.5F)};
  }

  void write(const std::string& path) const {
    hdf5::OutputFile file(path);
    for (const auto& [name, tensor] : tensors) file.write(name, tensor.first, tensor.second);
    for (const auto& [name, values] : integer_tensors) file.write(name, {values.size()}, values);
    for (const auto& [name, value] : attributes) file.set_attribute("", name, value);
    file.publish();
  }
};

// Declares a compressed dataset without data, which takes a few hundred bytes for any shape.
void declare_unwritten(const std::string& path, const std::string& name, std::vector<hsize_t> shape,
                       std::vector<hsize_t> chunk) {
  const hdf5::Place place{path, name};
  const auto own = [&](hid_t id, hdf5::Handle::Close closer) {
    return place.handle(id, closer, "the test cannot declare a dataset");
  };
  const hdf5::Handle file = own(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  const hdf5::Handle space = own(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
  const hdf5::Handle creation = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(creation, 2, chunk.data());
  H5Pset_deflate(creation, 1);
  own(H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      H5Dclose);
}

class ModelMalformed : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("model.h5");

  // The error of loading, without the file's path; nothing may be printed.
  std::string error_of(const std::string& path, const LoadOptions& options = {}) const {
    testing::internal::CaptureStderr();
    std::string text = test::message_of<DataError>([&] { load_model(path, options); });
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    const std::string folder = folder_.file("");
    for (std::size_t at = 0; (at = text.find(folder)) != std::string::npos;) {
      text.erase(at, folder.size());
    }
    return text;
  }

  std::string error_after(const std::function<void(FileContent&)>& spoil) const {
    FileContent content;
    spoil(content);
    content.write(path_);
    return error_of(path_);
  }
};

TEST_F(ModelMalformed, TheUnspoiltFileLoads) {
  EXPECT_EQ(error_after([](FileContent&) {}), "no error");
}

TEST_F(ModelMalformed, FilesThatAreNoModelSaySo) {
  EXPECT_EQ(error_of(folder_.file("none.h5")),
            "none.h5: cannot be opened: No such file or directory");
  std::filesystem::create_directory(folder_.file("folder"));
  EXPECT_EQ(error_of(folder_.file("folder")),
            "folder: expected a model file, or a folder with model.safetensors, "
            "model.safetensors.index.json or tf_model.h5, got a folder with none of them");
  test::write_file(path_, "");
  EXPECT_EQ(error_of(path_), "model.h5: expected an HDF5 or safetensors file, got an empty one");
  test::write_file(path_, "plain text, longer than any signature");
  EXPECT_EQ(error_of(path_),
            "model.h5: expected an HDF5 or safetensors file, got a file of another kind");
  test::write_file(path_, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  EXPECT_EQ(error_of(path_),
            "model.h5: expected the file itself, got a Git LFS pointer to it; `git lfs pull` "
            "downloads the file");
  test::write_file(path_, std::string("PK\x03\x04") + std::string(60, '\0'));
  EXPECT_EQ(error_of(path_), "model.h5: expected an HDF5 or safetensors file, got a zip archive");
  EXPECT_EQ(
      error_of(std::string(HEADSCOPE_TEST_DATA) + "/ops_golden.h5"),
      std::string(HEADSCOPE_TEST_DATA) +
          "/ops_golden.h5: expected GPT-2 tensors such as h.0.attn.c_attn.weight, found none");
}

TEST_F(ModelMalformed, CutFilesAreErrorsAtEveryLength) {
  FileContent().write(path_);
  const std::string whole = test::read_file(path_);
  const std::string cut = folder_.file("cut.h5");
  const std::size_t data_end = whole.rfind("\nheadscope sha256 ");
  for (std::size_t length = 8; length < data_end; length += 1 + whole.size() / 97) {
    test::write_file(cut, whole.substr(0, length));
    ASSERT_EQ(error_of(cut), "cut.h5: cannot be read: the file is damaged or cut short") << length;
  }
  for (std::size_t length = data_end + 1; length < whole.size(); length += 7) {
    test::write_file(cut, whole.substr(0, length));
    ASSERT_EQ(error_of(cut),
              "cut.h5: is damaged: its bytes do not fit the SHA-256 in its last line")
        << length;
  }
  const std::string tf = test::read_file(std::string(HEADSCOPE_TEST_DATA) + "/tiny_tf/tf_model.h5");
  for (std::size_t length = 8; length < tf.size(); length += 1 + tf.size() / 31) {
    test::write_file(cut, tf.substr(0, length));
    ASSERT_EQ(error_of(cut), "cut.h5: cannot be read: the file is damaged or cut short") << length;
  }
}

TEST_F(ModelMalformed, WrongShapesAreNamedWithBoth) {
  EXPECT_EQ(error_after([](FileContent& c) {
              c.reshape("h.1.attn.c_attn.weight", {4, 8});
            }),
            "model.h5:h.1.attn.c_attn.weight: expected shape [4, 12], got [4, 8]");
  EXPECT_EQ(error_after([](FileContent& c) {
              c.reshape("h.0.attn.c_attn.weight", {12, 4});
            }),
            "model.h5:h.0.attn.c_attn.weight: expected shape [4, 12], got [12, 4]");
  EXPECT_EQ(error_after([](FileContent& c) {
              c.reshape("h.0.mlp.c_proj.weight", {4, 16});
            }),
            "model.h5:h.0.mlp.c_proj.weight: expected shape [16, 4], got [4, 16]");
  EXPECT_EQ(error_after([](FileContent& c) {
              c.reshape("h.0.mlp.c_fc.weight", {16, 4});
            }),
            "model.h5:h.0.mlp.c_fc.weight: expected shape [4, 4], got [16, 4]");
  EXPECT_EQ(error_after([](FileContent& c) {
              c.reshape("wte.weight", {4, 5});
            }),
            "model.h5:wte.weight: expected shape [5, 4], got [4, 5]");
}

TEST_F(ModelMalformed, WrongRanksAreNamedWithBoth) {
  EXPECT_EQ(error_after([](FileContent& c) { c.reshape("h.0.attn.c_attn.weight", {48}); }),
            "model.h5:h.0.attn.c_attn.weight: expected 2 axes, got shape [48]");
  EXPECT_EQ(error_after([](FileContent& c) {
              c.reshape("h.0.attn.c_attn.bias", {1, 12});
            }),
            "model.h5:h.0.attn.c_attn.bias: expected shape [12], got [1, 12]");
  EXPECT_EQ(error_after([](FileContent& c) { c.reshape("ln_f.bias", {}); }),
            "model.h5:ln_f.bias: expected shape [4], got []");
}

TEST_F(ModelMalformed, MissingTensorsAreNamed) {
  const auto without = [&](const std::string& name) {
    return error_after([&](FileContent& content) { content.tensors.erase(name); });
  };
  EXPECT_EQ(without("h.0.attn.c_attn.weight"),
            "model.h5:h.0.attn.c_attn.weight: expected 2 axes, got no such tensor");
  EXPECT_EQ(without("wpe.weight"), "model.h5:wpe.weight: expected 2 axes, got no such tensor");
  EXPECT_EQ(without("h.1.attn.c_proj.bias"),
            "model.h5:h.1.attn.c_proj.bias: expected shape [4], got no such tensor");
  EXPECT_EQ(without("h.1.mlp.c_fc.weight"),
            "model.h5:h.1.mlp.c_fc.weight: expected shape [4, 16], got no such tensor");
  EXPECT_EQ(without("ln_f.weight"), "model.h5:ln_f.weight: expected shape [4], got no such tensor");
}

TEST_F(ModelMalformed, UnfitNumbersAreNamed) {
  const auto with = [&](float value) {
    return error_after(
        [&](FileContent& content) { content.tensors.at("wpe.weight").second[7] = value; });
  };
  EXPECT_EQ(with(NAN), "model.h5:wpe.weight: expected finite numbers, got NaN at [1, 3]");
  EXPECT_EQ(with(-INFINITY), "model.h5:wpe.weight: expected finite numbers, got -inf at [1, 3]");
  EXPECT_EQ(error_after([](FileContent& content) {
              content.tensors.erase("ln_f.bias");
              content.integer_tensors["ln_f.bias"] = {1, 2, 3, 4};
            }),
            "model.h5:ln_f.bias: expected type float16, float32 or float64, got int64");
}

TEST_F(ModelMalformed, TensorsOfOtherArchitecturesAreRefused) {
  EXPECT_EQ(error_after([](FileContent& content) {
              content.tensors["h.0.crossattention.c_attn.weight"] = {{1}, {1.F}};
            }),
            "model.h5:h.0.crossattention.c_attn.weight: expected a tensor of GPT-2");
  EXPECT_EQ(error_after([](FileContent& content) {
              content.tensors["transformer.ln_f.bias"] = content.tensors.at("ln_f.bias");
            }),
            "model.h5:transformer.ln_f.bias: expected one such tensor, got also ln_f.bias");
}

TEST_F(ModelMalformed, TensorsOutsideTheLayersThatTheArchitectureLacksAreListed) {
  FileContent content;
  content.tensors["score.weight"] = content.tensors["h.0.attn.bias"] = {{1}, {1.F}};
  content.write(path_);
  EXPECT_THAT(load_model(path_).unread, testing::ElementsAre("score.weight"));
  EXPECT_THAT(describe_file(path_).model->unread, testing::ElementsAre("score.weight"));
}

TEST_F(ModelMalformed, ConfigsThatContradictTheTensorsAreNamedWithBoth) {
  const auto with = [&](const std::string& name, std::int64_t value) {
    return error_after([&](FileContent& content) { content.attributes[name] = value; });
  };
  EXPECT_EQ(with("n_embd", 8),
            "model.h5:n_embd: expected 4, as the shape [4, 12] of h.0.attn.c_attn.weight in "
            "model.h5 says, got 8");
  EXPECT_EQ(with("n_layer", 3),
            "model.h5:n_layer: expected 2, the number of layers in model.h5, got 3");
  EXPECT_EQ(with("n_positions", 1024),
            "model.h5:n_positions: expected 3, as the shape [3, 4] of wpe.weight in model.h5 says, "
            "got 1024");
  EXPECT_EQ(with("vocab_size", 6),
            "model.h5:vocab_size: expected 5, as the shape [5, 4] of wte.weight in model.h5 says, "
            "got 6");
  EXPECT_EQ(
      with("n_inner", 8),
      "model.h5:n_inner: expected 16, as the shape [4, 16] of h.0.mlp.c_fc.weight in model.h5 "
      "says, got 8");
  EXPECT_EQ(with("n_head", 3), "model.h5:n_head: expected a divisor of n_embd = 4, got 3");
  EXPECT_EQ(with("tie_word_embeddings", 0),
            "model.h5:lm_head.weight: expected a tensor, since tie_word_embeddings is false in "
            "model.h5, got no such tensor");
  EXPECT_EQ(error_after([](FileContent& content) {
              content.attributes["tie_word_embeddings"] = std::int64_t{1};
              content.tensors["lm_head.weight"] = content.tensors.at("wte.weight");
              content.tensors["lm_head.weight"].second[0] += 1;
            }),
            "model.h5:lm_head.weight: expected the values of wte.weight, since tie_word_embeddings "
            "is true in model.h5");
}

TEST_F(ModelMalformed, ConfigFieldsOfTheWrongKindAreNamed) {
  const auto with = [&](const std::string& name, const hdf5::Attribute& value) {
    return error_after([&](FileContent& content) { content.attributes[name] = value; });
  };
  EXPECT_EQ(with("n_layer", std::int64_t{-1}),
            "model.h5:n_layer: expected a whole number from 1 to 2147483647, got -1");
  EXPECT_EQ(with("n_head", 2.5),
            "model.h5:n_head: expected a whole number from 1 to 2147483647, got 2.5");
  EXPECT_EQ(with("n_embd", std::string("4")),
            "model.h5:n_embd: expected a whole number from 1 to 2147483647, got \"4\"");
  EXPECT_EQ(with("layer_norm_epsilon", std::string("x")),
            "model.h5:layer_norm_epsilon: expected a number, got \"x\"");
  EXPECT_EQ(with("activation_function", std::string("mish")),
            "model.h5:activation_function: expected gelu_new, gelu_pytorch_tanh, gelu_fast, "
            "gelu_accurate, gelu, gelu_python, relu, silu, swish or quick_gelu, got \"mish\"");
  EXPECT_EQ(with("add_cross_attention", std::int64_t{1}),
            "model.h5:add_cross_attention: expected false, got true");
  EXPECT_EQ(with("bos_token_id", std::string("2")),
            "model.h5:bos_token_id: expected a token id, got \"2\"");
  EXPECT_EQ(with("bos_token_id", std::int64_t{-2}),
            "model.h5:bos_token_id: expected a token id, got -2");
}

TEST_F(ModelMalformed, AnotherNumberOfHeadsThanTheConfigsIsRefused) {
  FileContent().write(path_);
  EXPECT_EQ(error_of(path_, {2}), "no error");
  EXPECT_EQ(error_of(path_, {4}),
            "model.h5:n_head: expected 4, the number of heads asked for, got 2");
  test::write_file(
      folder_.file("config.json"),
      R"({"n_layer": 1, "n_head": 2, "n_embd": 4, "n_positions": 3, "vocab_size": 5})");
  EXPECT_THAT(
      test::message_of<DataError>([&] { describe_file(folder_.file("config.json"), {4}); }),
      testing::HasSubstr("config.json:n_head: expected 4, the number of heads asked for, got 2"));
}

TEST_F(ModelMalformed, ConfigJsonIsCheckedLikeAttributes) {
  FileContent content;
  content.attributes.clear();
  content.write(path_);
  EXPECT_EQ(error_of(path_),
            "model.h5:n_head: expected a config.json beside the file or the number of heads, got "
            "neither; the shapes are those of no published GPT-2");
  EXPECT_EQ(error_of(path_, {2}), "no error");
  EXPECT_EQ(error_of(path_, {3}), "model.h5:n_head: expected a divisor of n_embd = 4, got 3");
  const auto with = [&](const std::string& text) {
    test::write_file(folder_.file("config.json"), text);
    return error_of(path_);
  };
  EXPECT_EQ(with(R"({"n_head": 2})"), "no error");
  EXPECT_EQ(with("{\"n_head\": 2"), "config.json: expected JSON, got unfinished or other text");
  EXPECT_EQ(with("[1]"), "config.json: expected a JSON object");
  EXPECT_EQ(with(R"({"model_type": "bloom"})"),
            "config.json:model_type: expected " + architecture_names() + ", got \"bloom\"");
  EXPECT_EQ(with(R"({"model_type": "llama"})"),
            "model.h5: expected Llama tensors such as model.layers.0.self_attn.q_proj.weight, "
            "found none; h.0.attn.c_attn.bias is a tensor of GPT-2, whose config.json beside the "
            "file must name the model_type");
  EXPECT_EQ(with(R"({"n_head": 2, "n_embd": 768})"),
            "config.json:n_embd: expected 4, as the shape [4, 12] of h.0.attn.c_attn.weight in "
            "model.h5 says, got 768");
  EXPECT_EQ(with(R"({"n_head": 2, "n_layer": 1000000000})"),
            "config.json:n_layer: expected 2, the number of layers in model.h5, got 1000000000");
}

TEST_F(ModelMalformed, AbsurdSizesAreRefusedBeforeAllocation) {
  FileContent content;
  content.tensors.erase("wte.weight");
  content.attributes.erase("vocab_size");
  content.write(path_);
  const std::string small = test::read_file(path_);
  declare_unwritten(path_, "wte.weight", {std::size_t{1} << 40, 4}, {1024, 4});
  EXPECT_EQ(error_of(path_), "model.h5:vocab_size: expected at most 100000000, got 1099511627776");
  test::write_file(path_, small);
  declare_unwritten(path_, "wte.weight", {std::size_t{1} << 62, 4}, {1024, 4});
  EXPECT_EQ(error_of(path_),
            "model.h5:vocab_size: expected at most 100000000, got 4611686018427387904");
  test::write_file(path_, small);
  declare_unwritten(path_, "wte.weight", {5, 4}, {5, 4});
  EXPECT_EQ(error_of(path_),
            "model.h5:wte.weight: expected data for shape [5, 4] (80 bytes), got 0 stored bytes");
}

TEST_F(ModelMalformed, ATinyFileCannotAskForTheRoomOfALargePrunedModel) {
  const std::size_t d_model = 60000;
  FileContent content;
  content.tensors.clear();
  const auto add = [&](const std::string& name, const Shape& shape) {
    content.tensors[name] = {shape, std::vector<float>(element_count(shape))};
  };
  add("wpe.weight", {1, d_model});
  for (const char* const name : {"ln_1.weight", "ln_1.bias", "attn.c_proj.bias"}) {
    add(std::string("h.0.") + name, {d_model});
  }
  add("h.0.attn.c_attn.weight", {d_model, 0});
  add("h.0.attn.c_attn.bias", {0});
  add("h.0.attn.c_proj.weight", {0, d_model});
  content.attributes = {{"n_head", std::int64_t{1}}, {"pruned_heads", std::string("{\"0\": [0]}")}};
  content.write(path_);
  EXPECT_THAT(error_of(path_),
              testing::HasSubstr("model.h5:h.{i}.attn.c_attn.weight: expected a file that "
                                 "pruning made smaller, got "));
}

TEST_F(ModelMalformed, JsonThatNestsWithoutEndIsRefused) {
  FileContent content;
  content.attributes.clear();
  content.write(path_);
  const std::string deep(1'000'000, '[');
  test::write_file(folder_.file("config.json"),
                   "{\"n_head\": " + deep + std::string(deep.size(), ']') + "}");
  EXPECT_EQ(error_of(path_), "config.json: expected JSON, got more than 32 levels");
  test::write_file(folder_.file("config.json"), R"({"n_head": 2, "n_head": 1})");
  EXPECT_EQ(error_of(path_), "config.json: expected JSON, got the key \"n_head\" twice");
}

TEST_F(ModelMalformed, DescribingIsAsStrictAboutShapes) {
  FileContent content;
  content.reshape("h.1.attn.c_proj.weight", {4, 3});
  content.write(path_);
  EXPECT_EQ(test::message_of<DataError>([&] { describe_file(path_); }),
            path_ + ":h.1.attn.c_proj.weight: expected shape [4, 4], got [4, 3]");
}

}  // namespace
}  // namespace headscope
