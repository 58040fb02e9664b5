#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

struct CorrelationOptions {
  std::uint64_t js_queries = 256;  ///< sampled from the corpus for js_distance; 0 leaves it out
  bool cosine_all = true;          ///< also between heads of different layers

  void declare(OptionTable& option) {
    option(js_queries,
           {"js-queries", "N",
            "queries sampled from the corpus for the distances between the attention of all "
            "pairs of heads; each costs (n_layer n_head)^2 / 2 comparisons",
            "leave the distances out"});
    option(cosine_all,
           {"no-cosine-all", "",
            "leave out the cosines between heads of different layers; they cost (n_layer "
            "n_head)^2 d_model multiply-adds per token, an eighth of a forward pass for "
            "GPT-2 small, 1.5 for XL"});
  }
};

/// Analysis `correlation`: how similar the outputs and the attention of heads are.
RegisteredAnalysis correlation_analysis();

}  // namespace headscope
