#pragma once

#include <array>
#include <vector>

#include "classification/tests/logit_lens.hpp"
#include "headscope/direct_effect.hpp"
#include "headscope/forward.hpp"
#include "headscope/results.hpp"
#include "scores/sums.hpp"

/// What a head's attention to a token adds to the logit of that token.
///
/// Key k's values, written by the head, change the logits at query q by
///
///   c_k = W_U' (gain . centre(W_O[h] v_k)) / scale_q
///
/// with the final LayerNorm's scale at q held fixed (headscope/direct_effect.hpp). The effect at q
/// is the sum over keys k >= 1 of A[q,k] (c_k[t_k] - mean of c_k over the vocabulary), t_k being
/// the token at k. Its null is the mean over all exchanges of the document's token types: the mean
/// of c_k over the types of keys 1 and later stands for c_k[t_k].
namespace headscope {

/// Tokens that count as predicted before a head's layer.
inline constexpr Index n_predicted_token = 10;

/// Measures the effects of all heads on one piece.
class CopyEffects {
 public:
  enum Kind { copy, copy_null, suppression, suppression_null };
  static constexpr std::size_t n_kind = 4;

  /// @param model              complete.
  /// @param attribution, lens  of the model. All arguments must outlive it.
  CopyEffects(const Model& model, const LogitAttribution& attribution, const LogitLens& lens,
              const TokenIds& tokens);
  /// @param view  with pattern; all layers of the piece, in order.
  void observe_layer(const LayerView& view);
  /// Effects of a head, sums over queries q >= 2; logits. For keys whose token is among the
  /// n_predicted_token most probable before the head's layer: `suppression`.
  /// @param scales  from final_scales of the piece's last residual stream.
  std::array<Ratio, n_kind> effects(Index layer, Index head,
                                    const std::vector<double>& scales) const;

  /// The key whose predicted token's logit a head lowers most at a query; no_position if no
  /// predicted token's logit is lowered.
  Index lowered_key(Index layer, Index head, Index query) const {
    return lowered_keys_[layer](query, head);
  }

  /// Bytes that it holds.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token);

 private:
  const Model& model_;
  const LogitLens& lens_;
  const TokenIds& tokens_;
  Matrix directions_;                 // d_model x (n_token - 1), of the tokens at keys 1 and later
  Matrix mean_direction_;             // d_model x 1, over their types
  std::vector<arma::cube> unscaled_;  // per layer: n_kind x n_token x n_head, before scale_q
  std::vector<arma::Mat<Index>> lowered_keys_;  // per layer: n_token x n_head
};

/// Whether an effect differs from its null: two-sided t over blocks of documents (documents
/// themselves up to n_document_block), the sums' ratio and its linearised error.
struct EffectTest {
  /// By head, NaN of heads that the model has lost; q by Benjamini & Hochberg over heads.
  std::vector<double> p, q;
};
/// @param effect, null  names of sums of dimensions block, layer, head.
/// @param pruned        head_index of the heads that are not tested, ascending.
EffectTest test_effect(const Statistics& statistics, const std::string& effect,
                       const std::string& null, const std::vector<Index>& pruned = {});

/// Fewest logits of an effect from which on a head copies or suppresses.
inline constexpr double least_effect = 0.1;

/// Adds `copy_effect_p`, `copy_effect_q`, `suppression_effect_p` and `suppression_effect_q`.
void add_effect_tests(const Statistics& statistics, const std::vector<Index>& pruned,
                      ResultsGroup& group);

}  // namespace headscope
