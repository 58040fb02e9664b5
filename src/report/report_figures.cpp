#include "report/report_figures.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "figures/figure_colours.hpp"
#include "figures/figure_page.hpp"
#include "headscope/version.hpp"
#include "report/script_json.hpp"

namespace headscope {
namespace {

using nlohmann::json;

// Matrices of more cells would make up most of the page if written as numbers.
constexpr std::size_t most_written_cells = 10'000;

json heatmap_json(const Heatmap& map) {
  json panels = json::array();
  for (const HeatmapPanel& panel : map.panels) {
    const std::vector<double>& values = panel.values.values;
    panels.push_back({{"title", one_line(panel.title)},
                      {"values", values.size() > most_written_cells ? packed_numbers(values)
                                                                    : json_numbers(values)}});
  }
  const Shape& shape = map.panels.front().values.shape;
  return {{"rows", shape[0]},
          {"columns", shape[1]},
          {"rowTitle", one_line(map.row_title)},
          {"columnTitle", one_line(map.column_title)},
          {"valueTitle", one_line(map.value_title)},
          {"rowLabels", json_texts(map.row_labels)},
          {"columnLabels", json_texts(map.column_labels)},
          {"categories", json_texts(map.categories)},
          {"heads", map.heads},
          {"panels", panels}};
}

std::string_view style_name(Series::Style style) {
  switch (style) {
    case Series::Style::points:
      return "points";
    case Series::Style::bars:
      return "bars";
    case Series::Style::spans:
      return "spans";
    case Series::Style::line:
      break;
  }
  return "line";
}

json chart_json(const Chart& chart) {
  json panels = json::array();
  for (const ChartPanel& panel : chart.panels) {
    json series = json::array();
    for (const Series& line : panel.series) {
      series.push_back({{"label", one_line(line.label)},
                        {"style", style_name(line.style)},
                        {"shift", line.shift},
                        {"x", json_numbers(line.x)},
                        {"y", json_numbers(line.y)},
                        {"low", json_numbers(line.low)},
                        {"high", json_numbers(line.high)},
                        {"names", json_texts(line.point_labels)}});
    }
    panels.push_back({{"title", one_line(panel.title)}, {"series", series}});
  }
  return {{"xTitle", one_line(chart.x_title)},
          {"yTitle", one_line(chart.y_title)},
          {"xLabels", json_texts(chart.x_labels)},
          {"horizontal", chart.horizontal},
          {"panels", panels}};
}

json kinds_json(const std::vector<Graph::Kind>& kinds) {
  json list = json::array();
  for (const Graph::Kind& kind : kinds) {
    list.push_back({{"label", one_line(kind.label)},
                    {"colour", series_colour(kind.colour)},
                    {"behindSwitch", kind.behind_switch}});
  }
  return list;
}

json graph_json(const Graph& graph) {
  json nodes = json::array(), edges = json::array();
  for (const Graph::Node& node : graph.nodes) {
    nodes.push_back({{"name", one_line(node.name)},
                     {"column", node.column},
                     {"row", node.row},
                     {"kind", node.kind}});
  }
  const std::vector<double> rises = graph_rises(graph);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Graph::Edge& edge = graph.edges[i];
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"kind", edge.kind},
                     {"rise", rises[i]},
                     {"value", json_number(edge.value, 3)}});
  }
  return {{"nodes", nodes},
          {"edges", edges},
          {"nodeKinds", kinds_json(graph.node_kinds)},
          {"edgeKinds", kinds_json(graph.edge_kinds)},
          {"bands", graph.bands},
          {"switchLabel", one_line(graph.switch_label)},
          {"valueTitle", one_line(graph.value_title)}};
}

json axes_json(const std::vector<AxisRange>& axes) {
  json list = json::array();
  for (const AxisRange& axis : axes) {
    list.push_back({{"low", axis.low}, {"high", axis.high}, {"log", axis.log}});
  }
  return list;
}

json figure_json(const DrawnFigure& drawn) {
  const Figure& figure = drawn.figure;
  json areas = json::array();
  for (const Rectangle& area : drawn.panels) {
    areas.push_back(json_numbers({area.x, area.y, area.width, area.height}));
  }
  json data = {{"title", one_line(figure.title)},
               {"source", one_line(figure.source)},
               {"areas", areas},
               {"x", axes_json(drawn.x)},
               {"y", axes_json(drawn.y)}};
  if (const auto* const map = std::get_if<Heatmap>(&figure.content)) {
    data["heatmap"] = heatmap_json(*map);
  } else if (const auto* const graph = std::get_if<Graph>(&figure.content)) {
    data["graph"] = graph_json(*graph);
  } else {
    data["chart"] = chart_json(std::get<Chart>(figure.content));
  }
  return data;
}

}  // namespace

std::string figure_data_json(const ReportContent& content) {
  if (content.figures.empty()) return "";
  json figures = json::object();
  for (const DrawnFigure& drawn : content.figures) figures[drawn.figure.name] = figure_json(drawn);
  std::string made = "Headscope " + std::string(version()) + ", " + model_name(content.results);
  const std::string date = content.results.text("date");
  if (!date.empty()) made += ", " + date.substr(0, 10);
  return script_json({{"made", one_line(made)}, {"figures", figures}});
}

}  // namespace headscope
