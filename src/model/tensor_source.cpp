#include "model/tensor_source.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_text.hpp"
#include "files/read_file.hpp"
#include "files/safetensors.hpp"
#include "headscope/error.hpp"
#include "headscope/parameters.hpp"
#include "model/model_files.hpp"

namespace headscope {
namespace {

bool is_results(const hdf5::InputFile& file) {
  const auto format = file.attribute("", "format");
  const auto* const text = format ? std::get_if<std::string>(&*format) : nullptr;
  return text != nullptr && text->starts_with("headscope results ");
}

FileKind hdf5_kind(const hdf5::InputFile& file, const std::vector<TensorInfo>& tensors) {
  const auto any = [&](const auto& recognise) {
    return std::ranges::any_of(tensors, recognise, &TensorInfo::name);
  };
  for (const Architecture* const known : architectures()) {
    const auto is_known = [&](const std::string& name) {
      return parse_tensor_name(name, known->defaults).has_value();
    };
    if (any(is_known)) return FileKind::flat_model;
  }
  const auto is_of_keras = [](const std::string& name) {
    return parse_keras_name(name).has_value();
  };
  if (any(is_of_keras)) return FileKind::keras_model;
  const auto named = [&](const char* name) {
    return std::ranges::count(tensors, name, &TensorInfo::name) > 0;
  };
  if (named("tokens") && named("offsets")) return FileKind::token_corpus;
  return is_results(file) ? FileKind::results : FileKind::other_hdf5;
}

std::string attribute_text(const hdf5::Attribute& attribute) {
  return std::visit(
      [](const auto& value) {
        const nlohmann::json held = value;
        return held.is_string() ? held.get<std::string>() : json_text(held);
      },
      attribute);
}

class Hdf5Source : public TensorSource {
 public:
  Hdf5Source(const std::string& path, hdf5::Digest digest)
      : TensorSource(FileKind::other_hdf5, path), file_(path, digest) {
    for (hdf5::DatasetInfo& info : file_.datasets()) {
      tensors_.push_back({std::move(info.name), std::move(info.shape), std::move(info.type)});
    }
    kind_ = hdf5_kind(file_, tensors_);
  }

  ConfigFields config() const override { return ConfigFields::from_attributes(file_); }

  std::map<std::string, std::string> attributes() const override {
    std::map<std::string, std::string> texts;
    for (const std::string& name : file_.attribute_names("")) {
      if (const auto value = file_.attribute("", name)) texts[name] = attribute_text(*value);
    }
    return texts;
  }

  std::optional<std::string> tokenizer_text(const std::string& name) const override {
    const std::string dataset = "tokenizer/" + name;
    if (!file_.has(dataset)) return std::nullopt;
    std::vector<std::string> texts = file_.read_strings(dataset);
    if (texts.size() != 1) {
      throw DataError(path(), dataset,
                      "expected one text, got shape " + shape_text(file_.info(dataset).shape));
    }
    return std::move(texts.front());
  }

  void check_size(const TensorInfo& tensor) const override { file_.check_size(tensor.name); }
  void read(const TensorInfo& tensor, std::span<float> out) const override {
    file_.read(tensor.name, out);
  }

 private:
  hdf5::InputFile file_;
};

class SafetensorsSource : public TensorSource {
 public:
  /// @param files  that hold the tensors: the path itself, or the shards of an index.
  /// @param index  the shard of each tensor, as the index says.
  SafetensorsSource(const std::string& path, const std::vector<std::string>& files,
                    const ShardOfTensor& index = {})
      : TensorSource(FileKind::safetensors_model, path) {
    files_.reserve(files.size());
    for (const std::string& name : files) {
      const SafetensorsFile& file = files_.emplace_back(name);
      for (const SafetensorsFile::Tensor& tensor : file.tensors()) {
        const auto [place, added] = places_.try_emplace(tensor.name, &file, &tensor);
        if (!added) {
          throw DataError(
              name, tensor.name,
              "expected one such tensor, got another in " + place->second.first->path());
        }
        tensors_.push_back({tensor.name, tensor.shape, tensor.type});
      }
    }
    for (const auto& [tensor, shard] : index) {
      const auto found = places_.find(tensor);
      if (found != places_.end() && found->second.first->path() == shard) continue;
      throw DataError(shard, tensor, "expected the tensor, as " + path + " says, got none");
    }
  }

  void read(const TensorInfo& tensor, std::span<float> out) const override {
    const auto& [file, stored] = places_.at(tensor.name);
    file->read(*stored, out);
  }

 private:
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::pair<const SafetensorsFile*, const SafetensorsFile::Tensor*>> places_;
};

}  // namespace

std::unique_ptr<TensorSource> open_tensor_source(const std::string& path, hdf5::Digest digest) {
  std::ifstream stream = open_to_read(path);
  if (stream.peek() == EOF) {
    throw DataError(path, "", "expected an HDF5 or safetensors file, got an empty one");
  }
  if (is_model_index(path)) {
    std::vector<std::string> shards = model_files(path);
    shards.erase(shards.begin());
    return std::make_unique<SafetensorsSource>(path, shards, read_model_index(path));
  }
  if (hdf5::InputFile::recognises(path)) return std::make_unique<Hdf5Source>(path, digest);
  if (SafetensorsFile::recognises(path) ||
      std::filesystem::path(path).extension() == ".safetensors") {
    return std::make_unique<SafetensorsSource>(path, std::vector{path});
  }
  std::string begin(128, '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  throw content_refusal(path, begin);
}

}  // namespace headscope
