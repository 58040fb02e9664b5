#include "base/head_range.hpp"

#include <charconv>

namespace headscope {

std::vector<std::string> heads_in(const std::string& name) {
  const std::size_t head = name.find('H') + 1, dash = name.find('-');
  if (!name.starts_with('L') || head == 0 || dash == std::string::npos) return {name};
  std::size_t first = 0, last = 0;
  const char* const end = name.data() + name.size();
  const auto from = std::from_chars(name.data() + head, name.data() + dash, first);
  const auto to = std::from_chars(name.data() + dash + 1, end, last);
  const bool is_range = from.ec == std::errc() && from.ptr == name.data() + dash &&
                        to.ec == std::errc() && to.ptr == end;
  if (!is_range) return {name};
  std::vector<std::string> heads;
  for (std::size_t h = first; h <= last; ++h) {
    heads.push_back(name.substr(0, head) + std::to_string(h));
  }
  return heads;
}

}  // namespace headscope
