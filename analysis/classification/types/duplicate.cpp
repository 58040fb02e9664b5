#include "classification/types/registry.hpp"

namespace headscope {

HeadType duplicate_type() {
  return {
      .name = "duplicate",
      .rule = "duplicate_token >= 0.4",
      .sentence = "It attends to earlier copies of the same token.",
      .scores =
          [](const Measured& measured) {
            return share_scores(measured, HeadScore::duplicate_token, 0.4);
          },
      .untested = [](const Measured&,
                     bool is_scored) { return is_scored ? "" : "no document repeats a token"; },
      .place = [](const ResultsGroup&, Index) { return last_copy(); },
      .rivals = [](const ResultsGroup&, Index) { return std::vector{after_last_copy()}; },
      .examples = {.cases =
                       [](const ExampleSource& source) {
                         return token_cases(
                             source, [&](Index query) { return source.piece.copies[query]; });
                       }},
      .features = [](const ResultsGroup&, Index) { return std::vector<std::string>{"same_token"}; },
  };
}

}  // namespace headscope
