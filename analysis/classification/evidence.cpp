#include "classification/evidence.hpp"

#include <algorithm>
#include <cmath>

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
  return {shares.values[offset * n_unit + unit], std::nan(""), type_threshold::positional, offset,
          ""};
}

// At the offset that passes its thresholds by most, or fails by least.
TypeEvidence positional_evidence(const ResultsGroup& group, std::size_t unit) {
  const Array& masses = group.variable("offset_mass").values;
  const std::size_t n_unit = masses.size() / masses.shape[0];
  TypeEvidence best{-1, std::nan(""), type_threshold::positional, 1, ""};
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

TypeEvidence syntactic_evidence(const ResultsGroup& group, std::size_t unit) {
  TypeEvidence best{std::nan(""), std::nan(""), std::nan(""), no_position, ""};
  if (!group.has("relation_tested")) return best;
  const Array& accuracy = group.variable("relation_accuracy_heldout").values;
  const Array& q = group.variable("relation_q").values;
  const Array& baseline = group.variable("relation_baseline_heldout").values;
  const Array& tested = group.variable("relation_tested").values;
  const std::vector<std::string> relations = group.dimensions.at("relation").text;
  const Array& count = group.variable("relation_count_heldout").values;
  const std::size_t n_unit = accuracy.size() / baseline.size();
  double largest_margin = -INFINITY;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const double score = accuracy.values[i * n_unit + unit];
    const double threshold = baseline.values[i] + type_threshold::gain;
    const double margin = threshold_margin(score, threshold, 1);
    if (tested.values[i] != 1 || !(q.values[i * n_unit + unit] < type_threshold::q)) continue;
    if (!(margin > largest_margin)) continue;
    largest_margin = margin;
    best = {score, baseline.values[i], threshold, no_position,
            arc_text(relations[i / 2], static_cast<ArcDirection>(i % 2)) + ", " +
                count_text(static_cast<std::size_t>(count.values[i]), "held-out arc")};
  }
  return best;
}

}  // namespace

std::string TypeEvidence::about() const {
  return offset == no_position ? relation : "offset " + std::to_string(offset);
}

TypeEvidence type_evidence(const ResultsGroup& group, HeadType type, std::size_t unit) {
  const auto compared = [&](const char* score, const char* baseline, double threshold) {
    return TypeEvidence{number_of(group, score, unit), number_of(group, baseline, unit), threshold,
                        no_position, ""};
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
      TypeEvidence evidence =
          compared("coreference_pronoun_heldout", "coreference_pronoun_baseline_heldout", 0);
      evidence.baseline =
          std::max(evidence.baseline,
                   number_of(group, "coreference_pronoun_baseline_completed_heldout", unit));
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
      evidence.threshold = evidence.baseline;
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
      "The score that the type's rule compares with its threshold; of a relation the one that the "
      "head finds furthest above its threshold; no value where its significance test failed");
  add("type_baseline", std::move(baseline), "What chance or a simple rule would score there");
  add("type_threshold", std::move(threshold), "The score from which on the head is of the type");
  group.add(Variable::strings("type_about", dimensions, std::move(about),
                              "The offset or relation that the type's score is about",
                              own_definition));
  group.add(Variable::strings("type_rule", {"head_type"}, std::move(rules), "The type's rule",
                              own_definition));
}

}  // namespace headscope
