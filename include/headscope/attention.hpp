#pragma once

#include <optional>

#include "headscope/blas.hpp"
#include "headscope/precision.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Which keys a query may attend to. `causal`: query q sees keys 0 .. q, even if there are more or
/// fewer keys than queries.
enum class MaskKind { none, causal, custom };

struct AttentionMask {
  MaskKind kind = MaskKind::none;
  /// n_key x n_query, nonzero where query may attend to key; only for `custom`.
  arma::Mat<unsigned char> allowed;

  static AttentionMask none() { return {}; }
  static AttentionMask causal() { return {MaskKind::causal, {}}; }
  static AttentionMask custom(arma::Mat<unsigned char> allowed) {
    return {MaskKind::custom, std::move(allowed)};
  }
};

/// Fused multi-head projections, out x in. Biases may be empty.
struct AttentionWeights {
  Index n_head = 1;
  Matrix W_Q, W_K;  ///< (n_head d_head) x d_in
  Matrix W_V;       ///< (n_head d_value) x d_in
  Matrix W_O;       ///< d_out x (n_head d_value); empty for no output projection
  Vector b_Q, b_K, b_V, b_O;
  float scale = 0;  ///< scores are q.k * scale; 0 means 1/sqrt(d_head)
};

struct AttentionOutput {
  Cube pattern;      ///< n_key x n_query x n_head, probability; empty unless asked for
  Matrix z;          ///< (n_head d_value) x n_query, values mixed by the pattern
  Cube head_output;  ///< d_out x n_query x n_head, W_O[h] z_h without b_O; empty unless asked for
  Matrix output;     ///< d_out x n_query; z itself when there is no W_O
};

struct AttentionRequest {
  bool pattern = false;
  bool head_output = false;
};

/// Multi-head attention: softmax(mask(Q K' * scale)) V per head, then W_O.
///
/// Heads are row blocks of the fused projections ("split after one big projection"); nothing is
/// copied per head. A query whose mask allows no key gets a column of zeros.
///
/// @param queries  d_in x n_query.
/// @param keys     d_in x n_key; the same matrix as `queries` for self-attention. Values come from
/// it too.
/// @throws ShapeError  if widths, head counts or the mask's shape do not fit; gives both.
/// Source: Vaswani et al. 2017, "Attention Is All You Need".
AttentionOutput multi_head_attention(const Matrix& queries, const Matrix& keys,
                                     const AttentionWeights& weights, const AttentionMask& mask,
                                     const AttentionRequest& request = {});

/// The same with one separate projection per head. Equal to the fused form up to rounding; slower.
AttentionOutput multi_head_attention_per_head(const Matrix& queries, const Matrix& keys,
                                              const AttentionWeights& weights,
                                              const AttentionMask& mask,
                                              const AttentionRequest& request = {});

/// Each head's contribution to the residual stream in one layer.
///
///   output[:, t, h] = W_O[:, h] * z[h, t]
///
/// Summed over h, plus b_O, this is the layer's attention output.
///
/// @param z    (n_head d_value) x n_token.
/// @param W_O  d_out x (n_head d_value), head h at columns h * d_value.
/// @return     d_out x n_token x n_head, in residual-stream units (before any LayerNorm; not
/// comparable between
///             layers without scaling).
/// @throws ShapeError  if the widths differ or n_head does not divide them.
/// Memory: n_head times the residual stream.
/// Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
Cube head_outputs(const Matrix& z, const Matrix& W_O, Index n_head);

/// Causal self-attention from projected queries, keys and values, as GPT-2 needs it: the hot path.
///
/// Computes only the causal half, in blocks of queries; threads over heads, sequences and blocks.
///
/// @param qkv         3 (n_head d_head) x (n_token n_sequence): rows Q | K | V; sequences of
/// n_token columns each.
/// @param scale       scores are q.k * scale (ModelConfig::score_scale).
/// @param n_sequence  independent sequences side by side.
/// @param z           (n_head d_head) x (n_token n_sequence), overwritten.
/// @param pattern     n_token x n_token x (n_head n_sequence), overwritten, zero for keys after the
///                    query; null if not wanted, and then no n_token x n_token matrix is allocated.
/// @param engine      of the products with keys and values; fewer than 128 queries go by
///                    Engine::float32.
void causal_attention(const Matrix& qkv, Index n_head, double scale, Index n_sequence, blas::View z,
                      Cube* pattern = nullptr, Engine engine = Engine::float32);

}  // namespace headscope
