#include "results/slices.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace headscope {

std::vector<Slice> slices(const ResultsGroup& group, const Variable& variable,
                          const std::vector<std::string>& within) {
  const Shape shape = group.shape_of(variable.dimensions);
  std::vector<std::size_t> inner, outer;  // axes
  for (const std::string& name : within) {
    const auto found = std::ranges::find(variable.dimensions, name);
    if (found != variable.dimensions.end()) {
      inner.push_back(static_cast<std::size_t>(found - variable.dimensions.begin()));
    }
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (std::ranges::count(inner, axis) == 0) outer.push_back(axis);
  }
  const auto count = [&](const std::vector<std::size_t>& axes) {
    std::size_t n = 1;
    for (const std::size_t axis : axes) n *= shape[axis];
    return n;
  };
  std::vector<Slice> slices(count(outer), {"", std::vector<std::size_t>(count(inner))});
  for (std::size_t offset = 0; offset < element_count(shape); ++offset) {
    const std::vector<std::size_t> place = unravelled(offset, shape);
    const auto rank = [&](const std::vector<std::size_t>& axes) {
      std::size_t position = 0;
      for (const std::size_t axis : axes) position = position * shape[axis] + place[axis];
      return position;
    };
    Slice& slice = slices[rank(outer)];
    const std::size_t element = rank(inner);
    slice.at[element] = offset;
    if (element > 0) continue;
    slice.label = joined(outer, ", ", [&](std::size_t axis) {
      const Dimension& dimension = group.dimension(variable.dimensions[axis]);
      return (dimension.text.empty() ? dimension.name + " " : "") + dimension.label(place[axis], 4);
    });
  }
  return slices;
}

}  // namespace headscope
