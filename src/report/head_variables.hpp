#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// The number of layers and heads in the results. A head's unit is layer * n_head + head.
struct HeadShape {
  std::size_t n_layer = 0, n_head = 0;

  std::size_t n_unit() const { return n_layer * n_head; }
  std::string text(std::size_t unit) const;  ///< `L5H1`
};

/// From the first group that has a variable by layer and head; nothing if none has.
std::optional<HeadShape> head_shape(const Results& results);

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

/// Which head is of which type.
struct HeadTypes {
  std::vector<std::string> names;
  std::vector<std::vector<bool>> of_head;           ///< by unit, then type
  std::vector<std::optional<std::size_t>> primary;  ///< by unit
};
/// From the first group that names its type variables; nothing if none does.
std::optional<HeadTypes> head_types(const Results& results, const HeadShape& shape);

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
