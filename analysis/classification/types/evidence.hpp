#pragma once

#include <string>

#include "classification/types/types.hpp"
#include "headscope/results.hpp"

namespace headscope {

bool is_of_type(const ResultsGroup& group, HeadType type, std::size_t head_index);

/// The tests of relations that the head passes, as positions along relation and direction: the one
/// that it claims first.
std::vector<std::size_t> passed_relations(const ResultsGroup& group, std::size_t head_index);

/// `nsubj → head` of a position along relation and direction.
std::string relation_text(const ResultsGroup& group, std::size_t position);

/// What makes the head of the type: `{"offset 1"}` of a positional head, `{"det → head (45 held-out
/// arcs)", …}` of a syntactic one, the relation that it claims first; empty for other heads and
/// types.
std::vector<std::string> type_carriers(const ResultsGroup& group, HeadType type,
                                       std::size_t head_index);

/// Adds what the rules compare: `type_score`, `type_baseline`, `type_threshold`, `type_about`; and
/// `type_rule`.
/// @param group  with the types and relations.
void add_type_evidence(const TypeMargins& margins, ResultsGroup& group);

}  // namespace headscope
