#pragma once

#include <optional>
#include <vector>

#include "headscope/direct_effect.hpp"
#include "headscope/forward.hpp"
#include "headscope/model.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "headscope/tokenizer.hpp"

namespace headscope {

/// What the model predicts after each token of one text, and what each head by itself adds to it:
/// its direct effect on a candidate's logit minus the mean logit of the vocabulary (Elhage et al.
/// 2021). The candidates after a token are the `n_most_probable` most probable tokens, most
/// probable first, and last the token that follows in the text, which may be one of them.
class NextTokens {
 public:
  static constexpr std::size_t n_most_probable = 5, n_candidate = n_most_probable + 1;

  /// @param attribution  of the model.
  /// @param chosen       what is to follow the text's last token.
  NextTokens(const Model& model, const LogitAttribution& attribution, const TokenIds& tokens,
             std::optional<TokenId> chosen);

  void observe_layer(const LayerView& view) { z_.push_back(view.z); }
  /// Adds the rows `candidate_id` (-1: none), `candidate_probability`, `candidate_logit`, token x
  /// candidate, and `candidate_effect`, token x candidate x layer x head.
  void end(const Matrix& resid_final, Forward& forward, DocumentStatistics& statistics);

 private:
  const Model& model_;
  const LogitAttribution& attribution_;
  TokenIds following_;     // after each token; -1: none
  std::vector<Matrix> z_;  // by layer, d_z x n_token
};

/// Adds what NextTokens counted, with the candidates as text, to a group with the dimensions layer
/// and head.
void add_next_tokens(const Statistics& statistics, const Tokenizer& tokenizer, ResultsGroup& group);

/// Adds the most probable tokens after the text, and the heads that raise and lower most the token
/// that is to follow, or else the most probable one.
void describe_next_tokens(const ResultsGroup& group, Description& description);

}  // namespace headscope
