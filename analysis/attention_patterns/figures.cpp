#include <algorithm>
#include <cmath>
#include <map>

#include "attention_patterns/attention_patterns.hpp"
#include "headscope/head_types.hpp"
#include "headscope/label_text.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_tokens = 32;

std::string shown(std::string token) {
  std::ranges::replace(token, '\n', ' ');
  return token == " " || token.empty() ? "␣" : token;
}

// Mean largest weight of the queries after the first.
double sharpness(const Array& pattern, std::size_t n_token) {
  double sum = 0;
  for (std::size_t query = 1; query < n_token; ++query) {
    double largest = 0;
    for (std::size_t key = 0; key <= query; ++key) largest = std::max(largest, pattern(query, key));
    sum += largest;
  }
  return sum;
}

Figure type_patterns_figure(const ResultsGroup& document, const HeadTypes& types) {
  const Array& patterns = document.variable("pattern").values;
  const std::vector<std::string>& text = document.variable("token_text").text;
  const std::size_t n_head = patterns.shape[1], n_token = std::min(text.size(), most_tokens);
  std::map<std::size_t, std::pair<double, HeadIndex>> sharpest;  // of each type, none last
  for (std::size_t unit = 0; unit < types.primary.size(); ++unit) {
    const std::size_t type = types.primary[unit].value_or(types.names.size());
    const HeadIndex head{unit / n_head, unit % n_head};
    const double sharp = sharpness(patterns.part(head.layer).part(head.head), n_token);
    auto& best = sharpest.try_emplace(type, -1.0, head).first->second;
    if (sharp > best.first) best = {sharp, head};
  }
  Heatmap map;
  for (const auto& [type, best] : sharpest) {
    const HeadIndex head = best.second;
    const Array pattern = patterns.part(head.layer).part(head.head);
    Array panel({n_token, n_token});
    for (std::size_t query = 0; query < n_token; ++query) {
      for (std::size_t key = 0; key < n_token; ++key) {
        panel(query, key) = key > query ? arma::datum::nan : pattern(query, key);
      }
    }
    map.panels.push_back(
        {head.text() + ", " + (type < types.names.size() ? spaced(types.names[type]) : "no type"),
         std::move(panel)});
  }
  for (std::size_t token = 0; token < n_token; ++token)
    map.row_labels.push_back(shown(text[token]));
  map.column_labels = map.row_labels;
  map.row_title = "from";
  map.column_title = "to";
  map.value_title = "attention (probability)";
  map.low = 0;
  map.high = 1;
  return {.name = "clark2019_patterns",
          .group = document.name,
          .title = "What a head of each type looks at",
          .caption = "Attention in the first " + std::to_string(n_token) +
                     " tokens of the first document, of the head of each type with the sharpest "
                     "pattern there (largest mean of the queries' largest weights). Each row is "
                     "a query and sums to 1.",
          .source = "Clark et al. 2019, figure 1",
          .content = std::move(map)};
}

}  // namespace

std::vector<Figure> attention_patterns_figures(const Results& results) {
  const std::optional<HeadShape> shape = head_shape(results);
  const std::optional<HeadTypes> types = shape ? head_types(results, *shape) : std::nullopt;
  if (!types || !results.has("attention/0")) return {};
  return {type_patterns_figure(results.group("attention/0"), *types)};
}

}  // namespace headscope
