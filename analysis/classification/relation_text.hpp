#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// By head, for a head that beats the best fixed offset on some relation and no relation's nearest
/// word of a part of speech: that it does not, with the numbers of the relation on which it beats
/// the offset by most. Empty for all other heads.
/// @param group  with the variables of relations.
std::vector<std::string> relation_texts(const ResultsGroup& group);

}  // namespace headscope
