#pragma once

#include <string>
#include <vector>

#include "headscope/figure.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// Writes `report.html`, one file that opens from disk without network: figures inline as SVG,
/// sortable tables, each number with its definition and source, the claims with verdicts,
/// provenance; and `report.md`, the same in plain text.
///
/// @param directory  where `figures/{name}.svg` already lie, and where the reports go.
/// @throws DataError if a figure is missing or a report cannot be written; no half-written report
/// is left.
void write_report(const Results& results, const std::vector<Figure>& figures,
                  const std::string& directory);

}  // namespace headscope
