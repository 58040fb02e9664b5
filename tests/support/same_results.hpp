#pragma once

#include <string>

#include "headscope/results.hpp"

namespace headscope::testing {

/// What differs between two results, root attributes aside: values bit for bit, texts, summaries,
/// claims and parts of the report. Empty when nothing does.
std::string first_difference(const Results& a, const Results& b);

}  // namespace headscope::testing
