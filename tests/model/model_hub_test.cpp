// Models as they lie on the Hugging Face hub: folders, shards, and what is found there but not
// read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "model/architecture/architecture.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::data_path;
using testing::HasSubstr;

const std::string index_name = "model.safetensors.index.json";

/// A copy of a folder of hub files, to damage.
class ModelHub : public testing::Test {
 protected:
  ModelHub() { fs::copy(data_path("hub/snapshot"), path_); }

  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("snapshot");

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void remove(const std::string& name) const { fs::remove(file(name)); }

  void edit_json(const std::string& name, const std::function<void(json&)>& edit) const {
    json content = json::parse(test::read_file(file(name)));
    edit(content);
    test::write_file(file(name), content.dump());
  }

  // The error of loading the folder, without its path.
  std::string error(const std::string& name = "", const LoadOptions& options = {}) const {
    std::string text = test::message_of<DataError>(
        [&] { load_model(name.empty() ? path_ : file(name), options); });
    for (std::size_t at = 0; (at = text.find(path_ + "/")) != std::string::npos;) {
      text.erase(at, path_.size() + 1);
    }
    return text;
  }
};

TEST_F(ModelHub, AFolderIsReadFromItsShardsAndConfig) {
  const Model model = load_model(path_);
  EXPECT_EQ(model.path, file(index_name));
  EXPECT_TRUE(model.is_complete());
  EXPECT_EQ(model.config.n_layer, 3U);
  EXPECT_EQ(model.config.n_head, 2U);
  EXPECT_EQ(model.config.n_ctx, 32U);
  EXPECT_EQ(model.config.d_vocab, 312U);
  EXPECT_EQ(model.config.activation, Activation::gelu_new);
  EXPECT_TRUE(model.config.scale_by_inverse_layer);
  EXPECT_DOUBLE_EQ(model.config.score_scale(2), 1 / std::sqrt(4.0) / 3);
}

TEST_F(ModelHub, ShardsOfEveryNameCount) {
  const std::string before = load_model(path_).sha256;
  const std::string shard = file("model-00002-of-00003.safetensors");
  std::string bytes = test::read_file(shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_file(shard, bytes);
  EXPECT_NE(load_model(path_).sha256, before);
}

TEST_F(ModelHub, DescribingTellsTheFolderInFull) {
  const FileDescription description = describe_file(path_);
  EXPECT_EQ(description.kind, FileKind::safetensors_model);
  ASSERT_TRUE(description.model);
  EXPECT_EQ(description.model->config_file, file("config.json"));
  EXPECT_THAT(description.model->missing, testing::IsEmpty());
  std::uint64_t n_byte = 0;
  for (const char* const name :
       {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors", index_name.c_str()}) {
    n_byte += fs::file_size(file(name));
  }
  EXPECT_EQ(description.n_byte, n_byte);
}

TEST_F(ModelHub, LinksIntoACacheAreFollowedAndTheConfigIsFoundBesideTheLink) {
  const std::string blobs = folder_.file("blobs"), links = folder_.file("links");
  fs::rename(path_, blobs);
  fs::create_directory(links);
  for (const auto& entry : fs::directory_iterator(blobs)) {
    const fs::path blob = entry.path().parent_path() / ("blob-" + entry.path().filename().string());
    fs::rename(entry.path(), blob);
    fs::create_symlink(blob, fs::path(links) / entry.path().filename());
  }
  EXPECT_EQ(load_model(links).config.n_head, 2U);
  fs::remove(blobs + "/blob-model-00002-of-00003.safetensors");
  EXPECT_THAT(test::message_of<DataError>([&] { load_model(links); }),
              HasSubstr("model-00002-of-00003.safetensors: cannot be opened: No such file"));
}

TEST_F(ModelHub, DamagedIndexesAreNamed) {
  const auto with = [&](const std::function<void(json&)>& edit) {
    const std::string whole = test::read_file(file(index_name));
    edit_json(index_name, edit);
    const std::string text = error();
    test::write_file(file(index_name), whole);
    return text;
  };
  const std::string wte = "transformer.wte.weight";
  EXPECT_EQ(with([](json& j) { j.erase("weight_map"); }),
            index_name + ":weight_map: expected the names of tensors, each with its file");
  EXPECT_EQ(with([](json& j) { j["weight_map"] = json::object(); }),
            index_name + ":weight_map: expected the names of tensors, each with its file");
  for (const char* const elsewhere : {"../model.safetensors", "/etc/passwd", "..", ""}) {
    EXPECT_EQ(with([&](json& j) { j["weight_map"][wte] = elsewhere; }),
              index_name + ":" + wte + ": expected the name of a file beside the index, got \"" +
                  elsewhere + "\"");
  }
  EXPECT_EQ(with([&](json& j) { j["weight_map"][wte] = "model-00003-of-00003.safetensors"; }),
            "model-00003-of-00003.safetensors:" + wte + ": expected the tensor, as " + index_name +
                " says, got none");
  EXPECT_EQ(with([&](json& j) {
              j["weight_map"]["transformer.more"] = "model-00001-of-00003.safetensors";
            }),
            "model-00001-of-00003.safetensors:transformer.more: expected the tensor, as " +
                index_name + " says, got none");
  test::write_file(file(index_name), "{");
  EXPECT_EQ(error(), index_name + ": expected JSON, got unfinished or other text");
}

TEST_F(ModelHub, ATensorInTwoShardsIsRefused) {
  fs::copy_file(file("model-00001-of-00003.safetensors"), file("model-00002-of-00003.safetensors"),
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(error(), HasSubstr(": expected one such tensor, got another in "
                                 "model-00001-of-00003.safetensors"));
}

TEST_F(ModelHub, AMissingShardIsNamed) {
  remove("model-00003-of-00003.safetensors");
  EXPECT_EQ(error(),
            "model-00003-of-00003.safetensors: cannot be opened: No such file or directory");
}

TEST_F(ModelHub, PicklesAreRefusedWithTheLineThatConvertsThem) {
  const std::string refusal =
      ": expected an HDF5 or safetensors file, got a PyTorch checkpoint, a pickle, which may run "
      "any code when it is read; in its folder, python3 -c 'from transformers import "
      "AutoModelForCausalLM as A; A.from_pretrained(\".\", "
      "use_safetensors=False).save_pretrained(\".\")'"
      " writes safetensors";
  remove(index_name);
  fs::copy_file(data_path("hub/pytorch_model.bin"), file("pytorch_model.bin"));
  EXPECT_EQ(error(), "pytorch_model.bin" + refusal);
  // Before version 1.6, PyTorch wrote a pickle of protocol 2 that begins with this number.
  test::write_file(file("pytorch_model.bin"), "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.");
  EXPECT_EQ(error(), "pytorch_model.bin" + refusal);
  remove("pytorch_model.bin");
  test::write_file(file("pytorch_model.bin.index.json"),
                   R"({"weight_map": {"wte.weight": "pytorch_model-00001-of-00002.bin"}})");
  EXPECT_EQ(error(), "pytorch_model.bin.index.json" + refusal);
}

TEST_F(ModelHub, GitLfsPointersAreCalledThat) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 548105171\n";
  const std::string refusal =
      ": expected the file itself, got a Git LFS pointer to it; `git lfs pull` downloads the file";
  for (const std::string name :
       {"model-00002-of-00003.safetensors", "config.json", "model.safetensors.index.json"}) {
    const std::string whole = test::read_file(file(name));
    test::write_file(file(name), pointer);
    EXPECT_EQ(error(), name + refusal);
    test::write_file(file(name), whole);
  }
  test::write_file(file("model.safetensors"), pointer);
  EXPECT_EQ(error(), "model.safetensors" + refusal);
}

TEST_F(ModelHub, OtherArchitecturesAreRefusedByName) {
  for (const char* const type : {"mamba", "gpt_neo", "gptj"}) {
    edit_json("config.json", [&](json& config) { config["model_type"] = type; });
    EXPECT_EQ(error(), "config.json:model_type: expected " + architecture_names() + ", got \"" +
                           type + "\"");
  }
}

TEST_F(ModelHub, TheNumberOfHeadsIsNotGuessed) {
  remove("config.json");
  EXPECT_EQ(error(), index_name +
                         ":n_head: expected a config.json beside the file or the number of heads, "
                         "got neither; the shapes are those of no published GPT-2");
  EXPECT_EQ(load_model(path_, {4}).config.n_head, 4U);
}

TEST_F(ModelHub, AConfigWithoutTheNumberOfHeadsIsNamed) {
  edit_json("config.json", [](json& config) {
    config["num_attention_heads"] = config["n_head"];
    config.erase("n_head");
  });
  EXPECT_EQ(error(), "config.json:n_head: expected a whole number, got none");
  EXPECT_EQ(load_model(path_, {4}).config.n_head, 4U);
}

/// Declares the attention weights of a model of this shape; their zeros take no room on the disk.
void declare_attention_weights(const ModelConfig& config, const std::string& path) {
  json header = json::object();
  std::uint64_t end = 0;
  for (const TensorSpec& spec : tensors_of({})) {
    if (spec.presence != Presence::required) continue;
    for (Index layer = 0; layer < (spec.per_layer() ? config.n_layer : 1); ++layer) {
      const Shape shape = spec.shape(config);
      const std::uint64_t begin = end;
      end += element_count(shape) * sizeof(float);
      header[spec.name_in(layer)] = {
          {"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
    }
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  test::write_file(path, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text);
  fs::resize_file(path, sizeof length + length + end);
}

TEST(ModelHeads, AreThoseOfThePublishedGPT2WithTheSameShapes) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("model.safetensors");
  const auto heads = [&](Index n_layer, Index d_model, Index n_ctx) {
    ModelConfig config = test::config_of({.n_layer = n_layer,
                                          .n_head = 1,
                                          .d_model = d_model,
                                          .d_mlp = 4 * d_model,
                                          .n_ctx = n_ctx});
    declare_attention_weights(config, path);
    return describe_file(path).model->config.n_head;
  };
  EXPECT_EQ(heads(6, 768, 1024), 12U);
  EXPECT_EQ(heads(12, 768, 1024), 12U);
  EXPECT_EQ(heads(24, 1024, 1024), 16U);
  EXPECT_EQ(heads(36, 1280, 1024), 20U);
  EXPECT_EQ(heads(48, 1600, 1024), 25U);
  EXPECT_THROW(heads(12, 768, 512), DataError);
  EXPECT_THROW(heads(12, 640, 1024), DataError);
  EXPECT_THROW(heads(13, 768, 1024), DataError);
}

}  // namespace
}  // namespace headscope
