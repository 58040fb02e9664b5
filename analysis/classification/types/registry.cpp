#include "classification/types/registry.hpp"

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

}  // namespace headscope
