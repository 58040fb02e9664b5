#include "run/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headscope {
namespace {

RegisteredAnalysis with_passes(std::size_t n_pass, AnalysisInput input = AnalysisInput::corpus) {
  AnalysisInfo info;
  info.passes.assign(n_pass, "working");
  info.input = input;
  return {info, {}};
}

/// `analysis/pass` of each part of each pass.
std::vector<std::vector<std::string>> plan_of(const std::vector<RegisteredAnalysis>& analyses,
                                              bool has_control = false) {
  const Model model;
  const AnalysisSettings settings;
  RunInput input{.context = {model, nullptr, settings}, .analyses = {}, .has_control = has_control};
  for (const RegisteredAnalysis& analysis : analyses) input.analyses.push_back(&analysis);
  std::vector<std::vector<std::string>> plan;
  for (const Pass& pass : plan_passes(input)) {
    plan.emplace_back();
    EXPECT_EQ(pass.number, static_cast<int>(plan.size()));
    for (const Pass::Part& part : pass.parts) {
      plan.back().push_back(std::to_string(part.analysis - analyses.data()) + "/" +
                            std::to_string(part.pass));
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

TEST(PassPlan, EndsWithAPassOfEachControl) {
  RegisteredAnalysis controlled = with_passes(2);
  controlled.info.control_pass = 1;
  const auto plan = plan_of({with_passes(1), controlled}, true);
  ASSERT_EQ(plan.size(), 2 + n_control_per_kind);
  for (std::size_t i = 2; i < plan.size(); ++i) {
    EXPECT_THAT(plan[i], testing::ElementsAre("1/1"));
  }
}

TEST(PassPlan, EndsWithModelsOfPermutedWeightsForTheAnalysesThatTakeThem) {
  RegisteredAnalysis untrained_alone = with_passes(1), both = with_passes(1);
  untrained_alone.info.control_pass = both.info.control_pass = 0;
  both.info.has_permuted_control = true;
  const auto plan = plan_of({untrained_alone, both}, true);
  ASSERT_EQ(plan.size(), 1 + 2 * n_control_per_kind);
  for (std::size_t i = 1; i < plan.size(); ++i) {
    const std::vector<std::string> untrained{"0/0", "1/0"}, permuted{"1/0"};
    EXPECT_EQ(plan[i], i <= n_control_per_kind ? untrained : permuted);
  }
}

}  // namespace
}  // namespace headscope
