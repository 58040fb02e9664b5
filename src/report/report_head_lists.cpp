#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "base/head_range.hpp"
#include "base/utf8.hpp"
#include "report/head_variables.hpp"
#include "report/report_heads.hpp"
#include "report/script_json.hpp"

namespace headscope {

using nlohmann::json;

namespace {

constexpr std::size_t most_value_rows = 1000;  // relations in either direction

// The heads nearest to a head by their values, as [head_index, value]; heads without a value are
// left out.
template <typename Value>
json leading(std::size_t head_index, std::size_t n_head_total, const NearestHeads& nearest,
             Value value) {
  std::vector<std::size_t> heads;
  for (std::size_t other = 0; other < n_head_total; ++other) {
    if (other != head_index && std::isfinite(value(other))) heads.push_back(other);
  }
  std::ranges::stable_sort(heads, [&](std::size_t a, std::size_t b) {
    return nearest.smallest ? value(a) < value(b) : std::abs(value(a)) > std::abs(value(b));
  });
  return json_list(heads | std::views::take(nearest.most), [&](std::size_t other) -> json {
    return {other, json_number(value(other), 3)};
  });
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
      const auto value = [&](std::size_t other) {
        const std::size_t row = nearest.by_column ? other : head_index,
                          column = nearest.by_column ? head_index : other;
        return pairs->values.values[(label * n_head_total + row) * n_head_total + column];
      };
      by_head.push_back(leading(head_index, n_head_total, nearest, value));
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
    by_head.push_back(json_list(edges | std::views::take(most), [](const NamedEdge& edge) -> json {
      return {one_line(edge.other), json_number(edge.effect, 3), one_line(edge.port)};
    }));
  }
  return by_head;
}

// @param removed  names of heads, which may share ports with heads that are left.
void add_edges(const ResultsGroup& group, const EdgeLists& edges, const HeadShape& shape,
               const std::set<std::string>& removed, json& sections) {
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
          if (!removed.contains(head)) read[head].push_back({nodes[node], kind, change});
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
    by_head.push_back(json_list(gains, [&](const auto& gain) -> json {
      return {gain.second, json_number(rows[gain.second].values[head_index], 3)};
    }));
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

}  // namespace

void add_head_lists(const Results& results, const std::vector<Presentation>& presentations,
                    const HeadShape& shape, json& data) {
  data["neighbours"] = data["edges"] = data["tables"] = json::array();
  for (const auto& [group, nearest] : items_of(results, presentations, &Presentation::nearest)) {
    add_nearest(*group, *nearest, shape.n_head_total(), data["neighbours"]);
  }
  const std::vector<bool> is_removed = removed_heads(results, shape);
  std::set<std::string> removed;
  for (std::size_t head_index = 0; head_index < is_removed.size(); ++head_index) {
    if (is_removed[head_index]) removed.insert(shape.text(head_index));
  }
  for (const auto& [group, edges] : items_of(results, presentations, &Presentation::edges)) {
    add_edges(*group, *edges, shape, removed, data["edges"]);
  }
  for (const auto& [group, table] : items_of(results, presentations, &Presentation::tables)) {
    add_best_rows(*group, *table, shape, data["tables"]);
  }
}

}  // namespace headscope
