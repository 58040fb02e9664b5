#include "headscope/label_text.hpp"

#include <algorithm>

namespace headscope {

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::vector<std::string> spaced(std::vector<std::string> names) {
  for (std::string& name : names) name = spaced(std::move(name));
  return names;
}

}  // namespace headscope
