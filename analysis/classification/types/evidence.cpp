#include "classification/types/evidence.hpp"

#include "classification/tests/relations.hpp"
#include "classification/variables.hpp"
#include "headscope/number_text.hpp"

namespace headscope {

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

namespace {

std::string offset_text(Index offset) {
  return "offset " + std::to_string(offset);
}

/// What the type's score is about: the offset, or the relations that the head passes on.
std::string about_type(const ResultsGroup& group, HeadType type, std::size_t unit,
                       const TypeMargins& margins) {
  if (type == HeadType::current_token) return offset_text(0);
  if (type == HeadType::positional) return offset_text(margins.positional_offset[unit]);
  if (type != HeadType::syntactic || margins.syntactic_test[unit] == no_position) return "";
  std::vector<std::size_t> named = passed_relations(group, unit);
  if (named.empty()) named = {margins.syntactic_test[unit]};
  std::string relations;
  for (const std::size_t i : named) {
    const double count = group.variable("relation_count_heldout").values.values[i];
    relations += (relations.empty() ? "" : "; ") + relation_text(group, i) + ", " +
                 count_text(static_cast<std::size_t>(count), "held-out arc");
  }
  return relations;
}

}  // namespace

void add_type_evidence(const TypeMargins& margins, ResultsGroup& group) {
  const Shape& shape = group.variable("type").values.shape;
  const std::size_t n_unit = shape[1] * shape[2];
  Array score(shape), baseline(shape), threshold(shape);
  std::vector<std::string> about, rules;
  for (std::size_t i = 0; i < score.size(); ++i) {
    const TypeNumbers& numbers = margins.numbers[i / n_unit][i % n_unit];
    score.values[i] = numbers.score;
    baseline.values[i] = numbers.baseline;
    threshold.values[i] = numbers.threshold;
    about.push_back(about_type(group, static_cast<HeadType>(i / n_unit), i % n_unit, margins));
  }
  for (std::size_t i = 0; i < n_head_type; ++i) {
    rules.emplace_back(head_type_rule(static_cast<HeadType>(i)));
  }
  const VariableTable& variables = classification_variables();
  group.add(variables["type_score"], std::move(score));
  group.add(variables["type_baseline"], std::move(baseline));
  group.add(variables["type_threshold"], std::move(threshold));
  group.add(variables["type_about"], std::move(about));
  group.add(variables["type_rule"], std::move(rules));
}

}  // namespace headscope
