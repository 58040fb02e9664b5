#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headscope/figure.hpp"

namespace headscope {

/// Colour of series `index`: Okabe & Ito's palette, distinguishable for colour-blind readers; from
/// the ninth on, tones that differ from these and, for the first eleven, from one another under
/// simulated colour blindness; from the fifteenth on, lighter and darker tones that differ so from
/// all before. After the 24th the colours repeat. `no_colour` is grey.
std::string series_colour(std::size_t index);

/// One colour per category; one called `none` is grey.
std::vector<std::string> category_colours(const std::vector<std::string>& categories);

/// Colours at equal steps of a sequential or diverging scale, low to high.
std::vector<std::string> continuous_colours(ColourScale scale);

/// gnuplot's `set palette …` for a sequential or diverging scale.
std::string continuous_palette(ColourScale scale);

/// gnuplot's `set palette …` whose N colours stand for 0 .. N-1.
std::string categorical_palette(const std::vector<std::string>& colours);

}  // namespace headscope
