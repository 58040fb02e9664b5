#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

struct CorrelationOptions {
  std::uint64_t js_queries = 256;  ///< sampled from the corpus for js_distance; 0 leaves it out
  bool cosine_all = true;          ///< also between heads of different layers

  void declare(OptionTable& option) {
    option(js_queries,
           {"js-queries", "N",
            "number of queries, sampled from the corpus, for the distance between the attention of "
            "every two heads; each query costs (n_layer n_head)^2 / 2 comparisons",
            "no distances"});
    option(cosine_all, {"no-cosine-all", "",
                        "skip the cosines between heads of different layers. They cost (n_layer "
                        "n_head)^2 d_model multiply-adds per token: an eighth of a forward pass "
                        "for GPT-2 small, 1.5 passes for GPT-2 XL"});
  }
};

/// Analysis `correlation`: how similar the outputs and the attention of heads are.
RegisteredAnalysis correlation_analysis();

}  // namespace headscope
