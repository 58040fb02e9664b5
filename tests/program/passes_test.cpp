// How the analyses of a run share its passes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/corpus_run.hpp"

namespace headscope {
namespace {

RegisteredAnalysis with_passes(std::size_t n_pass, AnalysisInput input = AnalysisInput::corpus) {
  AnalysisInfo info;
  info.passes.assign(n_pass, "working");
  info.input = input;
  return {info, {}, {}, {}, {}};
}

/// `analysis/pass` of each part of each pass.
std::vector<std::vector<std::string>> plan_of(const std::vector<RegisteredAnalysis>& analyses) {
  std::vector<const RegisteredAnalysis*> pointers;
  for (const RegisteredAnalysis& analysis : analyses) pointers.push_back(&analysis);
  std::vector<std::vector<std::string>> plan;
  for (const PassPlan& pass : plan_passes(pointers)) {
    plan.emplace_back();
    for (const PassPlan::Part& part : pass.parts) {
      plan.back().push_back(std::to_string(part.analysis) + "/" + std::to_string(part.pass));
    }
  }
  return plan;
}

TEST(PassPlan, AnalysesOfTheCorpusShareTheLastPassAndThoseOfTasksFollow) {
  using testing::ElementsAre;
  EXPECT_THAT(
      plan_of({with_passes(0), with_passes(2, AnalysisInput::tasks), with_passes(1), with_passes(3),
               with_passes(2)}),
      ElementsAre(ElementsAre("3/0"), ElementsAre("3/1", "4/0"), ElementsAre("2/0", "3/2", "4/1"),
                  ElementsAre("1/0"), ElementsAre("1/1")));
}

TEST(PassPlan, IsEmptyForAnalysesOfWeights) {
  EXPECT_TRUE(plan_of({with_passes(0)}).empty());
}

}  // namespace
}  // namespace headscope
