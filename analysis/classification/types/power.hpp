#pragma once

#include <array>

#include "classification/types/types.hpp"

/// What the corpus would show of a head that is just of a type.
namespace headscope {

/// Power from which on a test that finds no head says that there is none.
inline constexpr double least_power = 0.8;

/// For each type with a significance test, the probability that the test finds one head whose score
/// lies at the type's threshold, if it is the only one: a syntactic head of any tested relation
/// alike. NaN for the other types, and without resamples.
///
///   P(T > t(1 - 0.05/m) - gain/SE),  T ~ Student's t over the odd documents that have a case,
///
/// m the number of tests (Benjamini-Hochberg's level for a single discovery), SE the bootstrap's
/// standard error of the score minus its baseline, the median over heads.
std::array<double, n_head_type> type_powers(const RelationTests& relations,
                                            const CoreferenceTest& coreference,
                                            const SemanticTest& semantic);

}  // namespace headscope
