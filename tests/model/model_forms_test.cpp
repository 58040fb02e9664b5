// GPT-2 as other programs keep it: nanoGPT, Lightning, llm.c, llama.cpp, PEFT.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Puts the tensors of the tiny model into a safetensors file, each as `change` leaves it.
class ModelForms : public testing::Test {
 protected:
  struct Stored {
    std::string name;
    Shape shape;
    std::vector<float> values;
  };

  /// @param change  false leaves the tensor out.
  void write(const std::function<bool(const TensorSpec&, Stored&)>& change) const {
    json header = json::object();
    std::string data;
    for (const TensorSpec& spec : tensors_of({})) {
      for (Index layer = 0; layer < (spec.per_layer() ? model_.config.n_layer : 1); ++layer) {
        const std::span<const float> values = tensor_values(model_, spec, layer);
        if (values.empty()) continue;
        Stored stored{
            spec.name_in(layer), spec.shape(model_.config), {values.begin(), values.end()}};
        if (!change(spec, stored)) continue;
        const std::size_t begin = data.size();
        data.append(reinterpret_cast<const char*>(stored.values.data()),
                    stored.values.size() * sizeof(float));
        header[stored.name] = {
            {"dtype", "F32"}, {"shape", stored.shape}, {"data_offsets", {begin, data.size()}}};
      }
    }
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    test::write_file(path_, bytes + text + data);
  }

  void expect_the_same(const Model& other) const {
    EXPECT_EQ(other.config.n_layer, model_.config.n_layer);
    for (const TensorSpec& spec : tensors_of({})) {
      for (Index layer = 0; layer < (spec.per_layer() ? model_.config.n_layer : 1); ++layer) {
        const auto expected = tensor_values(model_, spec, layer),
                   got = tensor_values(other, spec, layer);
        EXPECT_TRUE(std::ranges::equal(expected, got)) << spec.name_in(layer);
      }
    }
  }

  static Stored transposed(const Stored& stored) {
    Stored other{stored.name, {stored.shape[1], stored.shape[0]}, {}};
    for (std::size_t j = 0; j < stored.shape[1]; ++j) {
      for (std::size_t i = 0; i < stored.shape[0]; ++i) {
        other.values.push_back(stored.values[i * stored.shape[1] + j]);
      }
    }
    return other;
  }

  std::string error_of(const std::string& name, const std::string& bytes) const {
    test::write_file(folder_.file(name), bytes);
    return test::message_of<DataError>([&] { load_model(folder_.file(name)); });
  }

  const Model model_ = load_model(test::data_path("tiny_safetensors/model.safetensors"));
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("model.safetensors");
  const LoadOptions heads_{model_.config.n_head};
};

TEST_F(ModelForms, WeightsOfLinearLayersAreTransposed) {
  write([](const TensorSpec& spec, Stored& stored) {
    if (spec.per_layer() && spec.axes.size() == 2) stored = transposed(stored);
    stored.name = "_orig_mod.transformer." + stored.name;
    return true;
  });
  const Model model = load_model(path_, heads_);
  expect_the_same(model);
  EXPECT_EQ(model.config.activation, Activation::gelu);
  EXPECT_THAT(describe_file(path_, heads_).model->missing, IsEmpty());
}

TEST_F(ModelForms, BiasesThatNanoGptLeavesOutAreZero) {
  write([](const TensorSpec& spec, Stored& stored) {
    if (spec.per_layer() && spec.axes.size() == 2) stored = transposed(stored);
    return !stored.name.ends_with(".bias");
  });
  const Model model = load_model(path_, heads_);
  EXPECT_TRUE(model.is_complete());
  EXPECT_EQ(arma::accu(arma::abs(model.layers[1].b_QKV)), 0);
  EXPECT_EQ(model.layers[1].b_QKV.n_elem, 3 * model.config.d_model);
  EXPECT_EQ(arma::accu(arma::abs(model.ln_f_bias)), 0);
  EXPECT_TRUE(arma::approx_equal(model.layers[1].W_in, model_.layers[1].W_in, "absdiff", 0));
  EXPECT_THAT(describe_file(path_, heads_).model->missing, IsEmpty());
}

TEST_F(ModelForms, BiasesAreNeededWhereOthersArePresentOrWeightsAreConv1d) {
  write([](const TensorSpec& spec, Stored& stored) {
    if (spec.per_layer() && spec.axes.size() == 2) stored = transposed(stored);
    return stored.name != "h.1.attn.c_attn.bias";
  });
  EXPECT_THAT(test::message_of<DataError>([&] { load_model(path_, heads_); }),
              HasSubstr("h.1.attn.c_attn.bias: expected shape"));
  write([](const TensorSpec&, Stored& stored) { return !stored.name.ends_with(".bias"); });
  EXPECT_THAT(test::message_of<DataError>([&] { load_model(path_, heads_); }),
              HasSubstr("h.0.ln_1.bias: expected shape"));
}

TEST_F(ModelForms, ShapesOfLinearLayersAreNamedAsStored) {
  write([](const TensorSpec& spec, Stored& stored) {
    if (spec.per_layer() && spec.axes.size() == 2 && stored.name != "h.1.mlp.c_fc.weight") {
      stored = transposed(stored);
    }
    return true;
  });
  const std::string d = std::to_string(model_.config.d_model),
                    wide = std::to_string(model_.config.d_mlp);
  EXPECT_EQ(test::message_of<DataError>([&] { load_model(path_, heads_); }),
            path_ + ":h.1.mlp.c_fc.weight: expected shape [" + wide + ", " + d + "], got [" + d +
                ", " + wide + "]");
}

TEST_F(ModelForms, LightningsPrefixIsTakenOff) {
  write([](const TensorSpec&, Stored& stored) {
    stored.name = "model.transformer." + stored.name;
    return true;
  });
  expect_the_same(load_model(path_, heads_));
}

TEST_F(ModelForms, OtherNamesOfActivationsAreKnown) {
  EXPECT_EQ(parse_activation("gelu_python"), Activation::gelu);
  EXPECT_EQ(parse_activation("swish"), Activation::silu);
  for (const char* const name : {"gelu_fast", "gelu_accurate", "gelu_pytorch_tanh"}) {
    EXPECT_EQ(parse_activation(name), Activation::gelu_new);
  }
}

TEST_F(ModelForms, CheckpointsAreRefusedWithTheLineThatConvertsThem) {
  const std::string zip = std::string("PK\x03\x04") + std::string(26, 'x') + "ckpt/data.pkl";
  EXPECT_EQ(error_of("ckpt.pt", zip),
            folder_.file("ckpt.pt") +
                ": expected an HDF5 or safetensors file, got a PyTorch checkpoint, a pickle, which "
                "may run any code when it is read; in its folder, python3 -c 'import torch; from "
                "safetensors.torch import save_file; c = torch.load(\"ckpt.pt\", "
                "map_location=\"cpu\"); s = c.get(\"model\", c.get(\"state_dict\", c)); "
                "save_file({k: v.clone().contiguous() for k, v in s.items()}, "
                "\"model.safetensors\")' writes safetensors");
}

TEST_F(ModelForms, OtherProgramsFilesAreNamed) {
  EXPECT_THAT(error_of("gpt2.gguf", "GGUF\x03"),
              HasSubstr("gpt2.gguf: expected an HDF5 or safetensors file, got a GGUF file of "
                        "llama.cpp, whose weights are rounded; in its folder, python3 -c 'from "
                        "transformers import AutoModelForCausalLM as A; A.from_pretrained(\".\", "
                        "gguf_file=\"gpt2.gguf\").save_pretrained(\"model\")' writes safetensors"));
  // 20240326, and version 3.
  EXPECT_THAT(error_of("gpt2_124M.bin", std::string("\xC6\xD7\x34\x01\x03\0\0\0", 8)),
              HasSubstr("got a model of llm.c; in llm.c's folder, python3 dev/eval/export_hf.py "
                        "--input gpt2_124M.bin --output model writes safetensors"));
}

TEST_F(ModelForms, AdaptersAreNamed) {
  const std::string refusal =
      ": expected a model, got a PEFT adapter, which holds changes to one; in its folder, python3 "
      "-c 'from peft import AutoPeftModelForCausalLM as A; "
      "A.from_pretrained(\".\").merge_and_unload().save_pretrained(\"merged\")' writes the model "
      "with them";
  test::write_file(folder_.file("adapter_config.json"), "{}");
  EXPECT_EQ(test::message_of<DataError>([&] { load_model(folder_.path()); }),
            folder_.path() + refusal);
  test::write_file(folder_.file("training_args.bin"), "of PEFT's trainer");
  EXPECT_EQ(test::message_of<DataError>([&] { load_model(folder_.path()); }),
            folder_.path() + refusal);
  write([](const TensorSpec& spec, Stored& stored) {
    stored.name = "base_model.model.transformer." + stored.name;
    stored.name.replace(stored.name.rfind(".weight") + 1, 6, "lora_A.weight");
    return spec.name == "h.{i}.attn.c_attn.weight";
  });
  EXPECT_EQ(test::message_of<DataError>([&] { load_model(path_); }), path_ + refusal);
}

}  // namespace
}  // namespace headscope
