#include "induction.hpp"

#include "classification/types/registry.hpp"

namespace headscope {
namespace {

std::vector<ExampleCase> successor_cases(const ExampleSource& source) {
  return token_cases(source, [&](Index query) {
    std::vector<Index> successors;
    for (const Index copy : source.piece.copies[query]) {
      if (copy + 1 < query) successors.push_back(copy + 1);
    }
    return successors;
  });
}

}  // namespace

HeadType induction_type() {
  return {
      .name = "induction",
      .rule = "induction >= 0.4",
      .sentence = "On repeated text it attends to the token that followed last time.",
      .scores =
          [](const Measured& measured) {
            return TypeScores{.score = of_heads(measured.induction),
                              .threshold = always(least_induction)};
          },
      .untested = unless_scored("the model's context has no room for a first token and " +
                                std::to_string(shortest_induction_half) + " tokens twice"),
      .place = of_all_heads(after_last_copy()),
      .rivals = of_all_heads(std::vector{last_copy()}),
      // The target follows an earlier copy of the query.
      .examples = {.cases = successor_cases, .also_shown = [](Index target) { return target - 1; }},
      .features = of_all_heads(std::vector<std::string>{"after_copy", "after_copy_latest"}),
  };
}

}  // namespace headscope
