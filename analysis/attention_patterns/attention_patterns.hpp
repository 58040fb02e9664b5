#pragma once

#include <algorithm>

#include "headscope/analysis.hpp"

namespace headscope {

struct AttentionPatternsOptions {
  std::uint64_t n_document = 3;
  std::uint64_t n_token = 128;  ///< 0: all

  void declare(OptionTable& option) {
    option(n_document, {.name = "patterns",
                        .value = "N",
                        .help = "number of documents whose attention patterns are kept"})
        .least = 1;
    option(n_token,
           {"pattern-tokens", "N",
            "number of tokens, from the start of each document, whose patterns are kept", "all"});
  }
  Index n_token_kept(Index of_document) const {
    return n_token == 0 ? of_document : std::min<Index>(of_document, n_token);
  }
};

/// ||W_O[h] v_k|| for every key k: the size of what a head reads from each token.
/// @param values  d_head x n_key, including b_V.
/// @param W_O     d_model x d_head, this head's columns.
/// @return        n_key; residual-stream units.
/// Source: Kobayashi et al. 2020.
std::vector<double> contribution_norms(const Matrix& values, const Matrix& W_O);

/// One step of attention rollout: R <- R (0.5 mean_h A + 0.5 I), key x query; R is kept where the
/// layer has no head.
/// @param rollout  key x query; the identity before the first layer.
/// @param pattern  key x query x head.
/// @param heads    those of the mean.
/// Source: Abnar & Zuidema 2020.
void extend_rollout(arma::mat& rollout, const Cube& pattern, const std::vector<Index>& heads);

/// Figures from the results alone: a head of each type, where another analysis told types.
std::vector<Figure> attention_patterns_figures(const Results& results);

/// Analysis `attention`: patterns of the first few documents, for the report and notebooks.
RegisteredAnalysis attention_patterns_analysis();

}  // namespace headscope
