#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "head_figures.hpp"
#include "report_text.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_score_rows = 40;

/// The heads with a value, largest first, at most most_score_rows.
std::vector<std::size_t> largest_heads(const std::vector<double>& values) {
  std::vector<std::size_t> heads = ranking(values);
  heads.resize(std::min(heads.size(), most_score_rows));
  return heads;
}

/// What the figure's heads are chosen by, NaN of others: the effect on the loss or, where no head
/// was replaced, the share explained. Heads of layer 0 have none unless no later head is explained.
std::vector<double> drawn_by(const ResultsGroup& group, const std::vector<double>& explained) {
  std::vector<double> by = group.has("mean_replacement_increase")
                               ? group.values("mean_replacement_increase").values
                               : explained;
  for (std::size_t head = 0; head < by.size(); ++head) {
    if (std::isnan(explained[head])) by[head] = arma::datum::nan;
  }
  std::vector<double> later = by;
  std::fill_n(later.begin(), group.dimension("head").size(), arma::datum::nan);
  return largest(later) ? later : by;
}

Figure families_figure(const ResultsGroup& group) {
  const std::size_t n_head = group.dimension("head").size();
  const auto full = group.dimension("step").index_of("full");
  const std::vector<double> explained =
      group.values("deviance_explained_beyond_sink").part(full).values;
  const std::vector<double> by = drawn_by(group, explained);
  const std::vector<std::size_t> heads = largest_heads(by);
  const std::size_t n_drawable = finite_values(by).size();
  const std::vector<std::string>& families = group.labels("family");
  const Variable& gain = group.variable("family_gain");
  std::vector<Series> series;
  for (std::size_t family = 0; family < families.size(); ++family) {
    series.push_back(Series::points(family_words(group, families[family]), family));
    for (std::size_t row = 0; row < heads.size(); ++row) {
      Estimate value = gain.estimate(family * explained.size() + heads[row]);
      series.back().add(static_cast<double>(row), value);
    }
    series.back().drop_partial_intervals();
  }
  series.push_back(Series::points("unexplained", no_colour));
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < heads.size(); ++row) {
    series.back().add(static_cast<double>(row), 1 - explained[heads[row]]);
    rows.push_back(head_text(heads[row], n_head));
  }
  return {.name = "scores_families",
          .group = group.name,
          .title = "What each head attends by",
          .caption =
              "For each head and family of features: the share of the head's attention beyond the "
              "first token that the model no longer explains on held-out documents when the family "
              "is left out, with 95 % intervals where there are any (documents resampled). "
              "Families that say the same gain little each. " +
              std::string(has_parts_of_speech(group)
                              ? "The family of word class and frequency has capitals too. "
                              : "") +
              "Grey: the share that the model with "
              "all features leaves unexplained. First stand the heads " +
              std::string(group.has("mean_replacement_increase")
                              ? "whose output matters most: the loss rises most when the mean "
                                "replaces it."
                              : "that are explained best.") +
              (heads.size() < n_drawable ? " Drawn are the first " + std::to_string(heads.size()) +
                                               " of " + count_text(n_drawable, "head") + "."
                                         : "") +
              (n_drawable < finite_values(explained).size()
                   ? " Heads of layer 0 are left out: by construction, their scores depend on the "
                     "two tokens and their positions alone."
                   : ""),
          .source = headscope_definition,
          .content = rows_chart("head", "share of the deviance from uniform attention",
                                std::move(rows), std::move(series))};
}

/// A family's gain by head; zeros if there is no such family.
std::vector<double> gain_of(const ResultsGroup& group, const std::string& family) {
  const Array& gain = group.values("family_gain");
  const auto place = group.dimension("family").place_of(family);
  return place ? gain.part(*place).values : std::vector<double>(gain.shape[1] * gain.shape[2], 0);
}

Figure plane_figure(const ResultsGroup& group) {
  const std::vector<double> position = gain_of(group, "position"),
                            syntax = gain_of(group, "syntax"),
                            word_class = gain_of(group, "word_class");
  const std::size_t n_head = group.dimension("head").size();
  std::vector<double> words(position.size());
  for (std::size_t head = 0; head < words.size(); ++head) {
    words[head] = syntax[head] + word_class[head];
  }
  const std::vector<std::string> far_across = furthest_names(position, n_head, 5),
                                 far_up = furthest_names(words, n_head, 5);
  Series heads = Series::points("heads", 0);
  for (std::size_t head = 0; head < words.size(); ++head) {
    if (std::isnan(position[head] + words[head])) continue;
    heads.add(position[head], words[head]);
    heads.point_labels.push_back(far_across[head].empty() ? far_up[head] : far_across[head]);
  }
  return {.name = "positional_syntactic",
          .group = group.name,
          .title = "Positional or syntactic?",
          .caption =
              "Each point is a head. Across: what only position explains of the head's attention "
              "beyond the first token. Up: what only the family of word class, capitals and "
              "frequency and only syntax explain, added. "
              "What a family explains: deviance explained on held-out documents by all features "
              "minus deviance explained without the family. A head near 0 on both axes needs "
              "neither: it attends by something else, or other families say the same. Up to five "
              "heads with the largest gains, by size, are named along each axis.",
          .source = headscope_definition,
          .content = Chart{.panels = {{"", {std::move(heads)}, {}}},
                           .x_title = "gain of position",
                           .y_title = "gain of word class and syntax"}};
}

Figure effect_figure(const ResultsGroup& group) {
  const Variable& explained = group.variable("effect_explained");
  const Variable& control = group.variable("effect_explained_control");
  const Array& increase = group.values("mean_replacement_increase");
  const std::size_t n_head_total = increase.size(), n_head = increase.shape[1];
  const auto full = group.dimension("step").index_of("full");
  std::vector<double> measured = increase.values;
  for (std::size_t head = 0; head < n_head_total; ++head) {
    if (std::isnan(explained.values.values[full * n_head_total + head]))
      measured[head] = arma::datum::nan;
  }
  const std::vector<std::size_t> heads = largest_heads(measured);
  const std::size_t n_measured = finite_values(measured).size();
  std::vector<std::string> rows;
  for (const std::size_t head : heads) {
    rows.push_back(head_text(head, n_head) + "  " + number_text(increase.values[head], 2));
  }
  std::vector<Series> series;
  const auto add = [&](const std::string& label, std::size_t colour, const auto& estimate_of) {
    series.push_back(Series::points(label, colour));
    for (std::size_t row = 0; row < heads.size(); ++row) {
      const Estimate estimate = estimate_of(heads[row]);
      if (std::isnan(estimate.value)) continue;
      series.back().add(static_cast<double>(row), drawn_share(estimate));
    }
    series.back().shift = 0.12 * static_cast<double>(series.size()) - 0.36;
    series.back().drop_partial_intervals();
  };
  for (const auto& [step, label] : {std::pair{"full", "all features"},
                                    {"features", "all but the lexical"},
                                    {"position", "position"},
                                    {"label", "the label's features"}}) {
    const auto place = group.dimension("step").index_of(step);
    add(label, series.size(),
        [&](std::size_t head) { return explained.estimate(place * n_head_total + head); });
  }
  add("the next head's model", 7, [&](std::size_t head) { return control.estimate(head); });
  Chart chart =
      rows_chart("head, effect on the loss (nats)", "share of the head's effect that stays",
                 std::move(rows), std::move(series));
  chart.y_low = lowest_share - 0.05;
  chart.y_high = highest_share + 0.05;
  return {.name = "scores_effect",
          .group = group.name,
          .title = "Does the model of its attention keep what the head does?",
          .caption =
              "Beside each head: the loss increase per token when the head's output is replaced by "
              "its mean. The points show the share of this effect that stays when the head's "
              "attention is replaced by a model of it, 1 - (L_A^ - L) / (L_mean - L), with 95 % "
              "intervals (documents resampled; shares below -1 are drawn at -1, those above 1.2 at "
              "1.2). Control: the next head's model, with the head's own attention to the first "
              "token. Heads without a measurable effect are left out." +
              (n_measured > heads.size()
                   ? " The " + std::to_string(heads.size()) + " of " + std::to_string(n_measured) +
                         " heads that matter most are drawn."
                   : ""),
          .source = headscope_definition,
          .content = std::move(chart)};
}

Figure joint_figure(const ResultsGroup& group) {
  const Variable& loss = group.variable("joint_loss");
  const std::vector<double>& shares = group.dimension("share").values;
  ChartPanel panel;
  for (const auto& [replacement, label] :
       {std::pair{"score_model", "attention by its model"}, {"mean", "output by its mean"}}) {
    const auto place = group.dimension("replacement").index_of(replacement);
    Series series = Series::points(label, panel.series.size());
    series.style = Series::Style::line;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      series.add(shares[i], loss.estimate(place * shares.size() + i));
    }
    series.drop_partial_intervals();
    panel.series.push_back(std::move(series));
  }
  panel.reference_lines.push_back({"no head replaced", loss.values.values.front()});
  return {.name = "scores_joint",
          .group = group.name,
          .title = "The loss with many heads on their models",
          .caption =
              "Loss per token when a share of all heads is replaced at once: each head's attention "
              "by its model with all features, or, for comparison, each head's output by its mean. "
              "Both lines replace the same heads, those with the cheapest model first. 95 % "
              "intervals where there are any (documents resampled), on " +
              count_text(static_cast<std::size_t>(group.scalar("joint_documents")), "document") +
              " not used to choose the order.",
          .source = "after Hayes, Li & Andreas 2026",
          .content = Chart{.panels = {std::move(panel)},
                           .x_title = "share of all heads replaced",
                           .y_title = "loss (nats per token)"}};
}

}  // namespace

std::vector<Figure> score_figures(const Results& results) {
  const ResultsGroup& group = results.group("score_model");
  const auto full = group.dimension("step").index_of("full");
  const Array explained = group.values("deviance_explained_beyond_sink").part(full);
  if (!largest(explained.values)) return {};
  std::vector<Figure> figures{families_figure(group)};
  if (has_parts_of_speech(group)) figures.push_back(plane_figure(group));
  if (group.has("effect_explained") &&
      largest(group.values("effect_explained").part(full).values)) {
    figures.push_back(effect_figure(group));
  }
  if (group.has("joint_loss")) figures.push_back(joint_figure(group));
  return figures;
}

}  // namespace headscope
