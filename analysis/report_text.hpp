#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/report_part.hpp"

/// Shared by the functions that write the analyses' sentences for the report.
namespace headscope {

/// Index of the largest number, the first on ties; nullopt if all are NaN.
std::optional<std::size_t> largest(const std::vector<double>& values);

/// `L5H1` for unit = layer * n_head + head.
std::string unit_text(std::size_t unit, std::size_t n_head);

/// Adds a line to the summary, unless `text` is empty.
void add_finding(std::size_t rank, const std::string& about, const std::string& text,
                 ReportPart& part);

}  // namespace headscope
