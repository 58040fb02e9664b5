#include "report/inline_svg.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <regex>
#include <set>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "report/html_text.hpp"

namespace headscope {
namespace {

std::string grey_variable(int level) {
  return "var(--grey-" + std::to_string(level) + ")";
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

// The number of a grey, black or white; nothing for any other colour. The middle of the diverging
// scale is a value, not ink.
std::optional<int> grey_level(std::string_view colour) {
  int channel[3] = {};
  const bool hex = colour.starts_with('#') && colour.size() == 7;
  std::size_t at = hex ? 1 : 4;
  for (int& value : channel) {
    while (at < colour.size() && colour[at] == ' ') ++at;
    const std::size_t end = hex ? at + 2 : std::min(colour.find_first_of(",)", at), colour.size());
    std::from_chars(colour.data() + at, colour.data() + end, value, hex ? 16 : 10);
    at = hex ? end : end + 1;
  }
  constexpr int middle = 0xf7;
  if (channel[0] != channel[1] || channel[1] != channel[2] || channel[0] == middle) return {};
  return channel[0];
}

// Greys become variables, so that a dark page can invert them.
std::string with_grey_variables(const std::string& tag) {
  static const std::regex colour("#[0-9a-fA-F]{6}(?=[\"'])|rgb\\([0-9, ]+\\)");
  if (tag.size() > 4096) return tag;
  std::string text;
  std::size_t end = 0;
  for (std::sregex_iterator found(tag.begin(), tag.end(), colour), none; found != none; ++found) {
    const auto at = static_cast<std::size_t>(found->position());
    const std::optional<int> level = grey_level(found->str());
    text.append(tag, end, at - end);
    text += level ? grey_variable(*level) : found->str();
    end = at + found->str().size();
  }
  text.append(tag, end);
  static const std::regex black("=([\"'])black[\"']");
  return std::regex_replace(text, black, "=$1" + grey_variable(0) + "$1");
}

// Pictures are made for print; on a screen their text is as large as the page's.
std::string screen_width(const std::string& svg_tag) {
  constexpr double scale = 1.35;
  static const std::regex box("viewBox=\"0 0 ([0-9.]+) ");
  std::smatch found;
  if (!std::regex_search(svg_tag, found, box)) return "";
  return " width=\"" + number_text(scale * std::stod(found[1].str()), 4) + "\"";
}

}  // namespace

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
    tag = with_grey_variables(tag);
    if (open == 0) {
      tag.insert(4, " role=\"img\" aria-label=\"" + html_text(label) + "\"" + screen_width(tag));
    }
    page += tag;
    at = close + 1;
  }
  return page;
}

std::string grey_rules(std::string_view html) {
  static constexpr std::string_view start = "var(--grey-";
  std::set<int> levels;
  for (std::size_t at = html.find(start); at != std::string_view::npos; at = html.find(start, at)) {
    at += start.size();
    int level = 0;
    std::from_chars(html.data() + at, html.data() + html.size(), level);
    levels.insert(level);
  }
  std::string rules;
  for (const int level : levels) {
    rules += "  --grey-" + std::to_string(level) + ": color-mix(in srgb, var(--figure-ink) " +
             number_text(100.0 * (255 - level) / 255, 4) + "%, var(--figure-paper));\n";
  }
  return rules.empty() ? "" : ":root {\n" + rules + "}\n";
}

}  // namespace headscope
