#pragma once

#include <algorithm>

#include "analysis.hpp"

namespace headscope {

struct PruningOptions {
  std::uint64_t n_document = 32;  ///< 0: all

  void declare(OptionTable& option) {
    option(n_document,
           {"prune-documents", "N",
            "number of documents, spread evenly over the corpus, to ablate heads on; each costs "
            "several forward passes per head",
            "all"});
  }
  std::uint64_t n_document_used(std::uint64_t of_corpus) const {
    return n_document == 0 ? of_corpus : std::min(of_corpus, n_document);
  }
};

/// Analysis `pruning`: the loss increase without each head, how well importance predicts it, and
/// how many heads can be removed.
RegisteredAnalysis pruning_analysis();

}  // namespace headscope
