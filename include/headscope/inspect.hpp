#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/config.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"

namespace headscope {

enum class FileKind {
  keras_model,        ///< Keras `tf_model.h5`
  flat_model,         ///< HDF5 with Hugging Face names
  safetensors_model,  ///< safetensors
  config,             ///< Hugging Face's `config.json`: a model's shape alone
  token_corpus,       ///< HDF5 with `tokens` and `offsets`
  results,            ///< HDF5 with the results of a run or a comparison
  other_hdf5,         ///< statistics and all other HDF5
};

/// In words: `Keras model (HDF5)`.
std::string_view file_kind_text(FileKind kind);

/// An array in a file.
struct TensorInfo {
  std::string name;  ///< as in the file
  Shape shape;       ///< row-major; empty for a scalar
  std::string type;  ///< as the format calls it: `float32`, `BF16`
};

/// What a model file holds, without the weights' values.
struct ModelDescription {
  ModelConfig config;
  std::string config_file;           ///< file with the config; empty if inferred from shapes
  std::vector<std::string> missing;  ///< tensors missing for running text
  std::vector<std::string> unread;   ///< as in Model
  std::uint64_t n_stored = 0;        ///< parameters in the file
  ParameterCounts counts;            ///< parameters of the complete model
  bool has_tokenizer = false;
};

struct FileDescription {
  std::string path;  ///< of the file
  FileKind kind = FileKind::other_hdf5;
  std::uint64_t n_byte = 0;
  std::vector<TensorInfo> arrays;
  std::map<std::string, std::string> attributes;  ///< of the root, as text; HDF5 only
  std::optional<ModelDescription> model;          ///< for model files and configs
};

/// What a model, corpus or results file holds. Reads no numbers, so it does not check the file's
/// digest. For a folder: its model file.
/// @throws DataError if the file is missing, damaged, of no known format, or a model whose tensors
/// do not fit together.
FileDescription describe_file(const std::string& path, const LoadOptions& options = {});

}  // namespace headscope
