#pragma once

#include <string>
#include <string_view>

namespace headscope {

/// Text for HTML, in an element or a quoted attribute: escaped, on one line, valid UTF-8.
std::string html_text(std::string_view text);

/// A sentence for HTML, in an element: as html_text, and `name` between backticks becomes code, a
/// number keeps its percent sign, and a hyphen before a number becomes a minus sign.
std::string prose_html(std::string_view text);

}  // namespace headscope
