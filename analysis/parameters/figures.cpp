#include <cstdint>
#include <optional>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "parameters/block_energy.hpp"
#include "parameters/parameters.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

Figure counts_figure(const ResultsGroup& group) {
  std::vector<std::string> components = spaced(group.labels("component"));
  std::vector<double> millions =
      group.values("count").mapped([](double count) { return count / 1e6; }).values;
  const auto total = static_cast<std::uint64_t>(group.values("count").values.back());
  components.pop_back();
  millions.pop_back();
  Series bars = Series::line("model", millions);
  bars.style = Series::Style::bars;
  return {
      .name = "parameter_counts",
      .group = group.name,
      .title = "Where the " + grouped(total) + " parameters sit",
      .caption =
          "Parameters of the model by component; attention q, k, v and o are weights of all "
          "layers, attention bias their biases. A tied unembedding counts as the token embedding.",
      .source = "Radford et al. 2019",
      .content = Chart{.panels = {{"", {bars}}},
                       .y_title = "parameters (millions)",
                       .x_labels = components,
                       .y_low = 0}};
}

Figure costs_figure(const ResultsGroup& group) {
  const Array& macs = group.values("macs");
  const std::vector<std::string> schemes = spaced(group.labels("scheme")),
                                 terms = spaced(group.labels("term"));
  const std::vector<double>& n_token = group.dimension("n_token").values;
  std::vector<ChartPanel> panels;
  for (std::size_t s = 0; s < schemes.size(); ++s) {
    ChartPanel& panel = panels.emplace_back(ChartPanel{schemes[s]});
    for (std::size_t c = 0; c < terms.size(); ++c) {
      panel.series.push_back({terms[c], n_token, macs.part(s).part(c).values});
      // qk and av coincide; points over a line keep both visible.
      if (terms[c] == "av") panel.series.back().style = Series::Style::points;
    }
  }
  return {.name = "attention_macs",
          .group = group.name,
          .title = "What attention costs, term by term",
          .caption =
              "Multiply-accumulates of one layer of this model against the number of tokens; for "
              "the softmax, exponentials. qk and av cost the same under every layout and lie on "
              "one another; with h heads there are h times the exponentials of one.",
          .source = "Vaswani et al. 2017",
          .content = Chart{.panels = std::move(panels),
                           .x_title = "tokens",
                           .y_title = "multiply-accumulates (exponentials) per layer",
                           .log_x = true,
                           .log_y = true}};
}

/// Nothing if no projection can be cut into several blocks.
/// @param n_group  groups of heads that share keys and values, a block each.
std::optional<Figure> block_energy_figure(const ResultsGroup& group, double n_group) {
  const Array& energy = group.values("block_energy");
  const Array& mean = group.values("block_energy_null_mean");
  const Array& deviation = group.values("block_energy_null_std");
  const std::vector<double>& layers = group.dimension("layer").values;
  const double n_head = group.values("n_head").values.back();
  std::vector<ChartPanel> panels;
  bool any_uneven = false;
  for (std::size_t p = 0; p < 4; ++p) {
    const double n_block = is_shared_by_groups(p) ? n_group : n_head;
    if (n_block == 1) continue;  // one block has all of the energy
    if (finite_values(energy.part(p).values).empty()) {
      any_uneven = true;
      continue;
    }
    Series null{.label = "inputs permuted (mean, 2 s.d.)"};
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const double middle = mean(p, l), width = 2 * deviation(p, l);
      null.add(layers[l], {middle, middle - width, middle + width});
    }
    panels.push_back({matrix_name(p),
                      {null, Series::line("weights", energy.part(p).values)},
                      {{"chance 1/h", 1 / n_block}}});
  }
  if (panels.empty()) return std::nullopt;
  return Figure{
      .name = "block_energy",
      .group = group.name,
      .title = "Are the projections block-diagonal over heads? Block energy against chance",
      .caption =
          "Share of each projection's squared weights in its h diagonal blocks; h is the "
          "number of heads, for keys and values that of groups of heads that share them. A "
          "block-diagonal projection has 1, any other 1/h by chance; the band is the mean and "
          "two standard deviations over permuted input rows." +
          std::string(n_group == 1 ? one_group_text : "") +
          (any_uneven ? " Left out are projections that are zero or cannot be cut into h equal "
                        "blocks."
                      : ""),
      .source = headscope_definition,
      .content = Chart{.panels = std::move(panels),
                       .x_title = "layer",
                       .y_title = "block energy (share of squared weights)"}};
}

}  // namespace

std::vector<Figure> parameters_figures(const Results& results) {
  const ResultsGroup& group = results.group("parameters");
  const double n_head = group.values("n_head").values.back();
  std::vector<Figure> figures{counts_figure(group), costs_figure(group)};
  const auto n_group = results.integer("n_kv_head");
  auto blocks = block_energy_figure(group, n_group ? static_cast<double>(*n_group) : n_head);
  if (blocks) figures.push_back(*std::move(blocks));
  return figures;
}

}  // namespace headscope
