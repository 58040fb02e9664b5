#include "model/model_files.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.hpp"
#include "files/read_file.hpp"
#include "headscope/model.hpp"

namespace headscope {

namespace fs = std::filesystem;

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
  return std::nullopt;
}

std::string model_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  if (const auto file = model_file_in(path)) return *file;
  throw DataError(path, "",
                  "expected a model file, or a folder with model.safetensors, "
                  "model.safetensors.index.json or tf_model.h5, got a folder with none of them");
}

std::vector<std::string> model_files(const std::string& file) {
  std::vector<std::string> files{file};
  if (!is_model_index(file)) return files;
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : read_model_index(file)) shards.insert(shard);
  if (!std::all_of(shards.begin(), shards.end(),
                   [](const std::string& shard) { return shard.ends_with(".safetensors"); })) {
    throw pickle_refusal(file);
  }
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
  const nlohmann::json index = parse_json(read_file(path));
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
  return DataError(
      path, "",
      "expected an HDF5 or safetensors file, got a PyTorch checkpoint, a pickle, which may run any "
      "code when it is read; in its folder, python3 -c 'from transformers import GPT2LMHeadModel "
      "as G; G.from_pretrained(\".\", use_safetensors=False).save_pretrained(\".\")' writes "
      "safetensors");
}

}  // namespace headscope
