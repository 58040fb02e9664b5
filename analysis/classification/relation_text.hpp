#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// By head, why it is not syntactic though it beats the best fixed offset on some relation: the
/// nearest word of a part of speech is a better rule. Gives the numbers of the relation on which
/// it beats the offset by most. Empty for all other heads.
/// @param group  with the variables of relations.
std::vector<std::string> relation_texts(const ResultsGroup& group);

}  // namespace headscope
