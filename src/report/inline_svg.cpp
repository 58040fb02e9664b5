#include "report/inline_svg.hpp"

#include <algorithm>
#include <regex>

#include "headscope/utf8.hpp"

namespace headscope {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Removes everything from `open` to the next `close`.
void remove_between(std::string& text, std::string_view open, std::string_view close) {
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const std::size_t end = text.find(close, at + open.size());
    text.erase(at, end == std::string::npos ? end : end + close.size() - at);
  }
}

bool is_active(const std::string& tag) {
  static const std::regex element(
      "^</?(script|foreignObject|iframe|object|embed|animate|set|style|a)\\b", std::regex::icase);
  static const std::regex event("\\son[a-zA-Z]+\\s*=");
  static const std::regex outward("(href|src)\\s*=\\s*[\"'](?!#|data:image/png;base64,)");
  // Embedded pictures are long; the regular expression need not scan them.
  const std::string head = tag.substr(0, 4096);
  return std::regex_search(head, element) || std::regex_search(head, event) ||
         std::regex_search(head, outward);
}

void prefix_ids(std::string& tag, const std::string& prefix) {
  for (const char quote : {'"', '\''}) {
    const std::string mark(1, quote);
    replace_all(tag, " id=" + mark, " id=" + mark + prefix);
    replace_all(tag, "href=" + mark + "#", "href=" + mark + "#" + prefix);
  }
  replace_all(tag, "url(#", "url(#" + prefix);
}

// The page scales pictures down, never up.
std::string natural_width(const std::string& svg_tag) {
  static const std::regex box("viewBox=\"0 0 ([0-9.]+) ");
  std::smatch found;
  return std::regex_search(svg_tag, found, box) ? " width=\"" + found[1].str() + "\"" : "";
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view label) {
  const std::size_t start = svg.find("<svg");
  const std::size_t end = svg.rfind("</svg>");
  if (start == std::string_view::npos || end == std::string_view::npos || end < start) return "";
  std::string text(svg.substr(start, end + 6 - start));
  remove_between(text, "<!--", "-->");
  remove_between(text, "<title>", "</title>");
  remove_between(text, "<desc>", "</desc>");
  std::string page;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = std::min(text.find('<', at), text.size());
    page.append(text, at, open - at);
    if (open == text.size()) break;
    const std::size_t close = text.find('>', open);
    if (close == std::string::npos) return "";
    std::string tag = text.substr(open, close + 1 - open);
    if (tag.find('<', 1) != std::string::npos || is_active(tag)) return "";
    prefix_ids(tag, std::string(prefix));
    if (open == 0) {
      tag.insert(4, " role=\"img\" aria-label=\"" + html_text(label) + "\"" + natural_width(tag));
    }
    page += tag;
    at = close + 1;
  }
  return page;
}

}  // namespace headscope
