#include "comparison/stacked_variable.hpp"

#include <algorithm>
#include <limits>

#include "comparison/comparison_group.hpp"

namespace headscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool is_same_label(const Dimension& a, std::size_t i, const Dimension& b, std::size_t j) {
  if (a.text.empty() != b.text.empty()) return false;
  return a.text.empty() ? a.values[i] == b.values[j] : a.text[i] == b.text[j];
}

std::optional<std::size_t> place_of(const Dimension& labels, std::size_t i, const Dimension& in) {
  for (std::size_t j = 0; j < in.size(); ++j) {
    if (is_same_label(labels, i, in, j)) return j;
  }
  return std::nullopt;
}

void append_label(const Dimension& from, std::size_t i, Dimension& to) {
  if (from.text.empty()) {
    to.values.push_back(from.values[i]);
  } else {
    to.text.push_back(from.text[i]);
  }
}

const Dimension& dimension_of(const RunVariable& run_variable, std::size_t axis) {
  return run_variable.group->dimension(run_variable.variable->dimensions[axis]);
}

/// One axis of a stacked variable.
struct StackedAxis {
  Dimension dimension;
  /// By run, then label: where the run has it.
  std::vector<std::vector<std::optional<std::size_t>>> places;
};

StackedAxis stacked_axis(const std::vector<RunVariable>& by_run, std::size_t axis,
                         StackedLabels labels) {
  StackedAxis result;
  bool is_first = true;
  for (const RunVariable& run_variable : by_run) {
    if (run_variable.variable == nullptr) continue;
    const Dimension& dimension = dimension_of(run_variable, axis);
    if (!is_first && labels == StackedLabels::in_every_run) break;
    for (std::size_t i = 0; i < dimension.size(); ++i) {
      const bool is_of_all = std::ranges::all_of(by_run, [&](const RunVariable& other) {
        return other.variable == nullptr ||
               place_of(dimension, i, dimension_of(other, axis)).has_value();
      });
      if (labels == StackedLabels::in_every_run && !is_of_all) continue;
      const bool is_text = is_first || dimension.text.empty() == result.dimension.text.empty();
      if (!is_text || place_of(dimension, i, result.dimension)) continue;
      append_label(dimension, i, result.dimension);
    }
    if (is_first) result.dimension.name = dimension.name;
    is_first = false;
  }
  for (const RunVariable& run_variable : by_run) {
    auto& places = result.places.emplace_back();
    for (std::size_t i = 0; i < result.dimension.size(); ++i) {
      places.push_back(run_variable.variable == nullptr
                           ? std::nullopt
                           : place_of(result.dimension, i, dimension_of(run_variable, axis)));
    }
  }
  return result;
}

/// Adds the dimension under its own name, or with the group's before it; returns the name.
std::string add_dimension(Dimension dimension, const std::string& group, ResultsGroup& into) {
  const auto found = into.dimensions.find(dimension.name);
  const bool is_other =
      found != into.dimensions.end() &&
      (found->second.text != dimension.text || found->second.values != dimension.values);
  if (is_other) dimension.name = joined_name(group, dimension.name);
  std::string name = dimension.name;
  into.add_dimension(std::move(dimension));
  return name;
}

/// Offset in the run's own values of each stacked value, row-major; nothing where it lacks one.
std::vector<std::optional<std::size_t>> offsets(const std::vector<StackedAxis>& axes,
                                                std::size_t run, const Shape& run_shape) {
  std::vector<std::optional<std::size_t>> offsets{0};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    std::vector<std::optional<std::size_t>> longer;
    for (const auto& before : offsets) {
      for (const auto& place : axes[axis].places[run]) {
        longer.push_back(before && place ? std::optional(*before * run_shape[axis] + *place)
                                         : std::nullopt);
      }
    }
    offsets = std::move(longer);
  }
  return offsets;
}

/// The first run's definition; says so where another run has another.
std::string definition_of(const Variable& first, const std::vector<RunVariable>& by_run) {
  const bool differs = std::ranges::any_of(by_run, [&](const RunVariable& run) {
    return run.variable != nullptr && run.variable->long_name != first.long_name;
  });
  return first.long_name +
         (differs ? "; this is the first run's definition, another run has another" : "");
}

}  // namespace

bool is_stackable(const Variable& a, const Variable& b) {
  return a.type == b.type && a.dimensions == b.dimensions && a.units == b.units &&
         a.flag_meanings == b.flag_meanings;
}

std::optional<StackedVariable> stacked(const std::string& name,
                                       const std::vector<RunVariable>& by_run, StackedLabels labels,
                                       ResultsGroup& into) {
  const RunVariable& first =
      *std::ranges::find_if(by_run, [](const RunVariable& run) { return run.variable != nullptr; });
  std::vector<StackedAxis> axes;
  Shape shape{by_run.size()};
  for (std::size_t axis = 0; axis < first.variable->dimensions.size(); ++axis) {
    axes.push_back(stacked_axis(by_run, axis, labels));
    shape.push_back(axes.back().dimension.size());
    if (shape.back() == 0) return std::nullopt;
  }
  const Variable& like = *first.variable;
  Variable result =
      Declaration{name, "run", like.units, definition_of(like, by_run), like.references}.of(
          Array(shape, nan));
  if (labels == StackedLabels::in_every_run) {
    result.type = like.type;
    result.flag_meanings = like.flag_meanings;
  }
  const auto with_interval = std::ranges::find_if(by_run, [](const RunVariable& run) {
    return run.variable != nullptr && run.variable->interval.has_value();
  });
  if (with_interval != by_run.end()) {
    result.interval = {result.values, result.values};
    result.resampling = with_interval->variable->resampling;
  }
  std::vector<Estimate> estimates(result.values.size());
  const std::size_t n_value = result.values.size() / by_run.size();
  for (std::size_t run = 0; run < by_run.size(); ++run) {
    const Variable* const variable = by_run[run].variable;
    if (variable == nullptr) continue;
    const auto places = offsets(axes, run, variable->values.shape);
    for (std::size_t i = 0; i < n_value; ++i) {
      if (!places[i]) continue;
      const std::size_t at = run * n_value + i;
      estimates[at] = variable->kept_estimate(*places[i]);
      result.values.values[at] = estimates[at].value;
      if (!result.interval) continue;
      result.interval->low.values[at] = estimates[at].low;
      result.interval->high.values[at] = estimates[at].high;
    }
  }
  for (StackedAxis& axis : axes) {
    result.dimensions.push_back(add_dimension(std::move(axis.dimension), first.group->name, into));
  }
  return StackedVariable{std::move(result), std::move(estimates)};
}

Variable differences(const StackedVariable& all, const std::vector<bool>& paired) {
  const Variable& variable = all.variable;
  const std::size_t n_value = all.estimates.size() / paired.size();
  const auto of_run = [&](std::size_t run) {
    const auto begin = all.estimates.begin() + static_cast<std::ptrdiff_t>(run * n_value);
    return std::vector<Estimate>(begin, begin + static_cast<std::ptrdiff_t>(n_value));
  };
  const std::vector<Estimate> first = of_run(0);
  std::vector<Estimate> estimates;
  for (std::size_t run = 0; run < paired.size(); ++run) {
    std::vector<Estimate> later = of_run(run);
    if (run == 0 || !paired[run]) {
      for (Estimate& estimate : later) estimate = {.value = estimate.value};
    }
    for (Estimate& difference : paired_differences(later, first)) {
      estimates.push_back({difference.value, difference.low, difference.high});
    }
  }
  const bool any = std::ranges::any_of(estimates, &Estimate::has_interval);
  Variable result =
      Declaration{.name = variable.name + "_difference",
                  .dimensions = variable.dimensions,
                  .units = variable.units,
                  .long_name = "Difference from the first run of: " + variable.long_name,
                  .resampling = any ? "in pairs; " + variable.resampling : ""}
          .of(variable.values.shape, estimates);
  if (!any) result.interval.reset();
  return result;
}

}  // namespace headscope
