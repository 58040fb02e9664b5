#pragma once

#include <string>

#include "classification/types.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// What a type's rule compares for one head; NaN where the type has no such number.
struct TypeEvidence {
  double score = 0, baseline = 0, threshold = 0;
  Index offset = no_position;  ///< in tokens, of a positional head
  std::string relation;        ///< `nsubj → head`, of a syntactic head: the one that it claims
  std::string relations;       ///< `nsubj → head, 45 held-out arcs; …`: all that it passes on

  std::string about() const;  ///< `offset 1` or the relations; else empty
};

/// The tests of relations that the head passes, as positions along relation and direction: the one
/// that it claims first.
std::vector<std::size_t> passed_relations(const ResultsGroup& group, std::size_t unit);

/// `nsubj → head` of a position along relation and direction.
std::string relation_text(const ResultsGroup& group, std::size_t position);

/// @param group  with the scores, relations and tests.
TypeEvidence type_evidence(const ResultsGroup& group, HeadType type, std::size_t unit);

/// Adds the evidence of all types and heads: `type_score`, `type_baseline`, `type_threshold`,
/// `type_about`; and `type_rule`.
void add_type_evidence(ResultsGroup& group);

}  // namespace headscope
