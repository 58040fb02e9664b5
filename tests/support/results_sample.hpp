#pragma once

#include "headscope/results.hpp"

namespace headscope::test {

/// Text that every output must show as plain text.
inline const std::string hostile = "<script>alert('x')</script> & \"quoted\" | `tick` é · $x_1$";

/// Results with every kind of content: reals with intervals and gaps, integers, flags, text,
/// scalars, dimensions of labels and of numbers, nested groups, claims, parts of the report.
Results results_sample();

}  // namespace headscope::test
