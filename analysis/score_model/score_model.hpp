#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

struct ScoreModelOptions {
  std::uint64_t n_query = 4000;
  std::uint64_t n_effect = 16;  ///< documents; 0: none
  std::string features;         ///< file of a user's features; empty: none

  void declare(OptionTable& option) {
    option(n_query,
           {"score-queries", "N",
            "number of queries, spread evenly over the documents, to fit models of attention "
            "scores to, and as many to judge them by"});
    option(n_effect,
           {"score-effect-documents", "N",
            "number of documents, spread evenly over the odd ones, on which heads run with their "
            "attention replaced by models of it; each costs about four forward passes per head",
            "leaves this out"});
    option(features, {"features", "FILE",
                      "features of your own that heads may attend by, a line of JSON each; see "
                      "docs/score_model.md",
                      "none"});
  }
};

/// Analysis `score_model`: what each head's attention scores are made of.
RegisteredAnalysis score_model_analysis();

}  // namespace headscope
