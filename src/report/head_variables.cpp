#include "report/head_variables.hpp"

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

const Variable* find_variable(const ResultsGroup& group, const std::string& name) {
  return group.has(name) ? &group.variable(name) : nullptr;
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

std::vector<std::string> dimension_labels(const ResultsGroup& group, const std::string& name) {
  const auto found = group.dimensions.find(name);
  if (found == group.dimensions.end()) return {};
  if (!found->second.text.empty()) return found->second.text;
  std::vector<std::string> labels;
  for (const double value : found->second.values) labels.push_back(number_text(value, 4));
  return labels;
}

}  // namespace headscope
