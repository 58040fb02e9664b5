#include "base/utf8.hpp"
#include "figures/figure_colours.hpp"
#include "figures/figure_page.hpp"
#include "headscope/version.hpp"
#include "report/report_pages.hpp"
#include "report/script_json.hpp"

namespace headscope {
namespace {

using nlohmann::json;

// Matrices of more cells would make up most of the page if written as numbers.
constexpr std::size_t most_written_cells = 10'000;

json heatmap_json(const Heatmap& map) {
  const json panels = json_list(map.panels, [](const HeatmapPanel& panel) -> json {
    const std::vector<double>& values = panel.values.values;
    return {{"title", one_line(panel.title)},
            {"values",
             values.size() > most_written_cells ? packed_numbers(values) : json_numbers(values)}};
  });
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

json series_json(const Series& series) {
  return {{"label", one_line(series.label)},
          {"style", style_name(series.style)},
          {"shift", series.shift},
          {"x", json_numbers(series.x)},
          {"y", json_numbers(series.y)},
          {"low", json_numbers(series.low)},
          {"high", json_numbers(series.high)},
          {"names", json_texts(series.point_labels)}};
}

json chart_json(const Chart& chart) {
  const auto panel_json = [&](const ChartPanel& panel) -> json {
    return {{"title", one_line(panel.title)},
            {"xLabels", json_texts(panel.x_labels.empty() ? chart.x_labels : panel.x_labels)},
            {"series", json_list(panel.series, series_json)}};
  };
  return {{"xTitle", one_line(chart.x_title)},
          {"yTitle", one_line(chart.y_title)},
          {"horizontal", chart.horizontal},
          {"panels", json_list(chart.panels, panel_json)}};
}

json kind_json(const Graph::Kind& kind) {
  return {{"label", one_line(kind.label)},
          {"colour", series_colour(kind.colour)},
          {"behindSwitch", kind.behind_switch}};
}

json node_json(const Graph::Node& node) {
  return {{"name", one_line(node.name)},
          {"column", node.column},
          {"row", node.row},
          {"kind", node.kind}};
}

json graph_json(const Graph& graph) {
  json edges = json::array();
  const std::vector<double> rises = graph_rises(graph);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Graph::Edge& edge = graph.edges[i];
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"kind", edge.kind},
                     {"rise", rises[i]},
                     {"value", json_number(edge.value, 3)}});
  }
  return {{"nodes", json_list(graph.nodes, node_json)},
          {"edges", edges},
          {"nodeKinds", json_list(graph.node_kinds, kind_json)},
          {"edgeKinds", json_list(graph.edge_kinds, kind_json)},
          {"bands", graph.bands},
          {"switchLabel", one_line(graph.switch_label)},
          {"valueTitle", one_line(graph.value_title)}};
}

json axis_json(const AxisRange& axis) {
  return {{"low", axis.low}, {"high", axis.high}, {"log", axis.log}};
}

json figure_json(const DrawnFigure& drawn) {
  const Figure& figure = drawn.figure;
  const json areas = json_list(drawn.panels, [](const Rectangle& area) {
    return json_numbers({area.x, area.y, area.width, area.height});
  });
  json data = {{"title", one_line(figure.title)},
               {"source", one_line(figure.source)},
               {"areas", areas},
               {"x", json_list(drawn.x, axis_json)},
               {"y", json_list(drawn.y, axis_json)}};
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
