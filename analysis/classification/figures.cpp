#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "classification/claims.hpp"
#include "classification/explained/explained.hpp"
#include "classification/results.hpp"
#include "classification/types/evidence.hpp"
#include "headscope/figure.hpp"

namespace headscope {
namespace {

constexpr const char* group_name = "classification";

/// The parts of the group that the figures read.
class Scores {
 public:
  explicit Scores(const Results& results) : group_(results.group(group_name)) {}

  Index n_layer() const { return group_.dimensions.at("layer").size(); }
  Index n_head() const { return group_.dimensions.at("head").size(); }
  bool has(const std::string& name) const { return group_.has(name); }
  const Array& array(const std::string& name) const { return group_.variable(name).values; }
  Estimate estimate(const std::string& name, Index i) const {
    return group_.variable(name).estimate(i);
  }
  double scalar(const std::string& name) const { return array(name).values.front(); }
  const std::vector<std::string>& labels(const std::string& dimension) const {
    return group_.dimensions.at(dimension).text;
  }
  const std::vector<std::string>& meanings(const std::string& name) const {
    return group_.variable(name).flag_meanings;
  }
  bool has_values(const std::string& name) const {
    if (!group_.has(name)) return false;
    const std::vector<double>& values = array(name).values;
    return std::any_of(values.begin(), values.end(), [](double v) { return !std::isnan(v); });
  }

 private:
  const ResultsGroup& group_;
};

/// One point per head, and the layer's mean as a line.
/// @param set  of points in the figure: its colour, and its place beside the layer.
std::vector<Series> by_layer(const Scores& scores, const std::string& variable,
                             const std::string& label, std::size_t set = 0) {
  const Array& values = scores.array(variable);
  Series points;
  points.label = label + ", one point a head";
  points.style = Series::Style::points;
  points.shift = set == 0 ? -0.08 : 0.08;
  Series mean;
  points.colour = mean.colour = set;
  mean.label = label + ", mean of the layer";
  for (Index layer = 0; layer < scores.n_layer(); ++layer) {
    Ratio layer_mean;
    for (Index head = 0; head < scores.n_head(); ++head) {
      if (std::isnan(values(layer, head))) continue;
      points.add(static_cast<double>(layer), values(layer, head));
      layer_mean += {values(layer, head), 1};
    }
    mean.add(static_cast<double>(layer), layer_mean.value());
  }
  return {points, mean};
}

Chart layer_chart(const std::string& y_title, std::vector<Series> series,
                  std::vector<ReferenceLine> lines = {}) {
  ChartPanel panel;
  panel.series = std::move(series);
  panel.reference_lines = std::move(lines);
  Chart chart;
  chart.panels = {std::move(panel)};
  chart.x_title = "layer";
  chart.y_title = y_title;
  chart.y_low = 0;
  return chart;
}

/// What carries each flag of a type: ` Positional: L0H1 at offset 1.`; empty if nothing does.
std::string carriers_caption(const ResultsGroup& group, HeadType type, const std::string& title) {
  const Array& flags = group.variable("type").values;
  const std::size_t n_head_total = flags.size() / n_head_type, n_head = flags.shape[2];
  std::string text;
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    const std::vector<std::string> carriers = type_carriers(group, type, head_index);
    if (carriers.empty()) continue;
    text += (text.empty() ? " " + title + ": " : ", ") + HeadIndex::of(head_index, n_head).text() +
            " " + carrier_text(type, carriers);
  }
  return text.empty() ? "" : text + ".";
}

Figure type_map_figure(const Scores& scores, const ResultsGroup& group) {
  Heatmap map = head_map("type", {{"", scores.array("primary")}});
  map.scale = ColourScale::categorical;
  map.categories = spaced(scores.meanings("primary"));
  return {.name = "head_types",
          .group = group_name,
          .title = "What each head does",
          .caption =
              "Each head's primary type: the one whose threshold it passes by most, in units "
              "of the room left above the threshold; none: it passes no threshold." +
              carriers_caption(group, HeadType::positional, "Positional") +
              carriers_caption(group, HeadType::syntactic, "Syntactic"),
          .source = std::string(own_definition) + ", after Voita et al. 2019",
          .content = std::move(map)};
}

/// Nothing if no head is of any type.
std::optional<Figure> type_counts_figure(const Scores& scores) {
  const Array& types = scores.array("type");
  const std::vector<std::string> names = spaced(scores.labels("head_type"));
  ChartPanel panel;
  for (Index type = 0; type < names.size(); ++type) {
    Series series;
    series.label = names[type];
    series.style = Series::Style::bars;
    series.colour = type;  // as in the map of types
    double total = 0;
    for (Index layer = 0; layer < scores.n_layer(); ++layer) {
      double n = 0;
      for (Index head = 0; head < scores.n_head(); ++head) n += types(type, layer, head);
      series.add(static_cast<double>(layer), n);
      total += n;
    }
    if (total > 0) panel.series.push_back(std::move(series));
  }
  if (panel.series.empty()) return std::nullopt;
  Chart chart;
  for (Index layer = 0; layer < scores.n_layer(); ++layer) {
    chart.x_labels.push_back(std::to_string(layer));
  }
  chart.panels = {std::move(panel)};
  chart.x_title = "layer";
  chart.y_title = "heads";
  chart.y_low = 0;
  return Figure{.name = "voita2019_head_types",
                .group = group_name,
                .title = "Heads of each type, by layer",
                .caption =
                    "How many heads of each layer pass each type's threshold. A head may be "
                    "of several types; types no head is of are left out.",
                .source = "Voita et al. 2019",
                .content = std::move(chart)};
}

/// Tested relations in each direction, sorted by the chosen head's gain over the baseline.
std::vector<Index> leading_relations(const Scores& scores) {
  constexpr std::size_t most_relations = 24;
  if (!scores.has("relation_tested")) return {};
  const Array& tested = scores.array("relation_tested");
  const Array& accuracy = scores.array("relation_best_accuracy_heldout");
  const Array& baseline = scores.array("relation_baseline_heldout");
  const auto gain = [&](Index i) { return accuracy.values[i] - baseline.values[i]; };
  std::vector<Index> order;
  for (Index i = 0; i < accuracy.size(); ++i) {
    if (tested.values[i] == 1 && !std::isnan(gain(i))) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return gain(a) > gain(b); });
  if (order.size() > most_relations) order.resize(most_relations);
  return order;
}

Figure relations_figure(const Scores& scores, const std::vector<Index>& order) {
  const Array& baseline = scores.array("relation_baseline_heldout");
  const Array& count = scores.array("relation_count_heldout");
  const Array& q = scores.array("relation_q");
  Series gains, heads, unsure, offsets;
  heads.label = "best head, q < 0.05";
  unsure.label = "best head, q ≥ 0.05";
  offsets.label = "best fixed offset";
  gains.style = Series::Style::spans;
  heads.style = unsure.style = offsets.style = Series::Style::points;
  heads.colour = 0;
  unsure.colour = 5;
  offsets.colour = 1;
  Chart chart;
  for (const Index i : order) {
    const double row = static_cast<double>(chart.x_labels.size());
    const Estimate accuracy = scores.estimate("relation_best_accuracy_heldout", i);
    const HeadIndex head{static_cast<Index>(scores.array("relation_best_layer").values[i]),
                         static_cast<Index>(scores.array("relation_best_head").values[i])};
    const double best_q = q.part(i / 2).part(i % 2)(head.layer, head.head);
    (best_q < significant_q ? heads : unsure).add(row, accuracy);
    offsets.add(row, baseline.values[i]);
    gains.add(row, {accuracy.value, baseline.values[i], accuracy.value});
    chart.x_labels.push_back(
        head.text() + "  " +
        arc_text(scores.labels("relation")[i / 2], static_cast<ArcDirection>(i % 2)) + "  n " +
        number_text(count.values[i], 6));
  }
  ChartPanel panel;
  panel.series = {std::move(gains), std::move(offsets)};
  for (Series* const best : {&heads, &unsure}) {
    if (!best->x.empty()) panel.series.push_back(std::move(*best));
  }
  chart.panels = {std::move(panel)};
  chart.horizontal = true;
  chart.x_title = "head, relation and held-out arcs";
  chart.y_title = "accuracy";
  chart.y_low = 0;
  chart.y_high = 1;
  return {.name = "clark2019_relations",
          .group = group_name,
          .title = "The head that finds each relation best, on held-out documents",
          .caption =
              "For each relation and direction the head that is most accurate on documents of even "
              "number, "
              "and its accuracy on those of odd number with a 95 % interval (documents resampled), "
              "beside "
              "the word offset that is best on those same documents. `det → head`: the determiner "
              "attends back to its head; `head → det`: the head back to its determiner. Relations "
              "with at "
              "least " +
              std::to_string(static_cast<int>(least_heldout_cases)) +
              " held-out arcs in at least " +
              std::to_string(static_cast<int>(least_heldout_documents)) +
              " documents, largest gain over the baseline first.",
          .source = "Clark et al. 2019",
          .content = std::move(chart)};
}

Figure entropy_figure(const Scores& scores) {
  return {.name = "clark2019_entropy",
          .group = group_name,
          .title = "Entropy of attention, by layer",
          .caption =
              "Mean entropy of each head's attention distributions, all keys, queries 1 and later, "
              "nats.",
          .source = "Clark et al. 2019, figure 4",
          .content = layer_chart("entropy, nats", by_layer(scores, "entropy", "entropy"))};
}

Figure sink_figure(const Scores& scores) {
  std::vector<Series> series = by_layer(scores, "sink", "sink");
  std::vector<ReferenceLine> lines;
  if (scores.has_values("delimiter")) {
    for (Series& more : by_layer(scores, "delimiter", "punctuation", 1)) {
      series.push_back(std::move(more));
    }
    lines.push_back({"punctuation's share of keys", scores.scalar("delimiter_baseline")});
  }
  Chart chart = layer_chart("share of attention", std::move(series), std::move(lines));
  chart.y_high = 1;
  return {
      .name = "clark2019_sink",
      .group = group_name,
      .title = "Attention to the sink and to punctuation, by layer",
      .caption =
          "Mean attention to position 0 (probability), and the share of the remaining attention on "
          "tokens that are only punctuation, with those tokens' share of the keys as its baseline.",
      .source = "Clark et al. 2019, figure 2",
      .content = std::move(chart)};
}

Figure dependency_alignment_figure(const Scores& scores) {
  Heatmap map = head_map("share of attention", {{"", scores.array("dependency_alignment")}});
  map.low = 0;
  return {
      .name = "vig2019_dependency_alignment",
      .group = group_name,
      .title = "Attention along dependency arcs",
      .caption =
          "Share of each head's word-level attention to earlier words that runs along a dependency "
          "arc, whichever end attends. A head that spreads evenly over the earlier words has " +
          number_text(scores.scalar("dependency_alignment_baseline"), 3) + ".",
      .source = "Vig & Belinkov 2019, figure 6",
      .content = std::move(map)};
}

Figure distance_figure(const Scores& scores) {
  Heatmap map = head_map("distance, tokens", {{"", scores.array("distance")}});
  map.low = 0;
  return {
      .name = "vig2019_distance",
      .group = group_name,
      .title = "How far back heads look",
      .caption =
          "Attention-weighted mean distance to the key, sink excluded, tokens. A head that spreads "
          "evenly over all keys has " +
          number_text(scores.scalar("distance_uniform"), 3) + " on these documents.",
      .source = "Vig & Belinkov 2019, figure 8",
      .content = std::move(map)};
}

Figure induction_figure(const Scores& scores) {
  Heatmap map =
      head_map("attention, probability", {{"previous token", scores.array("previous_token")},
                                          {"duplicate token", scores.array("duplicate_token")},
                                          {"induction", scores.array("induction")}});
  map.low = 0;
  return {
      .name = "olsson2022_induction",
      .group = group_name,
      .title = "Previous-token, duplicate-token and induction heads",
      .caption =
          "Previous token: mean attention to the token before. Duplicate token: mean attention to "
          "earlier copies of the token. Induction: on repeated random sequences, mean attention to "
          "the "
          "token after the query token's first occurrence. Probability.",
      .source = "Olsson et al. 2022; TransformerLens",
      .content = std::move(map)};
}

Figure induction_stripe_figure(const Scores& scores) {
  const Array& pattern = scores.array("induction_pattern");
  const std::size_t n_token = pattern.shape[0];
  const auto number = [&](const char* name) { return static_cast<Index>(scores.scalar(name)); };
  const HeadIndex head{number("induction_pattern_layer"), number("induction_pattern_head")};
  Heatmap map;
  map.panels = {{"", causal_part(pattern, n_token)}};
  map.row_title = "query position";
  map.column_title = "key position";
  map.value_title = "attention (probability)";
  map.low = 0;
  map.high = 1;
  map.group = n_token / 2 + 1;
  return {.name = "olsson2022_induction_stripe",
          .group = group_name,
          .title = "The induction stripe of " + head.text(),
          .caption =
              "Attention of the head with the largest induction score, " + head.text() + " (" +
              decimals(scores.array("induction")(head.layer, head.head), 2) +
              "), on one sequence of random tokens that are given twice; the lines divide the "
              "halves. An induction head attends from each token of the second half to the token "
              "that followed it in the first: the stripe at the lower left.",
          .source = "Olsson et al. 2022",
          .content = std::move(map)};
}

}  // namespace

std::vector<Figure> classification_figures(const Results& results) {
  const Scores scores(results);
  std::vector<Figure> figures{type_map_figure(scores, results.group(group_name))};
  if (auto counts = type_counts_figure(scores)) figures.push_back(*std::move(counts));
  if (auto labels = labels_explained_figure(results.group(group_name))) {
    figures.push_back(*std::move(labels));
  }
  const std::vector<Index> relations = leading_relations(scores);
  if (!relations.empty()) figures.push_back(relations_figure(scores, relations));
  figures.push_back(entropy_figure(scores));
  figures.push_back(sink_figure(scores));
  if (scores.has_values("dependency_alignment")) {
    figures.push_back(dependency_alignment_figure(scores));
  }
  figures.push_back(distance_figure(scores));
  figures.push_back(induction_figure(scores));
  if (scores.has("induction_pattern")) figures.push_back(induction_stripe_figure(scores));
  return figures;
}

}  // namespace headscope
