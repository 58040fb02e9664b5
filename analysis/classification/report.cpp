#include <algorithm>
#include <cmath>
#include <set>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/explained/explained.hpp"
#include "classification/results.hpp"
#include "classification/tests/relations.hpp"
#include "classification/variables.hpp"
#include "report_text.hpp"
#include "scores/words.hpp"

namespace headscope {
namespace {

/// ` (untrained: at most 2)`; nothing without untrained models.
std::string untrained_text(const ResultsGroup& group, std::size_t type) {
  if (!group.has("control_type_heads")) return "";
  const double most = most_untrained(group, type);
  if (std::isnan(most)) return " (untrained: untestable)";
  return most == 0 ? " (untrained: none)" : " (untrained: at most " + number_text(most, 3) + ")";
}

std::string type_line(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  const LearnedTypes types = learned_types(results);
  if (types.n_head == 0) return no_head_left_text;
  const std::vector<std::string> names = spaced(group.labels("head_type"));
  const auto name = [&](std::size_t type) { return names[type] + untrained_text(group, type); };
  const auto counted = [&](const TypeCount& count) {
    return std::to_string(count.n_head) + " " + name(count.type);
  };
  const bool has_control = group.has("control_type_heads");
  std::string text = specialised_heads_text(types) + (types.learned.empty() ? "" : ": ") +
                     joined(types.learned, ", ", counted) + ". A head may have several types.";
  if (!types.apart.empty()) {
    text +=
        " Not counted, since they say that a head rests or how far it looks, not what it does: " +
        joined(types.apart, ", ", counted) + "; " + std::to_string(types.n_apart) +
        " of these heads " + (types.n_apart == 1 ? "is" : "are") + " specialised by another type.";
  }
  if (!types.not_learned.empty()) {
    const bool are_tested = std::ranges::none_of(types.not_learned, [&](const TypeCount& count) {
      return std::isnan(most_untrained(group, count.type));
    });
    text += " Not counted, since untrained models have as many" +
            std::string(are_tested ? ": " : " or could not be tested: ") +
            joined(types.not_learned, ", ", counted) + ".";
  }
  if (has_control) {
    if (!types.absent.empty()) {
      text += " Types without a head: " + joined(types.absent, ", ", name) + ".";
    }
    text += " Untrained: the largest number of such heads in one of " +
            count_text(group.values("control_type_heads").shape[0], "untrained model") + ".";
  }
  return text;
}

/// `the nearest of verbs`, `the word 1 before`: the rule of a relation's baseline.
std::string rule_text(const ResultsGroup& group, std::size_t relation) {
  const bool by_class = group.values("relation_baseline_rule").values[relation] == 1;
  const Index word_class = word_class_of(group.texts("relation_class")[relation]);
  if (by_class && word_class != no_position) {
    return std::string("the nearest of earlier ") + word_classes[word_class].words;
  }
  return "the word " + number_text(group.values("relation_offset").values[relation], 3) + " before";
}

/// Heads that pass a flag on some relation.
std::size_t n_passed(const ResultsGroup& group, const std::string& flag) {
  const Array& passed = group.values(flag);
  const std::size_t n_head_total = passed.shape[2] * passed.shape[3];
  std::set<std::size_t> heads;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    if (passed.values[i] == 1) heads.insert(i % n_head_total);
  }
  return heads.size();
}

/// How many heads beat which rule.
std::string rules_line(const ResultsGroup& group) {
  const std::size_t n_offset_alone = n_passed(group, "relation_passed_offset"),
                    n_both = n_passed(group, "relation_passed");
  if (n_offset_alone == 0) {
    return " No head is shown to beat the best fixed offset on any relation by at least " +
           number_text(100 * least_gain, 2) + " points.";
  }
  return " " + count_text(n_offset_alone, "head") + (n_offset_alone == 1 ? " is" : " are") +
         " shown to beat the best fixed offset on some relation by at least " +
         number_text(100 * least_gain, 2) + " points" +
         (names_word_class(group) ? "; " + (n_both == 0 ? "none" : std::to_string(n_both)) +
                                        (n_both < 2 ? " is" : " are") +
                                        " also shown to beat the nearest word of the best part of "
                                        "speech."
                                  : ".");
}

// Among the heads chosen on even documents that pass on odd ones, the one that finds most arcs
// beyond those that its baseline finds.
std::string syntax_line(const ResultsGroup& group) {
  if (!group.has("relation_tested")) return "";
  const Array& accuracy = group.values("relation_best_accuracy_heldout");
  const Array& baseline = group.values("relation_baseline_heldout");
  const Array& count = group.values("relation_count_heldout");
  const Array& tested = group.values("relation_tested");
  const Array& layer = group.values("relation_best_layer");
  const Array& head = group.values("relation_best_head");
  const Array& passed = group.values("relation_passed");
  const auto chosen = [&](std::size_t i) {
    return HeadIndex{static_cast<Index>(layer.values[i]), static_cast<Index>(head.values[i])};
  };
  std::vector<double> arcs_beyond(accuracy.size(), std::nan(""));
  for (std::size_t i = 0; i < arcs_beyond.size(); ++i) {
    if (tested.values[i] != 1 || layer.values[i] < 0) continue;
    const auto [best_layer, best_head] = chosen(i);
    if (passed.part(i / tested.shape[1])(i % tested.shape[1], best_layer, best_head) != 1) continue;
    arcs_beyond[i] = (accuracy.values[i] - baseline.values[i]) * count.values[i];
  }
  const std::optional<std::size_t> best = largest(arcs_beyond);
  if (std::ranges::find(tested.values, 1.0) == tested.values.end()) {
    return "No relation has enough held-out arcs for a test, so the run cannot tell whether a head "
           "finds a relation.";
  }
  if (!best) {
    return "Even-numbered documents chose a head for each syntactic relation; on odd-numbered "
           "documents no chosen head is shown to beat the best simple rule by at least " +
           number_text(100 * least_gain, 2) + " points." + rules_line(group);
  }
  return chosen(*best).text() + " finds the most arcs beyond its baseline: on " +
         arc_text(group, *best) + " it attends most to the right word in " +
         percent(accuracy.values[*best]) + " of " +
         count_text(static_cast<std::size_t>(count.values[*best]), "held-out arc") +
         "; the baseline, " + rule_text(group, *best) + ", is right in " +
         percent(baseline.values[*best]) + "." + rules_line(group);
}

/// Whether no other head has the largest value.
bool is_alone(const Array& by_head, std::size_t largest) {
  return std::ranges::count(by_head.values, by_head.values[largest]) == 1;
}

// The head that is right on the most held-out pronouns beside the best rule there.
std::string coreference_line(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  if (!group.has("coreference_p") || !largest(group.values("coreference_p").values)) {
    return "";
  }
  const Array accuracy =
      without_removed_heads(results, group.values("coreference_pronoun_heldout"));
  const std::optional<std::size_t> best = largest(accuracy.values);
  const Array& rules = group.values("coreference_baseline_heldout");
  const std::vector<double> of_rule = rules.at_last(1).values;
  const std::optional<std::size_t> best_rule = largest(of_rule);
  if (!best || !best_rule) return "";
  constexpr std::array<const char*, n_coreference_rule> words{
      "the nearest mention", "the mention completed last", "the nearest mention of the same form",
      "the nearest mention of the same gender and number"};
  const auto type = group.dimension("head_type").place_of("coreference");
  const auto n_passed = type ? std::ranges::count(group.values("type").part(*type).values, 1.0) : 0;
  return "In finding what a pronoun refers to, " +
         (n_passed == 0 ? "no head" : count_text(n_passed, "head")) +
         (n_passed < 2 ? " is" : " are") + " shown to beat the best simple rule by at least " +
         number_text(100 * least_gain, 2) + " points. " +
         (accuracy.values[*best] > 0
              ? head_text(*best, accuracy.shape[1]) +
                    (is_alone(accuracy, *best) ? " is best" : " is among the best") +
                    ": right on " + percent(accuracy.values[*best]) + " of the held-out pronouns"
              : "No head is right on any held-out pronoun") +
         ", where " + words[*best_rule] + " is right on " + percent(of_rule[*best_rule]) +
         (of_rule[*best_rule] + least_gain > 1
              ? ", so that no head could be better by the " + number_text(100 * least_gain, 2) +
                    " points that the type requires."
              : ".");
}

std::string repetition_line(const Array& induction, const Array& previous) {
  std::string text;
  if (const auto head_index = largest(induction.values)) {
    text += induction.values[*head_index] > 0
                ? "On repeated random tokens, " + head_text(*head_index, induction.shape[1]) +
                      " puts " + percent(induction.values[*head_index]) +
                      " of its attention on the token that followed last time, " +
                      (is_alone(induction, *head_index) ? "more than any other head. "
                                                        : "no head more. ")
                : "On repeated random tokens, no head attends to the token that followed last "
                  "time. ";
  }
  if (const auto head_index = largest(previous.values)) {
    const std::string name = head_text(*head_index, previous.shape[1]),
                      size = " (" + percent(previous.values[*head_index]) + ").";
    text += previous.values[*head_index] <= 0 ? "No head attends to the previous token."
            : is_alone(previous, *head_index)
                ? name + " attends most to the previous token" + size
                : "No head attends more to the previous token than " + name + size;
  }
  return text;
}

std::string sink_line(const Array& sink) {
  const std::optional<std::size_t> most = largest(sink.values);
  if (!most) return "";
  return "On average a head puts " + percent(mean_of_numbers(sink.values)) +
         " of its attention on the first token, the sink" +
         (is_alone(sink, *most) ? "; " + head_text(*most, sink.shape[1]) +
                                      " puts the most there (" + percent(sink.values[*most]) + ")."
                                : ", and none more than " + percent(sink.values[*most]) + ".");
}

Description description(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  const auto by_head = [&](const char* variable) {
    return without_removed_heads(results, group.values(variable));
  };
  Description description;
  description.headline = classification_headline(results);
  description.found = description.headline.attend_by;
  description.add("Types", type_line(results));
  description.add("Syntax", syntax_line(group));
  description.add("Coreference", coreference_line(results));
  description.add("Repetition and position",
                  repetition_line(by_head("induction"), by_head("previous_token")));
  description.add("Attention sink", sink_line(by_head("sink")));
  description.add("Labels and effects", explained_line(group));
  return description;
}

}  // namespace

Presentation classification_presentation() {
  return {
      .group = "classification",
      .describe = description,
      .scores = {{"Where it attends",
                  {"sink", "entropy", "distance", "previous_token", "induction"}}},
      .tables = {{"Relations it finds best",
                  {"Relation", "Held-out accuracy", "Best simple rule", "Arcs"},
                  "relation_accuracy_heldout",
                  "relation_baseline_heldout",
                  "relation_count_heldout",
                  "relation_tested"}},
      .measures = {{"type_share", "type_share", "type", true},
                   {"entropy_median", "entropy_median", ""},
                   {"sink_mean", "sink_mean", ""}},
      .reasons = {"type_rule",
                  "type_sentence",
                  "type_score",
                  "type_baseline",
                  "type_threshold",
                  "type_about",
                  {"explained_text"},
                  "explained_verdict"},
      .summaries = {{"relation_text", "", "", ""}},
      .auxiliary = {"relation_p", "relation_q", "coreference_p", "coreference_q",
                    "copy_effect_null", "copy_effect_p", "copy_effect_q", "suppression_effect_null",
                    "suppression_effect_p", "suppression_effect_q", "semantic_null",
                    "semantic_null_std", "semantic_z", "distance_even", "type_baseline",
                    "type_threshold", "explained_control", "explained_control_overlap"},
      .variables = &classification_variables()};
}

}  // namespace headscope
