#pragma once

#include "headscope/results.hpp"

namespace headscope::test {

/// Text that must come out as text wherever it goes.
inline const std::string hostile = "<script>alert('x')</script> & \"quoted\" | `tick` é · $x_1$";

/// Results with every kind of variable: reals with intervals and gaps, integers, flags, text,
/// scalars, dimensions of words and numbers, nested groups, claims, parts of the report.
Results results_sample();

}  // namespace headscope::test
