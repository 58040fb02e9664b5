#include "classification/types/registry.hpp"

namespace headscope {
namespace {

std::vector<ExampleCase> rare_cases(const ExampleSource& source) {
  return token_cases(source, [&](Index query) {
    std::vector<Index> targets;
    for (Index key = 1; key <= query; ++key) {
      if (source.piece.rarest[query] == source.piece.tokens[key]) targets.push_back(key);
    }
    return targets;
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
      .untested =
          [](const Measured&, bool is_scored) {
            return is_scored ? "" : "no query has a key rarer than all others";
          },
      .place = [](const ResultsGroup&, Index) { return rarest_token(); },
      .examples = {.cases = rare_cases},
      .features = [](const ResultsGroup&,
                     Index) { return std::vector<std::string>{"log_frequency"}; },
  };
}

}  // namespace headscope
