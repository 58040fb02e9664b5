#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headscope/figure.hpp"
#include "headscope/results.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

/// Heads of one layer, each with a measurable effect.
ResultsGroup heads_with_effects(std::size_t n_drawable) {
  const std::vector<std::string> steps{"label", "position", "features", "full"};
  ResultsGroup group;
  group.name = "score_model";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", n_drawable));
  group.add_dimension(Dimension::labels("step", steps));
  group.add_dimension(Dimension::labels("family", {"position"}));
  group.add_dimension(Dimension::labels("feature", {"sink", "offset_1"}));
  const VariableTable& variables = score_variables();
  for (const char* const name : {"deviance_explained_beyond_sink", "effect_explained"}) {
    group.add(variables[name], Array({steps.size(), 1, n_drawable}, 0.5));
  }
  group.add(variables["family_gain"], std::vector<Estimate>(n_drawable, Estimate{0.1, 0, 0.2}));
  for (const char* const name : {"effect_explained_control", "mean_replacement_increase"}) {
    group.add(variables[name], Array({1, n_drawable}, 0.1));
  }
  return group;
}

std::string effect_caption(std::size_t n_drawable) {
  Results results;
  results.groups.push_back(heads_with_effects(n_drawable));
  for (const Figure& figure : score_figures(results)) {
    if (figure.name == "scores_effect") return figure.caption;
  }
  return "no figure";
}

TEST(ScoreModelFigures, SayHowManyOfTheHeadsWithAnEffectAreDrawn) {
  EXPECT_THAT(effect_caption(43),
              testing::EndsWith("Heads without a measurable effect are left out. The 40 of 43 "
                                "heads that matter most are drawn."));
  EXPECT_THAT(effect_caption(40), testing::EndsWith("measurable effect are left out."));
}

}  // namespace
}  // namespace headscope
