#include "comparison/change_tests.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "headscope/statistics.hpp"

namespace headscope {
namespace {

double half_width_towards(double target, const Estimate& estimate) {
  return std::max(0.0, target < estimate.value ? estimate.value - estimate.low
                                               : estimate.high - estimate.value);
}

/// Of an interval's Student's t. Resamples have the normal distribution. An interval that keeps
/// neither parts nor resamples may be one of two documents.
double degrees_of_freedom(const Estimate& estimate) {
  if (estimate.influences.empty() && !estimate.resamples.empty()) {
    return std::numeric_limits<double>::infinity();
  }
  return std::max(1.0, static_cast<double>(estimate.influences.size()) - 1);
}

/// How many values each run has.
std::size_t n_value_of_run(const Variable& variable) {
  return variable.values.size() / variable.values.shape[0];
}

}  // namespace

bool is_changed(const Estimate& first, const Estimate& later, const Estimate& difference) {
  if (difference.has_width()) return difference.low > 0 || difference.high < 0;
  return (first.has_width() || later.has_width()) &&
         (later.low > first.high || later.high < first.low);
}

double p_of_change(const Estimate& first, const Estimate& later, const Estimate& difference) {
  if (!first.has_interval() || !later.has_interval()) return std::nan("");
  const double half_width = difference.has_width()
                                ? half_width_towards(0, difference)
                                : std::hypot(half_width_towards(later.value, first),
                                             half_width_towards(first.value, later));
  const double half_widths = std::abs(later.value - first.value) / half_width;
  if (!std::isfinite(half_widths)) return std::nan("");
  const boost::math::students_t t(std::min(degrees_of_freedom(first), degrees_of_freedom(later)));
  return 2 * cdf(t, -half_widths * quantile(t, 0.975));
}

Variable changed_flags(const Variable& variable, const Variable& difference) {
  const std::size_t n_value = n_value_of_run(variable);
  Array changed(variable.values.shape);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    changed.values[i] =
        is_changed(variable.estimate(i % n_value), variable.estimate(i), difference.estimate(i));
  }
  return Declaration::flag(
             variable.name + "_changed", variable.dimensions, {"no", "yes"},
             "Whether the interval of the difference excludes 0; where it has none, whether the "
             "95 % intervals of both runs lie apart; no where an interval is missing or either "
             "run's model has lost the head. Of: " +
                 variable.long_name)
      .of(std::move(changed));
}

Variable change_tests(const Variable& variable, const Variable& difference,
                      const std::vector<Estimate>& kept) {
  const std::size_t n_value = n_value_of_run(variable);
  Array p(variable.values.shape, std::nan(""));
  for (std::size_t i = n_value; i < p.size(); ++i) {
    // Heads that a model has lost have no difference.
    if (std::isnan(difference.values.values[i])) continue;
    p.values[i] = p_of_change(kept[i % n_value], kept[i], difference.estimate(i));
  }
  return Declaration{.name = variable.name + "_changed_q",
                     .dimensions = variable.dimensions,
                     .units = "probability",
                     .long_name =
                         "Two-sided p-value of the difference from the first run, adjusted over "
                         "all heads and scores of the run: Student's t, by the interval of the "
                         "difference, else by the intervals of both runs. No value in the first "
                         "run, where an interval is missing and where either run's model has "
                         "lost the head. Of: " +
                         variable.long_name,
                     .references = "Benjamini & Hochberg 1995"}
      .of(std::move(p));
}

void adjust_tests(std::vector<Variable>& tests) {
  if (tests.empty()) return;
  const std::size_t n_run = tests.front().values.shape[0];
  for (std::size_t run = 1; run < n_run; ++run) {
    std::vector<double> p;
    for (const Variable& test : tests) {
      const std::vector<double> of_run = test.values.part(run).values;
      p.insert(p.end(), of_run.begin(), of_run.end());
    }
    const std::vector<double> q = benjamini_hochberg(p);
    auto adjusted = q.begin();
    for (Variable& test : tests) {
      const auto n_value = static_cast<std::ptrdiff_t>(n_value_of_run(test));
      std::copy_n(adjusted, n_value,
                  test.values.values.begin() + static_cast<std::ptrdiff_t>(run) * n_value);
      adjusted += n_value;
    }
  }
}

}  // namespace headscope
