#pragma once

#include <string>
#include <vector>

#include "headscope/figure.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// The summary: warnings, the model, the findings of each description, and the claims' verdicts.
std::vector<Finding> findings(const Results& results, const std::vector<Description>& descriptions);

/// Writes `report.html`, a single file that needs no network: a short summary of what the heads do,
/// a map of all heads with a panel for each (scores, closest heads, attention patterns), the claims
/// with verdicts, figures as inline SVG, sortable tables, the definition and source of each number,
/// and provenance. Also writes `report.md`, the same in plain text with links to the tables.
///
/// @param presentations  of the groups, in the order of the report.
/// @param figures        with their SVG; `report.md` links it as `figures/{name}.svg`.
/// @param warning        a sentence shown before the summary's others; may be empty.
/// @throws DataError if a figure has no SVG or a report cannot be written; no half-written report
/// is left.
void write_report(const Results& results, const std::vector<Presentation>& presentations,
                  const std::vector<DrawnFigure>& figures, const std::string& directory,
                  const std::string& warning = "");

/// Writes the HTML page alone, with the panel of one head open beside it.
/// @param title   the page's heading.
/// @param opened  a head of the results.
/// @throws DataError if it cannot be written; no half-written page is left.
void write_head_page(const Results& results, const std::vector<Presentation>& presentations,
                     const std::string& title, HeadIndex opened, const std::string& path);

/// Removes a report from a folder. @throws DataError if it cannot be removed.
void remove_report(const std::string& directory);

}  // namespace headscope
