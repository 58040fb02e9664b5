#pragma once

#include <optional>
#include <string>
#include <vector>

/// Shared by the functions that write the analyses' sentences for the report.
namespace headscope {

/// Index of the largest number, the first on ties; nullopt if all are NaN.
std::optional<std::size_t> largest(const std::vector<double>& values);

/// `L5H1` for unit = layer * n_head + head.
std::string unit_text(std::size_t unit, std::size_t n_head);

}  // namespace headscope
