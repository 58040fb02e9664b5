#pragma once

#include <string>
#include <string_view>

#include "headscope/error.hpp"

namespace headscope {

/// A gnuplot string constant that stands for `one_line(text)`; nothing in it is substituted or run.
std::string gnuplot_string(std::string_view text);

/// A number as gnuplot reads it, exact; `NaN` if it is not finite.
std::string gnuplot_number(double value);

/// `[0:1]`, as `set xrange` takes it.
std::string gnuplot_range(double low, double high);

/// gnuplot does not draw a figure. @see run_gnuplot
class DrawingError : public Error {
 public:
  using Error::Error;
};

/// The ranges of code points that the fonts on this machine have, as fontconfig's fc-list prints
/// them; empty if it does not run.
std::string font_characters();

/// Why no figure can be drawn: `gnuplot is not installed`, or what the gnuplot on PATH says when it
/// does not start. Empty if it starts.
std::string why_no_figures();

/// Runs `gnuplot -d -c {script} {format} {output}` in `directory`: no shell, no start-up file of
/// the user. The output is kept in memory: gnuplot does not notice a full disk.
/// @param seconds        killed after this time.
/// @return               what the script drew.
/// @throws DrawingError  if gnuplot is missing, fails or takes too long; with its first line of
/// output.
std::string run_gnuplot(const std::string& directory, const std::string& script,
                        const std::string& format, int seconds);

}  // namespace headscope
