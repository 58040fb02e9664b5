#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headscope/array.hpp"

namespace headscope {

/// A safetensors file: a JSON header that says where each tensor's bytes lie, then the bytes.
/// Source: https://github.com/huggingface/safetensors, "Format".
class SafetensorsFile {
 public:
  struct Tensor {
    std::string name;
    Shape shape;
    std::string type;                  ///< `F16`, `BF16`, `F32`, `F64`, or another that is not read
    std::uint64_t begin = 0, end = 0;  ///< bytes from the start of the file
  };

  /// Whether the first bytes are those of a safetensors file; false if it cannot be read.
  static bool recognises(const std::string& path);

  /// Reads and checks the header: every tensor's bytes lie in the file, fit its shape and type, and
  /// overlap no other's.
  /// @throws DataError
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

  /// Reads F16, BF16, F32 or F64.
  /// @param out  as many elements as the tensor has.
  /// @throws DataError on another type or element count, NaN, infinity, or a value beyond float32.
  void read(const Tensor& tensor, std::span<float> out) const;

 private:
  std::string path_;
  std::vector<Tensor> tensors_;
};

}  // namespace headscope
