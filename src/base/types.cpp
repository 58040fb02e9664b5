#include "headscope/types.hpp"

#include <string_view>

#include "base/number_text.hpp"
#include "headscope/error.hpp"

namespace headscope {

std::string HeadIndex::text() const {
  return "L" + std::to_string(layer) + "H" + std::to_string(head);
}

HeadIndex HeadIndex::parse(const std::string& text) {
  const std::string_view view = text;
  if (const std::size_t mark = view.find('H'); view.starts_with('L') && mark != view.npos) {
    const auto layer = parse_whole_number(view.substr(1, mark - 1));
    const auto head = parse_whole_number(view.substr(mark + 1));
    if (layer && head) return {*layer, *head};
  }
  throw OptionError("--heads", "expected the form L5H1, got \"" + text + "\"");
}

}  // namespace headscope
