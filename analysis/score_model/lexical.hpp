#pragma once

#include <optional>
#include <vector>

#include "headscope/compute_context.hpp"
#include "headscope/model.hpp"
#include "score_model/logit.hpp"

/// Scores of heads between tokens out of context: queries and keys of each token alone after the
/// first token of the run.
namespace headscope {

/// Queries and keys of tokens out of context in one layer.
struct LexicalLayer {
  Matrix Q, K;  ///< (n_head d_head) x token, also where heads share keys
};

/// Runs the sequences *first token, token* of many tokens through the model, a layer at a time.
/// Where positions are learned the token stands at position min(64, n_ctx / 2).
class LexicalStream {
 public:
  /// @param first  the first token of the run; none: the tokens run alone.
  LexicalStream(const Model& model, std::optional<TokenId> first, const TokenIds& tokens,
                ComputeContext context);

  /// The next layer's queries and keys, and the stream after it.
  LexicalLayer next();

  static constexpr Index lexical_position = 64;
  /// Bytes of streams, queries and keys of `n_token` tokens.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token);

 private:
  static constexpr Index columns_at_once = 1024;

  const Model& model_;
  ComputeContext context_;
  bool has_first_;
  Index n_token_;
  Index layer_ = 0;
  std::vector<Matrix> streams_;  // d_model x (first token, some tokens)
};

/// What up to eight heads of a layer score at every pair of the sample, turned to the distance of
/// the pair where positions are rotary.
/// @param numbers  of the tokens in `of_layer`.
/// @param first    the first head.
/// @param scores   pair x n_logit_lane, overwritten; 0 for heads that the layer lacks.
void lexical_scores(const ModelConfig& config, Index layer, const LexicalLayer& of_layer,
                    const TokenNumbers& numbers, const FitSample& sample, Index first,
                    std::vector<float>& scores);

}  // namespace headscope
