#pragma once

#include <vector>

#include "headscope/direct_effect.hpp"
#include "headscope/forward.hpp"
#include "headscope/statistics.hpp"

namespace headscope {

/// The elements of `direct_part` after the MLPs of all layers. The direct effects of heads, MLPs,
/// embedding and bias add up to direct_total.
enum DirectPart : std::size_t { direct_embedding, direct_bias, direct_total, n_direct_part };

/// Sums the direct effects of one piece on the logit of the next token minus the mean logit. Adds
/// to the rows `direct_head`, layer x head, and `direct_part`, an element for each layer's MLP and
/// each DirectPart; logits summed over predicted tokens.
class DirectEffects {
 public:
  /// @param attribution  of the model.
  DirectEffects(const Model& model, const LogitAttribution& attribution, const TokenIds& tokens)
      : model_(model), next_(attribution.next_tokens(tokens)) {}

  void observe_layer(const LayerView& view);
  void end(const Matrix& resid_final, DocumentStatistics& statistics);

 private:
  using ByToken = std::vector<double>;  // undivided by the scales
  ByToken effects_of(const Matrix& written) const;

  const Model& model_;
  LogitDirections next_;
  std::vector<arma::mat> heads_;  // per layer, n_head x predicted token
  std::vector<ByToken> mlps_;     // per layer
  ByToken embedding_;
};

}  // namespace headscope
