#pragma once

#include <optional>
#include <string>
#include <vector>

/// Shared by the functions that write the analyses' sentences for the report.
namespace headscope {

/// Index of the largest number, the first on ties; nullopt if all are NaN.
std::optional<std::size_t> largest(const std::vector<double>& values);

/// `L5H1` for head_index = layer * n_head + head.
std::string head_text(std::size_t head_index, std::size_t n_head);

}  // namespace headscope
