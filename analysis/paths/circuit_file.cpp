#include "paths/circuit_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file_names.hpp"
#include "base/head_range.hpp"
#include "files/pending_file.hpp"
#include "paths/results.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// As `write_circuits` begins a file: keys sorted, no spaces.
constexpr std::string_view circuit_file_start = R"({"cfg":{"d_model":)";

/// Whether no MLP reads the heads of its layer. @param score  node x port.
bool is_parallel(const ResultsGroup& group, const Array& score) {
  const std::vector<std::string>& nodes = group.labels("node");
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].starts_with('L')) continue;
    const std::string mlp = "MLP" + nodes[node].substr(1, nodes[node].find('H') - 1);
    if (!std::isnan(score(node, group.dimension("port").index_of(mlp)))) return false;
  }
  return true;
}

json config_json(const Results& results, bool parallel) {
  return {{"n_layers", results.integer("n_layer").value()},
          {"n_heads", results.integer("n_head").value()},
          {"d_model", results.integer("d_model").value()},
          {"parallel_attn_mlp", parallel}};
}

}  // namespace

std::string exchange_name(const std::string& node) {
  if (node == "embed") return "input";
  if (node.starts_with("MLP")) return "m" + node.substr(3);
  if (!node.starts_with('L')) return node;
  const std::size_t head = node.find('H');
  return "a" + node.substr(1, head - 1) + ".h" + node.substr(head + 1);
}

std::vector<EdgeEnd> ends_of(const std::string& port) {
  const std::size_t dot = port.rfind('.');
  const std::string input = dot == std::string::npos ? "" : "<" + port.substr(dot + 1) + ">";
  std::vector<EdgeEnd> ends;
  for (const std::string& name : heads_in(port.substr(0, dot))) {
    ends.push_back({exchange_name(name), input});
  }
  return ends;
}

std::string exchange_edge(const std::string& from, const EdgeEnd& end) {
  return from + "->" + end.node + end.input;
}

std::string circuit_json(const Results& results, std::size_t task) {
  const ResultsGroup& group = results.group("paths");
  const std::vector<std::string>&nodes = group.labels("node"), &ports = group.labels("port");
  const Array score = group.values("edge_integrated").part(task),
              member = group.values("edge_in_circuit").part(task);
  json node_list = {{"logits", {{"in_graph", false}}}}, edge_list = json::object();
  std::set<std::string> removed;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const std::string name = exchange_name(nodes[node]);
    node_list[name] = {{"in_graph", false}};
    if (!has_edges(group, task, node)) removed.insert(name);
  }
  for (std::size_t port = 0; port < ports.size(); ++port) {
    const std::vector<EdgeEnd> ends = ends_of(ports[port]);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (std::isnan(score(node, port))) continue;
      const bool in_graph = member(node, port) == 1;
      const std::string from = exchange_name(nodes[node]);
      for (const EdgeEnd& end : ends) {
        if (removed.contains(end.node)) continue;
        edge_list[exchange_edge(from, end)] = {{"score", score(node, port)},
                                               {"in_graph", in_graph}};
        if (!in_graph) continue;
        node_list[from]["in_graph"] = true;
        node_list[end.node]["in_graph"] = true;
      }
    }
  }
  return json{{"cfg", config_json(results, is_parallel(group, score))},
              {"nodes", node_list},
              {"edges", edge_list}}
             .dump() +
         "\n";
}

void write_circuits(const Results& results, const std::string& directory) {
  if (!results.has("paths")) return;
  const ResultsGroup& group = results.group("paths");
  if (!group.has("edge_integrated") || !group.has("edge_in_circuit")) return;
  const std::vector<std::string> names = file_names(group.labels("task"));
  for (std::size_t task = 0; task < names.size(); ++task) {
    const Array score = group.values("edge_integrated").part(task);
    if (std::ranges::all_of(score.values, [](double value) { return std::isnan(value); })) continue;
    write_file((fs::path(directory) / ("circuit_" + names[task] + ".json")).string(),
               circuit_json(results, task));
  }
}

void remove_circuits(const std::string& directory) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("circuit_") || !name.ends_with(".json")) continue;
    std::string start(circuit_file_start.size(), '\0');
    std::ifstream(entry.path()).read(start.data(), static_cast<std::streamsize>(start.size()));
    if (start == circuit_file_start) files.push_back(entry.path());
  }
  for (const fs::path& file : files) remove_file(file.string());
}

}  // namespace headscope
