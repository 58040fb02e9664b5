#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/config.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// One transformer layer. Weights are out x in. What a model lacks is empty: biases (`qkv_bias`,
/// `output_bias` and `mlp_bias` of its config), and biases of norms in a model with RMSNorm.
struct LayerWeights {
  Vector ln_1_gain, ln_1_bias;  ///< d_model; before attention
  /// d_qkv x d_model; rows Q (n_head d_head) | K (n_group d_head) | V (n_group d_head), the first
  /// ones of a head at the config's q_row, k_row and v_row
  Matrix W_QKV;
  Vector b_QKV;  ///< d_qkv
  Matrix W_O;    ///< d_model x d_z; head h at columns h * d_head
  Vector b_O;    ///< d_model
  /// d_model; before the MLP. Empty in an attention-only model that lacks them
  Vector ln_2_gain, ln_2_bias;
  /// d_in x d_model; rows gate | up in a gated MLP. Empty in an attention-only model
  Matrix W_in;
  Vector b_in;   ///< d_in
  Matrix W_out;  ///< d_model x d_mlp; empty in an attention-only model
  Vector b_out;  ///< d_model
};

/// The weights of a model, all float32.
struct Model {
  ModelConfig config;
  Matrix W_E;  ///< token embedding, d_model x d_vocab; empty in an attention-only model
  Matrix W_P;  ///< position embedding, d_model x n_ctx; empty with rotary positions
  std::vector<LayerWeights> layers;
  Vector ln_f_gain, ln_f_bias;  ///< d_model; no bias with RMSNorm
  Matrix W_U;                   ///< untied unembedding, d_model x d_vocab; empty when tied to W_E
  Vector b_U;                   ///< unembedding bias, d_vocab; empty when there is none

  std::string path;    ///< the file it came from; empty when generated
  std::string sha256;  ///< of that file, or of an index and its shards, lower-case hexadecimal
  // Texts of the file's /tokenizer group (TokenizerFiles).
  std::optional<std::string> tokenizer_vocab, tokenizer_merges, tokenizer_added_tokens,
      tokenizer_settings;
  /// Tensors of the file outside its layers that the architecture does not have.
  std::vector<std::string> unread;

  /// Whether token embedding and MLP weights are present, as running text requires.
  bool is_complete() const;

  /// W_U, or W_E when tied: d_model x d_vocab.
  const Matrix& unembedding() const { return config.tied_unembedding ? W_E : W_U; }
};

struct LoadOptions {
  /// Heads a layer, used if no config states them; a config that states another number is refused.
  /// If no config does and `n_head` is 0, the shapes must be those of a published GPT-2.
  Index n_head = 0;
};

/// The model file in a folder: `model.safetensors`, else `model.safetensors.index.json`, else
/// `tf_model.h5`, else one that load_model refuses: `pytorch_model.bin`, its index, or a lone file
/// of another program (`.gguf`) in a folder without an adapter. None in other folders.
std::optional<std::string> model_file_in(const std::string& folder);

/// Reads a model from any recognised file: Keras `tf_model.h5`, flat HDF5, safetensors in one file
/// or in shards with an index; complete or attention-only.
///
/// The config comes from root attributes, else `config.json` beside the file, else shapes and
/// `options.n_head`.
/// @param path  a file, or a folder for `model_file_in`.
/// @throws DataError naming file, tensor, what was expected and what was found: unreadable or
/// truncated file, missing tensor, wrong rank, shape or type, NaN or infinity, sizes larger than
/// the file.
Model load_model(const std::string& path, const LoadOptions& options = {});

/// Writes the flat HDF5 form with Hugging Face names; with the tokenizer if the model has one. The
/// file appears under its name only once complete.
/// @throws DataError if it cannot be written.
void save_model(const Model& model, const std::string& path);

/// Weights normal(0, initial_deviation), GPT-2's W_O and W_out divided by sqrt(2 n_layer), biases
/// 0, gains 1; pruned heads 0. Repeatable from the seed.
Model random_model(const ModelConfig& config, std::uint64_t seed);

/// The model with the entries of each layer's matrices exchanged at random within W_Q, W_K, W_V,
/// W_O, W_in (gate and up apart) and W_out. Embeddings, biases, norms and pruned heads stay.
/// Repeatable from the seed.
Model permuted_model(const Model& model, std::uint64_t seed);

}  // namespace headscope
