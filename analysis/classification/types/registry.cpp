#include "classification/types/registry.hpp"

#include <algorithm>

#include "base/label_text.hpp"
#include "base/text.hpp"

namespace headscope {

const HeadTypeList& head_type_list() {
  static const HeadTypeList types{
      positional_type(),  current_token_type(), delimiter_type(),  syntactic_type(),
      coreference_type(), semantic_type(),      duplicate_type(),  induction_type(),
      rare_type(),        sink_type(),          long_range_type(), copying_type(),
      suppressing_type(), word_class_type(),
  };
  return types;
}

bool counts_as_specialised(const std::string& type) {
  const auto found = std::ranges::find(head_type_list(), type, &HeadType::name);
  return found == head_type_list().end() || found->is_specialised;
}

std::string types_apart() {
  std::vector<std::string> names;
  for (const HeadType& type : head_type_list()) {
    if (!type.is_specialised) names.push_back(spaced(type.name));
  }
  return joined(names, " or ");
}

}  // namespace headscope
