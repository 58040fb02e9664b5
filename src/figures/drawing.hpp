#pragma once

#include <string>

namespace headscope {

/// Why no figure can be drawn: `gnuplot is not installed`, or what the gnuplot on PATH says when it
/// does not start. Empty if it starts.
std::string why_no_figures();

}  // namespace headscope
