#include "headscope/head_types.hpp"

#include <algorithm>

#include "headscope/types.hpp"

namespace headscope {

std::string HeadShape::text(std::size_t head_index) const {
  return HeadIndex::of(head_index, n_head).text();
}

std::optional<HeadShape> head_shape(const Results& results) {
  for (const ResultsGroup& group : results.groups) {
    for (const Variable& variable : group.variables) {
      const auto has_axis = [&](const char* name) {
        return std::ranges::count(variable.dimensions, name) > 0 && group.dimensions.contains(name);
      };
      if (!has_axis("layer") || !has_axis("head")) continue;
      const HeadShape shape{group.dimension("layer").size(), group.dimension("head").size()};
      if (shape.n_head_total() > 0) return shape;
    }
  }
  return std::nullopt;
}

std::vector<bool> removed_heads(const Results& results, const HeadShape& shape) {
  const std::string names = "," + results.text("pruned_heads") + ",";
  std::vector<bool> is_removed;
  for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
    is_removed.push_back(names.find("," + shape.text(head_index) + ",") != std::string::npos);
  }
  return is_removed;
}

std::optional<HeadTypes> head_types(const Results& results) {
  const std::optional<HeadShape> shape = head_shape(results);
  const auto group = std::ranges::find_if(results.groups, [](const ResultsGroup& candidate) {
    return candidate.has(type_variable) && candidate.has(primary_type_variable);
  });
  if (!shape || group == results.groups.end()) return std::nullopt;
  const Variable& type = group->variable(type_variable);
  const Variable& primary = group->variable(primary_type_variable);
  if (type.dimensions.size() != 3) return std::nullopt;
  HeadTypes types;
  const Dimension& names = group->dimension(type.dimensions[0]);
  types.names = names.text;
  const std::size_t n_head_total = shape->n_head_total();
  if (types.names.empty() || type.values.size() != types.names.size() * n_head_total ||
      primary.values.size() != n_head_total) {
    return std::nullopt;
  }
  types.has_type.assign(n_head_total, std::vector<bool>(types.names.size()));
  types.primary.resize(n_head_total);
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    for (std::size_t i = 0; i < types.names.size(); ++i) {
      types.has_type[head_index][i] = type.values.values[i * n_head_total + head_index] == 1;
    }
    const double code = primary.values.values[head_index];
    if (!(code >= 0 && code < static_cast<double>(primary.flag_meanings.size()))) continue;
    types.primary[head_index] =
        names.place_of(primary.flag_meanings[static_cast<std::size_t>(code)]);
  }
  return types;
}

}  // namespace headscope
