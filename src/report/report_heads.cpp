#include "report/report_heads.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/head_range.hpp"
#include "base/utf8.hpp"
#include "figures/figure_colours.hpp"
#include "headscope/literature.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"
#include "report/report_patterns.hpp"
#include "report/report_predictions.hpp"
#include "report/script_json.hpp"
#include "results/long_table.hpp"

namespace headscope {
namespace {

using nlohmann::json;

constexpr std::size_t most_value_rows = 1000;  // relations in either direction

// Gathers every variable by head, and remembers where each is for the panel's sections.
class Scores {
 public:
  Scores(const Results& results, const std::vector<Presentation>& presentations,
         const HeadShape& shape)
      : shape_(shape) {
    for (const Presentation& each : presentations) {
      for (const std::string& name :
           {each.reasons.score, each.reasons.baseline, each.reasons.threshold}) {
        reasons_.insert(each.group + "/" + name);
      }
    }
    for (const ResultsGroup& group : results.groups) {
      if (group.name.find('/') != std::string::npos) continue;
      for (const Variable& variable : group.variables) add(group, variable);
    }
  }

  json list() const { return list_; }
  /// Variables with too many values a head to be listed.
  json left_out() const { return left_out_; }

  json sections(const Results& results, const std::vector<Presentation>& presentations) const {
    json sections = json::array();
    for (const auto& [group, section] : items_of(results, presentations, &Presentation::scores)) {
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
    if (reasons_.contains(group.name + "/" + variable.name)) return;
    const std::size_t n_slice = n_head_slice(group, variable, shape_);
    if (n_slice > most_head_slices) {
      left_out_.push_back({{"name", one_line(variable.name)},
                           {"anchor", variable_anchor(group.name, variable.name)},
                           {"values", n_slice}});
      return;
    }
    for (const HeadSlice& slice : head_slices(group, variable, shape_, most_head_slices)) {
      if (!has_number(slice.values)) continue;
      json score = {{"group", one_line(group.name)},
                    {"name", one_line(variable.name)},
                    {"label", one_line(slice.label)},
                    {"about", one_line(variable.long_name)},
                    {"units", one_line(variable.units)},
                    {"anchor", variable_anchor(group.name, variable.name)},
                    {"values", json_numbers(slice.values)}};
      if (variable.interval) {
        score["low"] = json_numbers(slice.low);
        score["high"] = json_numbers(slice.high);
      }
      places_[group.name + "/" + variable.name].push_back(list_.size());
      list_.push_back(std::move(score));
    }
  }

  HeadShape shape_;
  std::set<std::string> reasons_;  // the numbers behind types are shown as reasons
  json list_ = json::array(), left_out_ = json::array();
  std::map<std::string, std::vector<std::size_t>> places_;
};

// The first of `candidates` by `value`, largest first, as [head_index, value]; heads without a
// value are left out.
template <typename Value>
json leading(std::vector<std::size_t> candidates, std::size_t most, Value value, bool smallest) {
  std::erase_if(candidates,
                [&](std::size_t head_index) { return !std::isfinite(value(head_index)); });
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return smallest ? value(a) < value(b) : std::abs(value(a)) > std::abs(value(b));
  });
  json list = json::array();
  for (std::size_t i = 0; i < std::min(most, candidates.size()); ++i) {
    list.push_back({candidates[i], json_number(value(candidates[i]), 3)});
  }
  return list;
}

std::vector<std::size_t> others(std::size_t head_index, std::size_t n_head_total) {
  std::vector<std::size_t> head_indices(n_head_total);
  std::iota(head_indices.begin(), head_indices.end(), 0);
  head_indices.erase(head_indices.begin() + static_cast<std::ptrdiff_t>(head_index));
  return head_indices;
}

void add_nearest(const ResultsGroup& group, const NearestHeads& nearest, std::size_t n_head_total,
                 json& lists) {
  const Variable* const pairs = group.find(nearest.variable);
  if (pairs == nullptr || pairs->dimensions.size() < 2) return;
  const std::vector<std::string> labels = pairs->dimensions.size() == 2
                                              ? std::vector<std::string>{""}
                                              : dimension_labels(group, pairs->dimensions[0]);
  if (pairs->values.size() != labels.size() * n_head_total * n_head_total) return;
  const Variable* const chance = group.find(nearest.chance);
  for (std::size_t label = 0; label < labels.size(); ++label) {
    json by_head = json::array();
    for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
      by_head.push_back(leading(
          others(head_index, n_head_total), nearest.most,
          [&](std::size_t other) {
            const std::size_t row = nearest.by_column ? other : head_index,
                              column = nearest.by_column ? head_index : other;
            return pairs->values.values[(label * n_head_total + row) * n_head_total + column];
          },
          nearest.smallest));
    }
    json list = {{"title", one_line(labels[label] + nearest.title)},
                 {"about", one_line(pairs->long_name)},
                 {"alike", nearest.alike},
                 {"byHead", by_head}};
    if (chance != nullptr && chance->values.size() == labels.size()) {
      list["chance"] = json_number(chance->values.values[label], 3);
    }
    lists.push_back(std::move(list));
  }
}

struct NamedEdge {
  std::string other, port;
  double effect;
};

// By head, its edges as [other end, effect, `k` of the port `L3H3.k`], the largest first.
json edge_lists(std::map<std::string, std::vector<NamedEdge>>& of_name, std::size_t most,
                const HeadShape& shape) {
  json by_head = json::array();
  for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
    std::vector<NamedEdge>& edges = of_name[shape.text(head_index)];
    std::ranges::stable_sort(edges, std::greater(),
                             [](const NamedEdge& edge) { return std::abs(edge.effect); });
    json list = json::array();
    for (std::size_t i = 0; i < std::min(most, edges.size()); ++i) {
      list.push_back(
          {one_line(edges[i].other), json_number(edges[i].effect, 3), one_line(edges[i].port)});
    }
    by_head.push_back(std::move(list));
  }
  return by_head;
}

void add_edges(const ResultsGroup& group, const EdgeLists& edges, const HeadShape& shape,
               json& sections) {
  const Variable* const effect = group.find(edges.effect);
  const Variable* const q = group.find(edges.q);
  const Variable* const eligible = group.find(edges.eligible);
  if (effect == nullptr || q == nullptr || eligible == nullptr) return;
  if (effect->dimensions.size() != 3 || q->dimensions != effect->dimensions) return;
  const std::vector<std::string> labels = dimension_labels(group, effect->dimensions[0]),
                                 nodes = dimension_labels(group, effect->dimensions[1]),
                                 ports = dimension_labels(group, effect->dimensions[2]);
  json lists = json::array();
  for (std::size_t label = 0; label < std::min(labels.size(), eligible->values.size()); ++label) {
    if (eligible->values.values[label] == 0) continue;
    std::map<std::string, std::vector<NamedEdge>> read, readers;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      for (std::size_t port = 0; port < ports.size(); ++port) {
        if (!(q->values(label, node, port) < edges.level)) continue;
        const double change = effect->values(label, node, port);
        const std::size_t dot = std::min(ports[port].rfind('.'), ports[port].size());
        const std::string reader = ports[port].substr(0, dot),
                          kind = ports[port].substr(std::min(dot + 1, ports[port].size()));
        for (const std::string& head : heads_in(reader)) {
          read[head].push_back({nodes[node], kind, change});
        }
        readers[nodes[node]].push_back({reader, kind, change});
      }
    }
    lists.push_back({{"label", one_line(labels[label])},
                     {"reads", edge_lists(read, edges.most, shape)},
                     {"readers", edge_lists(readers, edges.most, shape)}});
  }
  sections.push_back({{"title", one_line(edges.title)},
                      {"about", one_line(effect->long_name)},
                      {"caption", one_line(edges.caption)},
                      {"lists", lists}});
}

void add_best_rows(const ResultsGroup& group, const BestRows& table, const HeadShape& shape,
                   json& tables) {
  const Variable* const value = group.find(table.value);
  const Variable* const baseline = group.find(table.baseline);
  const Variable* const count = group.find(table.count);
  const Variable* const eligible = group.find(table.eligible);
  if (value == nullptr) return;
  const std::vector<HeadSlice> rows = head_slices(group, *value, shape, most_value_rows);
  if (rows.empty()) return;
  for (const Variable* variable : {baseline, count, eligible}) {
    if (variable == nullptr || variable->values.size() != rows.size()) return;
  }
  json by_head = json::array();
  for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
    std::vector<std::pair<double, std::size_t>> gains;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const double gain = rows[row].values[head_index] - baseline->values.values[row];
      if (gain > 0 && eligible->values.values[row] == 1) gains.emplace_back(-gain, row);
    }
    std::sort(gains.begin(), gains.end());
    json list = json::array();
    for (const auto& [gain, row] : gains) {
      list.push_back({row, json_number(rows[row].values[head_index], 3)});
    }
    by_head.push_back(std::move(list));
  }
  json of_row = json::array();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    of_row.push_back({{"label", one_line(rows[row].label)},
                      {"baseline", json_number(baseline->values.values[row])},
                      {"count", count->values.values[row]}});
  }
  tables.push_back({{"title", one_line(table.title)},
                    {"headings", json_texts(table.headings)},
                    {"rows", of_row},
                    {"byHead", by_head}});
}

// By head, the types whose label does not explain what the head does.
json unexplained_types(const Results& results, const std::vector<Presentation>& presentations,
                       const HeadTypes& types) {
  json by_head(types.of_head.size(), json::array());
  for (const Presentation& presentation : presentations) {
    if (!results.has(presentation.group)) continue;
    const Variable* const flag =
        results.group(presentation.group).find(presentation.reasons.unexplained);
    const std::size_t n_head_total = types.of_head.size();
    if (flag == nullptr || flag->values.size() != types.names.size() * n_head_total) continue;
    for (std::size_t i = 0; i < flag->values.size(); ++i) {
      if (flag->values.values[i] == 1) by_head[i % n_head_total].push_back(i / n_head_total);
    }
  }
  return by_head;
}

json types(const Results& results, const std::vector<Presentation>& presentations,
           const HeadShape& shape) {
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
  json primary = json::array();
  for (const std::optional<std::size_t>& type : found->primary) {
    primary.push_back(type ? json(*type) : json(nullptr));
  }
  return {{"names", json_texts(found->names)},
          {"colours", category_colours(found->names)},
          {"flags", flags},
          {"unexplained", unexplained_types(results, presentations, *found)},
          {"primary", primary}};
}

// Flags by head with more than two meanings but the heads' types: by head, a place in the names.
json categories(const Results& results, const HeadShape& shape) {
  json found = json::array();
  for (const ResultsGroup& group : results.groups) {
    if (group.name.find('/') != std::string::npos) continue;
    for (const Variable& variable : group.variables) {
      if (variable.type != Variable::Type::flag || variable.name == primary_type_variable ||
          variable.flag_meanings.size() < 3 || n_head_slice(group, variable, shape) != 1) {
        continue;
      }
      found.push_back({{"name", one_line(variable.name)},
                       {"about", one_line(variable.long_name)},
                       {"names", json_texts(variable.flag_meanings)},
                       {"colours", category_colours(variable.flag_meanings)},
                       {"values", json_numbers(variable.values.values)}});
    }
  }
  return found;
}

// For each head, its types with the score, baseline and threshold of each, and notes.
json reasons(const Results& results, const std::vector<Presentation>& presentations,
             const HeadShape& shape) {
  const std::optional<HeadTypes> types = head_types(results, shape);
  const auto presented = std::ranges::find_if(presentations, [&](const Presentation& each) {
    return results.has(each.group) && results.group(each.group).has(each.reasons.score);
  });
  if (!types || presented == presentations.end()) return nullptr;
  const ResultsGroup& group = results.group(presented->group);
  const TypeReasons& names = presented->reasons;
  const std::size_t n_head_total = shape.n_head_total(), n_type = types->names.size();
  const auto numbers_of = [&](const std::string& name, std::size_t place) -> json {
    const Variable* const variable = group.find(name);
    if (variable == nullptr || variable->values.size() != n_type * n_head_total) return nullptr;
    return json_number(variable->values.values[place]);
  };
  const auto text_of = [&](const std::string& name, std::size_t place, std::size_t count) {
    const Variable* const variable = group.find(name);
    if (variable == nullptr || variable->text.size() != count) return std::string();
    return one_line(variable->text[place]);
  };
  const auto notes_of = [&](std::size_t place) {
    json notes = json::array();
    for (const std::string& name : names.notes) {
      const std::string note = text_of(name, place, n_type * n_head_total);
      if (!note.empty()) notes.push_back(note);
    }
    return notes;
  };
  json rules = json::array(), sentences = json::array(), heads = json::array();
  for (std::size_t type = 0; type < n_type; ++type) {
    rules.push_back(text_of(names.rule, type, n_type));
    sentences.push_back(text_of(names.sentence, type, n_type));
  }
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    json held = json::object();
    for (std::size_t type = 0; type < n_type; ++type) {
      if (!types->of_head[head_index][type]) continue;
      const std::size_t place = type * n_head_total + head_index;
      held[one_line(types->names[type])] = {
          {"score", numbers_of(names.score, place)},
          {"baseline", numbers_of(names.baseline, place)},
          {"threshold", numbers_of(names.threshold, place)},
          {"about", text_of(names.about, place, n_type * n_head_total)},
          {"notes", notes_of(place)}};
    }
    heads.push_back(std::move(held));
  }
  return {{"rules", rules}, {"sentences", sentences}, {"heads", heads}};
}

// The examples of all groups, by head: type, text, and which characters of it are what.
json examples(const Results& results, const HeadShape& shape) {
  json by_head(shape.n_head_total(), json::array());
  for (const ResultsGroup& group : results.groups) {
    if (!is_one_table(group)) continue;
    const Array& layer = group.values("layer");
    const Array& head = group.values("head");
    const auto places = [&](const std::string& what, std::size_t i) -> json {
      return {group.values(what + "_start").values.at(i), group.values(what + "_end").values.at(i)};
    };
    const auto text = [&](const char* name, std::size_t i) {
      return one_line(group.texts(name).at(i));
    };
    for (std::size_t i = 0; i < layer.size(); ++i) {
      const double head_index =
          layer.values[i] * static_cast<double>(shape.n_head) + head.values.at(i);
      if (!(head_index >= 0 && head_index < static_cast<double>(shape.n_head_total()))) continue;
      by_head[static_cast<std::size_t>(head_index)].push_back(
          {{"type", text("type", i)},
           {"about", text("about", i)},
           {"text", text("text", i)},
           {"query", places("query", i)},
           {"target", places("target", i)},
           {"attended", places("attended", i)},
           {"attendedText", text("attended", i)},
           {"found", group.values("found").values.at(i) == 1}});
    }
  }
  return by_head;
}

void add_summary(const ResultsGroup& group, const HeadSummary& summary, std::size_t n_head_total,
                 json& by_head) {
  const Variable* const text = group.find(summary.text);
  if (text == nullptr || text->text.size() != n_head_total) return;
  const Variable *const places = group.find(summary.places), *const marks =
                                                                 group.find(summary.marks);
  const bool has_places = places != nullptr && marks != nullptr &&
                          places->text.size() % n_head_total == 0 &&
                          marks->values.size() == 4 * places->text.size();
  const std::size_t n_place = has_places ? places->text.size() / n_head_total : 0;
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    if (text->text[head_index].empty()) continue;
    json shown = json::array();
    for (std::size_t i = head_index * n_place; i < (head_index + 1) * n_place; ++i) {
      if (places->text[i].empty()) continue;
      const auto mark = [&](std::size_t which) { return marks->values.values[4 * i + which]; };
      shown.push_back({{"text", one_line(places->text[i])},
                       {"query", {mark(0), mark(1)}},
                       {"target", {mark(2), mark(3)}},
                       {"found", true}});
    }
    by_head[head_index].push_back({{"text", one_line(text->text[head_index])},
                                   {"title", summary.places_title},
                                   {"places", std::move(shown)}});
  }
}

/// What papers say of the heads of a known model, beside what the run measures.
void add_published_roles(const Results& results, const HeadShape& shape, json& by_head) {
  const std::optional<Literature> literature = published_roles(results);
  if (!literature) return;
  for (const PublishedRole& role : literature->roles) {
    by_head[role.head.flat(shape.n_head)].push_back(
        {{"text", "Published role: " + role_text(role, literature->n_head_total) + "."},
         {"title", ""},
         {"places", json::array()}});
  }
}

}  // namespace

std::string head_data_json(const Results& results, const std::vector<Presentation>& presentations,
                           std::optional<HeadIndex> opened) {
  const std::optional<HeadShape> shape = head_shape(results);
  if (!shape) return "";
  const Scores scores(results, presentations, *shape);
  json lists = json::array(), edges = json::array(), tables = json::array();
  for (const auto& [group, nearest] : items_of(results, presentations, &Presentation::nearest)) {
    add_nearest(*group, *nearest, shape->n_head_total(), lists);
  }
  for (const auto& [group, item] : items_of(results, presentations, &Presentation::edges)) {
    add_edges(*group, *item, *shape, edges);
  }
  for (const auto& [group, table] : items_of(results, presentations, &Presentation::tables)) {
    add_best_rows(*group, *table, *shape, tables);
  }
  json summaries(shape->n_head_total(), json::array());
  for (const auto& [group, item] : items_of(results, presentations, &Presentation::summaries)) {
    add_summary(*group, *item, shape->n_head_total(), summaries);
  }
  add_published_roles(results, *shape, summaries);
  const json data = {{"layers", shape->n_layer},
                     {"heads", shape->n_head},
                     {"sequential", continuous_colours(ColourScale::sequential)},
                     {"diverging", continuous_colours(ColourScale::diverging)},
                     {"types", types(results, presentations, *shape)},
                     {"categories", categories(results, *shape)},
                     {"reasons", reasons(results, presentations, *shape)},
                     {"examples", examples(results, *shape)},
                     {"summaries", summaries},
                     {"scores", scores.list()},
                     {"leftOut", scores.left_out()},
                     {"sections", scores.sections(results, presentations)},
                     {"tables", tables},
                     {"neighbours", lists},
                     {"edges", edges},
                     {"documents", pattern_documents(results, *shape)},
                     {"predictions", predictions(results, *shape)},
                     {"neurons", neurons(results, *shape)},
                     {"opened", opened ? json(opened->flat(shape->n_head)) : json(nullptr)}};
  return script_json(data);
}

}  // namespace headscope
