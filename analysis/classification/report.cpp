#include <algorithm>
#include <cmath>
#include <numeric>

#include "classification/results.hpp"
#include "headscope/label_text.hpp"
#include "headscope/number_text.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

std::string type_line(const ResultsGroup& group) {
  const Array& type = group.variable("type").values;
  const std::vector<std::string>& names = group.dimensions.at("head_type").text;
  const std::size_t n_unit = type.shape[1] * type.shape[2];
  std::vector<bool> typed(n_unit);
  std::vector<std::pair<std::size_t, std::string>> counts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t n = 0;
    for (std::size_t unit = 0; unit < n_unit; ++unit) {
      if (type.values[i * n_unit + unit] != 1) continue;
      typed[unit] = true;
      ++n;
    }
    if (n > 0) counts.emplace_back(n, spaced(names[i]));
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = std::to_string(std::count(typed.begin(), typed.end(), true)) + " of " +
                     std::to_string(n_unit) + " heads have a job that passes its threshold";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + std::to_string(counts[i].first) + " " + counts[i].second;
  }
  return text + " (a head may have several).";
}

// Among the heads chosen on even documents, the one furthest above its baseline on odd ones.
std::string syntax_line(const ResultsGroup& group) {
  if (!group.has("relation_tested")) return "";
  const Array& accuracy = group.variable("relation_best_accuracy_heldout").values;
  const Array& baseline = group.variable("relation_baseline_heldout").values;
  const Array& tested = group.variable("relation_tested").values;
  const Array& layer = group.variable("relation_best_layer").values;
  const Array& head = group.variable("relation_best_head").values;
  std::vector<double> gain(accuracy.size(), std::nan(""));
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (tested.values[i] != 1 || layer.values[i] < 0) continue;
    gain[i] = accuracy.values[i] - baseline.values[i];
  }
  const std::optional<std::size_t> best = largest(gain);
  if (!best) {
    return "No relation has enough held-out arcs to be tested, so that whether a head finds one "
           "cannot be told.";
  }
  if (!(gain[*best] > 0)) return "No head finds a syntactic relation better than a fixed offset.";
  const std::vector<std::string>& relations = group.dimensions.at("relation").text;
  const std::vector<std::string>& directions = group.dimensions.at("direction").text;
  return HeadIndex{static_cast<Index>(layer.values[*best]), static_cast<Index>(head.values[*best])}
             .text() +
         " is furthest above its baseline: in " + percent(accuracy.values[*best]) +
         " of held-out " + relations[*best / directions.size()] + " arcs (" +
         spaced(directions[*best % directions.size()]) +
         ") it attends most to the right word, where the best fixed offset is right in " +
         percent(baseline.values[*best]) + ".";
}

std::string repetition_line(const Array& induction, const Array& previous) {
  std::string text;
  if (const auto unit = largest(induction.values)) {
    text += "On repeated random tokens " + unit_text(*unit, induction.shape[1]) + " puts " +
            percent(induction.values[*unit]) +
            " of its attention on what followed last time, more than any other head. ";
  }
  if (const auto unit = largest(previous.values)) {
    text += unit_text(*unit, previous.shape[1]) + " looks at the previous token most (" +
            percent(previous.values[*unit]) + ").";
  }
  return text;
}

std::string sink_line(const Array& sink) {
  const std::optional<std::size_t> most = largest(sink.values);
  if (!most) return "";
  std::vector<double> present = sink.values;  // a pruned head has none
  std::erase_if(present, [](double value) { return std::isnan(value); });
  const double mean =
      std::accumulate(present.begin(), present.end(), 0.0) / static_cast<double>(present.size());
  return "Heads park " + percent(mean) + " of their attention on the first token; " +
         unit_text(*most, sink.shape[1]) + " parks the most (" + percent(sink.values[*most]) + ").";
}

}  // namespace

ReportPart classification_report(const ResultsGroup& group) {
  constexpr std::size_t rank = 10;
  const auto values = [&](const char* name) -> const Array& { return group.variable(name).values; };
  ReportPart part;
  add_finding(rank, "Jobs", type_line(group), part);
  add_finding(rank, "Syntax", syntax_line(group), part);
  add_finding(rank, "Repetition and position",
              repetition_line(values("induction"), values("previous_token")), part);
  add_finding(rank, "Resting place", sink_line(values("sink")), part);
  part.scores = {
      {20, "Where it attends", {"sink", "entropy", "distance", "previous_token", "induction"}}};
  part.tables = {{10,
                  "Relations it finds best",
                  {"Relation", "Held-out accuracy", "Best fixed offset", "Arcs"},
                  "relation_accuracy_heldout",
                  "relation_baseline_heldout",
                  "relation_count_heldout",
                  "relation_tested"}};
  part.measures = {{"type_share", "type_share", "type"},
                   {"entropy_median", "entropy_median", ""},
                   {"sink_mean", "sink_mean", ""}};
  part.types = "type";
  part.primary_type = "primary";
  part.reasons = {"type_rule", "type_score", "type_baseline", "type_threshold", "type_about"};
  return part;
}

}  // namespace headscope
