#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/report_part.hpp"

/// What the analyses' sentences for the report have in common.
namespace headscope {

/// Index of the largest number, the first on ties; nothing where all are NaN.
std::optional<std::size_t> largest(const std::vector<double>& values);

/// `L5H1` of the head whose place in a layer x head array this is.
std::string unit_text(std::size_t unit, std::size_t n_head);

/// `long range` of `long_range`.
std::string spaced(std::string name);

/// Adds a line to the summary, unless there is nothing to say.
void add_finding(std::size_t rank, const std::string& about, const std::string& text,
                 ReportPart& part);

}  // namespace headscope
