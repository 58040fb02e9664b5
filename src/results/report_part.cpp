#include "headscope/report_part.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"

namespace headscope {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Finding, rank, about, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ScoreSection, rank, title, variables)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(NearestHeads, rank, title, variable, most, smallest,
                                                by_column, chance, alike)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BestRows, rank, title, headings, value, baseline,
                                                count, eligible)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Measure, name, variable, dimension)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OverviewTable, title, dimension, pages, variables)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PatternWeighting, title, variable)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TypeReasons, rule, score, baseline, threshold,
                                                about)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ReportPart, warning, findings, model_size,
                                                model_loss, scores, nearest, tables, measures,
                                                overview, types, primary_type, reasons, examples,
                                                pattern, pattern_weightings, token_labels)

namespace {

// The JSON library converts any other number, which is undefined if it does not fit.
bool numbers_are_counts(const json& value) {
  if (value.is_structured()) return std::all_of(value.begin(), value.end(), numbers_are_counts);
  return !value.is_number() || value.is_number_unsigned();
}

}  // namespace

std::string ReportPart::text() const {
  return json(*this).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<ReportPart> ReportPart::parse(const std::string& text) {
  const json parsed = parse_json(text);
  if (!parsed.is_object() || !numbers_are_counts(parsed)) return std::nullopt;
  try {
    return parsed.get<ReportPart>();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace headscope
