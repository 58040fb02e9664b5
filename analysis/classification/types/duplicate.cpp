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
      .untested = unless_scored("no document repeats a token"),
      .place = of_all_heads(last_copy()),
      .rivals = of_all_heads(std::vector{after_last_copy()}),
      .examples = {.cases =
                       [](const ExampleSource& source) {
                         return token_cases(
                             source, [&](Index query) { return source.piece.copies[query]; });
                       }},
      .features = of_all_heads(std::vector<std::string>{"same_token"}),
  };
}

}  // namespace headscope
