#pragma once

#include <algorithm>

#include "headscope/analysis.hpp"

namespace headscope {

struct PruningOptions {
  std::uint64_t n_document = 32;  ///< 0: all
  std::uint64_t n_ablate = 0;     ///< 0: all of those
  std::uint64_t n_donor = 2;

  void declare(OptionTable& option) {
    option(n_document, {"prune-documents", "N",
                        "number of documents, spread evenly over the corpus, on which heads are "
                        "ablated; each document costs several forward passes per head",
                        "all"});
    option(n_ablate,
           {"ablate-documents", "N",
            "number of the --prune-documents on which heads are ablated exactly. If fewer, a "
            "gradient predicts the loss increase on all of them, and regression combines "
            "prediction and exact increase; the intervals include the error of both. With fewer "
            "than 10 the mean difference corrects the prediction, without regression or intervals",
            "all"});
    option(n_donor, {"resample-donors", "N",
                     "number of other documents whose z takes the place of a head's in resampling; "
                     "the losses are averaged. Each costs as much as zero ablation; from two on "
                     "the results say how much they depend on the choice (donor_error)",
                     "no resampling"})
        .most = 64;
  }
  std::uint64_t n_document_used(std::uint64_t of_corpus) const {
    return n_document == 0 ? of_corpus : std::min(of_corpus, n_document);
  }
  std::uint64_t n_document_ablated(std::uint64_t of_corpus) const {
    const std::uint64_t used = n_document_used(of_corpus);
    return n_ablate == 0 ? used : std::min(used, n_ablate);
  }
};

/// Analysis `pruning`: the loss increase without each head, how well importance predicts it, and
/// how many heads can be removed.
RegisteredAnalysis pruning_analysis();

}  // namespace headscope
