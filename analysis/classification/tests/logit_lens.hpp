#pragma once

#include <vector>

#include "compute/product/weight_product.hpp"
#include "headscope/compute_context.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// The logit lens: the unembedded residual stream after the final LayerNorm, as if no layer
/// followed. Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
class LogitLens {
 public:
  /// @param model   complete. Must outlive this object.
  /// @param engine  of the products that find candidates; what is found does not depend on it.
  explicit LogitLens(const Model& model, Engine engine = Engine::float32);

  /// The `count` most probable tokens of every column, by logits in double; the lowest id wins
  /// ties.
  ///
  /// The engine's logits and a bound on their error leave a few candidates of the vocabulary, whose
  /// logits are computed again.
  /// @param resid  d_model x n.
  /// @return       n lists of min(count, d_vocab) ids, most probable first.
  std::vector<TokenIds> most_probable(const Matrix& resid, Index count) const;

  /// Bytes that a LogitLens holds while it looks at n_token columns.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token, int n_thread, Engine engine);

 private:
  const Model& model_;
  ComputeContext context_;
  std::vector<WeightProduct> unembedding_;  // packed; a chunk of the vocabulary each
  double error_;  // bound on an engine's error, as a share of the product of the operands' norms
  Vector norms_;  // of the vocabulary's columns
};

}  // namespace headscope
