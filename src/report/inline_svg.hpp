#pragma once

#include <string>
#include <string_view>

namespace headscope {

/// Prepares a stand-alone SVG for an HTML page with others: removes prolog, comments and titles,
/// puts `prefix` before every id, names it `label` for screen readers, and replaces greys by the
/// variables of `grey_rules`.
///
/// @param label  plain text; escaped here.
/// @return  empty if it is not an SVG, or holds anything active: scripts, event handlers, outgoing
///          links.
std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view label);

/// Style rules for the greys of the inline pictures in this HTML: black is `--figure-ink`, white is
/// `--figure-paper`.
std::string grey_rules(std::string_view html);

}  // namespace headscope
