#include "paths/exchange_names.hpp"

#include "base/head_range.hpp"

namespace headscope {

std::string exchange_name(const std::string& node) {
  if (node == "embed") return "input";
  if (node.starts_with("MLP")) return "m" + node.substr(3);
  if (!node.starts_with('L')) return node;
  const std::size_t head = node.find('H');
  return "a" + node.substr(1, head - 1) + ".h" + node.substr(head + 1);
}

std::vector<EdgeEnd> ends_of(const std::string& port) {
  const std::size_t dot = port.rfind('.');
  const std::string input = dot == std::string::npos ? "" : "<" + port.substr(dot + 1) + ">";
  std::vector<EdgeEnd> ends;
  for (const std::string& name : heads_in(port.substr(0, dot))) {
    ends.push_back({exchange_name(name), input});
  }
  return ends;
}

std::string exchange_edge(const std::string& from, const EdgeEnd& end) {
  return from + "->" + end.node + end.input;
}

}  // namespace headscope
