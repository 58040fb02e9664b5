#pragma once

#include "classification/types/head_type.hpp"

namespace headscope {

HeadType positional_type();
HeadType current_token_type();
HeadType delimiter_type();
HeadType syntactic_type();
HeadType coreference_type();
HeadType semantic_type();
HeadType duplicate_type();
HeadType induction_type();
HeadType rare_type();
HeadType sink_type();
HeadType long_range_type();
HeadType copying_type();
HeadType suppressing_type();
HeadType word_class_type();

/// The types of heads, in the order of results, tables and figures. A new one stands last.
const HeadTypeList& head_type_list();

/// HeadType::is_specialised of the type with this name; true for a name that the list lacks.
bool counts_as_specialised(const std::string& type);

/// The names of types that do not count: `sink or long range`.
std::string types_apart();

}  // namespace headscope
