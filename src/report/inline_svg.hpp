#pragma once

#include <string>
#include <string_view>

namespace headscope {

/// Prepares a stand-alone SVG for an HTML page with others: removes prolog, comments and titles,
/// puts `prefix` before every id, and names it `label` for screen readers.
///
/// @param label  plain text; escaped here.
/// @return  empty if it is not an SVG, or holds anything active: scripts, event handlers, outgoing
///          links.
std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view label);

/// Text for HTML, in an element or a quoted attribute: escaped, on one line, valid UTF-8.
std::string html_text(std::string_view text);

}  // namespace headscope
