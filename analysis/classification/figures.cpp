#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/explained/explained.hpp"
#include "classification/results.hpp"
#include "classification/tests/relations.hpp"
#include "classification/types/registry.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

bool has_values(const ResultsGroup& group, const std::string& variable) {
  return group.has(variable) && std::ranges::any_of(group.values(variable).values,
                                                    [](double v) { return !std::isnan(v); });
}

/// The values by layer and head; removed heads, whose attention is even, have none.
Array values_of_heads(const Results& results, const char* variable) {
  return without_removed_heads(results, results.group("classification").values(variable));
}

/// One point per head, and the layer's mean as a line.
/// @param set  of points in the figure: its colour, and its place beside the layer.
std::vector<Series> by_layer(const Results& results, const char* variable, const std::string& label,
                             std::size_t set = 0) {
  const Array values = values_of_heads(results, variable);
  Series points = Series::points(label + ", one point a head", values);
  points.shift = set == 0 ? -0.08 : 0.08;
  std::vector<double> means;
  for (Index layer = 0; layer < values.shape[0]; ++layer) {
    means.push_back(mean_of_numbers(values.part(layer).values));
  }
  Series mean = Series::line(label + ", mean of the layer", means);
  points.colour = mean.colour = set;
  return {points, mean};
}

Chart layer_chart(const std::string& y_title, std::vector<Series> series,
                  std::vector<ReferenceLine> lines = {}) {
  return {.panels = {{"", std::move(series), std::move(lines)}},
          .x_title = "layer",
          .y_title = y_title,
          .y_low = 0};
}

/// By what heads are of types: ` Type positional: L0H1 by offset 1. Type syntactic: …`.
std::string choices_caption(const ResultsGroup& group) {
  const Array& flags = group.values("type");
  const std::vector<std::string>& about = group.texts("type_about");
  const std::vector<std::string> names = spaced(group.labels("head_type"));
  const std::size_t n_head = flags.shape[2], n_head_total = flags.shape[1] * n_head;
  std::string caption;
  for (std::size_t type = 0; type < names.size(); ++type) {
    std::vector<std::string> heads;
    for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
      const std::size_t place = type * n_head_total + head_index;
      if (flags.values[place] != 1 || about[place].empty()) continue;
      heads.push_back(head_text(head_index, n_head) + " by " + about[place]);
    }
    if (!heads.empty()) caption += " Type " + names[type] + ": " + joined(heads, ", ") + ".";
  }
  return caption;
}

std::string apart_caption() {
  return " A head of no type but " + types_apart() +
         " does not count as specialised: these types say that a head rests or how far it looks, "
         "not what it does.";
}

/// How many heads have another type than the primary one, where that is none of what a head does.
std::string apart_primary_caption(const Results& results) {
  const std::optional<HeadTypes> types = head_types(results);
  std::size_t n_apart = 0, n_specialised = 0;
  for (std::size_t head_index = 0; types && head_index < types->primary.size(); ++head_index) {
    const std::optional<std::size_t> primary = types->primary[head_index];
    if (!primary || counts_as_specialised(types->names[*primary])) continue;
    ++n_apart;
    n_specialised +=
        !numbers_where(types->names.size(), [&](std::size_t type) {
           return types->has_type[head_index][type] && counts_as_specialised(types->names[type]);
         }).empty();
  }
  if (n_apart == 0) return "";
  return apart_caption() + " Of " + count_text(n_apart, "head") + " with such a primary type, " +
         std::to_string(n_specialised) + (n_specialised == 1 ? " has" : " have") +
         " another type too.";
}

Figure type_map_figure(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  Heatmap map = head_map("type", {{"", values_of_heads(results, "primary")}});
  map.scale = ColourScale::categorical;
  map.categories = spaced(group.variable("primary").flag_meanings);
  return {.name = "head_types",
          .group = group.name,
          .title = "What each head does",
          .caption =
              "Each head's primary type: the type whose threshold the head passes by the largest "
              "share of the possible margin. none: the head passes no threshold." +
              apart_primary_caption(results) + choices_caption(group),
          .source = std::string(headscope_definition) + ", after Voita et al. 2019",
          .content = std::move(map)};
}

/// A row for each type that has heads. @param n_by_layer  of each type.
Heatmap type_counts_map(const std::vector<std::string>& names,
                        const std::vector<std::vector<double>>& n_by_layer) {
  Array counts({names.size(), n_by_layer.front().size()});
  for (Index type = 0; type < names.size(); ++type) {
    for (Index layer = 0; layer < counts.shape[1]; ++layer) {
      counts(type, layer) = n_by_layer[type][layer];
    }
  }
  const double most = std::ranges::max(counts.values);
  return {.panels = {{"", std::move(counts)}},
          .row_title = "type",
          .column_title = "layer",
          .value_title = "heads",
          .row_labels = names,
          .low = 0,
          .high = most};
}

Chart type_counts_bars(const std::vector<std::string>& names,
                       const std::vector<std::vector<double>>& n_by_layer,
                       const std::vector<Index>& colours) {
  std::vector<Series> series;
  for (Index type = 0; type < names.size(); ++type) {
    Series& bars = series.emplace_back(Series::line(names[type], n_by_layer[type]));
    bars.style = Series::Style::bars;
    bars.colour = colours[type];
  }
  // One type has no key.
  Chart chart = layer_chart(names.size() == 1 ? names[0] + " heads" : "heads", std::move(series));
  for (Index layer = 0; layer < n_by_layer.front().size(); ++layer) {
    chart.x_labels.push_back(std::to_string(layer));
  }
  return chart;
}

/// Nothing if no head is of any type.
std::optional<Figure> type_counts_figure(const ResultsGroup& group) {
  constexpr Index most_layers_of_bars = 12;  // beyond them bars of several types are hairlines
  const Array& types = group.values("type");
  const std::vector<std::string> all_names = spaced(group.labels("head_type"));
  std::vector<std::string> names;
  std::vector<std::vector<double>> counts;
  std::vector<Index> colours;  // as in the map of types
  for (Index type = 0; type < all_names.size(); ++type) {
    std::vector<double> n_by_layer;
    for (Index layer = 0; layer < types.shape[1]; ++layer) {
      const std::vector<double> flags = types.part(type).part(layer).values;
      n_by_layer.push_back(std::accumulate(flags.begin(), flags.end(), 0.0));
    }
    if (std::ranges::count(n_by_layer, 0.0) == std::ssize(n_by_layer)) continue;
    names.push_back(all_names[type]);
    counts.push_back(std::move(n_by_layer));
    colours.push_back(type);
  }
  if (names.empty()) return std::nullopt;
  const bool any_apart = std::ranges::any_of(
      colours, [&](Index type) { return !counts_as_specialised(group.labels("head_type")[type]); });
  Figure figure{
      .name = "voita2019_head_types",
      .group = group.name,
      .title = "Heads of each type, by layer",
      .caption =
          std::string("Number of heads in each layer that pass each type's threshold. A head may "
                      "have several types; types without a head are left out.") +
          (any_apart ? apart_caption() : ""),
      .source = "Voita et al. 2019",
      .content = {}};
  if (types.shape[1] > most_layers_of_bars) {
    figure.content = type_counts_map(names, counts);
  } else {
    figure.content = type_counts_bars(names, counts, colours);
  }
  return figure;
}

/// Tested relations in each direction, sorted by the chosen head's gain over the baseline.
std::vector<Index> leading_relations(const ResultsGroup& group) {
  constexpr std::size_t most_relations = 24;
  if (!group.has("relation_tested")) return {};
  const Array& tested = group.values("relation_tested");
  const Array& accuracy = group.values("relation_best_accuracy_heldout");
  const Array& baseline = group.values("relation_baseline_heldout");
  const auto gain = [&](Index i) { return accuracy.values[i] - baseline.values[i]; };
  std::vector<Index> order = numbers_where<Index>(
      accuracy.size(), [&](Index i) { return tested.values[i] == 1 && !std::isnan(gain(i)); });
  std::ranges::stable_sort(order, std::ranges::greater(), gain);
  if (order.size() > most_relations) order.resize(most_relations);
  return order;
}

Figure relations_figure(const ResultsGroup& group, const std::vector<Index>& order) {
  const Array& baseline = group.values("relation_baseline_heldout");
  const Array& offset = group.values("relation_baseline_heldout_offset");
  const Array& word_class = group.values("relation_baseline_heldout_word_class");
  const std::vector<std::string>& class_names = group.texts("relation_class");
  const Array& count = group.values("relation_count_heldout");
  const Array& q = group.values("relation_q");
  Series gains{.style = Series::Style::spans};
  Series offsets = Series::points("best fixed offset", 1);
  Series nearest = Series::points("nearest of a part of speech", 2);
  Series heads = Series::points("best head, q < 0.05", 0);
  Series unsure = Series::points("best head, q ≥ 0.05", 5);
  // Where a rule is as good as the head, all three stay visible.
  offsets.shift = -0.22;
  nearest.shift = 0.22;
  std::vector<std::string> rows;
  for (const Index i : order) {
    const double row = static_cast<double>(rows.size());
    const Estimate accuracy = group.variable("relation_best_accuracy_heldout").estimate(i);
    const HeadIndex head{static_cast<Index>(group.values("relation_best_layer").values[i]),
                         static_cast<Index>(group.values("relation_best_head").values[i])};
    const double best_q = q.part(i / 2).part(i % 2)(head.layer, head.head);
    (best_q < significant_q ? heads : unsure).add(row, accuracy);
    offsets.add(row, offset.values[i]);
    if (!class_names[i].empty()) nearest.add(row, word_class.values[i]);
    gains.add(row, {accuracy.value, baseline.values[i], accuracy.value});
    rows.push_back(head.text() + "  " + arc_text(group, i) +
                   (class_names[i].empty() ? "" : "  " + class_names[i]) + "  n " +
                   number_text(count.values[i], 6));
  }
  const bool has_class = names_word_class(group);
  std::vector<Series> series{gains, offsets, heads, unsure};
  if (has_class) series.insert(series.begin() + 2, nearest);
  Chart chart = rows_chart(
      std::string("head, relation, ") + (has_class ? "part of speech, " : "") + "held-out arcs",
      "accuracy", std::move(rows), std::move(series));
  chart.y_low = 0;
  chart.y_high = 1.02;
  return {.name = "clark2019_relations",
          .group = group.name,
          .title = "The head that finds each relation best, on held-out documents",
          .caption =
              "For each relation and direction: the head that is most accurate on even-numbered "
              "documents, and its accuracy on odd-numbered documents with a 95 % interval "
              "(documents resampled). On the same odd-numbered documents: the best fixed word "
              "offset" +
              std::string(has_class ? ", and the nearest earlier word of the part of "
                                      "speech that is named"
                                    : "") +
              ". `det → head`: the determiner attends back to its head; `head → det`: the head "
              "attends back to its determiner. Shown are relations with at least " +
              std::to_string(static_cast<int>(least_heldout_cases)) +
              " held-out arcs in at least " +
              std::to_string(static_cast<int>(least_heldout_documents)) +
              " documents, largest gain over the baseline first.",
          .source = "Clark et al. 2019",
          .content = std::move(chart)};
}

Figure entropy_figure(const Results& results) {
  return {.name = "clark2019_entropy",
          .group = "classification",
          .title = "Entropy of attention, by layer",
          .caption =
              "Mean entropy of each head's attention distributions, all keys, queries 1 and later, "
              "nats.",
          .source = "Clark et al. 2019, figure 4",
          .content = layer_chart("entropy, nats", by_layer(results, "entropy", "entropy"))};
}

Figure sink_figure(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  std::vector<Series> series = by_layer(results, "sink", "sink");
  std::vector<ReferenceLine> lines;
  if (has_values(group, "delimiter")) {
    for (Series& more : by_layer(results, "delimiter", "punctuation", 1)) {
      series.push_back(std::move(more));
    }
    lines.push_back({"punctuation's share of keys", group.scalar("delimiter_baseline")});
  }
  Chart chart = layer_chart("share of attention", std::move(series), std::move(lines));
  chart.y_high = 1;
  return {
      .name = "clark2019_sink",
      .group = group.name,
      .title = "Attention to the sink and to punctuation, by layer",
      .caption =
          "Mean attention to position 0 (probability), and the share of the remaining attention on "
          "tokens that are only punctuation, with those tokens' share of the keys as its baseline.",
      .source = "Clark et al. 2019, figure 2",
      .content = std::move(chart)};
}

Figure dependency_alignment_figure(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  return {
      .name = "vig2019_dependency_alignment",
      .group = group.name,
      .title = "Attention along dependency arcs",
      .caption =
          "Share of each head's word-level attention to earlier words that runs along a dependency "
          "arc, whichever end attends. A head that spreads evenly over the earlier words has " +
          number_text(group.scalar("dependency_alignment_baseline"), 3) +
          ", one that attends to the word before " +
          number_text(group.scalar("dependency_alignment_previous"), 3) +
          ": many arcs join neighbours.",
      .source = "Vig & Belinkov 2019, figure 6",
      .content = head_map("share of attention",
                          {{"", values_of_heads(results, "dependency_alignment")}}, 0)};
}

Figure distance_figure(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  const double uniform = group.scalar("distance_uniform");
  return {.name = "vig2019_distance",
          .group = group.name,
          .title = "How far back heads look",
          .caption = "Attention-weighted mean distance to the key, sink excluded, tokens." +
                     (std::isnan(uniform)
                          ? ""
                          : " A head that attends to the sink equally at all queries, and evenly "
                            "to all other keys, has " +
                                number_text(uniform, 3) + " on these documents."),
          .source = "Vig & Belinkov 2019, figure 8",
          .content = head_map("distance, tokens", {{"", values_of_heads(results, "distance")}}, 0)};
}

Figure induction_figure(const Results& results) {
  return {.name = "olsson2022_induction",
          .group = "classification",
          .title = "Previous-token, duplicate-token and induction heads",
          .caption =
              "Previous token: mean attention to the token before. Duplicate token: mean attention "
              "to earlier copies of the token. Induction: on repeated random sequences, mean "
              "attention to the token after the query token's first occurrence. Probability.",
          .source = "Olsson et al. 2022; TransformerLens",
          .content =
              head_probabilities("attention, probability",
                                 {{"previous token", values_of_heads(results, "previous_token")},
                                  {"duplicate token", values_of_heads(results, "duplicate_token")},
                                  {"induction", values_of_heads(results, "induction")}})};
}

Figure induction_stripe_figure(const ResultsGroup& group) {
  const Array& pattern = group.values("induction_pattern");
  const std::size_t n_token = pattern.shape[0];
  const auto number = [&](const char* name) { return static_cast<Index>(group.scalar(name)); };
  const HeadIndex head{number("induction_pattern_layer"), number("induction_pattern_head")};
  return {.name = "olsson2022_induction_stripe",
          .group = group.name,
          .title = "Attention of " + head.text() + " on repeated random tokens",
          .caption =
              "Attention of the head with the largest induction score, " + head.text() + " (" +
              decimals(group.values("induction")(head.layer, head.head), 2) +
              "), on a sequence of random tokens that is given twice; the lines divide the halves. "
              "An induction head attends from each token of the second half to the token that "
              "followed it in the first half, which draws a stripe at the lower left.",
          .source = "Olsson et al. 2022",
          .content = Heatmap{.panels = {{"", causal_part(pattern, n_token)}},
                             .row_title = "query position",
                             .column_title = "key position",
                             .value_title = "attention (probability)",
                             .low = 0,
                             .high = 1,
                             .group = n_token / 2 + 1}};
}

}  // namespace

std::vector<Figure> classification_figures(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  std::vector<Figure> figures{type_map_figure(results)};
  if (auto counts = type_counts_figure(group)) figures.push_back(*std::move(counts));
  if (auto labels = labels_explained_figure(group)) {
    figures.push_back(*std::move(labels));
  }
  const std::vector<Index> relations = leading_relations(group);
  if (!relations.empty()) figures.push_back(relations_figure(group, relations));
  figures.push_back(entropy_figure(results));
  figures.push_back(sink_figure(results));
  if (has_values(group, "dependency_alignment")) {
    figures.push_back(dependency_alignment_figure(results));
  }
  figures.push_back(distance_figure(results));
  figures.push_back(induction_figure(results));
  if (group.has("induction_pattern")) figures.push_back(induction_stripe_figure(group));
  return figures;
}

}  // namespace headscope
