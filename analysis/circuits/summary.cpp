#include <algorithm>
#include <cmath>
#include <numeric>

#include "circuits/claims.hpp"
#include "circuits/composition.hpp"
#include "circuits/measures.hpp"
#include "headscope/number_text.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// Indices of the finite values, largest value first.
std::vector<std::size_t> ranking(const std::vector<double>& values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

/// The n largest values of a layer x head array: `L1H2 (0.98), L0H0 (0.90)`.
std::string largest_heads(const std::vector<double>& values, std::size_t n_head, std::size_t n) {
  std::vector<std::size_t> order = ranking(values);
  order.resize(std::min(n, order.size()));
  std::string text;
  for (const std::size_t unit : order) {
    if (!text.empty()) text += ", ";
    text += unit_text(unit, n_head) + " (" + decimals(values[unit], 2) + ")";
  }
  return text;
}

std::string count_of(const ResultsGroup& group, const char* name) {
  return number_text(group.variable(name).values.values[0], 0);
}

std::string copying_text(const ResultsGroup& group) {
  const Array& copying = group.variable("ov_copying").values;
  if (ranking(copying.values).empty()) return "No head has a value circuit.";
  return "Of " + count_text(copying.size(), "head") + " " + count_of(group, "n_copying") +
         " copy (OV copying above " + number_text(least_copying, 2) + ") and " +
         count_of(group, "n_opposite") + " write the opposite (below -" +
         number_text(least_copying, 2) +
         "); strongest: " + largest_heads(copying.values, copying.shape[1], 5) + ".";
}

std::string rank_text(const ResultsGroup& group) {
  const Array& rank = group.variable("qk_rank90").values;
  const Array& joint = group.variable("qk_rank90_joint").values;
  const double of_heads = std::accumulate(rank.values.begin(), rank.values.end(), 0.0) /
                          static_cast<double>(rank.shape[0]);
  return " A head's query-key product needs " +
         decimals(group.variable("qk_rank90_median").values.values[0], 0) +
         " singular values (median) for 90 % of its squared sum, a layer's heads together " +
         decimals(arma::median(arma::vec(joint.values)), 0) + ", where they add up to " +
         decimals(of_heads, 0) + " one by one.";
}

std::string composition_text(const ResultsGroup& group) {
  const Array& scores = group.variable("composition").values;
  const std::size_t n_unit = scores.shape[1];
  const std::size_t n_head = group.variable("ov_copying").values.shape[1];
  const Array& null = group.variable("composition_null").values;
  std::string text;
  for (std::size_t kind = 0; kind < composition_kinds.size(); ++kind) {
    const std::vector<double> pairs = scores.part(kind).values;
    const std::vector<std::size_t> order = ranking(pairs);
    if (order.empty()) return " There are no two layers to compose.";
    text += text.empty() ? " Strongest composition: " : "; ";
    text += std::string(composition_kinds[kind]) + " " + unit_text(order[0] / n_unit, n_head) +
            " to " + unit_text(order[0] % n_unit, n_head) + " (" + decimals(pairs[order[0]], 3) +
            ", random " + decimals(null(kind), 3) + ")";
  }
  return text + ".";
}

std::string position_text(const ResultsGroup& group) {
  const Array& share = group.variable("position_only_share").values;
  const std::size_t n_head = share.shape[1];
  std::vector<double> previous;
  for (std::size_t h = 0; h < n_head; ++h) previous.push_back(share(0, h, 1));
  if (ranking(previous).empty()) return "";
  return " From positions alone, the layer 0 heads that look most at the previous token are " +
         largest_heads(previous, n_head, 3) + ".";
}

std::string copying_finding(const ResultsGroup& group) {
  const Array& copying = group.variable("ov_copying").values;
  const std::optional<std::size_t> most = largest(copying.values);
  if (!most) return "";
  return "Heads whose weights copy what they attend to: " + count_of(group, "n_copying") +
         "; that write the opposite: " + count_of(group, "n_opposite") + ". " +
         unit_text(*most, copying.shape[1]) + " copies most (" +
         number_text(copying.values[*most], 2) + ").";
}

}  // namespace

std::string circuit_summary(const ResultsGroup& group) {
  return copying_text(group) + rank_text(group) + composition_text(group) + position_text(group);
}

ReportPart circuit_report(const ResultsGroup& group) {
  ReportPart part;
  add_finding(40, "Weights", copying_finding(group), part);
  part.scores = {{30, "OV and QK circuits", {"ov_copying", "qk_rank90", "position_only_sink"}}};
  NearestHeads from{.rank = 20,
                    .title = "-composition, from",
                    .variable = "composition",
                    .most = 3,
                    .by_column = true,
                    .chance = "composition_null"};
  NearestHeads to = from;
  to.title = "-composition, to";
  to.by_column = false;
  part.nearest = {from, to};
  part.measures = {{"qk_rank90_median", "qk_rank90_median", ""}};
  return part;
}

}  // namespace headscope
