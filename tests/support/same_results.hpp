#pragma once

#include <string>

#include "headscope/results.hpp"

namespace headscope::test {

/// First difference between two results; empty if there is none. Compares values bit for bit,
/// texts, summaries, claims and parts of the report, but not the root attributes.
std::string first_difference(const Results& a, const Results& b);

}  // namespace headscope::test
