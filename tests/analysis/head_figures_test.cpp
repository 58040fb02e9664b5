#include "head_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

using testing::ElementsAre;

const double no_value = std::nan("");

TEST(PairMap, HasACellForEachPairOfFewHeads) {
  const Array values({2, 2}, {no_value, 0.25, no_value, no_value});
  const PairMap pairs = pair_map({{"Q", values}}, 1, {.n_named = 3});
  EXPECT_FALSE(pairs.by_layer);
  EXPECT_EQ(pairs.map.group, 1u);
  EXPECT_EQ(pairs.map.panels[0].values(0, 1), 0.25);
  EXPECT_THAT(pairs.named, ElementsAre("L0H0 to L1H0 0.25"));
  EXPECT_THAT(pairs.map.row_labels, ElementsAre("L0H0", "L1H0"));
  EXPECT_EQ(pairs.about, "");
}

TEST(PairMap, KeepsTheHeadsOfGpt2MediumAndLabelsTheirLayers) {
  const PairMap pairs =
      pair_map({{"", Array({384, 384}, 0.5)}}, 16, {.n_named = 1, .symmetric = true});
  EXPECT_FALSE(pairs.by_layer);
  EXPECT_FALSE(pairs.names_heads);
  EXPECT_EQ(pairs.map.panels[0].values.shape, (Shape{384, 384}));
  ASSERT_EQ(pairs.map.column_labels.size(), 384u);
  EXPECT_EQ(pairs.map.column_labels[16 * 23 + 8], "L23");
  EXPECT_EQ(std::ranges::count(pairs.map.column_labels, ""), 384 - 24);
}

TEST(PairMap, HasACellForEachPairOfLayersOfManyHeads) {
  Array values({402, 402}, no_value);
  values(0, 240) = values(240, 0) = 0.25;
  values(1, 232) = values(232, 1) = -0.5;
  const PairMap pairs = pair_map({{"", values}}, 201, {.n_named = 1, .symmetric = true});
  EXPECT_TRUE(pairs.by_layer);
  EXPECT_EQ(pairs.map.group, 0u);
  const HeatmapPanel& panel = pairs.map.panels[0];
  EXPECT_EQ(panel.values(0, 1), -0.5) << "the largest by size";
  EXPECT_TRUE(std::isnan(panel.values(0, 0)));
  EXPECT_THAT(panel.marked.values, ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(pairs.named, ElementsAre("L0H1 and L1H31 -0.50")) << "each pair once";
}

TEST(FurthestNames, AreOfTheLargestValuesBySize) {
  EXPECT_THAT(furthest_names({0.1, -3, no_value, 2}, 2, 2), ElementsAre("", "L0H1", "", "L1H1"));
  EXPECT_THAT(furthest_names({1, 1}, 2, 1), ElementsAre("L0H0", "L0H1")) << "ties";
  EXPECT_THAT(furthest_names({1}, 1, 3), ElementsAre("L0H0"));
  EXPECT_THAT(furthest_names({0, 2, 0}, 3, 2), ElementsAre("", "L0H1", "")) << "nothing at 0";
}

TEST(RemovedHeadsCaption, IsOfMapsOfHeadsOfAModelThatHasLostSome) {
  Results results;
  Heatmap map = head_map("share", {{"", Array({2, 2}, {no_value, 0.25, 0.5, 1})}});
  const auto caption = [&] {
    Figure figure;
    figure.content = map;
    return removed_heads_caption(results, figure);
  };
  EXPECT_EQ(caption(), "");
  results.attributes["pruned_heads"] = "L0H0";
  EXPECT_EQ(caption(), " Removed heads are left empty.");
  map.heads = false;
  EXPECT_EQ(caption(), "");
  EXPECT_EQ(removed_heads_caption(results, {"", "", "", "", "", Chart()}), "");
}

}  // namespace
}  // namespace headscope
