#pragma once

#include <string>

/// Names in a results file that its writer and its reader share.
namespace headscope::layout {

// The format of a results file.
inline constexpr const char* results = "results";
inline constexpr int results_format = 3;

// Root attributes.
inline constexpr const char* format_attribute = "format";
inline constexpr const char* groups_attribute = "groups";  ///< in the order of the report

// Attributes of a group.
inline constexpr const char* title = "title";
inline constexpr const char* summary = "summary";
inline constexpr const char* variables_attribute = "variables";  ///< in order

// Attributes of a variable.
inline constexpr const char* long_name = "long_name";
inline constexpr const char* units = "units";
inline constexpr const char* references = "references";
inline constexpr const char* flag_values = "flag_values";
inline constexpr const char* flag_meanings = "flag_meanings";
inline constexpr const char* ancillary_variables = "ancillary_variables";  ///< the bounds
inline constexpr const char* resampling = "resampling";  ///< of a variable with an interval

// The bounds of an interval: columns of tables and variables of claims.
inline constexpr const char* low = "ci_low";
inline constexpr const char* high = "ci_high";
// What an estimate keeps, in the file alone.
inline constexpr const char* resamples = "resamples";
inline constexpr const char* influences = "influences";

/// The dataset of one bound of a variable's interval: `loss_increase_ci_low`.
inline std::string bound_name(const std::string& variable, const char* bound) {
  return variable + "_" + bound;
}

inline constexpr const char* claims = "claims";  ///< the group of all claims

}  // namespace headscope::layout
