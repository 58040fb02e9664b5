#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "figures/figure_colours.hpp"
#include "figures/figure_page.hpp"
#include "headscope/figure.hpp"
#include "support/figure_samples.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

struct Point {
  double x = 0, y = 0;
};

double distance(const Point& a, const Point& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

struct DrawnNode {
  Point centre;
  double radius = 0;
  std::string colour;
};

struct DrawnEdge {
  Point from, to;
  double width = 0;
  std::string colour;
  bool dashed = false;
};

/// The text between two others, from `at` on, which moves behind it; empty at the end.
std::string between(const std::string& text, const std::string& before, const std::string& after,
                    std::size_t& at) {
  const std::size_t found = text.find(before, at);
  if (found == std::string::npos) {
    at = found;
    return "";
  }
  const std::size_t begin = found + before.size(), end = text.find(after, begin);
  at = end;
  return text.substr(begin, end - begin);
}

/// `#d55e00` of `rgb(213,  94,   0)`.
std::string hexadecimal(const std::string& rgb) {
  int red = 0, green = 0, blue = 0;
  EXPECT_EQ(std::sscanf(rgb.c_str(), "rgb(%d,%d,%d", &red, &green, &blue), 3) << rgb;
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", red, green, blue);
  return text;
}

Point point(const std::string& text) {
  Point place;
  EXPECT_EQ(std::sscanf(text.c_str(), "%lf,%lf", &place.x, &place.y), 2) << text;
  return place;
}

/// Points of which gnuplot draws a curve.
constexpr std::size_t n_curve_point = 13;

/// What gnuplot drew, from its SVG.
class GraphPicture {
 public:
  explicit GraphPicture(const std::string& svg) {
    std::size_t at = 0;
    EXPECT_EQ(std::sscanf(between(svg, "viewBox=\"", "\"", at).c_str(), "0 0 %lf %lf", &page.width,
                          &page.height),
              2);
    read_nodes(svg);
    read_edges(svg);
    read_labels(svg);
  }

  Rectangle page;
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  std::vector<Rectangle> labels;
  std::vector<std::pair<std::string, Point>> texts;

 private:
  /// Circles are polygons of many corners.
  void read_nodes(const std::string& svg) {
    for (std::size_t at = 0;;) {
      const std::string colour = between(svg, "<polygon fill = '", "'", at);
      if (at == std::string::npos) return;
      std::istringstream corners(between(svg, "points = '", "'", at));
      Point low{1e9, 1e9}, high;
      for (std::string corner; corners >> corner;) {
        const Point place = point(corner);
        low = {std::min(low.x, place.x), std::min(low.y, place.y)};
        high = {std::max(high.x, place.x), std::max(high.y, place.y)};
      }
      nodes.push_back({{(low.x + high.x) / 2, (low.y + high.y) / 2},
                       (high.x - low.x) / 2,
                       hexadecimal(colour)});
    }
  }

  /// Edges of one width and colour are one path, whose curves begin with an M each. Edges alone
  /// have an opacity; their samples in the key are straight.
  void read_edges(const std::string& svg) {
    for (std::size_t at = 0;;) {
      const std::string attributes = between(svg, "<path stroke='", " d='", at);
      if (at == std::string::npos) return;
      const std::string curves = between(svg, "d='", "'", at);
      if (attributes.find("opacity") == std::string::npos) continue;
      const std::size_t group = svg.rfind("stroke-width=\"", at);
      for (std::size_t begin = 0; (begin = curves.find('M', begin)) != std::string::npos;) {
        const std::size_t end = std::min(curves.find('M', ++begin), curves.size());
        std::istringstream line(curves.substr(begin, end - begin));
        std::vector<Point> points;
        for (std::string word; line >> word;) points.push_back(point(word.substr(word[0] == 'L')));
        // A curve that begins where the one before ended continues its line.
        for (std::size_t first = 0; first + n_curve_point <= points.size();
             first += n_curve_point - 1) {
          edges.push_back({points[first], points[first + n_curve_point - 1],
                           std::stod(svg.substr(group + 14)), hexadecimal(attributes),
                           attributes.find("dasharray") != std::string::npos});
        }
      }
    }
  }

  void read_labels(const std::string& svg) {
    for (std::size_t at = 0;;) {
      const std::string place = between(svg, "<g transform=\"translate(", "text-anchor", at);
      if (at == std::string::npos) return;
      const std::string anchor = between(svg, "=\"", "\"", at);
      std::string text = between(svg, "<text>", "</text>", at);
      const Point base = point(place);
      std::size_t from = 0;
      const double size = std::stod(between(place, "font-size=\"", "\"", from)),
                   width = text_width(text),
                   left = anchor == "start" ? 0
                          : anchor == "end" ? width
                                            : width / 2;
      // From the baseline, digits and capitals are about 0.75 as high as the font.
      labels.push_back(
          place.find("rotate(") == std::string::npos
              ? Rectangle{base.x - left, base.y - 0.75 * size, width, 0.75 * size}
              : Rectangle{base.x - 0.75 * size, base.y + left - width, 0.75 * size, width});
      texts.emplace_back(std::move(text), base);
    }
  }
};

bool within(const Rectangle& inner, const Rectangle& outer) {
  return inner.x >= outer.x && inner.y >= outer.y && inner.right() <= outer.right() &&
         inner.bottom() <= outer.bottom();
}

class DrawnGraph : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::vector<Figure> samples = test::figure_samples();
    const auto sample = std::ranges::find(samples, GetParam(), &Figure::name);
    ASSERT_NE(sample, samples.end());
    const test::TemporaryDirectory folder;
    drawn_ = write_figure(*sample, folder.path(), {"svg"});
  }

  const Graph& graph() const { return std::get<Graph>(drawn_.figure.content); }
  Point place(std::size_t node) const {
    const auto share = [](const AxisRange& axis, double value) {
      return (value - axis.low) / (axis.high - axis.low);
    };
    const Rectangle& panel = drawn_.panels[0];
    return {panel.x + panel.width * share(drawn_.x[0], graph().nodes[node].column),
            panel.bottom() - panel.height * share(drawn_.y[0], graph().nodes[node].row)};
  }

  DrawnFigure drawn_;
  // The script gives places in hundredths of a pixel, and shares of the page in four digits.
  static constexpr double rounding = 0.2;
};

TEST_P(DrawnGraph, HasEveryNodeAtItsPlaceInTheColourOfItsKindApartFromTheOthers) {
  const GraphPicture picture(drawn_.svg);
  ASSERT_EQ(picture.nodes.size(), graph().nodes.size());
  for (std::size_t node = 0; node < graph().nodes.size(); ++node) {
    const auto found = std::ranges::find_if(picture.nodes, [&](const DrawnNode& each) {
      return distance(each.centre, place(node)) < rounding;
    });
    ASSERT_NE(found, picture.nodes.end()) << graph().nodes[node].name;
    EXPECT_EQ(found->colour, series_colour(graph().node_kinds[graph().nodes[node].kind].colour));
    EXPECT_GE(found->radius, 4) << "too small to point at";
    EXPECT_TRUE(within({found->centre.x - found->radius, found->centre.y - found->radius,
                        2 * found->radius, 2 * found->radius},
                       drawn_.panels[0]));
    for (const DrawnNode& other : picture.nodes) {
      if (&other == &*found) continue;
      EXPECT_GT(distance(other.centre, found->centre), other.radius + found->radius);
    }
  }
  EXPECT_TRUE(within(drawn_.panels[0], picture.page));
}

TEST_P(DrawnGraph, HasEveryEdgeFromWriterToReaderInItsColourAsWideAsItsEffect) {
  const GraphPicture picture(drawn_.svg);
  ASSERT_EQ(picture.edges.size(), graph().edges.size());
  double largest = 0, widest = 0;
  for (const Graph::Edge& edge : graph().edges) {
    largest = std::max(largest, std::abs(edge.value));
  }
  for (const DrawnEdge& edge : picture.edges) widest = std::max(widest, edge.width);
  EXPECT_GT(widest, 5);
  for (const Graph::Edge& edge : graph().edges) {
    const Graph::Kind& kind = graph().edge_kinds[edge.kind];
    const auto is_drawn = std::ranges::any_of(picture.edges, [&](const DrawnEdge& each) {
      // In six steps, rounded up, and written in two digits.
      const double width = widest * std::abs(edge.value) / largest;
      return distance(each.from, place(edge.from)) < rounding &&
             distance(each.to, place(edge.to)) < rounding &&
             each.colour == series_colour(kind.colour) && each.dashed == kind.dashed &&
             each.width > width - 0.05 && each.width < width + widest / 6 + 0.05;
    });
    EXPECT_TRUE(is_drawn) << graph().nodes[edge.from].name << " " << graph().nodes[edge.to].name;
  }
}

TEST_P(DrawnGraph, HasLabelsWithinThePageOffOneAnother) {
  const GraphPicture picture(drawn_.svg);
  // Of columns, rows, axes and the key; and every node's mark.
  EXPECT_GE(picture.labels.size(), graph().column_labels.size() + graph().row_labels.size() + 2 +
                                       graph().edge_kinds.size() + graph().node_kinds.size() + 1);
  for (std::size_t i = 0; i < picture.labels.size(); ++i) {
    EXPECT_TRUE(within(picture.labels[i], picture.page)) << picture.texts[i].first;
    for (std::size_t j = 0; j < i; ++j) {
      const Rectangle &a = picture.labels[i], &b = picture.labels[j];
      EXPECT_FALSE(a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom())
          << picture.texts[i].first << " on " << picture.texts[j].first;
    }
  }
  for (std::size_t node = 0; node < graph().nodes.size(); ++node) {
    EXPECT_TRUE(std::ranges::any_of(picture.texts, [&](const auto& text) {
      return text.first == graph().nodes[node].mark &&
             distance(text.second, place(node)) < picture.nodes.front().radius;
    })) << graph().nodes[node].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, DrawnGraph,
                         testing::Values("graph_4x8", "graph_12x12", "graph_24x16"),
                         [](const auto& size) { return std::string(size.param); });

/// The sample with layers as bands, and what was drawn of it.
struct BandedGraph {
  BandedGraph() {
    const std::vector<Figure> samples = test::figure_samples();
    graph = std::get<Graph>(std::ranges::find(samples, "graph_bands", &Figure::name)->content);
  }
  Graph graph;
};

TEST(GraphFigure, EdgesOnTheSwitchHaveAnEndOrAKindOnIt) {
  const Graph graph = BandedGraph().graph;
  std::vector<bool> behind_switch;
  for (const Graph::Edge& edge : graph.edges) behind_switch.push_back(graph.is_behind_switch(edge));
  EXPECT_THAT(behind_switch, testing::ElementsAre(false, false, true, true));
}

/// Three heads of successive layers, and an edge from the first to the last.
Graph graph_past_a_head() {
  Graph graph;
  graph.column_title = "layer";
  graph.row_title = "head";
  graph.value_title = "nats";
  graph.column_labels = graph.row_labels = {"0", "1", "2"};
  graph.node_kinds = {{"head", 1}};
  graph.edge_kinds = {{"read by keys", 0}};
  graph.nodes = {{"L0H2", "2", 0, 2}, {"L1H2", "2", 1, 2}, {"L2H1", "1", 2, 1}};
  graph.edges = {{0, 2, 0, -1.0}};
  return graph;
}

TEST(GraphFigure, EdgesPassHeadsBetweenTheirEnds) {
  Graph graph = graph_past_a_head();
  const auto row_in_the_middle = [&] { return 1.5 + graph_rises(graph).front() / 2; };
  EXPECT_GT(std::abs(row_in_the_middle() - 2), 0.5);
  graph.nodes[1].row = 1;
  EXPECT_GT(std::abs(row_in_the_middle() - 1), 0.5);
}

TEST(GraphFigure, EdgesOfPositiveValueHaveAPlusSignIfTheKeyExplainsIt) {
  Graph graph = graph_past_a_head();
  graph.edges = {{0, 2, 0, -1.0}, {0, 1, 0, 0.5}, {1, 2, 0, 0.25}};
  const auto n_plus = [&] {
    const test::TemporaryDirectory folder;
    const std::string svg =
        write_figure({"signs", "g", "", "", "", graph}, folder.path(), {"svg"}).svg;
    std::size_t n = 0;
    for (std::size_t at = 0; (at = svg.find("href='#gpPt0'", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(n_plus(), 0U);
  graph.plus_label = "grows without it";
  EXPECT_EQ(n_plus(), 3U) << "two edges and the key";
  for (Graph::Edge& edge : graph.edges) edge.value = -1;
  EXPECT_EQ(n_plus(), 0U);
}

}  // namespace
}  // namespace headscope
