#pragma once

#include <vector>

#include "scores/pattern.hpp"

/// Power of a type's significance test: the probability that it finds one head whose score lies at
/// the threshold, if no other head is of the type,
///
///   P(T > t(1 - 0.05/m) - gain/SE),  T ~ Student's t over the odd documents that have a case,
///
/// m the number of tests (Benjamini-Hochberg's level for a single discovery), SE the bootstrap's
/// standard error of the score minus its baseline, the median over heads.
namespace headscope {

/// Least power at which finding no head shows that there is none.
inline constexpr double least_power = 0.8;

/// Probability that a one-sided test of this level finds an effect; NaN for an unknown error.
double test_power(double effect, double standard_error, double level, double n_document);

/// Median over heads of the standard deviation of score minus baseline, over the resamples that
/// have both; NaN with fewer than two such resamples.
/// @param score     head_index x weighting.
/// @param baseline  by weighting.
/// @param pruned    head_index of the heads that are left out, ascending.
double standard_error(const arma::mat& score, const arma::rowvec& baseline,
                      const std::vector<Index>& pruned);

/// How many of the values are numbers.
double n_number(const std::vector<double>& values);

}  // namespace headscope
