#include <gtest/gtest.h>

#include "classification/explained/explained.hpp"
#include "classification/results.hpp"
#include "headscope/results.hpp"

namespace headscope {
namespace {

constexpr double untestable = std::numeric_limits<double>::quiet_NaN();

/// Three heads of one layer: two are positional, one is a copying head.
ResultsGroup three_heads() {
  ResultsGroup group;
  group.name = "classification";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 3));
  group.add_dimension(Dimension::labels("head_type", {"positional", "copying"}));
  group.add(Declaration::flag("type", "head_type layer head", {"no", "yes"}, "Types"),
            Array({2, 1, 3}, {1, 1, 0, 0, 0, 1}));
  return group;
}

std::string said(std::optional<Array> untrained) {
  ResultsGroup group = three_heads();
  if (untrained) {
    group.add_dimension(Dimension::count("control", untrained->shape[0]));
    group.add({"control_type_heads", "control head_type", "count", "Untrained heads"},
              *std::move(untrained));
  }
  Results results;
  results.groups.push_back(std::move(group));
  return classification_headline(results).attend_by;
}

TEST(ClassificationHeadline, LooksNextAtHeadsOfMeasurableCostThatNoLabelExplains) {
  Results results;
  results.groups.push_back(three_heads());
  results.groups.front().add(
      Declaration::flag("explained_verdict", "head_type layer head",
                        {"not measured", "unexplained", "explained"}, "Verdicts"),
      Array({2, 1, 3},
            {explained, unexplained, not_measured, not_measured, not_measured, not_measured}));
  results.groups.front().add({"explained_text", "head_type layer head", "1", "Texts"},
                             std::vector<std::string>{"explained", "unexplained", "", "", "", ""});
  ResultsGroup pruning;
  pruning.name = "pruning";
  pruning.add_dimension(Dimension::labels("ablation", {"zero"}));
  pruning.add_dimension(Dimension::count("layer", 1));
  pruning.add_dimension(Dimension::count("head", 3));
  pruning.add({"loss_baseline", "", "nats", "Loss"}, 8);
  pruning.add({"loss_increase", "ablation layer head", "nats", "Increase", "source", "documents"},
              std::vector<Estimate>{{0.5, 0.4, 0.6}, {0.1, 0.05, 0.2}, {1e-9, 1e-10, 2e-9}});
  results.groups.push_back(std::move(pruning));
  const std::string text = classification_headline(results).look_next;
  EXPECT_TRUE(text.starts_with("Look next at L0H1")) << text;
  EXPECT_EQ(text.find("L0H0"), text.npos) << text;
  EXPECT_EQ(text.find("L0H2"), text.npos)
      << "its cost is within the rounding of the loss: " << text;

  Array& verdicts =
      std::ranges::find(results.groups.front().variables, "explained_verdict", &Variable::name)
          ->values;
  verdicts(0, 0, 1) = not_measured;
  EXPECT_EQ(classification_headline(results).look_next, "")
      << "whether its label explains the effect is not known";
}

TEST(ClassificationHeadline, SaysHowManyTypesItDoesNotName) {
  ResultsGroup group;
  group.name = "classification";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 1));
  group.add_dimension(Dimension::labels(
      "head_type", {"positional", "copying", "sink", "rare", "induction", "delimiter"}));
  group.add(Declaration::flag("type", "head_type layer head", {"no", "yes"}, "Types"),
            Array({6, 1, 1}, 1));
  Results results;
  results.groups.push_back(std::move(group));
  const std::string text = classification_headline(results).attend_by;
  EXPECT_TRUE(text.starts_with("1 of 1 head is specialised: ")) << text;
  EXPECT_TRUE(text.ends_with(" and 1 more type.")) << text;
  results.attributes["pruned_heads"] = "L0H0";
  EXPECT_EQ(classification_headline(results).attend_by, "The model has no head left.");
}

TEST(ClassificationHeadline, SaysThatOnFewDocumentsATypeMayBeChance) {
  Results results;
  results.groups.push_back(three_heads());
  const std::string chance = " On fewer than 20 documents a type may be chance.";
  results.attributes["n_document"] = std::int64_t{19};
  EXPECT_TRUE(classification_headline(results).attend_by.ends_with(chance));
  results.attributes["n_document"] = std::int64_t{20};
  EXPECT_FALSE(classification_headline(results).attend_by.ends_with(chance));
}

TEST(ClassificationHeadline, NamesAllTypesWithoutUntrainedModels) {
  EXPECT_EQ(said({}), "3 of 3 heads are specialised: positional (2 heads), copying (1 head).");
}

TEST(ClassificationHeadline, LeavesOutTypesThatAnUntrainedModelHasAsOftenOrThatAreNotTestedThere) {
  const std::string positional_alone =
      "2 of 3 heads are specialised by a type that untrained models have less often: positional (2 "
      "heads).";
  EXPECT_EQ(said(Array({2, 2}, {0, 0, 1, 1})), positional_alone);
  EXPECT_EQ(said(Array({2, 2}, {0, untestable, 1, untestable})), positional_alone);
}

}  // namespace
}  // namespace headscope
