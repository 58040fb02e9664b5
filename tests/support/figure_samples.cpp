#include "support/figure_samples.hpp"

#include <cmath>

#include "headscope/random.hpp"

namespace headscope::test {
namespace {

Array random_array(std::size_t rows, std::size_t columns, std::uint64_t stream) {
  Array values({rows, columns});
  const CounterRandom random(1, stream);
  for (std::size_t i = 0; i < values.size(); ++i) values.values[i] = random.uniform(i);
  return values;
}

std::vector<std::string> head_labels(std::size_t n_layer, std::size_t n_head) {
  std::vector<std::string> labels;
  for (std::size_t head_index = 0; head_index < n_layer * n_head; ++head_index) {
    labels.push_back(std::to_string(head_index / n_head) + "·" +
                     std::to_string(head_index % n_head));
  }
  return labels;
}

Figure heads(const std::string& name, std::size_t n_layer, std::size_t n_head) {
  Heatmap map;
  map.panels = {{"", random_array(n_layer, n_head, 1)}};
  map.row_title = "Layer";
  map.column_title = "Head";
  map.value_title = "Mean attention on position 0 (probability)";
  return {name, "g", "Attention to the first token", "Caption.", "Clark et al. 2019", map};
}

Figure matrices(const std::string& name, std::size_t n_panel, std::size_t n_head) {
  Heatmap map;
  for (std::size_t layer = 0; layer < n_panel; ++layer) {
    Array values = random_array(n_head, n_head, layer);
    for (std::size_t i = 0; i < n_head; ++i) {
      for (std::size_t j = 0; j < n_head; ++j) {
        values(i, j) = i == j ? 1 : 0.8 * values(std::min(i, j), std::max(i, j)) - 0.4;
      }
    }
    map.panels.push_back({"Layer " + std::to_string(layer), values});
  }
  map.row_title = map.column_title = "Head";
  map.value_title = "Cosine";
  map.scale = ColourScale::diverging;
  return {name, "g", "Cosine between the outputs of two heads, in the residual stream",
          "",   "",  map};
}

Figure across_layers() {
  Heatmap map;
  Array values({144, 144}, NAN);
  for (std::size_t from = 0; from < 144; ++from) {
    for (std::size_t to = 12 * (from / 12 + 1); to < 144; ++to) {
      values(from, to) = CounterRandom(2, from).uniform(to);
    }
  }
  map.panels = {{"", values}};
  map.row_labels = map.column_labels = head_labels(12, 12);
  map.row_title = "From head (layer·head)";
  map.column_title = "To head (layer·head)";
  map.value_title = "Composition";
  return {"units_144x144", "g", "How much each head reads from each earlier head", "", "", map};
}

Figure types_12x12() {
  Heatmap map;
  Array values({12, 12});
  for (std::size_t i = 0; i < values.size(); ++i) {
    values.values[i] = static_cast<double>(CounterRandom(5).below(11, i));
  }
  values(3, 4) = NAN;
  map.panels = {{"", values}};
  map.row_title = "Layer";
  map.column_title = "Head";
  map.value_title = "Type";
  map.scale = ColourScale::categorical;
  map.categories = {"none",        "positional",     "delimiter", "syntactic",
                    "coreference", "semantic",       "duplicate", "induction",
                    "rare",        "sink (resting)", "long-range"};
  return {"types_12x12", "g", "What each head is mostly for", "", "Voita et al. 2019", map};
}

Figure gaps_and_long_labels() {
  Heatmap map;
  Array values = random_array(5, 9, 6);
  values(1, 2) = values(4, 8) = NAN;
  map.panels = {{"", values}};
  map.row_labels = {"nominal subject (dependent to head)", "object", "adjectival modifier",
                    "determiner", "a relation whose name goes on and on and on and on"};
  map.column_labels = {"dependent to head", "head to dependent", "previous",  "next",
                       "first token",       "last token",        "same word", "earlier mention",
                       "nothing at all"};
  map.value_title = "Accuracy";
  return {"long_labels",
          "g",
          "A title long enough that it cannot stand on one line of a picture as narrow as this "
          "one and so must be broken into several",
          "",
          "",
          map};
}

Figure one_row() {
  Heatmap map;
  map.panels = {{"", random_array(1, 12, 7)}};
  map.row_labels = {"all heads"};
  map.column_title = "Layer";
  map.value_title = "Rank";
  return {"one_row", "g", "Components for 90 % of the energy", "", "Cordonnier et al. 2020", map};
}

Figure nothing_measured() {
  Heatmap map;
  map.panels = {{"All missing", Array({4, 4}, NAN)}, {"One value", Array({4, 4}, 0.25)}};
  return {"all_nan", "g", "Nothing measured", "", "", map};
}

Figure bars() {
  Chart chart;
  ChartPanel panel;
  const std::vector<std::string> relations{
      "acl",   "advcl", "advmod", "amod",  "appos",  "aux",       "case",  "cc",
      "ccomp", "conj",  "cop",    "csubj", "det",    "discourse", "fixed", "flat",
      "iobj",  "mark",  "nmod",   "nsubj", "nummod", "obj",       "obl",   "parataxis"};
  chart.x_labels = relations;
  for (const char* direction : {"dependent to head", "head to dependent"}) {
    Series series;
    series.label = direction;
    series.style = Series::Style::bars;
    const CounterRandom random(8, panel.series.size());
    for (std::size_t i = 0; i < relations.size(); ++i) {
      const double y = 0.1 + 0.8 * random.uniform(i);
      series.x.push_back(static_cast<double>(i));
      series.y.push_back(y);
      series.low.push_back(y - 0.05);
      series.high.push_back(y + 0.07);
    }
    panel.series.push_back(series);
  }
  panel.reference_lines = {{"best fixed offset", 0.35}};
  chart.panels = {panel};
  chart.x_title = "Universal Dependencies relation";
  chart.y_title = "Accuracy of the best head (share)";
  return {"bars", "g", "Syntactic relations tracked by single heads", "", "Clark et al. 2019",
          chart};
}

ChartPanel curves(std::size_t stream, std::size_t n_series) {
  ChartPanel panel;
  panel.title = "Layer " + std::to_string(stream);
  const char* const names[] = {"by ablation", "by importance", "random order"};
  for (std::size_t s = 0; s < n_series; ++s) {
    Series series;
    series.label = names[s];
    for (int step = 0; step <= 10; ++step) {
      const double y = 3.9 + (0.4 + 0.5 * static_cast<double>(s)) *
                                 std::pow(step / 10.0, 2 + static_cast<double>(stream) * 0.1);
      series.x.push_back(step * 10);
      series.y.push_back(y);
      series.low.push_back(y - 0.01 * step);
      series.high.push_back(y + 0.012 * step);
    }
    panel.series.push_back(series);
  }
  panel.reference_lines = {{"all heads kept", 3.9}};
  return panel;
}

Figure lines() {
  Chart chart;
  chart.panels = {curves(1, 3)};
  chart.panels[0].title.clear();
  chart.x_title = "Heads removed (%)";
  chart.y_title = "Loss (nats per token)";
  return {"lines", "g", "Loss as heads are removed", "", "Michel et al. 2019", chart};
}

Figure line_grid() {
  Chart chart;
  for (std::size_t layer = 0; layer < 12; ++layer) chart.panels.push_back(curves(layer, 2));
  chart.x_title = "Heads removed (%)";
  chart.y_title = "Loss (nats per token)";
  return {"line_grid", "g", "Loss as heads are removed, layer by layer", "", "", chart};
}

Figure points() {
  Chart chart;
  ChartPanel panel;
  for (const char* label : {"syntactic", "positional"}) {
    Series series;
    series.label = label;
    series.style = Series::Style::points;
    const CounterRandom random(9, panel.series.size());
    for (std::size_t i = 0; i < 14; ++i) {
      series.x.push_back(random.uniform(2 * i) - 0.5);
      series.y.push_back(random.uniform(2 * i + 1) - 0.5);
      series.point_labels.push_back(std::to_string(i / 4) + "·" + std::to_string(i % 4));
    }
    panel.series.push_back(series);
  }
  chart.panels = {panel};
  chart.x_title = "First coordinate";
  chart.y_title = "Second coordinate";
  return {"points", "g", "Heads that attend alike lie close", "", "Clark et al. 2019, fig. 6",
          chart};
}

Graph empty_graph(std::size_t n_layer, std::size_t n_head) {
  Graph graph;
  graph.column_title = "layer";
  graph.row_title = "head";
  graph.value_title = "nats per pair";
  graph.column_labels = {"embed"};
  for (std::size_t l = 0; l < n_layer; ++l) graph.column_labels.push_back(std::to_string(l));
  graph.column_labels.push_back("logits");
  for (std::size_t h = 0; h < n_head; ++h) graph.row_labels.push_back(std::to_string(h));
  graph.row_labels.push_back("MLP");
  graph.edge_kinds = {{"read by queries", 3, true},
                      {"read by keys", 0},
                      {"read by values", 2},
                      {"read by an MLP", 4},
                      {"read by the logits", 5}};
  graph.node_kinds = {{"embeddings, MLPs, logits", 7},
                      {"positional head", 0},
                      {"copy suppression head", 6},
                      {"other head", no_colour}};
  return graph;
}

/// A hundred edges between drawn heads, of falling size.
Figure random_graph(std::size_t n_layer, std::size_t n_head) {
  Graph graph = empty_graph(n_layer, n_head);
  const CounterRandom random(11, n_layer);
  graph.nodes = {{"embed", "E", 0, std::floor(0.5 * static_cast<double>(n_head - 1)), 0}};
  for (std::size_t l = 0; l < n_layer; ++l) {
    for (std::size_t h = 0; h < n_head; ++h) {
      if (random.uniform(l * n_head + h) > 60.0 / static_cast<double>(n_layer * n_head)) continue;
      graph.nodes.push_back({"L" + std::to_string(l) + "H" + std::to_string(h), std::to_string(h),
                             1 + static_cast<double>(l), static_cast<double>(h), 1 + h % 3});
    }
    graph.nodes.push_back({"MLP" + std::to_string(l), "M", 1.5 + static_cast<double>(l),
                           static_cast<double>(n_head), 0});
  }
  graph.nodes.push_back({"logits", "U", 1 + static_cast<double>(n_layer), graph.nodes[0].row, 0});
  const CounterRandom ends(12, n_layer);
  for (std::size_t i = 0; graph.edges.size() < 100; ++i) {
    const std::size_t from = ends.below(graph.nodes.size(), 2 * i),
                      to = ends.below(graph.nodes.size(), 2 * i + 1);
    const Graph::Node &writer = graph.nodes[from], &reader = graph.nodes[to];
    if (!(reader.column > writer.column)) continue;
    const std::size_t kind = reader.mark == "M" ? 3 : reader.mark == "U" ? 4 : i % 3;
    graph.edges.push_back({from, to, kind, -2 * std::pow(0.96, graph.edges.size())});
  }
  const std::string size = std::to_string(n_layer) + "x" + std::to_string(n_head);
  return {"graph_" + size, "g", "The circuit of a model of " + size, "", "Wang et al. 2022", graph};
}

/// By hand, of the heads of the sample results.
Figure small_graph() {
  Graph graph = empty_graph(2, 3);
  graph.nodes = {{"embed", "E", 0, 1, 0},  {"L0H1", "1", 1, 1, 1}, {"L0H2", "2", 1, 2, 3},
                 {"MLP0", "M", 1.5, 3, 0}, {"L1H2", "2", 2, 2, 2}, {"logits", "U", 3, 1, 0}};
  graph.edges = {{4, 5, 4, -3},   {1, 4, 1, -2},  {0, 4, 2, -1.2},
                 {0, 1, 1, -0.5}, {2, 4, 0, 0.3}, {1, 3, 3, -0.1}};
  return {"graph", "g", "The circuit of agreement", "", "Wang et al. 2022", graph};
}

/// Layers as bands, with what the page alone shows.
Figure banded_graph() {
  Graph graph;
  graph.bands = true;
  graph.column_title = "heads";
  graph.row_title = "layer";
  graph.value_title = "nats per pair";
  graph.switch_label = "Embeddings, MLPs and logits";
  graph.column_labels = {"", ""};
  graph.row_labels = {"0", "1"};
  graph.edge_kinds = {{"read by keys", 0}, {"read by MLPs and logits", 7, false, true}};
  graph.node_kinds = {{"other head", no_colour}, {"embeddings, MLPs, logits", 7, false, true}};
  graph.nodes = {{"L0H0", "0", 0, 0, 0},
                 {"L0H1", "1", 1, 0, 0},
                 {"L1H2", "2", 0.5, 1, 0},
                 {"embed", "", 0.5, -1, 1},
                 {"logits", "", 0.5, 2, 1}};
  graph.edges = {{0, 2, 0, -2}, {1, 2, 0, 0.5}, {3, 0, 0, -30}, {2, 4, 1, -1}};
  return {"graph_bands", "g", "The circuit of a larger model", "", "Wang et al. 2022", graph};
}

Figure logarithmic_counts() {
  Chart chart;
  ChartPanel panel;
  chart.x_labels = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3", "llama-7b"};
  Series series;
  series.label = "4d²";
  series.style = Series::Style::bars;
  series.x = {0, 1, 2, 3, 4, 5};
  series.y = {2359296, 4194304, 6553600, 10240000, 603979776, 67108864};
  panel.series = {series};
  chart.panels = {panel};
  chart.y_title = "Parameters";
  chart.log_y = true;
  return {"log_bars", "g", "Attention weights of one layer", "", "", chart};
}

}  // namespace

std::vector<Figure> figure_samples() {
  return {heads("heads_12x12", 12, 12),
          heads("heads_24x16", 24, 16),
          matrices("matrices_4", 4, 12),
          matrices("matrices_12", 12, 12),
          across_layers(),
          types_12x12(),
          gaps_and_long_labels(),
          one_row(),
          nothing_measured(),
          bars(),
          lines(),
          line_grid(),
          points(),
          small_graph(),
          banded_graph(),
          random_graph(4, 8),
          random_graph(12, 12),
          random_graph(24, 16),
          logarithmic_counts()};
}

}  // namespace headscope::test
