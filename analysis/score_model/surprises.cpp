#include <algorithm>

#include "excerpt.hpp"
#include "score_model/effects.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_surprises = 3;
constexpr Index shown_before = 12, shown_after = 4, furthest_key_shown = 40;

/// One of a head's queries as the results have it.
struct SurpriseRow : ScoreSurprise {
  double document = -1;
  std::string text = {};
  std::vector<double> marks = std::vector<double>(4, -1);
};

/// A head's queries furthest from its model, one a document, the furthest first. None is nearer
/// than least_uniform. Without text and marks.
std::vector<SurpriseRow> surprises_of(const Statistics& statistics,
                                      const std::vector<std::uint64_t>& documents,
                                      std::size_t layer, std::size_t head) {
  std::vector<SurpriseRow> found;
  for (const std::uint64_t document : documents) {
    const Array& record = statistics.record(score_surprise_name, document);
    const auto value = [&](std::size_t i) { return record(layer, head, i); };
    if (!(value(2) >= least_uniform)) continue;
    found.push_back({{value(0), value(1), value(2)}, static_cast<double>(document)});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &SurpriseRow::divergence);
  found.resize(std::min(found.size(), most_surprises));
  return found;
}

/// Some tokens around a query, from the key on if it is not too far back.
Excerpt surprise_excerpt(const std::vector<std::string>& tokens, Index query, Index key) {
  Index first = query > shown_before ? query - shown_before : 1;
  if (key >= 1 && key + furthest_key_shown >= query) first = std::min(first, key);
  return {tokens, first, std::min<Index>(tokens.size(), query + shown_after + 1)};
}

}  // namespace

void add_surprises(const Statistics& statistics, ResultsGroup& group) {
  if (!statistics.has(score_surprise_name)) return;
  std::vector<std::uint64_t> documents;
  for (const auto& [document, row] : statistics.rows(score_effect_row)) {
    if (statistics.has(score_text_name, document)) documents.push_back(document);
  }
  const std::size_t n_layer = group.dimension("layer").size(),
                    n_head = group.dimension("head").size();
  const SurpriseRow none{{.divergence = arma::datum::nan}};
  std::vector<SurpriseRow> rows(n_layer * n_head * most_surprises, none);
  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    for (std::size_t head = 0; head < n_head; ++head) {
      auto row =
          rows.begin() + static_cast<std::ptrdiff_t>((layer * n_head + head) * most_surprises);
      for (SurpriseRow& found : surprises_of(statistics, documents, layer, head)) {
        const auto query = static_cast<Index>(found.query), key = static_cast<Index>(found.key);
        const auto document = static_cast<std::uint64_t>(found.document);
        const Excerpt shown =
            surprise_excerpt(statistics.texts(score_text_name, document), query, key);
        found.text = shown.text();
        found.marks = {shown.start(query), shown.end(query), shown.start(key), shown.end(key)};
        *row++ = std::move(found);
      }
    }
  }
  group.add_dimension(Dimension::count("example", most_surprises));
  group.add_dimension(
      Dimension::labels("mark", {"query_start", "query_end", "key_start", "key_end"}));
  const VariableTable& variables = score_variables();
  group.add(variables["surprise_document"], rows, &SurpriseRow::document);
  group.add(variables["surprise_query"], rows, &SurpriseRow::query);
  group.add(variables["surprise_key"], rows, &SurpriseRow::key);
  group.add(variables["surprise_divergence"], rows, &SurpriseRow::divergence);
  group.add(variables["surprise_text"], rows, &SurpriseRow::text);
  group.add(variables["surprise_marks"], rows, &SurpriseRow::marks);
}

}  // namespace headscope
