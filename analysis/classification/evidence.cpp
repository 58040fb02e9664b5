#include "classification/evidence.hpp"

#include <algorithm>
#include <cmath>

#include "classification/copy_effect.hpp"
#include "classification/relations.hpp"
#include "headscope/number_text.hpp"

namespace headscope {
namespace {

double number_of(const ResultsGroup& group, const std::string& name, std::size_t unit) {
  if (name.empty()) return std::nan("");
  const std::vector<double>& values = group.variable(name).values.values;
  return values[values.size() == 1 ? 0 : unit];
}

TypeEvidence offset_evidence(const ResultsGroup& group, std::size_t offset, std::size_t unit) {
  const Array& shares = group.variable("offset_share").values;
  const std::size_t n_unit = shares.size() / shares.shape[0];
  return {shares.values[offset * n_unit + unit],
          std::nan(""),
          type_threshold::positional,
          offset,
          "",
          ""};
}

// At the offset that passes its thresholds by most, or fails by least.
TypeEvidence positional_evidence(const ResultsGroup& group, std::size_t unit) {
  const Array& masses = group.variable("offset_mass").values;
  const std::size_t n_unit = masses.size() / masses.shape[0];
  TypeEvidence best{-1, std::nan(""), type_threshold::positional, 1, "", ""};
  double largest = -INFINITY;
  for (std::size_t offset = 1; offset < masses.shape[0]; ++offset) {
    const TypeEvidence evidence = offset_evidence(group, offset, unit);
    const double margin =
        std::min(threshold_margin(evidence.score, type_threshold::positional, 1),
                 threshold_margin(masses.values[offset * n_unit + unit], type_threshold::mass, 1));
    if (!(margin > largest)) continue;
    largest = margin;
    best = evidence;
  }
  return best;
}

/// Number of the relation test that a head's evidence is of: the claimed one, else the one with the
/// largest margin; no_position if all were refused.
std::size_t shown_relation(const ResultsGroup& group, std::size_t unit) {
  const std::vector<std::size_t> passed = passed_relations(group, unit);
  if (!passed.empty()) return passed.front();
  const Array& accuracy = group.variable("relation_accuracy_heldout").values;
  const Array& q = group.variable("relation_q").values;
  const Array& baseline = group.variable("relation_baseline_heldout").values;
  const std::size_t n_unit = accuracy.size() / baseline.size();
  std::size_t best = no_position;
  double largest_margin = -INFINITY;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const double margin = threshold_margin(accuracy.values[i * n_unit + unit],
                                           baseline.values[i] + type_threshold::gain, 1);
    if (!(q.values[i * n_unit + unit] < type_threshold::q) || !(margin > largest_margin)) continue;
    largest_margin = margin;
    best = i;
  }
  return best;
}

TypeEvidence syntactic_evidence(const ResultsGroup& group, std::size_t unit) {
  TypeEvidence evidence{std::nan(""), std::nan(""), std::nan(""), no_position, "", ""};
  if (!group.has("relation_tested")) return evidence;
  const std::size_t shown = shown_relation(group, unit);
  if (shown == no_position) return evidence;
  const Array& accuracy = group.variable("relation_accuracy_heldout").values;
  const Array& baseline = group.variable("relation_baseline_heldout").values;
  evidence.score = accuracy.values[shown * (accuracy.size() / baseline.size()) + unit];
  evidence.baseline = baseline.values[shown];
  evidence.threshold = evidence.baseline + type_threshold::gain;
  evidence.relation = relation_text(group, shown);
  std::vector<std::size_t> named = passed_relations(group, unit);
  if (named.empty()) named = {shown};
  for (const std::size_t i : named) {
    const double count = group.variable("relation_count_heldout").values.values[i];
    evidence.relations += (evidence.relations.empty() ? "" : "; ") + relation_text(group, i) +
                          ", " + count_text(static_cast<std::size_t>(count), "held-out arc");
  }
  return evidence;
}

}  // namespace

std::vector<std::size_t> passed_relations(const ResultsGroup& group, std::size_t unit) {
  if (!group.has("relation_passed")) return {};
  const Array& passed = group.variable("relation_passed").values;
  const std::size_t n_unit = passed.shape[2] * passed.shape[3];
  const auto of_unit = [&](const char* name) { return group.variable(name).values.values[unit]; };
  const double claimed = 2 * of_unit("syntactic_relation") + of_unit("syntactic_direction");
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i * n_unit < passed.size(); ++i) {
    if (passed.values[i * n_unit + unit] != 1) continue;
    const bool is_claimed = static_cast<double>(i) == claimed;
    positions.insert(is_claimed ? positions.begin() : positions.end(), i);
  }
  return positions;
}

std::string relation_text(const ResultsGroup& group, std::size_t position) {
  return arc_text(group.dimensions.at("relation").text[position / 2],
                  static_cast<ArcDirection>(position % 2));
}

std::string TypeEvidence::about() const {
  return offset == no_position ? relations : "offset " + std::to_string(offset);
}

TypeEvidence type_evidence(const ResultsGroup& group, HeadType type, std::size_t unit) {
  const auto compared = [&](const char* score, const char* baseline, double threshold) {
    return TypeEvidence{number_of(group, score, unit),
                        number_of(group, baseline, unit),
                        threshold,
                        no_position,
                        "",
                        ""};
  };
  switch (type) {
    case HeadType::positional:
      return positional_evidence(group, unit);
    case HeadType::current_token:
      return offset_evidence(group, 0, unit);
    case HeadType::delimiter: {
      TypeEvidence evidence = compared("delimiter", "delimiter_baseline", 0);
      evidence.threshold =
          std::max(type_threshold::delimiter, type_threshold::delimiter_factor * evidence.baseline);
      return evidence;
    }
    case HeadType::syntactic:
      return syntactic_evidence(group, unit);
    case HeadType::coreference: {
      TypeEvidence evidence = compared("coreference_pronoun_heldout", "", 0);
      const Array& rules = group.variable("coreference_baseline_heldout").values;
      evidence.baseline = rules(0, 1);
      for (Index rule = 1; rule < n_coreference_rule; ++rule) {
        evidence.baseline = std::max(evidence.baseline, rules(rule, 1));
      }
      evidence.threshold = evidence.baseline + type_threshold::gain;
      return evidence;
    }
    case HeadType::semantic:
      return compared("semantic", "semantic_null", type_threshold::semantic);
    case HeadType::duplicate:
      return compared("duplicate_token", "", type_threshold::duplicate);
    case HeadType::induction:
      return compared("induction", "", type_threshold::induction);
    case HeadType::rare:
      return compared("rare_token", "", type_threshold::rare);
    case HeadType::sink:
      return compared("sink", "", type_threshold::sink);
    case HeadType::long_range: {
      TypeEvidence evidence = compared("distance", "distance_uniform", 0);
      evidence.threshold =
          long_range_threshold(evidence.baseline, number_of(group, "distance_furthest", unit));
      return evidence;
    }
    case HeadType::copying:
      return compared("copy_effect", "copy_effect_null", least_effect);
    case HeadType::suppressing: {  // what it takes away
      TypeEvidence evidence =
          compared("suppression_effect", "suppression_effect_null", least_effect);
      evidence.score = -evidence.score;
      evidence.baseline = -evidence.baseline;
      return evidence;
    }
  }
  return compared("", "", std::nan(""));
}

void add_type_evidence(ResultsGroup& group) {
  const std::vector<std::string> dimensions{"head_type", "layer", "head"};
  const Shape& shape = group.variable("type").values.shape;
  const std::size_t n_unit = shape[1] * shape[2];
  Array score(shape), baseline(shape), threshold(shape);
  std::vector<std::string> about, rules;
  for (std::size_t i = 0; i < score.size(); ++i) {
    const TypeEvidence evidence =
        type_evidence(group, static_cast<HeadType>(i / n_unit), i % n_unit);
    score.values[i] = evidence.score;
    baseline.values[i] = evidence.baseline;
    threshold.values[i] = evidence.threshold;
    about.push_back(evidence.about());
  }
  for (std::size_t i = 0; i < n_head_type; ++i) {
    rules.emplace_back(head_type_rule(static_cast<HeadType>(i)));
  }
  const auto add = [&](const char* name, Array values, const char* definition) {
    group.add(Variable::real(name, dimensions, std::move(values), definition, "1", own_definition));
  };
  add("type_score", std::move(score),
      "The score that the type's rule compares with its threshold; of a syntactic head on the "
      "relation "
      "that it claims; no value where its significance test failed");
  add("type_baseline", std::move(baseline), "What chance or a simple rule would score there");
  add("type_threshold", std::move(threshold), "The score from which on the head is of the type");
  group.add(Variable::strings(
      "type_about", dimensions, std::move(about),
      "The offset that the type's score is about, or the relations that the head passes on: the "
      "one that the score is about first",
      own_definition));
  group.add(Variable::strings("type_rule", {"head_type"}, std::move(rules), "The type's rule",
                              own_definition));
}

}  // namespace headscope
