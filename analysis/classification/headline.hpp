#pragma once

#include "headscope/presentation.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// The report's first sentences from the finished group `classification`: the most frequent types,
/// how many labels explain what their head does, and the heads that cost most among those whose
/// effect no label explains. The costs are those of the group `pruning`, where the results have it.
Headline classification_headline(const Results& results);

}  // namespace headscope
