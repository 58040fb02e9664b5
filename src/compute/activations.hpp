#pragma once

#include <optional>
#include <vector>

#include "compute/buffer.hpp"
#include "headscope/forward.hpp"

namespace headscope {

/// Keeps what a document's forward pass leaves in each layer and cannot cheaply be recomputed; on
/// request also its projections: queries, keys and values, and hidden units of the MLP.
class Activations : public LayerObserver {
 public:
  explicit Activations(const ModelConfig& config)
      : config_(config),
        resid_(config.n_layer + 1),
        resid_mid_(config.n_layer),
        z_(config.n_layer) {}

  std::optional<ProjectionMemory> projection_memory(Index layer, Index n_token) override;
  void observe_layer(const LayerView& view) override;

  /// Sets whether projections are kept from the next document on. If not, frees the memory of
  /// those kept.
  void keep_projections(bool keep);
  bool has_projections() const { return !qkv_.empty() && n_projected_ == n_layer_; }
  /// As in ProjectionMemory; only if has_projections().
  Matrix qkv(Index layer) { return qkv_[layer].matrix(config_.d_qkv(), n_token_); }
  Matrix mlp_pre(Index layer) { return mlp_pre_[layer].matrix(config_.d_in(), n_token_); }

  /// Layers observed of the current document.
  Index n_layer() const { return n_layer_; }
  Index n_token() const { return n_token_; }

  /// The stream entering a layer, or leaving the last one: d_model x n_token. All matrices
  /// are valid until the next document.
  Matrix resid(Index layer) { return stored(resid_[layer]); }
  Matrix resid_mid(Index layer) { return stored(resid_mid_[layer]); }
  /// What the layer's MLP reads: resid_mid, or the stream entering the layer where the residual is
  /// parallel.
  Matrix mlp_input(Index layer) {
    return config_.parallel_residual ? resid(layer) : resid_mid(layer);
  }
  /// Bytes of what is kept without projections.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token) {
    return (config.n_layer * (2 * config.d_model + config.d_z()) + config.d_model) * n_token *
           sizeof(float);
  }

  /// d_z x n_token.
  Matrix z(Index layer) { return z_[layer].matrix(config_.d_z(), n_token_); }

 private:
  static void keep(const Matrix& values, Buffer& buffer);
  Matrix stored(Buffer& buffer) { return buffer.matrix(config_.d_model, n_token_); }

  ModelConfig config_;
  std::vector<Buffer> resid_, resid_mid_, z_;
  std::vector<Buffer> qkv_, mlp_pre_;  // empty unless projections are kept
  Index n_token_ = 0, n_layer_ = 0, n_projected_ = 0;
};

}  // namespace headscope
