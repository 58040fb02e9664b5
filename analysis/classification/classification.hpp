#pragma once

#include "classification/types/registry.hpp"
#include "headscope/analysis.hpp"

namespace headscope {

struct ClassificationOptions {
  std::uint64_t n_explain = 32;            ///< documents; 0: all
  std::string relation_baseline = "best";  ///< or `offset`

  void declare(OptionTable& option) {
    option(
        n_explain,
        {"explain-documents", "N",
         "number of documents, spread evenly over the corpus, for testing labels: a head runs with "
         "the attention that its type names; each document costs about two forward passes per head",
         "all"});
    option(relation_baseline, {"relation-baseline", "RULE",
                               "rule that a syntactic head must beat: offset, the best fixed word "
                               "offset, as in published tests; or best, the better of this offset "
                               "and the nearest earlier word of the best part of speech"})
        .choices = {"best", "offset"};
  }
  bool offset_alone() const { return relation_baseline == "offset"; }
};

/// Analysis `classification`: scores, baselines, held-out tests and types of heads.
RegisteredAnalysis classification_analysis(const HeadTypeList& types = head_type_list());

}  // namespace headscope
