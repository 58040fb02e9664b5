#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headscope/results.hpp"
#include "headscope/types.hpp"

/// Shared by the functions that write the analyses' sentences and figures.
namespace headscope {

/// The numbers below n that pass, ascending.
template <typename Number = std::size_t, typename Passes>
std::vector<Number> numbers_where(Number n, const Passes& passes) {
  std::vector<Number> found;
  for (Number i = 0; i < n; ++i) {
    if (passes(i)) found.push_back(i);
  }
  return found;
}

/// Index of the largest number, the first on ties; nullopt if all are NaN.
std::optional<std::size_t> largest(const std::vector<double>& values);

/// Indices of the finite values, the largest value first.
std::vector<std::size_t> ranking(const std::vector<double>& values);

/// Those of the values that are finite.
std::vector<double> finite_values(const std::vector<double>& values);

/// The mean of the values that are not NaN; NaN if there is none.
double mean_of_numbers(const std::vector<double>& values);
/// The median of the values that are not NaN; NaN if there is none.
double median_of_numbers(const std::vector<double>& values);

/// The values by layer, head and any further axes, NaN for the heads that the run's model has lost.
Array without_removed_heads(const Results& results, Array by_head);

/// What sentences about a model's heads say instead if the model has lost all of them.
inline constexpr const char* no_head_left_text = "The model has no head left.";

/// Whether the run's model has lost all heads.
/// @param group  with the dimensions layer and head.
bool has_no_head_left(const Results& results, const ResultsGroup& group);

/// `W_K` for 1.
/// @param projection  of q, k, v, o.
std::string matrix_name(std::size_t projection);

/// `L5H1` for head_index = layer * n_head + head.
std::string head_text(std::size_t head_index, std::size_t n_head);

/// `L0H1, L2H3`.
std::string head_list(const std::vector<Index>& head_indices, std::size_t n_head);

/// Why means over `n_unit` units have no interval: `too few pairs to tell (12)`.
/// @param units  their name, e.g. `pairs`.
std::string no_interval_text(double n_unit, const std::string& units);

/// The name of a task, along the group's dimension `task`, in words.
std::string task_name(const ResultsGroup& group, std::size_t task);

/// A line for each of the first eight tasks, and one that names the table which has the others.
std::vector<std::string> first_task_lines(
    const ResultsGroup& group, const std::string& table,
    const std::function<std::string(std::size_t task)>& line_of);

/// Nats in two significant digits, and from 100 on in whole nats: `3.2`, `124`.
std::string nats_text(double nats);

/// `3.2 nats, interval 2.9 to 3.5`, of a task's margin; without what is missing.
std::string margin_text(const Estimate& margin);

}  // namespace headscope
