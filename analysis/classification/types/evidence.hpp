#pragma once

#include <string>

#include "classification/types/types.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// The tests of relations that the head passes, as positions along relation and direction: the one
/// that it claims first.
std::vector<std::size_t> passed_relations(const ResultsGroup& group, std::size_t head_index);

/// `nsubj → head` of a position along relation and direction.
std::string relation_text(const ResultsGroup& group, std::size_t position);

/// Adds what the rules compare: `type_score`, `type_baseline`, `type_threshold`, `type_about`; and
/// `type_rule`.
/// @param group  with the types and relations.
void add_type_evidence(const TypeMargins& margins, ResultsGroup& group);

}  // namespace headscope
