#pragma once

#include <string>
#include <string_view>

namespace headscope {

/// Makes a stand-alone SVG fit to stand in an HTML page with others: without prolog, comments and
/// its own titles; every id begins with `prefix`; named `label` for screen readers.
///
/// @param label  plain text; escaped here.
/// @return  empty if it is not an SVG, or holds anything active: scripts, event handlers, links
/// out.
std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view label);

/// Text for HTML, in an element or a quoted attribute: escaped, on one line, valid UTF-8.
std::string html_text(std::string_view text);

}  // namespace headscope
