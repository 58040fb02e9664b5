#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

struct VariableName {
  std::string_view group, name;
};

/// The variables the report knows by name; it shows all others as they come. The only place in the
/// library that names what an analysis writes.
namespace contract {
inline constexpr VariableName parameter_count{"parameters", "count"};
inline constexpr VariableName ov_copying{"circuits", "ov_copying"};
inline constexpr VariableName n_copying{"circuits", "n_copying"};
inline constexpr VariableName n_opposite{"circuits", "n_opposite"};
inline constexpr VariableName qk_rank90{"circuits", "qk_rank90"};
inline constexpr VariableName position_only_sink{"circuits", "position_only_sink"};
inline constexpr VariableName composition{"circuits", "composition"};
inline constexpr VariableName composition_null{"circuits", "composition_null"};
inline constexpr VariableName cosine_all{"correlation", "cosine_all"};
inline constexpr VariableName js_distance{"correlation", "js_distance"};
inline constexpr VariableName output_share{"correlation", "output_share"};
inline constexpr VariableName mean_abs_cosine{"correlation", "mean_abs_cosine"};
inline constexpr VariableName control_cosine{"control/correlation", "mean_abs_cosine"};
inline constexpr VariableName cosine_difference{"correlation", "mean_abs_cosine_difference_mean"};
inline constexpr VariableName loss_baseline{"pruning", "loss_baseline"};
inline constexpr VariableName loss_increase{"pruning", "loss_increase"};
inline constexpr VariableName n_interval{"pruning", "n_interval"};
inline constexpr VariableName n_harmless{"pruning", "n_harmless"};
inline constexpr VariableName loss_all_but_one{"pruning", "loss_all_but_one"};
inline constexpr VariableName importance{"pruning", "importance"};
inline constexpr VariableName prunable_share{"pruning", "prunable_share"};
inline constexpr VariableName type{"classification", "type"};
inline constexpr VariableName type_margin{"classification", "type_margin"};
inline constexpr VariableName primary{"classification", "primary"};
inline constexpr VariableName sink{"classification", "sink"};
inline constexpr VariableName entropy{"classification", "entropy"};
inline constexpr VariableName distance{"classification", "distance"};
inline constexpr VariableName previous_token{"classification", "previous_token"};
inline constexpr VariableName induction{"classification", "induction"};
inline constexpr VariableName relation_accuracy{"classification", "relation_accuracy_heldout"};
inline constexpr VariableName relation_baseline{"classification", "relation_baseline_heldout"};
inline constexpr VariableName relation_count{"classification", "relation_count_heldout"};
inline constexpr VariableName relation_tested{"classification", "relation_tested"};
inline constexpr VariableName relation_best{"classification", "relation_best_accuracy_heldout"};
inline constexpr VariableName relation_best_layer{"classification", "relation_best_layer"};
inline constexpr VariableName relation_best_head{"classification", "relation_best_head"};

/// Groups `attention/0`, `attention/1`, ... hold one document each.
inline constexpr std::string_view pattern_groups = "attention/";
inline constexpr std::string_view pattern = "pattern";
inline constexpr std::string_view token_text = "token_text";
inline constexpr std::string_view token_ids = "tokens";
}  // namespace contract

/// How many heads the results speak of. A head's unit is layer * n_head + head.
struct HeadShape {
  std::size_t n_layer = 0, n_head = 0;

  std::size_t n_unit() const { return n_layer * n_head; }
  std::string text(std::size_t unit) const;  ///< `L5H1`
};

/// From the first group that has a variable by layer and head; nothing if none has.
std::optional<HeadShape> head_shape(const Results& results);

/// Nothing where the results have no such variable.
const Variable* find_variable(const Results& results, VariableName name);
const ResultsGroup* find_group(const Results& results, std::string_view name);

/// One number, or nothing: not there, of another shape, or missing.
std::optional<double> find_number(const Results& results, VariableName name);
/// The number at one label of a variable's only dimension, likewise.
std::optional<double> find_number(const Results& results, VariableName name,
                                  std::string_view label);

/// One label of a variable's further dimensions, and for each unit a value and, where the variable
/// has an interval, its bounds.
struct HeadSlice {
  std::string label;  ///< `zero`; several joined by a comma; empty where there is none
  std::vector<double> values, low, high;
};

/// A variable by layer, head and at most `most_slices` combinations of further labels; empty for
/// any other.
std::vector<HeadSlice> head_slices(const ResultsGroup& group, const Variable& variable,
                                   const HeadShape& shape, std::size_t most_slices);

/// Whether any of them is finite.
bool has_number(const std::vector<double>& values);

/// The slice of that label; empty where there is none, or no number in it.
std::vector<double> head_values(const Results& results, VariableName name, const HeadShape& shape,
                                std::string_view label = "");

/// Which head is of which type.
struct HeadTypes {
  std::vector<std::string> names;
  std::vector<std::vector<bool>> of_head;           ///< by unit, then type
  std::vector<std::optional<std::size_t>> primary;  ///< by unit
};
std::optional<HeadTypes> head_types(const Results& results, const HeadShape& shape);

/// The labels of a dimension as text; empty where the group has no such dimension.
std::vector<std::string> dimension_labels(const ResultsGroup& group, const std::string& name);

}  // namespace headscope
