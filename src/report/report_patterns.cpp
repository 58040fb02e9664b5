#include <algorithm>
#include <cmath>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/utf8.hpp"
#include "headscope/provenance.hpp"
#include "report/report_heads.hpp"
#include "report/report_pages.hpp"
#include "report/script_json.hpp"
#include "results/long_table.hpp"

namespace headscope {
namespace {

unsigned char quantised(double share) {
  if (!(share > 0)) return 0;
  return static_cast<unsigned char>(std::lround(255 * std::sqrt(std::min(share, 1.0))));
}

/// One weighting of a document's attention: matrices of query x key, one per head or one per layer.
struct Weighting {
  std::string title;
  const Variable* variable;
  std::size_t n_matrix = 0;

  std::size_t n_token() const { return variable->values.shape.back(); }
  double weight(std::size_t matrix, std::size_t query, std::size_t key) const {
    return variable->values.values[(matrix * n_token() + query) * n_token() + key];
  }
};

std::optional<Weighting> weighting(const Variable& variable, const HeadShape& shape,
                                   const std::string& title) {
  const Shape& extents = variable.values.shape;
  const std::size_t n = extents.empty() ? 0 : extents.back();
  if (n == 0) return std::nullopt;
  if (extents == Shape{shape.n_layer, shape.n_head, n, n})
    return {{title, &variable, shape.n_head_total()}};
  if (extents == Shape{shape.n_layer, n, n}) return {{title, &variable, shape.n_layer}};
  return std::nullopt;
}

/// The attention, which is the group's first pattern, and its other weightings; empty if the group
/// holds no attention.
std::vector<Weighting> weightings(const ResultsGroup& group, const HeadShape& shape) {
  std::vector<Weighting> found;
  for (const Variable& variable : group.variables) {
    if (!is_pattern(variable)) continue;
    const std::string title = found.empty() ? "attention" : one_line(spaced(variable.name));
    const std::optional<Weighting> weights = weighting(variable, shape, title);
    const bool fits = weights && (found.empty() ? weights->n_matrix == shape.n_head_total()
                                                : weights->n_token() == found.front().n_token());
    if (fits) found.push_back(*weights);
  }
  return found;
}

// The largest n with n (n + 1) / 2 weights a matrix within the budget.
std::size_t most_tokens(std::size_t n_matrix) {
  const double n_weight = static_cast<double>(most_pattern_bytes) / static_cast<double>(n_matrix);
  return std::max<std::size_t>(2, static_cast<std::size_t>((std::sqrt(8 * n_weight + 1) - 1) / 2));
}

std::vector<std::string> token_texts(const ResultsGroup& group, std::size_t n_token) {
  std::vector<std::string> texts;
  if (const Variable* const read = group.find("token_text")) {
    texts = read->text;
  } else if (const Variable* const tokens = group.find("tokens")) {
    for (const double id : tokens->values.values) texts.push_back(number_text(id, 0) + " ");
  }
  texts.resize(n_token, "?");
  return texts;
}

template <typename Use>
void for_each_weight(const Weighting& weighting, std::size_t matrix, std::size_t n_token,
                     const Use& use) {
  for (std::size_t query = 0; query < n_token; ++query) {
    for (std::size_t key = 0; key <= query; ++key) use(weighting.weight(matrix, query, key));
  }
}

nlohmann::json packed(const Weighting& weighting, const HeadShape& shape, std::size_t n_token) {
  const bool probability = weighting.variable->units == "probability";
  std::vector<unsigned char> bytes;
  bytes.reserve(weighting.n_matrix * n_token * (n_token + 1) / 2);
  nlohmann::json largest = nlohmann::json::array();
  for (std::size_t matrix = 0; matrix < weighting.n_matrix; ++matrix) {
    double scale = probability ? 1 : 0;
    if (!probability) {
      for_each_weight(weighting, matrix, n_token,
                      [&](double weight) { scale = std::max(scale, weight); });
      largest.push_back(json_number(scale));
    }
    for_each_weight(weighting, matrix, n_token,
                    [&](double weight) { bytes.push_back(quantised(weight / scale)); });
  }
  return {{"title", weighting.title},
          {"units", one_line(weighting.variable->units)},
          {"shared", weighting.n_matrix != shape.n_head_total()},
          {"largest", largest},
          {"bytes", base64(bytes)}};
}

/// The tokens without the one that documents begin with, and without `<|endoftext|>`.
std::vector<std::string> written_tokens(const Results& results, std::vector<std::string> tokens) {
  const std::string first = unescaped_utf8(first_token_of(results));
  if (!tokens.empty() && unescaped_utf8(tokens.front()) == first) tokens.erase(tokens.begin());
  std::erase(tokens, "<|endoftext|>");
  return tokens;
}

// `“One day Tom went to the …”`.
std::string first_words(const std::vector<std::string>& tokens) {
  constexpr std::size_t most_characters = 40;
  std::string words, more;
  for (const std::string& token : tokens) {
    const std::string bytes = unescaped_utf8(token);
    if (character_count(words + bytes) > most_characters) {
      words.resize(utf8::valid_prefix(words));  // tokens may split a character
      more = " …";
      break;
    }
    words += words.empty() && bytes.starts_with(' ') ? bytes.substr(1) : bytes;
  }
  return "“" + one_line(words) + more + "”";
}

// Number of tokens of the document; the group has the patterns of the first `n_kept`.
double document_tokens(const ResultsGroup& group, double n_kept) {
  const Variable* const n_token = group.find("n_token");
  if (n_token == nullptr || n_token->values.size() != 1) return n_kept;
  const double count = n_token->values.values[0];
  return std::isfinite(count) ? std::max(count, n_kept) : n_kept;
}

// `attention` for `attention/0`, if there is such a group.
std::string outer_group(const Results& results, const std::string& name) {
  const std::string outer = name.substr(0, name.rfind('/'));
  return results.has(outer) ? outer : name;
}

}  // namespace

nlohmann::json pattern_documents(const Results& results, const HeadShape& shape) {
  std::vector<std::pair<const ResultsGroup*, std::vector<Weighting>>> found;
  std::size_t n_matrix = 0;
  for (const ResultsGroup& group : results.groups) {
    if (found.size() == most_pattern_documents) break;
    std::vector<Weighting> kinds = weightings(group, shape);
    if (kinds.empty()) continue;
    std::size_t n_more = 0;
    for (const Weighting& kind : kinds) n_more += kind.n_matrix;
    if (!found.empty() && most_tokens(n_matrix + n_more) < least_pattern_tokens) break;
    n_matrix += n_more;
    found.emplace_back(&group, std::move(kinds));
  }
  nlohmann::json documents = nlohmann::json::array();
  for (const auto& [group, kinds] : found) {
    const std::size_t n_kept = kinds.front().n_token();
    const std::size_t n_token = std::min(n_kept, most_tokens(n_matrix));
    const std::vector<std::string> tokens = token_texts(*group, n_token);
    const std::string name = one_line(group->title.empty() ? group->name : group->title);
    documents.push_back({{"title", first_words(written_tokens(results, tokens))},
                         {"name", name},
                         {"section", group_anchor(outer_group(results, group->name))},
                         {"kept", n_kept},
                         {"of", document_tokens(*group, static_cast<double>(n_kept))},
                         {"tokens", json_texts(tokens)},
                         {"labels", json_texts(token_labels(tokens))},
                         {"kinds", json_list(kinds, [&](const Weighting& kind) {
                            return packed(kind, shape, n_token);
                          })}});
  }
  return documents;
}

}  // namespace headscope
