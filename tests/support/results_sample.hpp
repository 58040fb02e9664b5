#pragma once

#include "headscope/presentation.hpp"
#include "headscope/results.hpp"

namespace headscope::test {

/// Text that every output must show as plain text.
inline const std::string hostile = "<script>alert('x')</script> & \"quoted\" | `tick` é · $x_1$";

/// Results with every kind of content: reals with intervals and gaps, integers, flags, text,
/// scalars, dimensions of labels and of numbers, nested groups, claims.
Results results_sample();

/// Sentences about the sample, and what its head panel shows.
std::vector<Presentation> sample_presentations();

}  // namespace headscope::test
