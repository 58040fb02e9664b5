#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "headscope/head_types.hpp"
#include "headscope/presentation.hpp"

namespace headscope {

/// One label of a variable's further dimensions, and for each head a value and, where the variable
/// has an interval, its bounds.
struct HeadSlice {
  std::string label;  ///< `zero`; several joined by a comma; empty where there is none
  std::vector<double> values, low, high;
};

/// A variable by head with more combinations of further labels is only in a table of its own: head
/// types and word classes have fewer, relations and words more.
inline constexpr std::size_t most_head_slices = 24;

/// The combinations of a variable's labels other than layer and head. 0 for text, and for a
/// variable not by layer and head.
std::size_t n_head_slice(const ResultsGroup& group, const Variable& variable,
                         const HeadShape& shape);

/// A variable by layer, head and at most `most_slices` combinations of further labels, row-major;
/// empty for any other.
std::vector<HeadSlice> head_slices(const ResultsGroup& group, const Variable& variable,
                                   const HeadShape& shape, std::size_t most_slices);

/// Whether any of them is finite.
bool has_number(const std::vector<double>& values);

/// The labels of a dimension as text; empty where the group has no such dimension.
std::vector<std::string> dimension_labels(const ResultsGroup& group, const std::string& name);

/// A label of the group in the words of its presentation.
std::string shown_label(const std::vector<Presentation>& presentations, const ResultsGroup& group,
                        const std::string& label);

/// One item of a presentation, and the group whose variables it names.
template <typename Item>
struct PlacedItem {
  const ResultsGroup* group;
  const Item* item;
};

/// The items of one kind of the groups that the results have, in the order of the presentations.
template <typename Item>
std::vector<PlacedItem<Item>> items_of(const Results& results,
                                       const std::vector<Presentation>& presentations,
                                       std::vector<Item> Presentation::*items) {
  std::vector<PlacedItem<Item>> placed;
  for (const Presentation& presentation : presentations) {
    if (!results.has(presentation.group)) continue;
    const ResultsGroup& group = results.group(presentation.group);
    for (const Item& item : presentation.*items) placed.push_back({&group, &item});
  }
  return placed;
}

}  // namespace headscope
