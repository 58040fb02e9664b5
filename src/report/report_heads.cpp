#include "report/report_heads.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "figures/figure_colours.hpp"
#include "headscope/number_text.hpp"
#include "headscope/utf8.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"
#include "report/report_patterns.hpp"

namespace headscope {
namespace {

using nlohmann::json;

constexpr std::size_t most_slices = 12;        // the offsets 0 to 8, the eleven types
constexpr std::size_t most_value_rows = 1000;  // relations in either direction
constexpr std::size_t n_best_row = 3;

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

  json sections(const Results& results) const {
    json sections = json::array();
    for (const auto& [group, section] : items_by_rank(results, &ReportPart::scores)) {
      const std::string title = one_line(section->title);
      auto same = std::find_if(sections.begin(), sections.end(),
                               [&](const json& each) { return each["title"] == title; });
      if (same == sections.end()) {
        sections.push_back({{"title", title}, {"scores", json::array()}});
        same = sections.end() - 1;
      }
      for (const std::string& name : section->variables) {
        const auto found = places_.find(group->name + "/" + name);
        if (found == places_.end()) continue;
        for (const std::size_t index : found->second) (*same)["scores"].push_back(index);
      }
    }
    return sections;
  }

 private:
  void add(const ResultsGroup& group, const Variable& variable) {
    if (variable.type == Variable::Type::flag) return;
    for (const HeadSlice& slice : head_slices(group, variable, shape_, most_slices)) {
      if (!has_number(slice.values)) continue;
      json score = {{"group", one_line(group.name)},
                    {"name", one_line(variable.name)},
                    {"label", one_line(slice.label)},
                    {"about", one_line(variable.long_name)},
                    {"units", one_line(variable.units)},
                    {"anchor", variable_anchor(group.name, variable.name)},
                    {"values", numbers(slice.values)}};
      if (variable.interval) {
        score["low"] = numbers(slice.low);
        score["high"] = numbers(slice.high);
      }
      places_[group.name + "/" + variable.name].push_back(list_.size());
      list_.push_back(std::move(score));
    }
  }

  HeadShape shape_;
  json list_ = json::array();
  std::map<std::string, std::vector<std::size_t>> places_;
};

// The first of `candidates` by `value`, largest first, as [unit, value]; units without a value are
// left out.
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

void add_nearest(const ResultsGroup& group, const NearestHeads& nearest, std::size_t n_unit,
                 json& lists) {
  const Variable* const pairs = find_variable(group, nearest.variable);
  if (pairs == nullptr || pairs->dimensions.size() < 2) return;
  const std::vector<std::string> labels = pairs->dimensions.size() == 2
                                              ? std::vector<std::string>{""}
                                              : dimension_labels(group, pairs->dimensions[0]);
  if (pairs->values.size() != labels.size() * n_unit * n_unit) return;
  const Variable* const chance = find_variable(group, nearest.chance);
  for (std::size_t label = 0; label < labels.size(); ++label) {
    json by_unit = json::array();
    for (std::size_t unit = 0; unit < n_unit; ++unit) {
      by_unit.push_back(leading(
          others(unit, n_unit), nearest.most,
          [&](std::size_t other) {
            const std::size_t row = nearest.by_column ? other : unit,
                              column = nearest.by_column ? unit : other;
            return pairs->values.values[(label * n_unit + row) * n_unit + column];
          },
          nearest.smallest));
    }
    json list = {{"title", one_line(labels[label] + nearest.title)},
                 {"about", one_line(pairs->long_name)},
                 {"units", by_unit}};
    if (chance != nullptr && chance->values.size() == labels.size()) {
      list["chance"] = number(chance->values.values[label], 3);
    }
    lists.push_back(std::move(list));
  }
}

void add_best_rows(const ResultsGroup& group, const BestRows& table, const HeadShape& shape,
                   json& tables) {
  const Variable* const value = find_variable(group, table.value);
  const Variable* const baseline = find_variable(group, table.baseline);
  const Variable* const count = find_variable(group, table.count);
  const Variable* const eligible = find_variable(group, table.eligible);
  if (value == nullptr) return;
  const std::vector<HeadSlice> rows = head_slices(group, *value, shape, most_value_rows);
  if (rows.empty()) return;
  for (const Variable* variable : {baseline, count, eligible}) {
    if (variable == nullptr || variable->values.size() != rows.size()) return;
  }
  json by_unit = json::array();
  for (std::size_t unit = 0; unit < shape.n_unit(); ++unit) {
    std::vector<std::pair<double, std::size_t>> gains;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const double gain = rows[row].values[unit] - baseline->values.values[row];
      if (gain > 0 && eligible->values.values[row] == 1) gains.emplace_back(-gain, row);
    }
    std::sort(gains.begin(), gains.end());
    json list = json::array();
    for (std::size_t i = 0; i < std::min(n_best_row, gains.size()); ++i) {
      const std::size_t row = gains[i].second;
      list.push_back({{"label", one_line(rows[row].label)},
                      {"value", number(rows[row].values[unit])},
                      {"baseline", number(baseline->values.values[row])},
                      {"count", count->values.values[row]}});
    }
    by_unit.push_back(std::move(list));
  }
  json headings = json::array();
  for (const std::string& heading : table.headings) headings.push_back(one_line(heading));
  tables.push_back({{"title", one_line(table.title)}, {"headings", headings}, {"units", by_unit}});
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

// Escapes whatever could end the script element or begin a comment in it.
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
  json lists = json::array(), tables = json::array();
  for (const auto& [group, nearest] : items_by_rank(results, &ReportPart::nearest)) {
    add_nearest(*group, *nearest, shape->n_unit(), lists);
  }
  for (const auto& [group, table] : items_by_rank(results, &ReportPart::tables)) {
    add_best_rows(*group, *table, *shape, tables);
  }
  const json data = {{"layers", shape->n_layer},
                     {"heads", shape->n_head},
                     {"sequential", continuous_colours(ColourScale::sequential)},
                     {"diverging", continuous_colours(ColourScale::diverging)},
                     {"types", types(results, *shape)},
                     {"scores", scores.list()},
                     {"sections", scores.sections(results)},
                     {"tables", tables},
                     {"neighbours", lists},
                     {"documents", pattern_documents(results, *shape)}};
  return for_script(data.dump());
}

}  // namespace headscope
