#include "figures/figure_page.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace headscope {
namespace {

TEST(Text, IsShortenedAtCharactersNotBytes) {
  EXPECT_EQ(fit_text("größer", 1000), "größer");
  const std::string cut = fit_text("öööööööööö", 40);
  EXPECT_EQ(cut.substr(cut.size() - 3), "…");
  EXPECT_EQ((cut.size() - 3) % 2, 0u);
  EXPECT_LE(text_width(cut), 40);
}

TEST(Text, IsWrappedAtSpacesWithNothingLost) {
  const auto lines = wrap_text("one two three four five six", 60, 9);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(text_width(line), 60);
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, "one two three four five six");
  EXPECT_EQ(wrap_text("one two three four five six", 60, 2).size(), 2u);
  EXPECT_TRUE(wrap_text("", 60, 2).empty());
}

TEST(TickList, ThinsOutOnlyTheLabelsThatAreNotEmpty) {
  const std::vector<std::string> labels{"", "a", "", "", "b", "", "", "c", ""};
  EXPECT_EQ(tick_list(labels), "('a' 1, 'b' 4, 'c' 7)");
  EXPECT_EQ(tick_list(labels, 2), "('a' 1, 'c' 7)");
}

TEST(TickList, CutsLabelsThatBeginAlikeInTheirMiddle) {
  const std::string begin = "direct effect, determiner noun agreement ";
  const std::string cut =
      tick_list({begin + "irregular 1", begin + "irregular 2", "another one " + begin});
  EXPECT_EQ(cut,
            "('direct effec…nt irregular 1' 0, 'direct effec…nt irregular 2' 1, "
            "'another one direct effect,…' 2)");
  EXPECT_EQ(tick_list({begin, begin}),
            "('direct effect, determiner …' 0, 'direct effect, determiner …' 1)")
      << "equal labels";
}

TEST(LabelledAxis, GivesALabelTheRoomOfTheEmptyOnesBesideIt) {
  std::vector<std::string> labels(120);
  for (std::size_t i = 5; i < labels.size(); i += 10) labels[i] = "L" + std::to_string(i / 10);
  const std::string all = tick_list(labels);
  EXPECT_NE(labelled_x_axis("", labels, labels.size(), 2).ticks.find(all), std::string::npos);
  EXPECT_EQ(labelled_y_axis("", labels, labels.size(), 2).ticks, all);
  EXPECT_EQ(labelled_y_axis("", labels, labels.size(), 1).ticks, tick_list(labels, 2));
}

Page page_of_heads(std::size_t n_layer, std::size_t n_head, std::size_t n_panel) {
  const HeatmapPanel panel{"", Array({n_layer, n_head}, 0.5)};
  return script_of({}, head_map("share", std::vector(n_panel, panel))).page;
}

TEST(HeadMaps, FillTheirPageWhateverTheirShape) {
  constexpr std::pair<std::size_t, std::size_t> shapes[] = {
      {5, 8}, {12, 12}, {24, 16}, {24, 14}, {28, 12}, {30, 9}, {30, 10}, {22, 32}, {32, 32}};
  for (const auto& [n_layer, n_head] : shapes) {
    for (const std::size_t n_panel : {1, 2}) {
      const Page page = page_of_heads(n_layer, n_head, n_panel);
      EXPECT_GE(page.panels().width, page.width() / 2) << n_layer << " x " << n_head;
      EXPECT_GE(page.panels().height, page.height() / 2) << n_layer << " x " << n_head;
      EXPECT_LE(page.height(), 700) << n_layer << " x " << n_head;
    }
  }
}

TEST(HeadMaps, OfManyLayersHaveRowsToRead) {
  for (const std::size_t n_panel : {1, 3, 6}) {
    const Page page = page_of_heads(30, 9, n_panel);
    EXPECT_GE(page.panel_height / 30, text_size) << n_panel;
  }
}

TEST(HeadMaps, HaveSquareCellsWhereThereAreAsManyHeadsAsLayersOrMore) {
  for (const auto& [n_layer, n_head] : {std::pair(5, 8), std::pair(12, 12)}) {
    const Page page = page_of_heads(n_layer, n_head, 1);
    EXPECT_DOUBLE_EQ(page.panel_width / n_head, page.panel_height / n_layer);
    EXPECT_EQ(page.width(), one_column);
  }
}

TEST(ChartPanels, InWholeRowsLeaveNoGap) {
  Figure figure;
  for (std::size_t count = 1; count <= 12; ++count) {
    Chart chart;
    chart.panels.resize(panels_in_whole_rows(count));
    for (ChartPanel& panel : chart.panels) {
      panel.series.resize(1);
      panel.series[0].x = panel.series[0].y = {0, 1};
    }
    const Page page = script_of(figure, chart).page;
    EXPECT_EQ(page.n_panel % page.n_column, 0u) << count;
    EXPECT_GE(page.n_panel + 2, count);
  }
}

}  // namespace
}  // namespace headscope
