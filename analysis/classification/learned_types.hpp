#pragma once

#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// How many heads have a type.
struct TypeCount {
  std::size_t type = 0;  ///< index in `head_type`
  std::size_t n_head = 0;
};

/// The types of a run's heads, by how they compare with untrained models.
struct LearnedTypes {
  /// More heads have the type than in any untrained model, each of which was tested for it; without
  /// untrained models, some head has it. The most frequent first.
  std::vector<TypeCount> learned;
  std::vector<TypeCount> not_learned;  ///< other types of some head
  std::vector<std::size_t> absent;     ///< types of no head
  std::size_t n_typed = 0;             ///< heads with a learned type
};

/// From the finished group `classification`.
LearnedTypes learned_types(const ResultsGroup& group);

/// The most heads of a type in one untrained model; NaN where the documents of one cannot test for
/// the type.
/// @param group  with control_type_heads.
double most_untrained(const ResultsGroup& group, std::size_t type);

}  // namespace headscope
