#pragma once

#include <string>
#include <vector>

#include "headscope/figure.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// Writes `report.html`, one file that opens from disk without network: what the heads do in a
/// few lines, a map of all heads with a panel for each (scores, closest heads, attention
/// patterns), the claims with verdicts, figures inline as SVG, sortable tables, each number with
/// its definition and source, provenance; and `report.md`, the same in plain text with the tables
/// linked.
///
/// @param figures    with their SVG; `report.md` links it as `figures/{name}.svg`.
/// @throws DataError if a figure has no SVG or a report cannot be written; no half-written report
/// is left.
void write_report(const Results& results, const std::vector<DrawnFigure>& figures,
                  const std::string& directory);

/// Removes a report from a folder. @throws DataError if it cannot be removed.
void remove_report(const std::string& directory);

}  // namespace headscope
