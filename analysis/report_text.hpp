#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/estimate.hpp"

/// Shared by the functions that write the analyses' sentences for the report.
namespace headscope {

/// Index of the largest number, the first on ties; nullopt if all are NaN.
std::optional<std::size_t> largest(const std::vector<double>& values);

/// `L5H1` for head_index = layer * n_head + head.
std::string head_text(std::size_t head_index, std::size_t n_head);

/// `3.2 nats, interval 2.9 to 3.5`, of a task's margin.
std::string margin_text(const Estimate& margin);

}  // namespace headscope
