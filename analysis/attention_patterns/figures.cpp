#include <algorithm>
#include <map>

#include "attention_patterns/attention_patterns.hpp"
#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_tokens = 15;     // each has a label
constexpr std::size_t panels_in_a_row = 2;  // as many as can name all tokens

// Mean largest weight of the queries after the first on a key after the first, which tells more of
// a head than how much it rests on the first token.
double sharpness(const Array& pattern, std::size_t n_token) {
  double sum = 0;
  for (std::size_t query = 1; query < n_token; ++query) {
    double largest = 0;
    for (std::size_t key = 1; key <= query; ++key) largest = std::max(largest, pattern(query, key));
    sum += largest;
  }
  return sum;
}

/// The first tokens' texts, or their ids where there is no tokenizer.
std::vector<std::string> first_token_labels(const ResultsGroup& document, std::size_t n_token) {
  std::vector<std::string> labels;
  const Variable* const text = document.find("token_text");
  const Array& ids = document.values("tokens");
  for (std::size_t t = 0; t < n_token; ++t) {
    labels.push_back(text != nullptr ? text->text[t] : number_text(ids(t), 0));
  }
  return text != nullptr ? token_labels(labels) : labels;
}

/// Nothing if the model has no head left.
std::optional<Figure> type_patterns_figure(const Results& results, const HeadTypes& types) {
  const ResultsGroup& document = results.group("attention/0");
  const Array& patterns = document.values("pattern");
  const std::size_t n_head = patterns.shape[1], n_token = std::min(patterns.shape[2], most_tokens);
  // Of each type, none last, the sharpest first.
  std::map<std::size_t, std::vector<std::pair<double, HeadIndex>>> sharpest;
  const std::vector<bool> is_removed = removed_heads(results, {patterns.shape[0], n_head});
  for (std::size_t head_index = 0; head_index < types.primary.size(); ++head_index) {
    if (is_removed[head_index]) continue;
    const std::size_t type = types.primary[head_index].value_or(types.names.size());
    const HeadIndex head = HeadIndex::of(head_index, n_head);
    const double sharp = sharpness(patterns.part(head.layer).part(head.head), n_token);
    sharpest[type].emplace_back(sharp, head);
  }
  if (sharpest.empty()) return std::nullopt;
  std::vector<std::pair<std::size_t, HeadIndex>> shown_heads;
  std::size_t n_of_type = 0, n_before = 0;
  // Further heads fill the last row.
  do {
    n_before = shown_heads.size();
    for (auto& [type, heads] : sharpest) {
      if (n_of_type >= heads.size()) continue;
      if (n_of_type > 0 && shown_heads.size() % panels_in_a_row == 0) break;
      std::ranges::stable_sort(heads, std::greater(),
                               [](const auto& scored) { return scored.first; });
      shown_heads.emplace_back(type, heads[n_of_type].second);
    }
    ++n_of_type;
  } while (shown_heads.size() % panels_in_a_row != 0 && shown_heads.size() > n_before);
  std::ranges::stable_sort(shown_heads, {}, [](const auto& scored) { return scored.first; });
  std::vector<HeatmapPanel> panels;
  for (const auto& [type, head] : shown_heads) {
    const Array pattern = patterns.part(head.layer).part(head.head);
    panels.push_back(
        {head.text() + ", " + (type < types.names.size() ? spaced(types.names[type]) : "no type"),
         causal_part(pattern, n_token)});
  }
  const std::vector<std::string> labels = first_token_labels(document, n_token);
  const bool has_text = document.find("token_text") != nullptr;
  return Figure{
      .name = "clark2019_patterns",
      .group = document.name,
      .title = "What a head of each type looks at",
      .caption =
          "Attention in the first " + std::to_string(n_token) +
          " tokens of the first document, for the head of each type with the sharpest pattern "
          "(largest mean over queries of the largest weight beyond the first token). Further "
          "heads fill the last row. Each row of a panel is a query and sums to 1." +
          (has_text ? " ‿ joins a token to the word before."
                    : " Tokens are named by their ids: there was no tokenizer."),
      .source = "Clark et al. 2019, figure 1",
      .content = Heatmap{.panels = std::move(panels),
                         .row_title = "from",
                         .column_title = "to",
                         .value_title = "attention (probability)",
                         .row_labels = labels,
                         .column_labels = labels,
                         .low = 0,
                         .high = 1}};
}

}  // namespace

std::vector<Figure> attention_patterns_figures(const Results& results) {
  const std::optional<HeadTypes> types = head_types(results);
  if (!types || !results.has("attention/0")) return {};
  std::vector<Figure> figures;
  if (auto figure = type_patterns_figure(results, *types)) figures.push_back(std::move(*figure));
  return figures;
}

}  // namespace headscope
