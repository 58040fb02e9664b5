#include "report/html_text.hpp"

#include <regex>

#include "base/text.hpp"
#include "base/utf8.hpp"

namespace headscope {

std::string html_text(std::string_view text) {
  return escaped(one_line(text),
                 {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string prose_html(std::string_view text) {
  static const std::regex code("`([^`]+)`"), percent("([0-9]) %");
  static const std::regex sign("(^|[ (\\[])-([0-9.])"), exponent("([0-9])e-([0-9])");
  std::string html = html_text(text);
  html = std::regex_replace(html, code, "<code>$1</code>");
  html = std::regex_replace(html, percent, "$1\u00a0%");
  html = std::regex_replace(html, sign, "$1−$2");
  return std::regex_replace(html, exponent, "$1e−$2");
}

}  // namespace headscope
