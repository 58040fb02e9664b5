#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "files/hdf5_file.hpp"
#include "headscope/config.hpp"

namespace headscope {

/// What a model file, or the `config.json` beside it, says about the model's shape. Fields that it
/// does not mention are empty.
struct ConfigFields {
  std::string file;  ///< that the fields come from; empty if none
  std::optional<Index> n_layer, n_head, n_embd, n_inner, n_positions, vocab_size;
  std::optional<double> layer_norm_epsilon;
  std::optional<Activation> activation_function;
  std::optional<bool> tie_word_embeddings, scale_attn_weights, scale_attn_by_inverse_layer_idx;
  std::optional<std::vector<HeadIndex>> pruned_heads;  ///< ascending

  /// Hugging Face's config. @throws DataError naming file and field: a value of the wrong kind, out
  /// of range, or one that changes what attention computes.
  static ConfigFields from_json(const nlohmann::json& config, const std::string& file);
  /// @throws DataError also if the file cannot be read or is not JSON.
  static ConfigFields from_json_file(const std::string& path);
  /// Root attributes of a model file; empty fields if none belongs to a config.
  static ConfigFields from_attributes(const hdf5::InputFile& file);

  /// The shape of a model from its config alone.
  /// @throws DataError if layers, heads, width, context or vocabulary are not given or do not fit
  /// together.
  ModelConfig config() const;
};

/// `pruned_heads` as a model file holds it: `{"5":[1,2]}`, heads by layer.
std::string pruned_heads_text(const std::vector<HeadIndex>& heads);

/// ModelConfig::check. @throws DataError naming the file and the field.
void check_config(const ModelConfig& config, const std::string& file);

}  // namespace headscope
