#include "base/head_range.hpp"

#include "base/number_text.hpp"

namespace headscope {

std::vector<std::string> heads_in(const std::string& name) {
  const std::size_t head = name.find('H') + 1, dash = name.find('-');
  if (!name.starts_with('L') || head == 0 || dash == std::string::npos) return {name};
  constexpr std::uint64_t most = 9999;  // as ModelConfig::check
  const std::string_view text = name;
  const auto first = parse_whole_number(text.substr(head, dash - head), most),
             last = parse_whole_number(text.substr(dash + 1), most);
  if (!first || !last) return {name};
  std::vector<std::string> heads;
  for (std::uint64_t h = *first; h <= *last; ++h) {
    heads.push_back(name.substr(0, head) + std::to_string(h));
  }
  return heads;
}

}  // namespace headscope
