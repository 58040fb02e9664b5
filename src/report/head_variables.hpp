#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "headscope/head_types.hpp"

namespace headscope {

/// Null where the group has no such variable.
const Variable* find_variable(const ResultsGroup& group, const std::string& name);

/// One label of a variable's further dimensions, and for each unit a value and, where the variable
/// has an interval, its bounds.
struct HeadSlice {
  std::string label;  ///< `zero`; several joined by a comma; empty where there is none
  std::vector<double> values, low, high;
};

/// A variable by layer, head and at most `most_slices` combinations of further labels, row-major;
/// empty for any other.
std::vector<HeadSlice> head_slices(const ResultsGroup& group, const Variable& variable,
                                   const HeadShape& shape, std::size_t most_slices);

/// Whether any of them is finite.
bool has_number(const std::vector<double>& values);

/// The labels of a dimension as text; empty where the group has no such dimension.
std::vector<std::string> dimension_labels(const ResultsGroup& group, const std::string& name);

/// One item of a group's part of the report, and the group whose variables it names.
template <typename Item>
struct PlacedItem {
  const ResultsGroup* group;
  const Item* item;
};

/// The items of one kind of all groups, by rank.
template <typename Item>
std::vector<PlacedItem<Item>> items_by_rank(const Results& results,
                                            std::vector<Item> ReportPart::*items) {
  std::vector<PlacedItem<Item>> placed;
  for (const ResultsGroup& group : results.groups) {
    for (const Item& item : group.report.*items) placed.push_back({&group, &item});
  }
  std::ranges::stable_sort(placed, {}, [](const auto& each) { return each.item->rank; });
  return placed;
}

}  // namespace headscope
