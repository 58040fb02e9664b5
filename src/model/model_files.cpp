#include "model/model_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.hpp"
#include "files/read_file.hpp"
#include "headscope/model.hpp"

namespace headscope {

namespace fs = std::filesystem;

namespace {

/// Whether a folder holds a PEFT adapter.
bool is_adapter(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / "adapter_config.json", ignored);
}

/// The folder's only file with an ending that PyTorch, llm.c or llama.cpp gives to models.
std::optional<std::string> lone_file_of_another_program(const std::string& folder) {
  constexpr std::array<std::string_view, 5> endings{".pt", ".pth", ".ckpt", ".bin", ".gguf"};
  std::optional<std::string> found;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    if (std::ranges::find(endings, entry->path().extension().string()) == endings.end()) continue;
    if (found) return std::nullopt;
    found = entry->path().string();
  }
  return found;
}

/// The name of a model on the Hugging Face hub that a path may be meant to be; empty if none.
std::string hub_name(const std::string& path) {
  if (path == "gpt2" || path == "gpt2-medium" || path == "gpt2-large" || path == "gpt2-xl") {
    return "openai-community/" + path;
  }
  if (path == "distilgpt2") return "distilbert/" + path;
  const std::size_t slash = path.find('/');
  const bool has_owner = slash != path.npos && slash > 0 && slash + 1 < path.size() &&
                         path.find('/', slash + 1) == path.npos && !path.starts_with('.') &&
                         fs::path(path).extension().empty() && !fs::exists(path.substr(0, slash));
  return has_owner ? path : "";
}

}  // namespace

std::optional<std::string> model_file_in(const std::string& folder) {
  for (const char* const name : {"model.safetensors", "model.safetensors.index.json", "tf_model.h5",
                                 "pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    const fs::path file = fs::path(folder) / name;
    std::error_code ignored;
    // A link to nothing is found too, so that opening it says what is missing.
    if (fs::exists(fs::symlink_status(file, ignored))) {
      return file.string();
    }
  }
  return is_adapter(folder) ? std::nullopt : lone_file_of_another_program(folder);
}

std::string model_file(const std::string& path) {
  std::error_code ignored;
  if (const std::string name = hub_name(path); !name.empty() && !fs::exists(path, ignored)) {
    const std::string folder = fs::path(path).filename().string();
    throw DataError(
        path, "",
        "no such file or folder; if a model on the Hugging Face hub is meant, `hf download " +
            name + " --local-dir " + folder +
            "` (of pip's huggingface_hub) downloads it to the folder " + folder);
  }
  if (!fs::is_directory(path, ignored)) return path;
  if (const auto file = model_file_in(path)) return *file;
  if (is_adapter(path)) throw adapter_refusal(path);
  throw DataError(path, "",
                  "expected a model file, or a folder with model.safetensors, "
                  "model.safetensors.index.json or tf_model.h5, got a folder with none of them");
}

std::vector<std::string> model_files(const std::string& file) {
  std::vector<std::string> files{file};
  if (!is_model_index(file)) return files;
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : read_model_index(file)) shards.insert(shard);
  const auto is_pickle = [](const std::string& shard) { return !shard.ends_with(".safetensors"); };
  if (std::ranges::any_of(shards, is_pickle)) throw pickle_refusal(file);
  files.insert(files.end(), shards.begin(), shards.end());
  return files;
}

std::uintmax_t total_size(const std::vector<std::string>& files) {
  std::uintmax_t size = 0;
  for (const std::string& file : files) size += fs::file_size(file);
  return size;
}

bool is_model_index(const std::string& file) {
  return file.ends_with(".index.json");
}

ShardOfTensor read_model_index(const std::string& path) {
  const nlohmann::json index = parse_json(read_file(path), path);
  const auto weight_map = index.is_object() ? index.find("weight_map") : index.end();
  if (weight_map == index.end() || !weight_map->is_object() || weight_map->empty()) {
    throw DataError(path, "weight_map", "expected the names of tensors, each with its file");
  }
  ShardOfTensor shards;
  for (const auto& [tensor, shard] : weight_map->items()) {
    const fs::path name = shard.is_string() ? shard.get<std::string>() : "";
    if (name.empty() || name.filename() != name || name == "." || name == "..") {
      throw DataError(path, tensor,
                      "expected the name of a file beside the index, got " + json_text(shard));
    }
    shards[tensor] = fs::path(path).replace_filename(name).string();
  }
  return shards;
}

DataError pickle_refusal(const std::string& path) {
  const fs::path file(path);
  const std::string refusal =
      "expected an HDF5 or safetensors file, got a PyTorch checkpoint, a pickle, which may run any "
      "code when it is read; in its folder, python3 -c ";
  if (file.filename().string().starts_with("pytorch_model")) {
    return DataError(
        path, "",
        refusal +
            "'from transformers import AutoModelForCausalLM as A; A.from_pretrained(\".\", "
            "use_safetensors=False).save_pretrained(\".\")' writes safetensors");
  }
  // nanoGPT has the weights under `model`, Lightning under `state_dict`.
  return DataError(
      path, "",
      refusal + "'import torch; from safetensors.torch import save_file; c = torch.load(\"" +
          file.filename().string() +
          "\", map_location=\"cpu\"); s = c.get(\"model\", c.get(\"state_dict\", c)); "
          "save_file({k: v.clone().contiguous() for k, v in s.items()}, \"model.safetensors\")' "
          "writes safetensors");
}

DataError adapter_refusal(const std::string& path) {
  return DataError(
      path, "",
      "expected a model, got a PEFT adapter, which holds changes to one; in its folder, python3 -c "
      "'from peft import AutoPeftModelForCausalLM as A; "
      "A.from_pretrained(\".\").merge_and_unload().save_pretrained(\"merged\")' writes the model "
      "with them");
}

DataError content_refusal(const std::string& path, std::string_view begin) {
  constexpr std::size_t zip_entry_name = 30;
  // Number 20240326 at the beginning of llm.c's files.
  constexpr std::string_view llm_c = "\xC6\xD7\x34\x01";
  const bool zip = begin.starts_with("PK\x03\x04");
  const bool pickle = begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5;
  if (pickle || (zip && begin.find("data.pkl", zip_entry_name) != begin.npos)) {
    return pickle_refusal(path);
  }
  const std::string name = fs::path(path).filename().string();
  std::string got = zip ? "a zip archive" : "a file of another kind";
  if (begin.starts_with("GGUF")) {
    got =
        "a GGUF file of llama.cpp, whose weights are rounded; in its folder, python3 -c 'from "
        "transformers import AutoModelForCausalLM as A; A.from_pretrained(\".\", gguf_file=\"" +
        name + "\").save_pretrained(\"model\")' writes safetensors";
  } else if (begin.starts_with(llm_c)) {
    got = "a model of llm.c; in llm.c's folder, python3 dev/eval/export_hf.py --input " + name +
          " --output model writes safetensors";
  }
  return DataError(path, "", "expected an HDF5 or safetensors file, got " + got);
}

}  // namespace headscope
