#include "report/report_heads.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "figures/figure_colours.hpp"
#include "headscope/number_text.hpp"
#include "headscope/utf8.hpp"
#include "report/report_contract.hpp"
#include "report/report_pages.hpp"
#include "report/report_patterns.hpp"

namespace headscope {
namespace {

using nlohmann::json;

constexpr std::size_t most_slices = 12;  // the offsets 0 to 8, the ten types
constexpr std::size_t n_neighbour = 5, n_composition = 3, n_relation = 3;

json number(double value, int digits = 4) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(number_text(value, digits));
}

json numbers(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

// Gathers every variable by head, and remembers where each is for the panel's sections.
class Scores {
 public:
  Scores(const Results& results, const HeadShape& shape) : shape_(shape) {
    for (const ResultsGroup& group : results.groups) {
      if (group.name.find('/') != std::string::npos) continue;
      for (const Variable& variable : group.variables) add(group, variable);
    }
  }

  json list() const { return list_; }

  json section(const std::string& title, const std::vector<VariableName>& names) const {
    json indices = json::array();
    for (const VariableName& name : names) {
      const auto found = places_.find(std::string(name.group) + "/" + std::string(name.name));
      if (found == places_.end()) continue;
      for (const std::size_t index : found->second) indices.push_back(index);
    }
    return {{"title", title}, {"scores", indices}};
  }

 private:
  void add(const ResultsGroup& group, const Variable& variable) {
    if (variable.type == Variable::Type::flag) return;
    const std::vector<HeadSlice> slices = head_slices(group, variable, shape_, most_slices);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      if (!has_number(slices[i].values)) continue;
      json score = {{"group", one_line(group.name)},
                    {"name", one_line(variable.name)},
                    {"label", one_line(slices[i].label)},
                    {"about", one_line(variable.long_name)},
                    {"units", one_line(variable.units)},
                    {"anchor", variable_anchor(group.name, variable.name)},
                    {"values", numbers(slices[i].values)}};
      if (variable.interval) {
        score["low"] = numbers(slices[i].low);
        score["high"] = numbers(slices[i].high);
      }
      places_[group.name + "/" + variable.name].push_back(list_.size());
      list_.push_back(std::move(score));
    }
  }

  HeadShape shape_;
  json list_ = json::array();
  std::map<std::string, std::vector<std::size_t>> places_;
};

// The first of `candidates` by `value`, largest first, as [unit, value]; those without are left
// out.
template <typename Value>
json leading(std::vector<std::size_t> candidates, std::size_t most, Value value, bool smallest) {
  std::erase_if(candidates, [&](std::size_t unit) { return !std::isfinite(value(unit)); });
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return smallest ? value(a) < value(b) : std::abs(value(a)) > std::abs(value(b));
  });
  json list = json::array();
  for (std::size_t i = 0; i < std::min(most, candidates.size()); ++i) {
    list.push_back({candidates[i], number(value(candidates[i]), 3)});
  }
  return list;
}

std::vector<std::size_t> others(std::size_t unit, std::size_t n_unit) {
  std::vector<std::size_t> units(n_unit);
  std::iota(units.begin(), units.end(), 0);
  units.erase(units.begin() + static_cast<std::ptrdiff_t>(unit));
  return units;
}

bool is_by_unit_pairs(const Variable* variable, std::size_t n_leading, std::size_t n_unit) {
  return variable != nullptr && variable->values.size() == n_leading * n_unit * n_unit;
}

void add_closest(const Results& results, const HeadShape& shape, VariableName name,
                 const std::string& title, bool smallest, json& lists) {
  const Variable* const pairs = find_variable(results, name);
  const std::size_t n_unit = shape.n_unit();
  if (!is_by_unit_pairs(pairs, 1, n_unit)) return;
  json by_unit = json::array();
  for (std::size_t unit = 0; unit < n_unit; ++unit) {
    by_unit.push_back(leading(
        others(unit, n_unit), n_neighbour,
        [&](std::size_t other) { return pairs->values.values[unit * n_unit + other]; }, smallest));
  }
  lists.push_back({{"title", title}, {"about", one_line(pairs->long_name)}, {"units", by_unit}});
}

void add_composition(const Results& results, const HeadShape& shape, json& lists) {
  const Variable* const pairs = find_variable(results, contract::composition);
  if (pairs == nullptr) return;
  const ResultsGroup& group = *find_group(results, contract::composition.group);
  const std::vector<std::string> kinds = dimension_labels(group, "kind");
  const std::size_t n_unit = shape.n_unit();
  if (!is_by_unit_pairs(pairs, kinds.size(), n_unit)) return;
  const Variable* const null = find_variable(results, contract::composition_null);
  for (const bool reads : {true, false}) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      json by_unit = json::array();
      for (std::size_t unit = 0; unit < n_unit; ++unit) {
        by_unit.push_back(leading(
            others(unit, n_unit), n_composition,
            [&](std::size_t other) {
              const std::size_t from = reads ? other : unit, to = reads ? unit : other;
              return pairs->values.values[(kind * n_unit + from) * n_unit + to];
            },
            false));
      }
      json list = {{"title", one_line(kinds[kind]) + "-composition, " + (reads ? "from" : "to")},
                   {"about", one_line(pairs->long_name)},
                   {"units", by_unit}};
      if (null != nullptr && null->values.size() == kinds.size()) {
        list["chance"] = number(null->values.values[kind], 3);
      }
      lists.push_back(std::move(list));
    }
  }
}

// Each head's relations in which it beats the best fixed offset most, on held-out documents.
json relations(const Results& results, const HeadShape& shape) {
  const Variable* const accuracy = find_variable(results, contract::relation_accuracy);
  const Variable* const baseline = find_variable(results, contract::relation_baseline);
  const Variable* const count = find_variable(results, contract::relation_count);
  const Variable* const tested = find_variable(results, contract::relation_tested);
  for (const Variable* variable : {accuracy, baseline, count, tested}) {
    if (variable == nullptr) return nullptr;
  }
  const ResultsGroup& group = *find_group(results, contract::relation_accuracy.group);
  const std::vector<std::string> names = dimension_labels(group, "relation");
  const std::vector<std::string> directions = dimension_labels(group, "direction");
  const std::size_t n_pair = names.size() * directions.size(), n_unit = shape.n_unit();
  if (n_pair == 0 || accuracy->values.size() != n_pair * n_unit) return nullptr;
  for (const Variable* variable : {baseline, count, tested}) {
    if (variable->values.size() != n_pair) return nullptr;
  }
  json by_unit = json::array();
  for (std::size_t unit = 0; unit < n_unit; ++unit) {
    std::vector<std::pair<double, std::size_t>> gains;
    for (std::size_t pair = 0; pair < n_pair; ++pair) {
      const double gain =
          accuracy->values.values[pair * n_unit + unit] - baseline->values.values[pair];
      if (gain > 0 && tested->values.values[pair] == 1) gains.emplace_back(-gain, pair);
    }
    std::sort(gains.begin(), gains.end());
    json list = json::array();
    for (std::size_t i = 0; i < std::min(n_relation, gains.size()); ++i) {
      const std::size_t pair = gains[i].second;
      list.push_back({{"name", one_line(names[pair / directions.size()])},
                      {"direction", one_line(directions[pair % directions.size()])},
                      {"accuracy", number(accuracy->values.values[pair * n_unit + unit])},
                      {"baseline", number(baseline->values.values[pair])},
                      {"count", count->values.values[pair]}});
    }
    by_unit.push_back(std::move(list));
  }
  return by_unit;
}

json types(const Results& results, const HeadShape& shape) {
  const std::optional<HeadTypes> found = head_types(results, shape);
  if (!found) return nullptr;
  json flags = json::array();
  for (const std::vector<bool>& of_head : found->of_head) {
    json list = json::array();
    for (std::size_t type = 0; type < of_head.size(); ++type) {
      if (of_head[type]) list.push_back(type);
    }
    flags.push_back(std::move(list));
  }
  json names = json::array();
  for (const std::string& name : found->names) names.push_back(one_line(name));
  json primary = json::array();
  for (const std::optional<std::size_t>& type : found->primary) {
    primary.push_back(type ? json(*type) : json(nullptr));
  }
  return {{"names", names},
          {"colours", category_colours(found->names)},
          {"flags", flags},
          {"primary", primary}};
}

// Nothing in the text may end the script element or begin a comment in it.
std::string for_script(const std::string& text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string head_data_json(const Results& results) {
  const std::optional<HeadShape> shape = head_shape(results);
  if (!shape) return "";
  const Scores scores(results, *shape);
  json lists = json::array();
  add_closest(results, *shape, contract::js_distance, "Attend most alike (distance)", true, lists);
  add_closest(results, *shape, contract::cosine_all, "Write most alike (cosine)", false, lists);
  add_composition(results, *shape, lists);
  const json data = {
      {"layers", shape->n_layer},
      {"heads", shape->n_head},
      {"sequential", continuous_colours(ColourScale::sequential)},
      {"diverging", continuous_colours(ColourScale::diverging)},
      {"types", types(results, *shape)},
      {"scores", scores.list()},
      {"sections",
       {scores.section("What pruning it costs",
                       {contract::loss_increase, contract::loss_all_but_one, contract::importance}),
        scores.section("Where it attends", {contract::sink, contract::entropy, contract::distance,
                                            contract::previous_token, contract::induction}),
        scores.section("OV and QK circuits",
                       {contract::ov_copying, contract::qk_rank90, contract::position_only_sink,
                        contract::output_share})}},
      {"relations", relations(results, *shape)},
      {"neighbours", lists},
      {"documents", pattern_documents(results, *shape)}};
  return for_script(data.dump());
}

}  // namespace headscope
