#include "figures/figure_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <utility>

#include "support/tolerance.hpp"

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

TEST(HeadMaps, OfOneHeadAreAsHighAsTheirKeyAndHaveRoomForTitles) {
  Heatmap map = head_map("loss increase (nats per token)", {});
  for (const auto& [title, value] :
       {std::pair("zero", 0.002), std::pair("mean", 0.02), std::pair("resample", 0.03)}) {
    map.panels.push_back({title, Array({1, 1}, value)});
  }
  map.scale = ColourScale::diverging;
  const FigureScript scales = script_of({}, map);
  EXPECT_THAT(scales.commands, testing::HasSubstr("'resample'"));
  EXPECT_THAT(scales.commands, testing::HasSubstr(".'per token)'"));
  map.panels.resize(1);
  const Page page = script_of({}, map).page;
  EXPECT_GE(page.panel_height, page.key_height);
  EXPECT_LE(page.height(), 200);
}

TEST(HeadMaps, HaveNumbersApartBesideBarsOfAnyHeight) {
  const std::regex scale("set cbrange \\[([^:]+):([^\\]]+)\\]\nset cbtics (\\S+)");
  for (const std::size_t n_layer : {1, 2, 5, 24}) {
    Heatmap map = head_map("share", {{"", Array({n_layer, 8}, 2.4e-6)}});
    map.panels.push_back({"", Array({n_layer, 8}, 7.0)});
    map.scale = ColourScale::diverging;
    const FigureScript drawn = script_of({}, map);
    std::sregex_iterator found(drawn.commands.begin(), drawn.commands.end(), scale), end;
    ASSERT_EQ(std::distance(found, end), 3) << "of all panels and of either";
    for (++found; found != end; ++found) {
      const double range = std::stod((*found)[2]) - std::stod((*found)[1]);
      const double step = std::stod((*found)[3]);
      EXPECT_GE(step / range * drawn.page.panel_height, text_size) << n_layer;
      EXPECT_LE(step, range / 2) << n_layer;
    }
  }
}

TEST(LayerCharts, ShowPointsBesideTheMiddleOfTheirLayer) {
  for (const std::size_t n_layer : {1, 2, 5}) {
    const std::vector<double> values(n_layer, 0.5);
    Series heads = Series::line("heads", values);
    heads.style = Series::Style::points;
    heads.shift = -0.08;
    Chart chart{.panels = {{"", {heads, Series::line("mean", values)}}}};
    const AxisRange across = script_of({}, chart).x[0];
    const double last = static_cast<double>(n_layer - 1);
    EXPECT_LT(across.low, n_layer == 1 ? -0.5 : -0.08) << n_layer;
    EXPECT_NEAR(across.high - last, -across.low, test::double_rounding) << n_layer;
  }
}

std::vector<std::string> names(std::size_t n) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) names.push_back("a name " + std::to_string(i));
  return names;
}

TEST(NamedMaps, NameEveryRowAndColumn) {
  struct Form {
    std::size_t n_row, n_column, n_panel;
  };
  for (const auto& [n_row, n_column, n_panel] :
       {Form{46, 2, 1}, Form{90, 2, 1}, Form{7, 7, 1}, Form{7, 7, 2}, Form{15, 15, 1},
        Form{15, 15, 12}, Form{15, 15, 9}, Form{15, 15, 8}, Form{5, 12, 3}}) {
    Heatmap map;
    map.row_labels = names(n_row);
    map.column_labels = names(n_column);
    map.panels.assign(n_panel, {"", Array({n_row, n_column}, 0.5)});
    const Page page = script_of({}, map).page;
    const std::string form = std::to_string(n_row) + " x " + std::to_string(n_column);
    EXPECT_EQ(page.y.ticks, tick_list(map.row_labels)) << form;
    EXPECT_NE(page.x.ticks.find(tick_list(map.column_labels)), std::string::npos) << form;
    EXPECT_GE(page.panel_height / static_cast<double>(n_row), text_size) << form;
    EXPECT_LE(page.width(), two_columns) << form;
  }
}

TEST(NamedMaps, OfFewHeadsHaveRoomForTitles) {
  Heatmap map;
  map.row_labels = map.column_labels = names(4);
  map.group = 2;
  for (const char* const kind : {"Q", "K", "V"}) {
    map.panels.push_back({std::string(kind) + "-composition", Array({4, 4}, 0.5)});
  }
  EXPECT_THAT(script_of({}, map).commands, testing::HasSubstr("set title 'K-composition'"));
  map.panels.resize(1);
  EXPECT_EQ(script_of({}, map).page.width(), one_column);
}

TEST(NamedMaps, LeaveOutNamesThatHaveNoRoomOnAPage) {
  Heatmap map;
  map.row_labels = map.column_labels = names(120);
  map.panels = {{"", Array({120, 120}, 0.5)}};
  const Page page = script_of({}, map).page;
  EXPECT_FALSE(page.x.all_named || page.y.all_named);
  EXPECT_LE(page.width(), two_columns);
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
