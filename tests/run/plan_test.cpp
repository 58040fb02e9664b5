#include "run/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "headscope/corpus.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"

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

// In a corpus of a period, documents at a fixed distance would all be of one kind.
TEST(ControlDocuments, ArePairsDrawnFromEqualPartsOfTheCorpus) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("corpus.h5");
  test::write_token_corpus(path, std::vector<TokenIds>(128, TokenIds{1, 2, 3}));
  const Corpus corpus({path}, nullptr, {.prepend_bos = false});
  const Model model;
  const auto documents = [&](std::uint64_t seed) {
    AnalysisSettings settings;
    settings.seed = seed;
    return control_documents(
        {.context = {model, &corpus, settings}, .analyses = {}, .n_control_document = 32});
  };
  const std::vector<std::uint64_t> found = documents(1);
  ASSERT_EQ(found.size(), 32U);
  std::set<std::uint64_t> places;  // of the pair in its part of four pairs
  for (std::size_t i = 0; i < found.size(); i += 2) {
    EXPECT_EQ(found[i] % 2, 0U);
    EXPECT_EQ(found[i + 1], found[i] + 1);
    EXPECT_EQ(found[i] / 8, i / 2);
    places.insert(found[i] / 2 % 4);
  }
  EXPECT_EQ(places.size(), 4U);
  EXPECT_EQ(documents(1), found);
  EXPECT_NE(documents(2), found);
}

}  // namespace
}  // namespace headscope
