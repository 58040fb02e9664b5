#pragma once

#include <algorithm>

#include "headscope/analysis.hpp"

namespace headscope {

struct ClassificationOptions {
  std::uint64_t n_explain = 32;  ///< documents; 0: all

  void declare(OptionTable& option) {
    option(n_explain,
           {"explain-documents", "N",
            "number of documents, spread evenly over the corpus, on which heads run with their "
            "attention replaced by what their types say; each costs about two forward passes per "
            "head",
            "all"});
  }
};

/// Analysis `classification`: scores, baselines, held-out tests and types of heads.
RegisteredAnalysis classification_analysis();

}  // namespace headscope
