#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

struct ScoreModelOptions {
  std::uint64_t n_query = 4000;
  std::uint64_t n_effect = 16;  ///< documents; 0: none
  std::string features;         ///< file of a user's features; empty: none

  void declare(OptionTable& option) {
    option(n_query, {"score-queries", "N",
                     "number of queries, the same number of each document (rounded up), to fit "
                     "models of attention scores; as many other queries test the models"})
        .least = 1;
    option(n_effect, {"score-effect-documents", "N",
                      "number of held-out documents on which heads run with attention from their "
                      "models; each document costs about four forward passes per head",
                      "no such runs"});
    option(features, {"features", "FILE",
                      "file of your own features that heads may attend by, one JSON object per "
                      "line; docs/score_model.md describes it",
                      "none"});
  }
};

/// Analysis `score_model`: what each head's attention scores are made of.
RegisteredAnalysis score_model_analysis();

}  // namespace headscope
