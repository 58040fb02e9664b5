#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// Whether a character has a glyph, by code point. Empty if it is not known.
using Glyphs = std::vector<bool>;

/// @param ranges  of code points, as fontconfig writes them: `20-7e a0 4e00-9fff`.
Glyphs read_glyphs(std::string_view ranges);

/// The text with U+25A1 for characters without a glyph. Latin, Greek and Cyrillic are kept.
std::string with_glyphs(std::string_view text, const Glyphs& glyphs);

/// The same with the glyphs of the fonts on this machine; without fontconfig, the text as it is.
/// gnuplot's PNG and PDF would show a character without a glyph as a box larger than the figure.
std::string with_font_glyphs(std::string_view text);

}  // namespace headscope
