#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/hdf5_file.hpp"
#include "headscope/inspect.hpp"
#include "model/config_fields.hpp"

namespace headscope {

/// The named arrays of a model file, whatever its format.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  FileKind kind() const { return kind_; }
  const std::string& path() const { return path_; }
  /// All arrays, with their names in the file.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// The config inside the file.
  virtual ConfigFields config() const { return {}; }
  /// The root's attributes, as text.
  virtual std::map<std::string, std::string> attributes() const { return {}; }
  /// The text of `/tokenizer/{name}`, if the file has it.
  virtual std::optional<std::string> tokenizer_text(const std::string& /*name*/) const {
    return std::nullopt;
  }
  /// @throws DataError if the file holds too little for the shape that it declares.
  virtual void check_size(const TensorInfo& /*tensor*/) const {}
  /// Reads all values, row-major. @throws DataError on an unsupported type, damage, NaN or
  /// infinity.
  virtual void read(const TensorInfo& tensor, std::span<float> out) const = 0;

 protected:
  TensorSource(FileKind kind, std::string path) : kind_(kind), path_(std::move(path)) {}

  FileKind kind_;
  std::string path_;
  std::vector<TensorInfo> tensors_;
};

/// Opens HDF5 or safetensors, told apart by their first bytes, or an index of safetensors shards.
/// @param path  not a folder.
/// @throws DataError if the file is missing, empty, damaged or none of these.
std::unique_ptr<TensorSource> open_tensor_source(const std::string& path,
                                                 hdf5::Digest digest = hdf5::Digest::checked);

}  // namespace headscope
