#include "report_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/head_types.hpp"

namespace headscope {

std::optional<std::size_t> largest(const std::vector<double>& values) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i]) && (!best || values[i] > values[*best])) best = i;
  }
  return best;
}

std::vector<std::size_t> ranking(const std::vector<double>& values) {
  std::vector<std::size_t> order =
      numbers_where(values.size(), [&](std::size_t i) { return std::isfinite(values[i]); });
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return values[i]; });
  return order;
}

std::vector<double> finite_values(const std::vector<double>& values) {
  std::vector<double> finite = values;
  std::erase_if(finite, [](double value) { return !std::isfinite(value); });
  return finite;
}

double mean_of_numbers(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

Array without_removed_heads(const Results& results, Array by_head) {
  const std::vector<bool> is_removed = removed_heads(results, {by_head.shape[0], by_head.shape[1]});
  const std::size_t n_value = by_head.size() / is_removed.size();
  for (std::size_t i = 0; i < by_head.size(); ++i) {
    if (is_removed[i / n_value]) by_head.values[i] = std::nan("");
  }
  return by_head;
}

bool has_no_head_left(const Results& results, const ResultsGroup& group) {
  const HeadShape shape{group.dimension("layer").size(), group.dimension("head").size()};
  return std::ranges::count(removed_heads(results, shape), false) == 0;
}

std::string matrix_name(std::size_t projection) {
  return "W_" + std::string(1, "QKVO"[projection]);
}

std::string head_text(std::size_t head_index, std::size_t n_head) {
  return HeadIndex::of(head_index, n_head).text();
}

std::string head_list(const std::vector<Index>& head_indices, std::size_t n_head) {
  return joined(head_indices, ", ",
                [&](Index head_index) { return head_text(head_index, n_head); });
}

std::string no_interval_text(double n_unit, const std::string& units) {
  return n_unit < static_cast<double>(least_documents)
             ? "too few " + units + " to tell (" + number_text(n_unit, 0) + ")"
             : "no interval to tell by (--bootstrap is below " + std::to_string(least_resamples) +
                   ")";
}

std::string task_name(const ResultsGroup& group, std::size_t task) {
  return spaced(group.labels("task").at(task));
}

std::vector<std::string> first_task_lines(
    const ResultsGroup& group, const std::string& table,
    const std::function<std::string(std::size_t task)>& line_of) {
  constexpr std::size_t most = 8;
  const std::size_t n_task = group.dimension("task").size();
  std::vector<std::string> lines;
  for (std::size_t task = 0; task < std::min(most, n_task); ++task) lines.push_back(line_of(task));
  if (n_task > most) {
    lines.push_back("The table " + table + " has " + count_text(n_task - most, "more task") + ".");
  }
  return lines;
}

double median_of_numbers(const std::vector<double>& values) {
  std::vector<double> numbers = values;
  std::erase_if(numbers, [](double value) { return std::isnan(value); });
  return numbers.empty() ? std::nan("") : arma::median(arma::vec(numbers));
}

std::string nats_text(double nats) {
  constexpr double rounds_to_100 = 99.5;
  return std::abs(nats) < rounds_to_100 ? number_text(nats, 2) : decimals(nats, 0);
}

std::string margin_text(const Estimate& margin) {
  return nats_text(margin.value) + " nats" +
         (margin.has_interval()
              ? ", interval " + nats_text(margin.low) + " to " + nats_text(margin.high)
              : "");
}

}  // namespace headscope
