#pragma once

#include "analysis.hpp"

namespace headscope {

/// What the heads do on one sentence, by their patterns alone: a group `sentence` with a value by
/// head for the attention to the token before, to the token itself, to the first token, to earlier
/// copies and to what followed them, and a line for each that names the leading heads. Not in the
/// registry: `headscope attend` runs it on its sentence, the only document.
RegisteredAnalysis sentence_analysis();

/// The head with the largest attention to the token before; L0H0 if the sentence is too short.
HeadIndex previous_token_head(const ResultsGroup& sentence);

}  // namespace headscope
