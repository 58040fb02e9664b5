#pragma once

#include <string>
#include <vector>

#include "classification/types/head_type.hpp"

/// Which heads are of which types.
namespace headscope {

/// All types, in the order of the list, which must outlive them. Pruned heads are left out.
using MeasuredTypes = std::vector<MeasuredType>;
MeasuredTypes measured_types(const HeadTypeList& types, const Measured& measured);

/// The type of this name. @throws Error if there is none.
const MeasuredType& type_named(const std::string& name, const MeasuredTypes& types);

/// Removes the pruned heads from every type and from the heads that shares count: their attention
/// is uniform because their weights are zero.
/// @param pruned  head_index.
void leave_out_heads(const std::vector<Index>& pruned, MeasuredTypes& types);

/// Share of the model's heads with at least one type of `any_of`; its interval holds the central 95
/// % of the resampled shares, and the share itself.
Estimate share_of(const std::vector<const MeasuredType*>& any_of);

/// 0 for no type, else 1 + the type of largest margin, the first on ties; types without a ceiling
/// after all others.
Index primary_type(const MeasuredTypes& types, Index head_index);

/// What makes the head of the type: `{"offset 1"}`, `{"det → head (45 held-out arcs)", …}`, the one
/// that it claims first; empty for types with nothing to choose.
/// @param group  with the type's variables.
std::vector<std::string> choice_texts(const HeadType& type, const ResultsGroup& group,
                                      Index head_index);

/// Adds `type`, `type_margin`, `primary`, `type_share`, the variables of each type, and what the
/// rules compare.
/// @param group  with relations.
void add_types(const MeasuredTypes& types, const Measured& measured, ResultsGroup& group);

/// By head, the features of the score model that its types name: `sink;upos_PUNCT
/// latest_punctuation`, after `sink` those of each type that names some; empty for a head without a
/// type.
/// @param group  with types.
std::vector<std::string> label_features(const ResultsGroup& group);

}  // namespace headscope
