#include "classification/types/registry.hpp"

namespace headscope {
namespace {

std::vector<ExampleCase> sink_cases(const ExampleSource& source) {
  std::vector<ExampleCase> cases = token_cases(source, [](Index) { return std::vector<Index>{0}; });
  for (ExampleCase& example : cases) example.includes_sink = true;
  return cases;
}

}  // namespace

HeadType sink_type() {
  return {
      .name = "sink",
      .rule = "sink >= 0.9",
      .sentence = "It attends to the first token, and so writes nearly the same at every token.",
      .is_specialised = false,
      .scores =
          [](const Measured& measured) { return share_scores(measured, HeadScore::sink, 0.9); },
      .untested = unless_scored("no document has a token beyond position 0"),
      .place = of_all_heads(first_position()),
      .examples = {.cases = sink_cases},
  };
}

}  // namespace headscope
