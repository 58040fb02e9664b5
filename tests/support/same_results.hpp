#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope::test {

/// Whether two lists of numbers are equal bit for bit, so that NaN equals NaN.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b);

/// First difference between two groups of results, numbers bit for bit; empty if there is none.
std::string first_difference(const ResultsGroup& a, const ResultsGroup& b);

/// The same of two results, with the root attributes but those that say when, from where and by
/// which process a run was finished.
std::string first_difference(const Results& a, const Results& b);

}  // namespace headscope::test
