#pragma once

#include "headscope/analysis.hpp"
#include "headscope/tokenizer.hpp"

namespace headscope {

/// What the heads do on one sentence, by their patterns alone: a group `sentence` with a value by
/// head for the attention to the token before, to the token itself, to the first token, to earlier
/// copies and to what followed them, and a line for each that names the leading heads; what the
/// model predicts after each token, with each head's direct effect; and queries and keys. Not in
/// the registry: `headscope attend` runs it on its sentence, the only document.
/// @param tokenizer  outlives the analysis.
/// @param next       the token whose logit after the sentence is of interest.
RegisteredAnalysis sentence_analysis(const Tokenizer& tokenizer, std::optional<TokenId> next = {});

/// The head with the largest weight of the last token, sink excluded.
HeadIndex last_token_head(const Results& results);

}  // namespace headscope
