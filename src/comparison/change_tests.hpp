#pragma once

#include <cstddef>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// Whether a value changed: by the interval of its difference if it has one with width, else if the
/// two intervals lie apart.
bool is_changed(const Estimate& first, const Estimate& later, const Estimate& difference);

/// Two-sided p-value for the hypothesis that a difference is 0, from its 95 % interval:
///
///   p = 2 T(-|difference| / h * q)
///
/// h is the interval's half-width on the side of 0, T the distribution function of Student's t, q
/// its 97.5th percentile. Where the difference has no interval, h^2 is the sum of the squared
/// half-widths of the two values' intervals on the sides that face each other. T is over the parts
/// of the value with fewer: normal where both have resamples instead, one degree of freedom where a
/// value keeps neither. NaN if h is 0 or a value has no interval.
double p_of_change(const Estimate& first, const Estimate& later, const Estimate& difference);

/// `NAME_changed`: by run, whether each value differs from that of the first run (is_changed).
/// @param variable    its first dimension is `run`.
/// @param difference  from the first run.
Variable changed_flags(const Variable& variable, const Variable& difference);

/// `NAME_changed_q`, still with p-values that are not adjusted (p_of_change); NaN in the first run.
/// @param difference  as above; NaN where a model has lost the head.
/// @param kept        the variable's values, with what the runs keep.
Variable change_tests(const Variable& variable, const Variable& difference,
                      const std::vector<Estimate>& kept);
/// Adjusts the p-values of each run over all variables (benjamini_hochberg).
void adjust_tests(std::vector<Variable>& tests);

}  // namespace headscope
