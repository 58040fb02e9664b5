#pragma once

#include <set>
#include <string>
#include <vector>

#include "headscope/comparison.hpp"

namespace headscope {

/// A variable's name in words, with its label along further dimensions: `pruning loss increase,
/// zero`.
std::string in_words(std::string name, const std::string& label);

/// One combination of a variable's further labels, in all runs.
struct ComparedSlice {
  std::string label;                         ///< empty where there are no further dimensions
  std::vector<std::vector<std::size_t>> at;  ///< by run: offsets of the values, row-major by head
};
/// @throws Error  if the variable does not hold numbers by run.
std::vector<ComparedSlice> compared_slices(const ResultsGroup& group, const Variable& variable);

/// `variable_suffix`, if the comparison has it along the variable's dimensions; else null.
const Variable* with_suffix(const ResultsGroup& group, const Variable& variable,
                            const std::string& suffix);
/// The suffix of a measure's difference from the first run. `_difference` may be taken by another
/// measure: `mean_abs_cosine_difference` is the model less its untrained controls.
std::string difference_suffix(const std::string& measure, const std::set<std::string>& measures);
/// The variable type_transition (run x type_from x type_to); null if the comparison lacks it.
const Variable* type_transition_of(const ResultsGroup& group);

/// The name in a comparison of a group's variable by head: `pruning_loss_increase`.
std::string joined_name(const std::string& group, const std::string& variable);

/// What a comparison calls the main type of a head that the run's model has lost.
inline constexpr const char* removed_type = "removed";
/// A flag by run, layer and head, 1 where the run's model has lost the head. A comparison of models
/// that have all heads lacks it.
inline constexpr const char* head_removed_variable = "head_removed";
/// The runs whose models have lost the head, a sentence by layer and head.
inline constexpr const char* removed_text_variable = "removed_text";

/// Which heads are compared in a run: those that the run's model and the first run's model both
/// have.
class ComparedHeads {
 public:
  explicit ComparedHeads(const ResultsGroup& comparison);
  bool has(std::size_t run, std::size_t head_index) const {
    return !is_lost(0, head_index) && !is_lost(run, head_index);
  }

 private:
  bool is_lost(std::size_t run, std::size_t head_index) const;

  const Variable* removed_ = nullptr;  // null if no head is lost
};

/// The names in a comparison of the variables by head that are no scores, and of their differences.
std::set<std::string> auxiliary_variables(const std::vector<Presentation>& presentations);
/// Whether findings name the variable: a score of the runs' models, not of an untrained one.
/// @param auxiliary  as from auxiliary_variables.
bool is_score(const Variable& variable, const std::set<std::string>& auxiliary);

/// The name of the quantity that orders the runs, such as `n_head`. @throws Error if the comparison
/// does not say.
std::string ordering_of(const ResultsGroup& comparison);

}  // namespace headscope
