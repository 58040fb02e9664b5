#include "headscope/figure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>

#include "figures/chart_range.hpp"
#include "figures/figure_labels.hpp"
#include "figures/figure_page.hpp"
#include "figures/glyphs.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"
#include "support/figure_samples.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class FigureFolder : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return test::read_file(path_of(name)); }
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  DrawnFigure draw(const Figure& figure, const std::vector<std::string>& formats = {"svg"}) const {
    return write_figure(figure, folder_, formats);
  }
  std::string complaint_of(const Figure& figure) const {
    return test::message_of([&] { draw(figure); });
  }

  const test::TemporaryDirectory parent_;
  const std::string folder_ = parent_.file("figures");
};

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

Figure two_by_three() {
  Heatmap map;
  map.panels = {{"Panel", Array({2, 3}, {0, 0.25, nan, 0.5, 0.75, 1})}};
  map.row_labels = {"a", "b"};
  map.value_title = "Share";
  return {"small", "g", "Title", "", "A source 2020", map};
}

Figure one_line_chart() {
  Chart chart;
  Series series;
  series.label = "loss";
  series.x = {0, 1, 2};
  series.y = {3, nan, 5};
  series.low = {2, nan, 4};
  series.high = {4, nan, 6};
  chart.panels = {{"", {series}, {{"chance", 4}}}};
  chart.y_title = "Loss (nats)";
  return {"line", "g", "Title", "", "", chart};
}

using Figures = FigureFolder;

TEST_F(Figures, EverySampleIsDrawnAsSvg) {
  for (const Figure& figure : test::figure_samples()) {
    SCOPED_TRACE(figure.name);
    draw(figure);
    EXPECT_THAT(file(figure.name + ".svg"), HasSubstr("</svg>"));
    EXPECT_FALSE(file(figure.name + ".dat").empty());
  }
}

TEST_F(Figures, PngHas300DotsPerInchAndSaysSoAndPdfIsAPdf) {
  draw(two_by_three(), {"svg", "png", "pdf"});
  const std::string svg = file("small.svg"), png = file("small.png");
  std::smatch box;
  ASSERT_TRUE(std::regex_search(svg, box, std::regex("viewBox=\"0 0 (\\d+) (\\d+)\"")));
  ASSERT_GT(png.size(), 24u);
  EXPECT_EQ(png.substr(1, 3), "PNG");
  const auto big_endian = [&](std::size_t at) {
    int value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value * 256 + static_cast<unsigned char>(png[at + i]);
    return value;
  };
  // SVG has 96 to the inch.
  EXPECT_EQ(big_endian(16), std::lround(std::stoi(box[1]) * 300 / 96.0));
  EXPECT_EQ(big_endian(20), std::lround(std::stoi(box[2]) * 300 / 96.0));
  EXPECT_EQ(png.substr(37, 4), "pHYs");
  EXPECT_EQ(big_endian(41), 11811) << "300 dots per inch are 11811 per metre";
  EXPECT_EQ(png[49], 1) << "the unit is the metre";
  EXPECT_EQ(file("small.pdf").substr(0, 5), "%PDF-");
}

TEST_F(Figures, DataFileHoldsEveryValue) {
  draw(two_by_three());
  EXPECT_EQ(file("small.dat"),
            "# Panel\n# column row value\n0 0 0\n1 0 0.25\n2 0 NaN\n0 1 0.5\n1 1 0.75\n2 1 1\n");
}

TEST_F(Figures, MissingCellsAreLeftEmpty) {
  draw(two_by_three());
  // The crisp-edged group has one polygon per cell with a value: five of six.
  const std::string svg = file("small.svg");
  const std::size_t cells = svg.find("crispEdges", svg.find("<title>small_plot_1"));
  const std::string drawn = svg.substr(cells, svg.find("</g>", cells) - cells);
  EXPECT_EQ(count(drawn, "<polygon"), 5u);
  EXPECT_EQ(count(drawn, "'white'"), 0u);
  EXPECT_EQ(count(drawn, "rgb\\( 68,   1,  84\\)"), 1u) << "lowest value, first colour";
  EXPECT_EQ(count(drawn, "rgb\\(253, 231,  37\\)"), 1u) << "highest value, last colour";
}

TEST_F(Figures, MarkedCellsGetADot) {
  Figure figure = two_by_three();
  draw(figure);
  EXPECT_EQ(count(file("small.svg"), "<use xlink:href='#gpPt6'"), 0u);
  std::get<Heatmap>(figure.content).panels[0].marked = Array({2, 3}, {0, 1, 0, 1, 0, 0});
  draw(figure);
  EXPECT_THAT(file("small.dat"), HasSubstr("1 0 0.25 1\n"));
  EXPECT_THAT(file("small.dat"), HasSubstr("2 0 NaN 0\n"));
  EXPECT_EQ(count(file("small.svg"), "<use xlink:href='#gpPt6'"), 4u) << "two dots, dark and white";
}

TEST_F(Figures, LinesDivideGroupsOfRowsAndColumns) {
  Figure figure = two_by_three();
  std::get<Heatmap>(figure.content).group = 1;
  draw(figure);
  EXPECT_EQ(count(file("small.gp"), "set arrow"), 3u) << "one between two rows, two between three";
  EXPECT_THAT(file("small.gp"), HasSubstr("from graph 0, first 0.5 to graph 1, first 0.5"));
}

TEST_F(Figures, TheKeyNamesOnlyCategoriesThatOccur) {
  Figure figure = two_by_three();
  auto& map = std::get<Heatmap>(figure.content);
  map.scale = ColourScale::categorical;
  map.categories = {"none", "positional", "syntactic"};
  map.panels[0].values = Array({2, 3}, {0, 0, 2, 2, 2, nan});
  draw(figure);
  const std::string svg = file("small.svg");
  EXPECT_THAT(svg, HasSubstr(">none</text>"));
  EXPECT_THAT(svg, HasSubstr(">syntactic</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">positional</text>")));
}

TEST_F(Figures, TheKeyOfALowMapNamesAllItsCategories) {
  Figure figure = two_by_three();
  auto& map = std::get<Heatmap>(figure.content);
  map.scale = ColourScale::categorical;
  for (std::size_t i = 0; i < 12; ++i) map.categories.push_back("type " + std::to_string(i));
  map.panels[0].values = Array({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  map.panels.push_back(map.panels[0]);
  draw(figure);
  for (const std::string& name : map.categories) {
    EXPECT_EQ(count(file("small.svg"), ">" + name + "<"), 1u) << name;
  }
}

TEST_F(Figures, DivergingScaleIsCentred) {
  Figure figure = two_by_three();
  auto& map = std::get<Heatmap>(figure.content);
  map.scale = ColourScale::diverging;
  draw(figure);
  EXPECT_THAT(file("small.gp"), HasSubstr("set cbrange [-1:1]"));
}

TEST_F(Figures, NumbersOfARangeThatEndsCloseToZeroAreShort) {
  Figure map = two_by_three(), chart = one_line_chart();
  std::get<Heatmap>(map.content).panels[0].values = Array({2, 3}, {1e-6, 0.2, 0.4, 0.6, 0.8, 1});
  std::get<Chart>(chart.content).y_low = 1e-7;
  for (const Figure& figure : {map, chart}) {
    draw(figure);
    EXPECT_EQ(count(file(figure.name + ".svg"), "\\.\\d*000"), 0u) << figure.name;
  }
}

TEST_F(Figures, GivenLimitsReplaceTheDatas) {
  Figure figure = two_by_three();
  std::get<Heatmap>(figure.content).low = -1;
  std::get<Heatmap>(figure.content).high = 2.5;
  draw(figure);
  EXPECT_THAT(file("small.gp"), HasSubstr("set cbrange [-1:2.5]"));
}

/// 50 cells, from 0.01 to 0.49, and one of the value.
Figure fifty_cells(double odd_one) {
  Figure figure = two_by_three();
  Array cells({5, 10});
  for (std::size_t i = 0; i < 50; ++i) cells.values[i] = 0.01 * static_cast<double>(i);
  cells.values[0] = odd_one;
  std::get<Heatmap>(figure.content).panels[0].values = cells;
  std::get<Heatmap>(figure.content).row_labels.clear();
  figure.caption = "Cells.";
  return figure;
}

TEST_F(Figures, ACellFarFromTheRestLiesBeyondTheColours) {
  EXPECT_EQ(draw(fifty_cells(9)).figure.caption,
            "Cells. The colours end at 0.01 and 0.49; 1 of 50 cells lies beyond, at 9.");
  EXPECT_THAT(file("small.gp"), HasSubstr("set cbrange [0.01:0.49]"));
  EXPECT_THAT(file("small.dat"), HasSubstr("0 0 9\n")) << "the data keep the value";
  EXPECT_EQ(draw(fifty_cells(-9)).figure.caption,
            "Cells. The colours end at 0.01 and 0.49; 1 of 50 cells lies beyond, at -9.");
  Figure diverging = fifty_cells(-9);
  std::get<Heatmap>(diverging.content).scale = ColourScale::diverging;
  EXPECT_EQ(draw(diverging).figure.caption,
            "Cells. The colours end at -0.49 and 0.49; 1 of 50 cells lies beyond, at -9.");
}

TEST_F(Figures, ARowFarFromTheRestLiesBeyondTheColours) {
  Figure figure = fifty_cells(9);
  auto& cells = std::get<Heatmap>(figure.content).panels[0].values;
  for (std::size_t i = 1; i < 5; ++i) cells.values[i] = 3;
  EXPECT_EQ(
      draw(figure).figure.caption,
      "Cells. The colours end at 0.05 and 0.49; 5 of 50 cells lie beyond, the furthest at 9.");
}

TEST_F(Figures, ColoursReachEveryCellThatIsNotFarFromTheRest) {
  EXPECT_EQ(draw(fifty_cells(0.9)).figure.caption, "Cells.");
  EXPECT_THAT(file("small.gp"), HasSubstr("set cbrange [0.01:0.9]"));
  Figure few = two_by_three(), zeros = fifty_cells(9), stated = fifty_cells(9);
  std::get<Heatmap>(few.content).panels[0].values = Array({2, 3}, {0, 0.1, 0.1, 0.1, 0.2, 9});
  std::ranges::fill(std::get<Heatmap>(zeros.content).panels[0].values.values, 0);
  std::get<Heatmap>(zeros.content).panels[0].values.values[7] = 9;
  std::get<Heatmap>(stated.content).high = 9;
  for (const Figure& figure : {few, zeros, stated}) {
    EXPECT_THAT(draw(figure).figure.caption, Not(HasSubstr("colours")));
    EXPECT_THAT(file("small.gp"), testing::ContainsRegex("set cbrange .*:9]"));
  }
}

TEST_F(Figures, PanelsWithScalesOfTheirOwnSayWhereTheirColoursEnd) {
  Figure figure = fifty_cells(9);
  Heatmap& map = std::get<Heatmap>(figure.content);
  map.heads = true;
  map.panels.push_back({"zero", map.panels[0].values.mapped([](double v) { return 10 * v; })});
  map.panels[1].values.values[0] = 0;
  EXPECT_EQ(draw(figure).figure.caption,
            "Cells. In the panel Panel the colours end at 0.01 and 0.49; 1 of 50 cells lies "
            "beyond, at 9.");
}

TEST_F(Figures, IntervalsAndReferenceLinesAreDrawnAndNamed) {
  draw(one_line_chart());
  EXPECT_EQ(file("line.dat"), "# loss\n# x y low high\n0 3 2 4\n1 NaN NaN NaN\n2 5 4 6\n");
  const std::string script = file("line.gp");
  EXPECT_THAT(script, HasSubstr("using 1:3:4 with filledcurves"));
  EXPECT_THAT(script, HasSubstr("4 with lines dashtype 2"));
  EXPECT_THAT(file("line.svg"), HasSubstr(">chance</text>"));
}

TEST_F(Figures, AKeyStandsAboveAPanelWithoutPoints) {
  Figure figure = one_line_chart();
  Chart& chart = std::get<Chart>(figure.content);
  chart.panels[0].reference_lines.clear();
  Series other = chart.panels[0].series[0];
  other.label = "accuracy";
  chart.panels[0].series.push_back(other);
  ChartPanel empty = chart.panels[0];
  for (Series& series : empty.series) series.y.assign(series.y.size(), nan);
  chart.panels.insert(chart.panels.begin(), empty);
  draw(figure);
  EXPECT_THAT(file("line.svg"), testing::AllOf(HasSubstr(">loss<"), HasSubstr(">accuracy<")));
  chart.panels.pop_back();
  draw(figure);
  EXPECT_THAT(file("line.svg"), HasSubstr(">accuracy<"));
}

TEST_F(Figures, HorizontalChartsPutTheFirstLabelOnTop) {
  Chart chart;
  Series gains, heads;
  gains.style = Series::Style::spans;
  heads.style = Series::Style::points;
  heads.label = "heads";
  gains.x = heads.x = {0, 1};
  gains.y = heads.y = {0.8, 0.6};
  gains.low = {0.2, 0.5};
  gains.high = {0.8, 0.6};
  heads.shift = 0.25;
  chart.panels = {{"", {gains, heads}, {}}};
  chart.x_labels = {"upper", "lower"};
  chart.horizontal = true;
  draw({"rows", "g", "Title", "", "", chart});
  const std::string svg = file("rows.svg"), script = file("rows.gp");
  const auto height_of = [&](const std::string& label) {
    std::smatch place;
    EXPECT_TRUE(std::regex_search(
        svg, place,
        std::regex("translate\\([0-9.]+,([0-9.]+)\\)[^>]*>\\s*<text>[^<]*(<tspan[^>]*>)?" +
                   label)));
    return std::stod(place[1]);
  };
  EXPECT_LT(height_of("upper"), height_of("lower"));
  EXPECT_THAT(script, HasSubstr("using 3:1:($4-$3):(0) with vectors"));
  EXPECT_THAT(file("rows.dat"), HasSubstr("0.25 0.8 0.8 0.8\n")) << "shifted as drawn";
}

TEST_F(Figures, PanelsMayHaveOtherLabelsAlongX) {
  Series heads = Series::points();
  heads.add(0, 0.4);
  heads.add(1, -0.1);
  Chart chart{.panels = {{"agreement", {heads}, {}, {"L3H1", "L2H0"}},
                         {"names", {heads}, {}, {"L5H7"}},
                         {"", {heads}}},
              .x_labels = {"first", "second"}};
  draw({"labels", "g", "Title", "", "", chart});
  for (const char* const label : {"L3H1", "L2H0", "L5H7", "first", "second"}) {
    EXPECT_EQ(count(file("labels.svg"), std::string(">") + label + "<"), 1u) << label;
  }
  chart.panels[1].x_labels = {"L5H7", "L5H8", "L5H9"};
  EXPECT_THROW(draw({"labels", "g", "Title", "", "", chart}), ShapeError) << "more than the chart";
  chart.panels.pop_back();
  chart.panels.pop_back();
  chart.horizontal = true;
  EXPECT_THROW(draw({"labels", "g", "Title", "", "", chart}), ShapeError) << "rows";
}

TEST_F(Figures, ALineOfRowsStandsUprightAtItsValue) {
  Series heads = Series::points();
  heads.add(0, 0.4);
  heads.add(1, -0.1);
  draw({"rows", "g", "Title", "", "",
        rows_chart("task", "correlation", {"upper", "lower"}, {heads}, {{"none", 0.125}})});
  const std::string data = file("rows.dat"), script = file("rows.gp");
  EXPECT_THAT(data, HasSubstr("\n0.125 1.6\n0.125 -0.6\n"));
  EXPECT_THAT(script, HasSubstr("data index 1 using 1:2 with lines dashtype"));
  EXPECT_THAT(script, testing::Not(HasSubstr(" 0.125 with lines")));
}

TEST_F(Figures, KeysAreWholeAndNumbersApartBesideLongLabels) {
  Chart chart;
  chart.panels.resize(1);
  const std::vector<std::string> names{"explained", "unexplained", "another type's place"};
  for (const std::string& name : names) {
    Series series;
    series.style = Series::Style::points;
    series.label = name;
    series.x = {0, 1};
    series.y = {-0.22, 0.35};
    chart.panels[0].series.push_back(series);
  }
  chart.x_labels = {"L3H11 coreference 0.0077", "L0H4 positional 0.22"};
  chart.x_title = "head, label, effect on the loss (nats)";
  chart.y_title = "share of the head's effect that stays";
  chart.horizontal = true;
  draw({"rows", "g", "Title", "", "", chart});
  const std::string svg = file("rows.svg");
  for (const std::string& name : names) {
    EXPECT_THAT(svg, HasSubstr(name == names[2] ? "place</text>" : name + "</text>")) << name;
  }
  std::vector<double> places;
  // The bytes of a minus sign, as an expression works on bytes.
  const std::regex number(
      "translate\\(([.0-9]+),[.0-9]+\\)\"[^>]*>\\s*"
      "<text>(<tspan[^>]*>)? *(\xE2\x88\x92)?[.0-9]+<");
  for (std::sregex_iterator found(svg.begin(), svg.end(), number), end; found != end; ++found) {
    places.push_back(std::stod((*found)[1]));
  }
  ASSERT_GE(places.size(), 2u);
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i) {
    EXPECT_GE(places[i] - places[i - 1], 30) << "three times the height of a number";
  }
}

TEST_F(Figures, AKeyOfManyEntriesAboveFewRowsIsOneColumn) {
  std::vector<Series> series;
  for (std::size_t i = 0; i < 9; ++i) {
    series.push_back(Series::points("a family of features " + std::to_string(i)));
    series.back().add(0, 0.1 * static_cast<double>(i));
  }
  draw({"rows", "g", "Title", "", "", rows_chart("head", "share", {"L0H0", "L0H1"}, series)});
  const std::string svg = file("rows.svg");
  const std::regex name("translate\\(([.0-9]+),[^>]*>\\s*<text>a family of features");
  std::vector<std::string> across;
  for (std::sregex_iterator found(svg.begin(), svg.end(), name), end; found != end; ++found) {
    across.push_back((*found)[1]);
  }
  ASSERT_EQ(across.size(), series.size());
  EXPECT_THAT(across, testing::Each(across.front()));
}

TEST_F(Figures, ValuesEqualButForRoundingAreDrawn) {
  Series series;
  series.style = Series::Style::points;
  series.x = {1, std::nextafter(1.0, 2.0)};
  series.y = {-1, std::nextafter(-1.0, 0.0)};
  Chart chart;
  chart.panels.push_back({"", {series}, {}});
  draw({"rounding", "g", "Title", "", "", chart});
  EXPECT_GE(count(file("rounding.svg"), "<use xlink:href='#gpPt"), 2u);
}

TEST_F(Figures, MapsOfFiveLayersStandInOneRow) {
  Figure figure = two_by_three();
  auto& map = std::get<Heatmap>(figure.content);
  map.panels.assign(5, {"Panel", Array({8, 8}, 0.5)});
  map.row_labels.clear();
  const DrawnFigure drawn = draw(figure);
  for (const Rectangle& panel : drawn.panels) EXPECT_EQ(panel.y, drawn.panels[0].y);
}

TEST_F(Figures, EqualAxesDrawAUnitAsLongInBothDirections) {
  Chart chart;
  Series points;
  points.label = "points";
  points.style = Series::Style::points;
  points.x = {0, 2};
  points.y = {0, 1};
  chart.panels = {{"", {points}, {}}};
  chart.equal = true;
  draw({"plane", "g", "Title", "", "", chart});
  const std::string script = file("plane.gp");
  const std::regex range("set ([xy])range \\[([^:]+):([^\\]]+)\\]");
  double across = 0, up = 0;
  for (std::sregex_iterator each(script.begin(), script.end(), range), end; each != end; ++each) {
    const double length = std::stod((*each)[3]) - std::stod((*each)[2]);
    ((*each)[1] == "x" ? across : up) = length;
  }
  std::smatch size, margins;
  ASSERT_TRUE(std::regex_search(script, size, std::regex("size (\\d+), (\\d+)")));
  ASSERT_TRUE(std::regex_search(script, margins,
                                std::regex("margins ([0-9.]+), ([0-9.]+), ([0-9.]+), ([0-9.]+)")));
  const double width = std::stod(size[1]) * (std::stod(margins[2]) - std::stod(margins[1]));
  const double height = std::stod(size[2]) * (std::stod(margins[4]) - std::stod(margins[3]));
  // Widths are whole pixels of a hundred or more, and margins have six digits.
  EXPECT_NEAR(width / across, height / up, 0.02 * width / across);
}

TEST_F(Figures, ALogarithmicAxisOfLessThanTwoDecadesHasNumbersBetweenPowersOfTen) {
  Figure figure = one_line_chart();
  auto& chart = std::get<Chart>(figure.content);
  chart.log_y = true;
  chart.panels[0].reference_lines.clear();
  Series& series = chart.panels[0].series[0];
  series.x = {0, 1};
  series.y = {4, 30};
  series.low.clear();
  series.high.clear();
  draw(figure);
  const std::string svg = file(figure.name + ".svg");
  for (const int tick : {5, 10, 20}) {
    EXPECT_EQ(count(svg, ">\\s*" + std::to_string(tick) + "\\s*<"), 1u) << tick;
  }
}

TEST(LogTicks, AreAtLeastTwo) {
  const auto ticks = [](double low, double high) { return log_ticks({true, low, high}); };
  EXPECT_EQ(ticks(1, 100), "autofreq") << "two powers of ten";
  EXPECT_EQ(ticks(1.7, 28), "autofreq add (2, 5, 20)");
  EXPECT_EQ(ticks(11, 39), "autofreq add (20, 30)");
  EXPECT_EQ(ticks(14, 26), "autofreq add (15, 20, 25)");
  EXPECT_EQ(ticks(11.5, 15.2), "autofreq add (12, 14)");
  EXPECT_EQ(ticks(10.4, 12.5), "autofreq add (11, 12)");
}

TEST_F(Figures, LogarithmicAxesOfAShortRangeHaveTwoNumbersInBothDirections) {
  Figure figure = one_line_chart();
  auto& chart = std::get<Chart>(figure.content);
  chart.log_x = chart.log_y = true;
  chart.panels[0].reference_lines.clear();
  chart.panels[0].series = {Series::points("points")};
  chart.panels[0].series[0].add(2, 1500);
  chart.panels[0].series[0].add(24, 1500);
  draw(figure);
  const std::string svg = file(figure.name + ".svg");
  for (const int tick : {2, 5, 10, 20, 1200, 1800}) {
    EXPECT_EQ(count(svg, ">\\s*" + std::to_string(tick) + "\\s*<"), 1u) << tick;
  }
}

TEST_F(Figures, PanelsWithOwnAxesShowTheRangeOfTheirSeries) {
  Figure figure = one_line_chart();
  auto& chart = std::get<Chart>(figure.content);
  chart.panels.push_back(chart.panels[0]);
  chart.panels[1].reference_lines.clear();
  auto& series = chart.panels[1].series[0];
  series.x.resize(2);
  series.y = {0.5, 0.6};
  series.low.clear();
  series.high.clear();
  const DrawnFigure shared = draw(figure);
  EXPECT_EQ(shared.y[0].high, shared.y[1].high);
  EXPECT_EQ(shared.x[0].high, shared.x[1].high);
  chart.separate_ranges = true;
  const DrawnFigure own = draw(figure);
  EXPECT_EQ(own.x[0].high, shared.x[0].high);
  EXPECT_LT(own.x[1].high, own.x[0].high);
  EXPECT_LE(own.y[1].low, 0.5);
  EXPECT_GE(own.y[1].high, 0.6);
  EXPECT_LT(own.y[1].high - own.y[1].low, 0.2);
  EXPECT_EQ(count(file(figure.name + ".gp"), "set yrange"), 2u);
}

TEST_F(Figures, ASeriesOfNoKindIsGrey) {
  Figure figure = one_line_chart();
  std::get<Chart>(figure.content).panels[0].series[0].colour = no_colour;
  draw(figure);
  EXPECT_THAT(file(figure.name + ".gp"), HasSubstr("#b8b8b8"));
}

TEST_F(Figures, ASeriesKeepsTheColourItIsGiven) {
  Figure figure = one_line_chart();
  auto& series = std::get<Chart>(figure.content).panels[0].series;
  series[0].colour = 3;
  draw(figure);
  EXPECT_THAT(file(figure.name + ".gp"), HasSubstr("#d55e00"));
  EXPECT_THAT(file(figure.name + ".gp"), Not(HasSubstr("#0072b2")));
}

TEST_F(Figures, SameNameHasTheSameColourInEveryPanel) {
  Figure figure = one_line_chart();
  auto& panels = std::get<Chart>(figure.content).panels;
  panels.push_back(panels[0]);
  panels[1].series.insert(panels[1].series.begin(), panels[1].series[0]);
  panels[1].series[0].label = "other";
  draw(figure);
  const std::string script = file("line.gp");
  EXPECT_EQ(count(script, "index [0-9] using 1:2 [^\\n]*#0072b2"), 2u);
  EXPECT_EQ(count(script, "index [0-9] using 1:2 [^\\n]*#e69f00"), 1u);
}

TEST_F(Figures, HostileTextIsOnlyText) {
  const std::string marker = path_of("owned");
  const std::vector<std::string> hostile{"'; system('touch " + marker + "') #",
                                         "`touch " + marker + "`",
                                         "\"; system(\"touch " + marker + "\")",
                                         "two\nsystem('touch " + marker + "')\r\n!touch " + marker,
                                         "trailing backslash \\",
                                         "%d %s",
                                         "@ARG1 {/=40 large} ^up _down $(x) ${y} %d %s } { # ;",
                                         "<script>alert(1)</script> & <b>",
                                         "]]> ends CDATA ]]]]>>",
                                         "\u202E sets a direction",
                                         std::string("nul \0 and \x1b[31m", 15),
                                         "broken \xff\xc0\xaf utf-8 \xed\xa0\x80"};
  for (const std::string& text : hostile) {
    SCOPED_TRACE(text);
    Figure map = two_by_three(), chart = one_line_chart();
    for (Figure* figure : {&map, &chart}) figure->title = figure->source = figure->caption = text;
    auto& content = std::get<Heatmap>(map.content);
    content.panels[0].title = content.value_title = content.row_title = text;
    content.row_labels = {text, "b"};
    auto& lines = std::get<Chart>(chart.content);
    lines.panels[0].title = lines.panels[0].series[0].label = text;
    lines.panels[0].reference_lines[0].label = lines.x_title = text;
    lines.x_labels = {text, "b", text};
    lines.panels[0].series[0].point_labels = {text, text, text};
    for (const Figure& figure : {map, chart}) {
      draw(figure);
      const std::string svg = file(figure.name + ".svg");
      EXPECT_THAT(svg, HasSubstr("</svg>"));
      EXPECT_THAT(svg, Not(HasSubstr("<script")));
      EXPECT_THAT(svg, Not(HasSubstr("\u202E")));
      EXPECT_THAT(svg, Not(HasSubstr("]]>")));
      EXPECT_EQ(count(svg, "[\\x01-\\x08\\x0b-\\x1f]"), 0u);
    }
    EXPECT_FALSE(fs::exists(marker));
  }
}

TEST_F(Figures, TextIsShownAsItIs) {
  Figure figure = two_by_three();
  std::string& label = std::get<Heatmap>(figure.content).row_labels[0];
  label = "it's {a} `b` @c $d %e";
  draw(figure);
  EXPECT_THAT(file("small.svg"), HasSubstr(">it's {a} `b` @c $d %e</text>"));
  label = "'quoted' \\ and \"doubled\"";
  draw(figure);
  EXPECT_THAT(file("small.svg"), HasSubstr(">'quoted' \\ and \"doubled\"</text>"));
  std::get<Heatmap>(figure.content).row_labels = {"50 %d", "b"};
  draw(figure);
  EXPECT_THAT(file("small.svg"), HasSubstr(">50 %d</text>"));
}

TEST(Glyphs, AreReadFromRangesAndReplacedWhereMissing) {
  const Glyphs glyphs = read_glyphs("20-7e a0  4e2d 110000 x 1f600-1f601 ");
  EXPECT_EQ(with_glyphs("a中文\U0001F601\U0001F602\xFF", glyphs), "a中□\U0001F601□\xFF");
  EXPECT_EQ(with_glyphs("é λ я", glyphs), "é λ я");
  EXPECT_EQ(with_glyphs("文", read_glyphs("")), "文") << "the fonts are not known";
}

TEST_F(Figures, APngShowsABoxForACharacterThatNoFontHas) {
  if (font_characters().empty()) GTEST_SKIP() << "needs fc-list";
  const std::string lacking = "\U0010FFFD";
  Figure figure = two_by_three();
  std::string& label = std::get<Heatmap>(figure.content).row_labels[0];
  label = "□";
  draw(figure, {"png"});
  const std::string boxed = file("small.png");
  label = lacking;
  draw(figure, {"svg", "png"});
  EXPECT_TRUE(file("small.png") == boxed);
  EXPECT_THAT(file("small.svg"), HasSubstr(">" + lacking + "</text>"));
  EXPECT_THAT(file("small.gp"), HasSubstr(lacking));
  const auto n_file = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  EXPECT_EQ(n_file, 4) << "script, data and two pictures";
}

TEST_F(Figures, FewCountsHaveWholeTicks) {
  Series bars = Series::line("heads", {0, 2, 1});
  bars.style = Series::Style::bars;
  Chart chart;
  chart.panels = {{"", {bars}}};
  Figure figure{"counts", "g", "Title", "", "", chart};
  draw(figure);
  EXPECT_THAT(file(figure.name + ".gp"), HasSubstr("set ytics out nomirror scale 0.4 1\n"));
  std::get<Chart>(figure.content).panels[0].series[0].y[1] = 1.5;
  draw(figure);
  EXPECT_THAT(file(figure.name + ".gp"), Not(HasSubstr("set ytics out nomirror scale 0.4 1\n")));
}

TEST_F(Figures, ALongPanelTitleTakesTwoLines) {
  Figure figure = two_by_three();
  auto& panels = std::get<Heatmap>(figure.content).panels;
  panels[0].title = "attractor agreement";
  panels.resize(6, panels[0]);
  draw(figure);
  const std::string svg = file("small.svg");
  EXPECT_THAT(svg, HasSubstr("agreement</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("…")));
}

TEST_F(Figures, TwentyFourLayersAreAllNamedWithoutOverlap) {
  const auto samples = test::figure_samples();
  draw(samples[1]);
  const std::string script = file("heads_24x16.gp"), svg = file("heads_24x16.svg");
  EXPECT_THAT(script, HasSubstr("set ytics out nomirror scale 0.4 1\n"));
  for (int layer = 16; layer < 24; ++layer) {
    EXPECT_EQ(count(svg, "> *" + std::to_string(layer) + "</text>"), 1u) << layer;
  }
  std::smatch margins, size;
  const std::regex place("margins [0-9.]+, [0-9.]+, ([0-9.]+), ([0-9.]+)");
  ASSERT_TRUE(std::regex_search(script, margins, place));
  ASSERT_TRUE(std::regex_search(script, size, std::regex("svg noenhanced size \\d+, (\\d+)")));
  const double row = (std::stod(margins[2]) - std::stod(margins[1])) * std::stod(size[1]) / 24;
  EXPECT_GE(row, 11) << "a row must be as high as its label";
}

TEST_F(Figures, NumbersStandAlongTheOuterAxesOnly) {
  Figure figure = two_by_three();
  auto& map = std::get<Heatmap>(figure.content);
  map.panels.resize(4, map.panels[0]);
  map.row_labels.clear();
  draw(figure);
  // Panels in two rows and two columns; 0 to 2 along x, 0 to 1 along y, 0 and 1 at the colour bar.
  EXPECT_EQ(count(file("small.svg"), "> *2</text>"), 2u);
  EXPECT_EQ(count(file("small.svg"), "> *1</text>"), 2u + 2u + 1u);
}

TEST_F(Figures, AMapTellsWhereItsPanelsLie) {
  Figure figure = two_by_three();
  auto& map = std::get<Heatmap>(figure.content);
  map.panels.resize(2, map.panels[0]);
  const DrawnFigure drawn = draw(figure);
  EXPECT_EQ(drawn.svg, file("small.svg"));
  ASSERT_EQ(drawn.panels.size(), 2u);
  // The highest value is in the last cell of each panel. gnuplot writes places to a tenth of a
  // pixel.
  const std::regex box("rgb\\(253, 231,  37\\)' points = '([0-9.]+),([0-9.]+) ([0-9.]+),");
  for (const Rectangle& panel : drawn.panels) {
    const auto fits = [&](const std::smatch& points) {
      return std::abs(std::stod(points[2]) - panel.bottom()) < 1 &&
             std::abs(std::stod(points[3]) - panel.right()) < 1;
    };
    const std::sregex_iterator boxes(drawn.svg.begin(), drawn.svg.end(), box), end;
    EXPECT_NE(std::find_if(boxes, end, fits), end) << panel.right() << ' ' << panel.bottom();
  }
  EXPECT_NE(drawn.panels[0].bottom(), drawn.panels[1].bottom());
}

TEST(Series, PointsOfLayersLeaveOutMissingValues) {
  const Series points = Series::points("heads", Array({2, 2}, {1, nan, 3, 4}));
  EXPECT_EQ(points.style, Series::Style::points);
  EXPECT_THAT(points.x, testing::ElementsAre(0, 1, 1));
  EXPECT_THAT(points.y, testing::ElementsAre(1, 3, 4));
}

TEST(RowsChart, LeavesOutSeriesWithoutPoints) {
  Series heads = Series::points("heads", 2);
  heads.add(0, 0.5);
  const Chart chart = rows_chart("head", "share", {"L0H0"}, {Series::points("none"), heads});
  EXPECT_TRUE(chart.horizontal);
  ASSERT_EQ(chart.panels.at(0).series.size(), 1u);
  EXPECT_EQ(chart.panels[0].series[0].label, "heads");
  EXPECT_EQ(chart.panels[0].series[0].colour, 2u);
}

TEST(RowsChart, TakesTwoColumnsRatherThanCutLongLabels) {
  const auto script_with = [](const std::string& label) {
    Series heads = Series::points("heads");
    heads.add(0, 0.5);
    Figure figure;
    figure.name = "rows";
    return script_of(figure, rows_chart("head", "share", {label}, {heads}));
  };
  const std::string label = "L10H11  head → advmod  ADV  n 1234";
  const FigureScript wide = script_with(label);
  EXPECT_NEAR(wide.page.width(), two_columns, 1);
  EXPECT_THAT(wide.commands, testing::HasSubstr(label));
  EXPECT_NEAR(script_with("L0H0").page.width(), one_column, 1);
}

TEST(LabelPlacer, KeepsLabelsOffPointsAndOneAnother) {
  LabelPlacer placer({0, 0, 100, 100});
  std::vector<Rectangle> taken;
  for (int i = 0; i < 60; ++i) {
    const double x = 5 + 7.3 * (i % 12), y = 10 + 17.0 * (i / 12);
    placer.add_point(x, y);
    taken.push_back({x - 1, y - 1, 2, 2});
  }
  std::size_t n_placed = 0;
  for (int i = 0; i < 60; ++i) {
    const auto place = placer.place(taken[i].x + 1, taken[i].y + 1, 20, 8);
    if (!place) continue;
    ++n_placed;
    for (const Rectangle& other : taken) {
      EXPECT_FALSE(place->x < other.right() && other.x < place->right() &&
                   place->y < other.bottom() && other.y < place->bottom());
    }
    EXPECT_TRUE(place->x >= 0 && place->y >= 0 && place->right() <= 100 && place->bottom() <= 100);
    taken.push_back(*place);
  }
  EXPECT_GT(n_placed, 5u);
  EXPECT_LT(n_placed, 60u);
}

TEST_F(Figures, ErrorsNameWhatDoesNotFit) {
  Figure figure = two_by_three();
  std::get<Heatmap>(figure.content).row_labels = {"a", "b", "c"};
  EXPECT_EQ(complaint_of(figure), "figure small row labels: expected 2, got 3");
  figure = two_by_three();
  std::get<Heatmap>(figure.content).panels[0].values = Array({6});
  EXPECT_EQ(complaint_of(figure), "figure small: expected rows x columns, got shape [6]");
  figure = two_by_three();
  std::get<Heatmap>(figure.content).panels[0].marked = Array({3, 2});
  EXPECT_EQ(complaint_of(figure), "figure small: expected marks of shape [2, 3], got [3, 2]");
  figure = one_line_chart();
  std::get<Chart>(figure.content).panels[0].series[0].y.pop_back();
  EXPECT_EQ(complaint_of(figure), "figure line series loss y: expected 3, got 2");
  figure.name = "../line";
  EXPECT_EQ(complaint_of(figure),
            "figure: expected a short name of letters, digits, '_', '-' and '.', got \"../line\"");
}

TEST_F(Figures, AMissingGnuplotIsSaidInOneLine) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  const std::string message = complaint_of(two_by_three());
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(message, "gnuplot: expected to run it from PATH, got No such file or directory");
}

TEST_F(Figures, WhatGnuplotSaysIsReported) {
  fs::create_directories(folder_);
  const std::string gnuplot = path_of("gnuplot");
  std::ofstream(gnuplot) << "#!/bin/sh\necho 'plot x'\necho '     ^'\n"
                            "echo '\"small.gp\" line 3: undefined variable: x' >&2\nexit 1\n";
  fs::permissions(gnuplot, fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder_ + ":" + path).c_str(), 1);
  const std::string message = complaint_of(two_by_three());
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(
      message,
      "small.gp: expected gnuplot to draw it, got: \"small.gp\" line 3: undefined variable: x");
  EXPECT_FALSE(fs::exists(path_of("small.svg")));
}

TEST_F(Figures, APictureThatCannotBeWrittenIsNamed) {
  fs::create_directories(path_of("small.svg/full"));
  EXPECT_EQ(complaint_of(two_by_three()),
            path_of("small.svg") + ": cannot be written: it is a folder");
}

}  // namespace
}  // namespace headscope
