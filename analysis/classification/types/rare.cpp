#include "classification/types/registry.hpp"

namespace headscope {
namespace {

std::vector<ExampleCase> rare_cases(const ExampleSource& source) {
  return token_cases(source, [&](Index query) {
    return keys_where(
        query, [&](Index key) { return source.piece.rarest[query] == source.piece.tokens[key]; });
  });
}

}  // namespace

HeadType rare_type() {
  return {
      .name = "rare",
      .rule = "rare_token >= 0.5",
      .sentence = "It attends to the rarest token so far.",
      .scores =
          [](const Measured& measured) {
            return share_scores(measured, HeadScore::rare_token, 0.5);
          },
      .untested = unless_scored("no query has a key rarer than all others"),
      .place = of_all_heads(rarest_token()),
      .examples = {.cases = rare_cases},
      .features = of_all_heads(std::vector<std::string>{"log_frequency"}),
  };
}

}  // namespace headscope
