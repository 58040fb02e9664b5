#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/number_text.hpp"
#include "base/utf8.hpp"
#include "figures/figure_colours.hpp"
#include "figures/figure_page.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

constexpr double largest_radius = 8, least_row_step = 20, widest_line = 5.5;
// Bands are higher, so that edges between neighbouring ones can be told apart.
constexpr double largest_row_step = 36, height_of_bands = 400;
// Smaller nodes have no room for a mark.
constexpr double least_marked_radius = 6.5;
constexpr std::size_t n_width = 6, n_curve_point = 13;
// Rows below the first and above the last, where curves rise.
constexpr double room_below = 0.6, room_above = 1.6;

/// A place on the quadratic curve of an edge, `share` of the way from its first node.
struct CurvePoint {
  double column = 0, row = 0;
};

CurvePoint on_curve(const Graph& graph, const Graph::Edge& edge, double rise, double share) {
  const Graph::Node &from = graph.nodes[edge.from], &to = graph.nodes[edge.to];
  const double away = 2 * rise * share * (1 - share);
  return {std::lerp(from.column, to.column, share) + (graph.bands ? away : 0),
          std::lerp(from.row, to.row, share) + (graph.bands ? 0 : away)};
}

/// Whether the edge's curve stays within the picture and away from nodes that are not its ends.
bool is_clear(const Graph& graph, const Graph::Edge& edge, double rise) {
  const auto n_place =
      static_cast<double>(graph.bands ? graph.column_labels.size() : graph.row_labels.size());
  const double clearance = graph.bands ? 0.3 : 0.6;
  const auto along = [&](const auto& place) { return graph.bands ? place.row : place.column; };
  const auto across = [&](const auto& place) { return graph.bands ? place.column : place.row; };
  const double start = along(graph.nodes[edge.from]), end = along(graph.nodes[edge.to]);
  if (start == end) return true;
  const double middle = across(on_curve(graph, edge, rise, 0.5));
  if (middle < -0.5 || middle > n_place + (graph.bands ? -0.5 : 0.5)) return false;
  return std::ranges::none_of(graph.nodes, [&](const Graph::Node& node) {
    const double share = (along(node) - start) / (end - start);
    if (share <= 0 || share >= 1) return false;
    if (graph.node_kinds[node.kind].behind_switch && !graph.is_behind_switch(edge)) return false;
    return std::abs(across(on_curve(graph, edge, rise, share)) - across(node)) < clearance;
  });
}

void check(const std::string& figure, const Graph& graph) {
  for (const Graph::Node& node : graph.nodes) {
    check_below(figure + " kind of node", graph.node_kinds.size(), node.kind);
  }
  for (const Graph::Edge& edge : graph.edges) {
    check_below(figure + " kind of edge", graph.edge_kinds.size(), edge.kind);
    check_below(figure + " node of edge", graph.nodes.size(), std::max(edge.from, edge.to));
  }
  if (graph.column_labels.empty() || graph.row_labels.empty()) {
    throw ShapeError(figure + ": expected labels of columns and rows, got none");
  }
}

// Dark text on light colours, and the other way round. A dark page inverts greys: text on a grey is
// a grey, on any other colour almost black or white.
std::string text_colour(const std::string& colour) {
  const auto channel = [&](std::size_t at) { return std::stoi(colour.substr(at, 2), nullptr, 16); };
  const int red = channel(1), green = channel(3), blue = channel(5);
  const bool is_grey = red == green && green == blue;
  const bool is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 150;
  if (is_grey) return is_light ? "#000000" : "#ffffff";
  return is_light ? "#000001" : "#fffffe";
}

class GraphWriter {
 public:
  explicit GraphWriter(const Graph& graph) : graph_(graph), key_(key_names(), 0) {
    if (graph.bands) {
      row_step_ = std::clamp(height_of_bands / n_row(), least_row_step, largest_row_step);
    }
    for (const Graph::Edge& edge : graph.edges) {
      if (!graph.is_behind_switch(edge)) largest_ = std::max(largest_, std::abs(edge.value));
    }
    for (const Graph::Node& node : graph.nodes) {
      first_column_ = std::min(first_column_, node.column);
      last_column_ = std::max(last_column_, node.column);
      first_row_ = std::min(first_row_, node.row);
      last_row_ = std::max(last_row_, node.row);
    }
  }

  FigureScript write() {
    key_ = KeyAbove(key_names(), two_columns);
    page_ = fitted(two_columns, [this](double room) {
      lay_out(room);
      return page_;
    });
    const double column_step = page_.panel_width / (columns().high - columns().low);
    radius_ = std::min({largest_radius, 0.4 * column_step, 0.4 * row_step_});
    script_.add(page_.multiplot());
    script_.set("key", key_.place(page_));
    script_.axes(page_, 0, "");
    script_.set("xrange", gnuplot_range(columns().low, columns().high));
    script_.set("yrange", gnuplot_range(rows().low, rows().high));
    add_bands();
    add_edges();
    add_nodes(column_step);
    add_key();
    script_.end_plot();
    script_.add("unset multiplot");
    return {script_.text(), script_.data(), page_, {columns()}, {rows()}};
  }

 private:
  double n_column() const { return static_cast<double>(graph_.column_labels.size()); }
  double n_row() const { return static_cast<double>(graph_.row_labels.size()); }
  // Room for nodes that the page alone shows, too.
  AxisRange columns() const {
    return {std::min(-0.5, first_column_ - 0.5), std::max(n_column(), last_column_ + 1) - 0.5};
  }
  AxisRange rows() const {
    const double above = graph_.bands ? room_below : room_above;
    return {std::min(0.0, first_row_) - room_below,
            std::max(n_row() - 1 + above, last_row_ + room_below)};
  }

  std::string width_name() const {
    return "widest: " + number_text(largest_, 2) + " " + graph_.value_title;
  }

  bool has_signs() const {
    return std::ranges::any_of(graph_.edges, [&](const auto& edge) { return has_sign(edge); });
  }

  std::vector<std::string> key_names() const {
    std::vector<std::string> names;
    for (const auto* kinds : {&graph_.edge_kinds, &graph_.node_kinds}) {
      for (const Graph::Kind& kind : *kinds) {
        if (!kind.behind_switch) names.push_back(kind.label);
      }
    }
    names.push_back(width_name());
    if (has_signs()) names.push_back(graph_.plus_label);
    return names;
  }

  void lay_out(double room) {
    page_ = {};
    page_.panel_width = room;
    page_.panel_height = row_step_ * (rows().high - rows().low);
    page_.x = labelled_x_axis(graph_.column_title, graph_.column_labels,
                              graph_.column_labels.size(), room / (columns().high - columns().low));
    // Places in a band have no numbers.
    if (graph_.bands) page_.x.ticks = "scale 0 ('' 0)";
    page_.y =
        labelled_y_axis(graph_.row_title, graph_.row_labels, graph_.row_labels.size(), row_step_);
    page_.key_above = key_.height();
  }

  void add(const std::string& element, const std::string& name = "") {
    script_.add_to_plot(
        element + (name.empty() ? " notitle" : " title " + gnuplot_string(KeyAbove::shown(name))));
  }

  std::string line(const Graph::Kind& kind, double width) const {
    // gnuplot's dashes are as long as the line is wide.
    const std::string dash =
        " dashtype (" + number_text(20 / width, 3) + ", " + number_text(12 / width, 3) + ")";
    return "with lines linewidth " + number_text(width, 2) + (kind.dashed ? dash : "") +
           " linecolor rgb '#30" + series_colour(kind.colour).substr(1) + "'";
  }

  void add_bands() {
    if (!graph_.bands) return;
    for (std::size_t row = 0; row < graph_.row_labels.size(); row += 2) {
      const auto middle = static_cast<double>(row);
      script_.set("object " + std::to_string(row + 1),
                  "rectangle from " + gnuplot_number(columns().low) + ", " +
                      gnuplot_number(middle - 0.5) + " to " + gnuplot_number(columns().high) +
                      ", " + gnuplot_number(middle + 0.5) +
                      " behind fillstyle solid noborder fillcolor rgb '#f0f0f0'");
    }
  }

  // Curves that rise between columns, so that an edge does not run through the nodes between.
  void add_edges() {
    std::map<std::pair<std::size_t, std::size_t>, std::string> blocks;  // by width and kind
    const std::vector<double> rises = graph_rises(graph_);
    for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
      const Graph::Edge& edge = graph_.edges[e];
      if (graph_.is_behind_switch(edge)) continue;
      const auto width = static_cast<std::size_t>(
          std::ceil(n_width * std::abs(edge.value) / std::max(largest_, 1e-300)));
      std::string& block = blocks[{std::max<std::size_t>(1, width), edge.kind}];
      if (block.empty()) block = "# " + one_line(graph_.edge_kinds[edge.kind].label) + "\n";
      for (std::size_t i = 0; i < n_curve_point; ++i) {
        const CurvePoint point =
            on_curve(graph_, edge, rises[e], static_cast<double>(i) / (n_curve_point - 1));
        block += gnuplot_number(point.column) + ' ' + gnuplot_number(point.row) + '\n';
      }
      block += '\n';
    }
    for (const auto& [place, block] : blocks) {
      const double width = widest_line * static_cast<double>(place.first) / n_width;
      add(script_.add_block(block) + "1:2 " + line(graph_.edge_kinds[place.second], width));
    }
    add_signs(rises);
  }

  bool has_sign(const Graph::Edge& edge) const {
    return !graph_.plus_label.empty() && edge.value > 0 && !graph_.is_behind_switch(edge);
  }

  /// Plus signs on edges of positive value, two thirds along, where fewer edges cross.
  void add_signs(const std::vector<double>& rises) {
    std::string block;
    for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
      if (!has_sign(graph_.edges[e])) continue;
      const CurvePoint place = on_curve(graph_, graph_.edges[e], rises[e], 0.66);
      block += gnuplot_number(place.column) + ' ' + gnuplot_number(place.row) + '\n';
    }
    if (block.empty()) return;
    const std::string data = script_.add_block("# positive\n" + block) + "1:2 ";
    add(data + "with points pointtype 7 pointsize 1.6 linecolor rgb 'white'");
    add(data + plus_points());
  }

  static std::string plus_points() {
    return "with points pointtype 1 pointsize 1 linewidth 2 linecolor rgb 'black'";
  }

  void add_nodes(double column_step) {
    std::map<std::string, std::string> marks;  // by colour
    for (std::size_t kind = 0; kind < graph_.node_kinds.size(); ++kind) {
      if (graph_.node_kinds[kind].behind_switch) continue;
      const std::string colour = series_colour(graph_.node_kinds[kind].colour);
      std::string block;
      for (const Graph::Node& node : graph_.nodes) {
        if (node.kind != kind) continue;
        const std::string place = gnuplot_number(node.column) + ' ' + gnuplot_number(node.row);
        block += place + '\n';
        std::string mark = one_line(node.mark);
        std::ranges::replace(mark, '"', '\'');
        marks[text_colour(colour)] += place + " \"" + mark + "\"\n";
      }
      if (block.empty()) continue;
      const std::string radius = gnuplot_number(radius_ / column_step);
      add(script_.add_block("# " + one_line(graph_.node_kinds[kind].label) + "\n" + block) +
          "1:2:(" + radius +
          ") with circles fillstyle solid border linecolor rgb 'white' fillcolor rgb '" + colour +
          "'");
    }
    if (radius_ < least_marked_radius) return;
    for (const auto& [colour, lines] : marks) {
      add(script_.add_block("# marks\n" + lines) + "1:2:3 with labels center textcolor rgb '" +
          colour + "'");
    }
  }

  void add_key() {
    for (const Graph::Kind& kind : graph_.edge_kinds) {
      if (!kind.behind_switch) add("keyentry " + line(kind, 2), kind.label);
    }
    for (const Graph::Kind& kind : graph_.node_kinds) {
      if (kind.behind_switch) continue;
      add("keyentry with points pointtype 7 pointsize 1 linecolor rgb '" +
              series_colour(kind.colour) + "'",
          kind.label);
    }
    add("keyentry with lines linewidth " + number_text(widest_line, 2) + " linecolor rgb '" +
            std::string(grey) + "'",
        width_name());
    if (has_signs()) add("keyentry " + plus_points(), graph_.plus_label);
  }

  const Graph& graph_;
  KeyAbove key_;
  double largest_ = 0, radius_ = largest_radius, row_step_ = least_row_step;
  double first_column_ = 0, last_column_ = 0, first_row_ = 0, last_row_ = 0;  // of nodes
  Page page_;
  PanelScript script_;
};

}  // namespace

std::vector<double> graph_rises(const Graph& graph) {
  const double step = graph.bands ? 0.15 : 0.6;
  constexpr int most_steps = 6;
  std::map<std::pair<std::size_t, std::size_t>, std::set<double>> used;  // by ends
  std::vector<double> rises;
  for (const Graph::Edge& edge : graph.edges) {
    const Graph::Node &from = graph.nodes[edge.from], &to = graph.nodes[edge.to];
    const double usual = graph.bands ? std::min(0.6, 0.1 + 0.05 * (to.row - from.row))
                                     : std::min(3.0, 0.5 + 0.25 * (to.column - from.column));
    std::set<double>& of_ends = used[{edge.from, edge.to}];
    // Of those that no edge with the same ends has, the nearest to the usual one that is clear.
    std::optional<double> first, clear;
    for (int i = 0; i <= 2 * most_steps && !clear; ++i) {
      const double rise = usual + step * (i % 2 == 1 ? -(i + 1) / 2 : i / 2);
      if (of_ends.contains(rise)) continue;
      if (!first) first = rise;
      if (is_clear(graph, edge, rise)) clear = rise;
    }
    rises.push_back(clear.value_or(first.value_or(usual)));
    of_ends.insert(rises.back());
  }
  return rises;
}

FigureScript script_of(const Figure& figure, const Graph& graph) {
  check("figure " + figure.name, graph);
  return GraphWriter(graph).write();
}

}  // namespace headscope
