#pragma once

namespace headscope {

/// Whether gnuplot, which draws the figures, is found on PATH.
bool can_draw_figures();

}  // namespace headscope
