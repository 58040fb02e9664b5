#include <cstdint>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "parameters/parameters.hpp"

namespace headscope {
namespace {

Series bars(std::string label, const std::vector<double>& y) {
  Series series;
  series.label = std::move(label);
  series.style = Series::Style::bars;
  for (std::size_t i = 0; i < y.size(); ++i) series.add(static_cast<double>(i), y[i]);
  return series;
}

/// A dimension's labels as words.
std::vector<std::string> words(const ResultsGroup& group, const std::string& dimension) {
  return spaced(group.dimensions.at(dimension).text);
}

Figure counts_figure(const ResultsGroup& group) {
  Chart chart;
  ChartPanel panel;
  chart.x_labels = words(group, "component");
  std::vector<double> millions = group.variable("count").values.values;
  const auto total = static_cast<std::uint64_t>(millions.back());
  chart.x_labels.pop_back();
  millions.pop_back();
  for (double& value : millions) value /= 1e6;
  panel.series.push_back(bars("model", millions));
  chart.panels = {panel};
  chart.y_title = "parameters (millions)";
  chart.y_low = 0;
  return {.name = "parameter_counts",
          .group = group.name,
          .title = "Where the " + grouped(total) + " parameters sit",
          .caption =
              "Parameters of the model by component; attention q, k, v and o are weights of "
              "all layers, attention bias their biases. A tied unembedding counts as the "
              "token embedding.",
          .source = "Radford et al. 2019",
          .content = chart};
}

Figure costs_figure(const ResultsGroup& group) {
  const Array& macs = group.variable("macs").values;
  const std::vector<std::string> schemes = words(group, "scheme"), terms = words(group, "term");
  const std::vector<double>& n_token = group.dimensions.at("n_token").values;
  Chart chart;
  for (std::size_t s = 0; s < schemes.size(); ++s) {
    ChartPanel panel;
    panel.title = schemes[s];
    for (std::size_t c = 0; c < terms.size(); ++c) {
      Series series;
      series.label = terms[c];
      for (std::size_t t = 0; t < n_token.size(); ++t) series.add(n_token[t], macs(s, c, t));
      // qk and av coincide; points over a line keep both visible.
      if (terms[c] == "av") series.style = Series::Style::points;
      panel.series.push_back(series);
    }
    chart.panels.push_back(panel);
  }
  chart.x_title = "tokens";
  chart.y_title = "multiply-accumulates (exponentials) per layer";
  chart.log_x = chart.log_y = true;
  return {.name = "attention_macs",
          .group = group.name,
          .title = "What attention costs, term by term",
          .caption =
              "Multiply-accumulates of one layer of this model against the number of tokens; "
              "for the softmax, exponentials. qk and av cost the same under every layout and "
              "lie on one another; with h heads there are h times the exponentials of one.",
          .source = "Vaswani et al. 2017",
          .content = chart};
}

Figure block_energy_figure(const ResultsGroup& group) {
  const Array& energy = group.variable("block_energy").values;
  const Array& mean = group.variable("block_energy_null_mean").values;
  const Array& deviation = group.variable("block_energy_null_std").values;
  const std::vector<double>& layers = group.dimensions.at("layer").values;
  const Array& n_head = group.variable("n_head").values;
  const double chance = 1 / n_head.values.back();
  Chart chart;
  for (std::size_t p = 0; p < 4; ++p) {
    ChartPanel panel;
    panel.title = "W_" + std::string(1, "QKVO"[p]);
    Series observed, null;
    observed.label = "weights";
    null.label = "inputs permuted (mean, 2 s.d.)";
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const double middle = mean(p, l), width = 2 * deviation(p, l);
      observed.add(layers[l], energy(p, l));
      null.add(layers[l], {middle, middle - width, middle + width});
    }
    panel.series = {null, observed};
    panel.reference_lines.push_back({"chance 1/h", chance});
    chart.panels.push_back(panel);
  }
  chart.x_title = "layer";
  chart.y_title = "block energy (share of squared weights)";
  return {.name = "block_energy",
          .group = group.name,
          .title = "Are the projections block-diagonal over heads? Block energy against chance",
          .caption =
              "Share of each projection's squared weights in its h diagonal blocks of d_head "
              "x d_head. A block-diagonal projection has 1, any other 1/h by chance; the "
              "band is the mean and two standard deviations over permuted input rows.",
          .source = own_definition,
          .content = chart};
}

}  // namespace

std::vector<Figure> parameters_figures(const Results& results) {
  const ResultsGroup& group = results.group("parameters");
  return {counts_figure(group), costs_figure(group), block_energy_figure(group)};
}

}  // namespace headscope
