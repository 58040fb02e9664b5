#include <algorithm>

#include "excerpt.hpp"
#include "score_model/effects.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_surprises = 3;
constexpr Index shown_before = 12, shown_after = 4, furthest_key_shown = 40;

struct FoundSurprise {
  std::uint64_t document = 0;
  ScoreSurprise place;
};

/// A head's queries furthest from its model, one a document, the furthest first. None is nearer
/// than least_uniform.
std::vector<FoundSurprise> surprises_of(const Statistics& statistics,
                                        const std::vector<std::uint64_t>& documents,
                                        std::size_t layer, std::size_t head) {
  std::vector<FoundSurprise> found;
  for (const std::uint64_t document : documents) {
    const Array& record = statistics.record(score_surprise_name, document);
    const auto value = [&](std::size_t i) { return record(layer, head, i); };
    if (value(2) >= least_uniform) found.push_back({document, {value(0), value(1), value(2)}});
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const FoundSurprise& surprise) { return surprise.place.divergence; });
  found.resize(std::min(found.size(), most_surprises));
  return found;
}

/// Some tokens around a query, from the key on if it is not too far back.
Excerpt surprise_excerpt(const std::vector<std::string>& tokens, Index query, Index key) {
  Index first = query > shown_before ? query - shown_before : 1;
  if (key >= 1 && key + furthest_key_shown >= query) first = std::min(first, key);
  return {tokens, first, std::min<Index>(tokens.size(), query + shown_after + 1)};
}

/// One of a head's queries as the results have it.
struct SurpriseRow {
  double document = -1, query = -1, key = -1, divergence = arma::datum::nan;
  std::string text;
  std::vector<double> marks = std::vector<double>(4, -1);
};

}  // namespace

void add_surprises(const Statistics& statistics, ResultsGroup& group) {
  if (!statistics.has(score_surprise_name)) return;
  std::vector<std::uint64_t> documents;
  for (const auto& [document, row] : statistics.rows(score_effect_row)) {
    if (statistics.has(score_text_name, document)) documents.push_back(document);
  }
  const std::size_t n_layer = group.dimension("layer").size(),
                    n_head = group.dimension("head").size();
  std::vector<SurpriseRow> rows(n_layer * n_head * most_surprises);
  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    for (std::size_t head = 0; head < n_head; ++head) {
      const std::vector<FoundSurprise> found = surprises_of(statistics, documents, layer, head);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const ScoreSurprise& place = found[i].place;
        const auto of_query = static_cast<Index>(place.query),
                   of_key = static_cast<Index>(place.key);
        const Excerpt shown = surprise_excerpt(statistics.texts(score_text_name, found[i].document),
                                               of_query, of_key);
        rows[(layer * n_head + head) * most_surprises + i] = {
            static_cast<double>(found[i].document),
            place.query,
            place.key,
            place.divergence,
            shown.text(),
            {shown.start(of_query), shown.end(of_query), shown.start(of_key), shown.end(of_key)}};
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
