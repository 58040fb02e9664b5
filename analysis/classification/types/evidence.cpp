#include "classification/types/evidence.hpp"

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/tests/relations.hpp"
#include "classification/variables.hpp"

namespace headscope {

bool is_of_type(const ResultsGroup& group, HeadType type, std::size_t head_index) {
  const std::size_t n_head_total = group.values("primary").size();
  return group.values("type").values[static_cast<std::size_t>(type) * n_head_total + head_index] ==
         1;
}

std::vector<std::size_t> passed_relations(const ResultsGroup& group, std::size_t head_index) {
  if (!group.has("relation_passed")) return {};
  const Array& passed = group.values("relation_passed");
  const std::size_t n_head_total = passed.shape[2] * passed.shape[3];
  const auto of_head = [&](const char* name) { return group.values(name).values[head_index]; };
  const double claimed = 2 * of_head("syntactic_relation") + of_head("syntactic_direction");
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i * n_head_total < passed.size(); ++i) {
    if (passed.values[i * n_head_total + head_index] != 1) continue;
    const bool is_claimed = static_cast<double>(i) == claimed;
    positions.insert(is_claimed ? positions.begin() : positions.end(), i);
  }
  return positions;
}

std::string relation_text(const ResultsGroup& group, std::size_t position) {
  return arc_text(group.labels("relation")[position / 2], static_cast<ArcDirection>(position % 2));
}

namespace {

std::string offset_text(Index offset) {
  return "offset " + std::to_string(offset);
}

/// `det → head (45 held-out arcs)`
std::string tested_relation_text(const ResultsGroup& group, std::size_t position) {
  const double count = group.values("relation_count_heldout").values[position];
  return relation_text(group, position) + " (" +
         count_text(static_cast<std::size_t>(count), "held-out arc") + ")";
}

/// What the type's score is about: the offset, or the relations that the head passes on.
std::string about_type(const ResultsGroup& group, HeadType type, std::size_t head_index,
                       const TypeMargins& margins) {
  const std::string text = joined(type_carriers(group, type, head_index), "; ");
  if (!text.empty()) return text;
  // Of a head that is not of the type: the offset or relation where it comes closest.
  if (type == HeadType::current_token) return offset_text(0);
  if (type == HeadType::positional) return offset_text(margins.positional_offset[head_index]);
  const Index closest = margins.syntactic_test[head_index];
  const bool has_relation = type == HeadType::syntactic && closest != no_position;
  return has_relation ? tested_relation_text(group, closest) : "";
}

}  // namespace

std::vector<std::string> type_carriers(const ResultsGroup& group, HeadType type,
                                       std::size_t head_index) {
  if (!is_of_type(group, type, head_index)) return {};
  if (type == HeadType::positional) {
    const double offset = group.values("positional_offset").values[head_index];
    return {offset_text(static_cast<Index>(offset))};
  }
  if (type != HeadType::syntactic) return {};
  std::vector<std::string> relations;
  for (const std::size_t position : passed_relations(group, head_index)) {
    relations.push_back(tested_relation_text(group, position));
  }
  return relations;
}

void add_type_evidence(const TypeMargins& margins, ResultsGroup& group) {
  const Shape& shape = group.values("type").shape;
  const std::size_t n_head_total = shape[1] * shape[2];
  Array score(shape), baseline(shape), threshold(shape);
  std::vector<std::string> about, rules;
  for (std::size_t i = 0; i < score.size(); ++i) {
    const TypeNumbers& numbers = margins.numbers[i / n_head_total][i % n_head_total];
    score.values[i] = numbers.score;
    baseline.values[i] = numbers.baseline;
    threshold.values[i] = numbers.threshold;
    about.push_back(
        about_type(group, static_cast<HeadType>(i / n_head_total), i % n_head_total, margins));
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
