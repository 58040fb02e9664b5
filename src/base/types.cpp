#include "headscope/types.hpp"

#include <charconv>

#include "headscope/error.hpp"

namespace headscope {

std::string HeadIndex::text() const {
  return "L" + std::to_string(layer) + "H" + std::to_string(head);
}

HeadIndex HeadIndex::parse(const std::string& text) {
  HeadIndex index;
  const char* const end = text.data() + text.size();
  const auto malformed = [&] {
    return OptionError("head", "expected the form L5H1, got \"" + text + "\"");
  };
  if (text.empty() || text[0] != 'L') throw malformed();
  const auto layer = std::from_chars(text.data() + 1, end, index.layer);
  if (layer.ec != std::errc() || layer.ptr == end || *layer.ptr != 'H') throw malformed();
  const auto head = std::from_chars(layer.ptr + 1, end, index.head);
  if (head.ec != std::errc() || head.ptr != end) throw malformed();
  return index;
}

}  // namespace headscope
