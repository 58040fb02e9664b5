#include "report/report_contract.hpp"

#include <algorithm>
#include <cmath>

#include "headscope/number_text.hpp"
#include "headscope/types.hpp"

namespace headscope {
namespace {

bool has_axis(const Variable& variable, std::string_view name) {
  const auto& axes = variable.dimensions;
  return std::find(axes.begin(), axes.end(), name) != axes.end();
}

std::size_t axis_size(const ResultsGroup& group, const std::string& name) {
  const auto found = group.dimensions.find(name);
  return found == group.dimensions.end() ? 0 : found->second.size();
}

}  // namespace

std::string HeadShape::text(std::size_t unit) const {
  return HeadIndex{unit / n_head, unit % n_head}.text();
}

std::optional<HeadShape> head_shape(const Results& results) {
  for (const ResultsGroup& group : results.groups) {
    for (const Variable& variable : group.variables) {
      if (!has_axis(variable, "layer") || !has_axis(variable, "head")) continue;
      const HeadShape shape{axis_size(group, "layer"), axis_size(group, "head")};
      if (shape.n_unit() > 0) return shape;
    }
  }
  return std::nullopt;
}

const ResultsGroup* find_group(const Results& results, std::string_view name) {
  const auto found = std::find_if(results.groups.begin(), results.groups.end(),
                                  [&](const ResultsGroup& group) { return group.name == name; });
  return found == results.groups.end() ? nullptr : &*found;
}

const Variable* find_variable(const Results& results, VariableName name) {
  const ResultsGroup* const group = find_group(results, name.group);
  const std::string variable(name.name);
  return group != nullptr && group->has(variable) ? &group->variable(variable) : nullptr;
}

std::optional<double> find_number(const Results& results, VariableName name) {
  const Variable* const variable = find_variable(results, name);
  if (variable == nullptr || variable->values.size() != 1) return std::nullopt;
  const double value = variable->values.values[0];
  return std::isnan(value) ? std::nullopt : std::optional<double>(value);
}

std::optional<double> find_number(const Results& results, VariableName name,
                                  std::string_view label) {
  const Variable* const variable = find_variable(results, name);
  if (variable == nullptr || variable->dimensions.size() != 1) return std::nullopt;
  const std::vector<std::string> labels =
      dimension_labels(*find_group(results, name.group), variable->dimensions[0]);
  const auto found = std::find(labels.begin(), labels.end(), label);
  const auto place = static_cast<std::size_t>(found - labels.begin());
  if (place >= variable->values.size()) return std::nullopt;
  const double value = variable->values.values[place];
  return std::isnan(value) ? std::nullopt : std::optional<double>(value);
}

std::vector<HeadSlice> head_slices(const ResultsGroup& group, const Variable& variable,
                                   const HeadShape& shape, std::size_t most_slices) {
  if (variable.type == Variable::Type::text) return {};
  if (!has_axis(variable, "layer") || !has_axis(variable, "head")) return {};
  if (axis_size(group, "layer") != shape.n_layer || axis_size(group, "head") != shape.n_head) {
    return {};
  }
  const std::size_t n_slice = variable.values.size() / shape.n_unit();
  if (n_slice == 0 || n_slice > most_slices) return {};
  const std::vector<double> each(shape.n_unit()), bounds(variable.interval ? shape.n_unit() : 0);
  std::vector<HeadSlice> slices(n_slice, {"", each, bounds, bounds});
  for (std::size_t index = 0; index < variable.values.size(); ++index) {
    std::size_t rest = index, unit = 0, slice = 0, slice_step = 1;
    std::string label;
    for (std::size_t axis = variable.dimensions.size(); axis-- > 0;) {
      const std::string& name = variable.dimensions[axis];
      const Dimension& dimension = group.dimensions.at(name);
      const std::size_t place = rest % dimension.size();
      rest /= dimension.size();
      if (name == "layer") {
        unit += place * shape.n_head;
      } else if (name == "head") {
        unit += place;
      } else {
        slice += place * slice_step;
        slice_step *= dimension.size();
        const std::string word = dimension.text.empty()
                                     ? name + " " + number_text(dimension.values[place], 4)
                                     : dimension.text[place];
        label = label.empty() ? word : word + ", " + label;
      }
    }
    slices[slice].label = label;
    slices[slice].values[unit] = variable.values.values[index];
    if (!variable.interval) continue;
    slices[slice].low[unit] = variable.interval->low.values[index];
    slices[slice].high[unit] = variable.interval->high.values[index];
  }
  return slices;
}

bool has_number(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::vector<double> head_values(const Results& results, VariableName name, const HeadShape& shape,
                                std::string_view label) {
  const Variable* const variable = find_variable(results, name);
  if (variable == nullptr) return {};
  constexpr std::size_t all_slices = 1000;
  const ResultsGroup& group = *find_group(results, name.group);
  for (HeadSlice& slice : head_slices(group, *variable, shape, all_slices)) {
    if (slice.label == label && has_number(slice.values)) return std::move(slice.values);
  }
  return {};
}

std::optional<HeadTypes> head_types(const Results& results, const HeadShape& shape) {
  const Variable* const type = find_variable(results, contract::type);
  const Variable* const primary = find_variable(results, contract::primary);
  if (type == nullptr || primary == nullptr || type->dimensions.size() != 3) return std::nullopt;
  HeadTypes types;
  types.names = dimension_labels(*find_group(results, contract::type.group), type->dimensions[0]);
  const std::size_t n_unit = shape.n_unit();
  if (types.names.empty() || type->values.size() != types.names.size() * n_unit ||
      primary->values.size() != n_unit) {
    return std::nullopt;
  }
  types.of_head.assign(n_unit, std::vector<bool>(types.names.size()));
  types.primary.resize(n_unit);
  for (std::size_t unit = 0; unit < n_unit; ++unit) {
    for (std::size_t i = 0; i < types.names.size(); ++i) {
      types.of_head[unit][i] = type->values.values[i * n_unit + unit] == 1;
    }
    const double code = primary->values.values[unit];
    if (!(code >= 0 && code < static_cast<double>(primary->flag_meanings.size()))) continue;
    const auto found = std::find(types.names.begin(), types.names.end(),
                                 primary->flag_meanings[static_cast<std::size_t>(code)]);
    if (found != types.names.end()) {
      types.primary[unit] = static_cast<std::size_t>(found - types.names.begin());
    }
  }
  return types;
}

std::vector<std::string> dimension_labels(const ResultsGroup& group, const std::string& name) {
  const auto found = group.dimensions.find(name);
  if (found == group.dimensions.end()) return {};
  if (!found->second.text.empty()) return found->second.text;
  std::vector<std::string> labels;
  for (const double value : found->second.values) labels.push_back(number_text(value, 4));
  return labels;
}

}  // namespace headscope
