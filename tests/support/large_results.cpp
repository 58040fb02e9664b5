#include "support/large_results.hpp"

#include <cmath>

#include "headscope/random.hpp"

namespace headscope::test {
namespace {

constexpr std::size_t n_pattern_token = 60;

Array uniform(Shape shape, std::uint64_t stream) {
  Array values(std::move(shape));
  const CounterRandom random(24, stream);
  for (std::size_t i = 0; i < values.size(); ++i) values.values[i] = random.uniform(i);
  return values;
}

ResultsGroup types(std::size_t n_layer, std::size_t n_head) {
  const std::vector<std::string> names{"positional",  "current_token", "delimiter", "syntactic",
                                       "coreference", "semantic",      "duplicate", "induction",
                                       "rare",        "sink",          "long_range"};
  ResultsGroup group;
  group.name = "classification";
  group.title = "Which head does what";
  group.add_dimension(Dimension::labels("head_type", names));
  group.add_dimension(Dimension::count("layer", n_layer));
  group.add_dimension(Dimension::count("head", n_head));
  group.add({"sink", "layer head", "probability", "Sink mass"}, uniform({n_layer, n_head}, 1));
  Array flags = uniform({names.size(), n_layer, n_head}, 2), primary({n_layer, n_head});
  const std::size_t n_head_total = n_layer * n_head;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    flags.values[i] = flags.values[i] < 0.15 ? 1 : 0;
    if (flags.values[i] == 1)
      primary.values[i % n_head_total] = static_cast<double>(1 + i / n_head_total);
  }
  group.add(Declaration::flag("type", "head_type layer head", {"no", "yes"},
                              "Whether the head is of the type"),
            flags);
  std::vector<std::string> meanings{"none"};
  meanings.insert(meanings.end(), names.begin(), names.end());
  group.add(Declaration::flag("primary", "layer head", meanings, "Main type"), primary);
  return group;
}

ResultsGroup likeness(std::size_t n_head_total) {
  ResultsGroup group;
  group.name = "correlation";
  group.title = "Head correlation";
  group.add_dimension(Dimension::count("unit_i", n_head_total));
  group.add_dimension(Dimension::count("unit_j", n_head_total));
  group.add({"cosine_all", "unit_i unit_j", "cosine", "Cosine of two heads"},
            uniform({n_head_total, n_head_total}, 3));
  return group;
}

ResultsGroup attention(std::size_t n_layer, std::size_t n_head) {
  ResultsGroup group;
  group.name = "attention/0";
  group.title = "Attention patterns of document 0";
  group.add_dimension(Dimension::count("layer", n_layer));
  group.add_dimension(Dimension::count("head", n_head));
  for (const char* axis : {"token", "query", "key"}) {
    group.add_dimension(Dimension::count(axis, n_pattern_token));
  }
  Array pattern = uniform({n_layer * n_head, n_pattern_token, n_pattern_token}, 4);
  for (std::size_t row = 0; row < pattern.size() / n_pattern_token; ++row) {
    double sum = 0;
    for (std::size_t key = 0; key < n_pattern_token; ++key) {
      double& weight = pattern.values[row * n_pattern_token + key];
      weight = key <= row % n_pattern_token ? std::pow(weight, 8) : 0;
      sum += weight;
    }
    for (std::size_t key = 0; key < n_pattern_token; ++key)
      pattern.values[row * n_pattern_token + key] /= sum;
  }
  pattern.shape = {n_layer, n_head, n_pattern_token, n_pattern_token};
  std::vector<std::string> tokens{"<|endoftext|>"};
  while (tokens.size() < n_pattern_token)
    tokens.push_back(" token" + std::to_string(tokens.size()));
  group.add({"token_text", "token", "1", "Tokens"}, tokens);
  group.add({"pattern", "layer head query key", "probability", "Attention"}, std::move(pattern));
  return group;
}

}  // namespace

Results large_results(std::size_t n_layer, std::size_t n_head) {
  Results results;
  results.attributes = {{"model_path", std::string("large.h5")}};
  results.groups = {types(n_layer, n_head), likeness(n_layer * n_head), attention(n_layer, n_head)};
  return results;
}

std::vector<Figure> large_figures(const Results& results) {
  Heatmap heads, units;
  heads.panels = {{"", results.group("classification").variable("sink").values}};
  heads.row_title = "layer";
  heads.column_title = "head";
  heads.heads = true;
  units.panels = {{"", results.group("correlation").variable("cosine_all").values}};
  units.row_title = units.column_title = "head";
  return {{"heads", "classification", "Sink mass", "Caption.", headscope_definition, heads},
          {"units", "correlation", "Cosine of all heads", "Caption.", headscope_definition, units}};
}

std::vector<Presentation> large_presentations() {
  return {
      {.group = "classification", .scores = {{"Where it attends", {"sink"}}}},
      {.group = "correlation",
       .nearest = {
           {.title = "Write most alike", .variable = "cosine_all", .chance = "", .alike = true}}}};
}

}  // namespace headscope::test
