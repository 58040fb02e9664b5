#pragma once

#include <map>
#include <utility>

#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "model/tensor_source.hpp"

namespace headscope {

/// Which array of a file is which tensor of an architecture, and the model's shape that follows.
class TensorIndex {
 public:
  /// @throws DataError if the file has none of the architecture's tensors, two for the same one, or
  /// layer tensors that the architecture does not have.
  TensorIndex(const TensorSource& source, const ConfigFields& fields);

  /// Null if the file lacks it.
  const TensorInfo* find(const TensorSpec& spec, Index layer = 0) const;
  /// Names of tensors outside the layers that the architecture does not have.
  const std::vector<std::string>& unread() const { return unread_; }
  /// Whether any layer has the tensor.
  bool has_any(const TensorSpec& spec) const;

  /// Whether the file holds the tensor's axes in the other order: weights of PyTorch's nn.Linear,
  /// out x in, as nanoGPT writes them. Hugging Face's GPT-2 has Conv1D weights, in x out.
  bool is_transposed(const TensorSpec& spec) const;
  /// Whether the tensor is a bias of a model that was trained without biases, which are then zero.
  bool is_left_out(const TensorSpec& spec) const;

  /// Combines the tensors' shapes with the config. A model that is not GPT-2's kind needs a whole
  /// config.
  /// @throws DataError naming the field, the file that says so and the tensor that contradicts it.
  ModelConfig resolve(const ConfigFields& fields, const LoadOptions& options) const;

  /// Checks that all tensors required for this kind of model are present, in the right shapes.
  /// @throws DataError naming the first tensor that is missing or has another shape.
  void check(const ModelConfig& config) const;

 private:
  // The stored extent of an axis, where a tensor of `rank` axes has it in a shape that makes sense.
  std::optional<std::size_t> extent(const char* name, std::size_t rank, std::size_t axis) const;
  void check_agrees(const ConfigFields& fields, const char* field, std::optional<Index> stated,
                    const char* tensor, std::size_t stored) const;
  Shape stored_shape(const TensorInfo& tensor, const TensorSpec& spec) const;

  ModelConfig resolve_gpt2(const ConfigFields& fields, const LoadOptions& options) const;
  void check_layers(const ConfigFields& fields) const;
  void find_embedding_of_tied_weights();
  DataError no_tensors() const;

  const TensorSource& source_;
  const Architecture& architecture_;
  std::map<std::pair<const TensorSpec*, Index>, const TensorInfo*> found_;
  std::vector<std::string> unread_;
  Index n_layer_ = 0;    // named in the file, from 0 to the last one
  bool linear_ = false;  // weights of nn.Linear in a file of GPT-2's kind
};

/// @throws DataError if the config states another number of heads than the options.
void check_n_head(const ConfigFields& fields, const LoadOptions& options);

/// The config inside the file, else the `config.json` beside it, else empty.
ConfigFields find_config(const TensorSource& source);

}  // namespace headscope
