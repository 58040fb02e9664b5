#pragma once

#include <memory>
#include <span>
#include <vector>

#include "headscope/model.hpp"
#include "headscope/ops.hpp"
#include "headscope/pack.hpp"
#include "headscope/precision.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// What one layer did to one document or pack. References are valid only during the observer's
/// call.
struct LayerView {
  Index layer;
  Index n_token;             ///< columns
  const Matrix& resid_pre;   ///< d_model x n_token, residual stream entering the layer
  const Matrix& normalized;  ///< d_model x n_token, after ln_1
  const Matrix& qkv;    ///< 3 d_model x n_token, rows Q | K | V, head h at rows h * d_head of each
  const Cube& pattern;  ///< key x query x head, probability; empty unless an observer wants it,
                        ///< and for packs of several segments
  const Matrix& z;      ///< d_model x n_token, head h at rows h * d_head
  const Matrix& attention_output;  ///< d_model x n_token, W_O z + b_O
  const Matrix& resid_mid;         ///< d_model x n_token, after attention
  const Matrix& resid_post;        ///< d_model x n_token, after the MLP
};

/// Watches a forward pass, a layer at a time.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  virtual bool wants_pattern(Index /*layer*/) const { return false; }
  virtual void observe_layer(const LayerView& view) = 0;
};

/// Where a forward pass starts.
struct StartPoint {
  enum class Sublayer { attention, mlp };
  Index layer = 0;
  Sublayer sublayer = Sublayer::attention;  ///< `mlp`: the stream given is resid_mid of that layer
};

/// Which heads take part: n_head x n_layer, 0 where the head's z is set to zero.
using HeadMask = arma::Mat<unsigned char>;

/// The GPT-2 forward pass. Keeps its buffers between calls, so use one object per calling thread;
/// the work inside is threaded. The model must outlive it and be complete.
///
/// Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; layout of
/// Hugging Face's GPT-2.
class Forward {
 public:
  /// @param engine  of the products of weights, keys and values. Sequences of few tokens go by
  ///                Engine::float32.
  /// @throws ShapeError if the model is attention-only.
  explicit Forward(const Model& model, Engine engine = Engine::float32);
  ~Forward();
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  /// Token plus position embedding: d_model x n_token.
  /// @throws ShapeError if there are no tokens, more than n_ctx, or an id outside the vocabulary.
  Matrix embed(std::span<const TokenId> tokens) const;

  /// Runs a document through all layers, showing each to the observers.
  /// @return the residual stream after the last layer, d_model x n_token; valid until the next
  /// call.
  const Matrix& run(std::span<const TokenId> tokens,
                    std::span<LayerObserver* const> observers = {});

  /// The same for a pack. @throws ShapeError also if the pack's parts do not fit together.
  const Matrix& run(const Pack& pack, std::span<LayerObserver* const> observers = {});

  /// Runs the layers from `start` on, in place, without observers.
  /// @param resid  d_model x (n_token n_sequence): sequences of equal length side by side, the
  ///               residual stream entering `start`; on return the stream after the last layer.
  /// @param masks  none, or one per sequence: the heads that take part in the layers run.
  /// Memory: does not grow with n_sequence, beyond `resid` itself.
  /// @throws ShapeError if the rows are not d_model, n_sequence does not divide the columns, or a
  ///         mask does not fit the model.
  void run_from(StartPoint start, Matrix& resid, Index n_sequence = 1,
                std::span<const HeadMask> masks = {});

  /// The same for copies of a pack side by side.
  /// @param resid  d_model x (n_column n_sequence).
  void run_from(StartPoint start, Matrix& resid, const Pack& pack, Index n_sequence,
                std::span<const HeadMask> masks = {});

  /// Loss of predicting tokens 1 .. T-1 from the residual stream after the last layer.
  /// @param resid_final  d_model x n_token.
  /// @throws ShapeError if the counts differ.
  TokenLoss loss(blas::ConstView resid_final, std::span<const TokenId> tokens);

  /// The same for sequences of equal length side by side, all predicting `tokens`.
  /// @param resid_final  d_model x (n_token n_sequence).
  /// @return             one per sequence.
  std::vector<TokenLoss> loss(blas::ConstView resid_final, std::span<const TokenId> tokens,
                              Index n_sequence);

  /// Losses of a pack's predictions, in their order, for copies of the pack side by side.
  /// @param resid_final  d_model x (n_column n_sequence).
  /// @return             one per copy.
  std::vector<TokenLoss> loss(blas::ConstView resid_final, const Pack& pack, Index n_sequence);

  /// All logits, d_vocab x n_token; for tests and small models.
  Matrix logits(const Matrix& resid_final);

  const Model& model() const { return model_; }

  /// Stacked sequences are processed in groups of about this many columns: wide enough for matrix
  /// products at full speed, narrow enough that memory does not grow with the stack.
  static constexpr Index columns_at_once = 1024;

 private:
  struct Workspace;
  void run_layers(StartPoint start, Matrix& resid, std::span<const Pack::Segment> segments,
                  Index n_sequence, std::span<const HeadMask> masks);

  const Model& model_;
  Engine engine_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
