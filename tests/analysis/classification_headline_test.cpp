#include <gtest/gtest.h>

#include "classification/results.hpp"
#include "headscope/results.hpp"

namespace headscope {
namespace {

constexpr double untestable = std::numeric_limits<double>::quiet_NaN();

/// Three heads of one layer: two are positional, one is a copying head.
std::string said(std::optional<Array> untrained) {
  ResultsGroup group;
  group.name = "classification";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 3));
  group.add_dimension(Dimension::labels("head_type", {"positional", "copying"}));
  group.add(Declaration::flag("type", "head_type layer head", {"no", "yes"}, "Types"),
            Array({2, 1, 3}, {1, 1, 0, 0, 0, 1}));
  if (untrained) {
    group.add_dimension(Dimension::count("control", untrained->shape[0]));
    group.add({"control_type_heads", "control head_type", "count", "Untrained heads"},
              *std::move(untrained));
  }
  Results results;
  results.groups.push_back(std::move(group));
  return classification_headline(results).attend_by;
}

TEST(ClassificationHeadline, NamesAllTypesWithoutUntrainedModels) {
  EXPECT_EQ(said({}), "3 of 3 heads have a type: positional (2 heads), copying (1 head).");
}

TEST(ClassificationHeadline, LeavesOutTypesThatAnUntrainedModelHasAsOftenOrThatAreNotTestedThere) {
  const std::string positional_alone =
      "2 of 3 heads have a type that untrained models have less often: positional (2 heads).";
  EXPECT_EQ(said(Array({2, 2}, {0, 0, 1, 1})), positional_alone);
  EXPECT_EQ(said(Array({2, 2}, {0, untestable, 1, untestable})), positional_alone);
}

}  // namespace
}  // namespace headscope
