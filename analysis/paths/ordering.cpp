#include "paths/ordering.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/fields.hpp"
#include "base/file_names.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "files/read_file.hpp"
#include "headscope/error.hpp"
#include "paths/circuit_file.hpp"
#include "paths/sums.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// The text with NaN and infinities, which Python's JSON has and the standard lacks, as strings.
std::string with_quoted_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 3> words{"NaN", "Infinity", "-Infinity"};
  std::string result;
  bool in_string = false;
  while (!text.empty()) {
    const auto* const word = std::ranges::find_if(
        words, [&](std::string_view candidate) { return text.starts_with(candidate); });
    if (!in_string && word != words.end()) {
      result += fields::quoted(*word);
      text.remove_prefix(word->size());
      continue;
    }
    if (text.front() == '"') in_string = !in_string;
    const std::string_view next = text.substr(0, in_string && text.front() == '\\' ? 2 : 1);
    result += next;
    text.remove_prefix(next.size());
  }
  return result;
}

/// A circuit's file, read for a model.
class OrderingFile {
 public:
  OrderingFile(const std::string& path, const ModelConfig& config)
      : path_(path), config_(config), graph_(config) {
    for (Index port = 0; port < graph_.n_port(); ++port) {
      const std::vector<EdgeEnd> ends = ends_of(graph_.port_name(port));
      for (const EdgeEnd& end : ends) nodes_.insert(end.node);
      for (Index node = 0; node < graph_.n_read(port); ++node) {
        const std::string from = exchange_name(graph_.node_name(node));
        nodes_.insert(from);
        for (Index i = 0; i < ends.size(); ++i) {
          const std::string name = exchange_edge(from, ends[i]);
          if (graph_.is_removed(node) || graph_.is_removed(graph_.owner(port) + i)) {
            edges_of_removed_.insert(name);
          } else {
            edges_[name] = graph_.edge(node, port);
          }
        }
      }
    }
  }

  /// The edges of the model, largest |score| first.
  std::vector<Index> order() const { return by_size(graph_.edges_left(), sizes()); }

 private:
  /// |score| of each edge.
  std::vector<double> sizes() const {
    const std::string text = with_quoted_numbers(read_file(path_));
    const json file = parse_json(text, path_);
    check_config(object_in(file, "cfg"));
    const json& scores = object_in(file, "edges");
    std::vector<double> sizes(graph_.n_edge(), 0);
    for (const auto& [name, edge] : scores.items()) {
      if (edges_of_removed_.contains(name)) continue;
      double& size = sizes[edge_of(name)];
      size = std::max(size, std::abs(score_of(name, edge)));
    }
    for (const auto& [name, edge] : edges_) {
      if (scores.contains(name)) continue;
      throw DataError(path_, "edges",
                      "expected all " + std::to_string(edges_.size()) +
                          " edges of the model, got none named " + name);
    }
    return sizes;
  }

  const json& object_in(const json& file, const std::string& key) const {
    if (!file.is_object() || !file.contains(key) || !file[key].is_object()) {
      throw DataError(path_, key,
                      "expected an object, got " + (file.is_object() && file.contains(key)
                                                        ? json_text(file[key])
                                                        : std::string("none")));
    }
    return file[key];
  }

  void check_config(const json& cfg) const {
    const json expected{{"n_layers", config_.n_layer},
                        {"n_heads", config_.n_head},
                        {"d_model", config_.d_model},
                        {"parallel_attn_mlp", config_.parallel_residual}};
    for (const auto& [key, value] : expected.items()) {
      // Without heads the edges that circuit_json reads the key from are the same.
      if (key == "parallel_attn_mlp" && config_.heads_left().empty()) continue;
      if (cfg.contains(key) && cfg[key] == value) continue;
      throw DataError(path_, "cfg." + key,
                      "expected " + json_text(value) + ", as the model has, got " +
                          (cfg.contains(key) ? json_text(cfg[key]) : "none"));
    }
  }

  Index edge_of(const std::string& name) const {
    const auto found = edges_.find(name);
    if (found != edges_.end()) return found->second;
    const std::size_t arrow = name.find("->");
    if (arrow == std::string::npos) refuse(name, "an edge FROM->TO", "no arrow");
    const std::string end = name.substr(arrow + 2);
    for (const std::string& node : {name.substr(0, arrow), end.substr(0, end.find('<'))}) {
      if (!nodes_.contains(node)) refuse(name, "a node of the model", node);
    }
    refuse(name, "an edge to a later part, to a head by <q>, <k> or <v>", "none of the model's");
  }

  double score_of(const std::string& name, const json& edge) const {
    const bool has_score = edge.is_object() && edge.contains("score");
    if (has_score && edge["score"].is_number()) {
      const double score = edge["score"].get<double>();
      if (std::isfinite(score)) return score;
    }
    refuse(name, "a finite score", has_score ? json_text(edge["score"]) : "none");
  }

  [[noreturn]] void refuse(const std::string& edge, const std::string& expected,
                           const std::string& got) const {
    throw DataError(path_, "edge " + edge, "expected " + expected + ", got " + got);
  }

  const std::string& path_;
  const ModelConfig& config_;
  const EdgeGraph graph_;
  std::unordered_set<std::string> nodes_;
  std::map<std::string, Index> edges_;  // by name
  std::unordered_set<std::string> edges_of_removed_;
};

}  // namespace

std::vector<Index> read_edge_order(const std::string& path, const ModelConfig& config) {
  return OrderingFile(path, config).order();
}

std::size_t task_of_circuit(const std::string& path, const std::vector<std::string>& tasks) {
  std::vector<std::string> names = file_names(tasks);
  for (std::string& name : names) name = "circuit_" + name + ".json";
  const std::string got = std::filesystem::path(path).filename().string();
  const auto found = std::ranges::find(names, got);
  if (found == names.end()) {
    throw OptionError("--paths-ordering", "expected a file of one of the run's tasks (" +
                                              joined(names, ", ") + "), got " +
                                              fields::quoted(got));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace headscope
