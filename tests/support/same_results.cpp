#include "support/same_results.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace headscope::test {
namespace {

/// Root attributes that differ between runs with the same numbers: those finished at another time,
/// by another command, with the files under other names, or with another number of threads (that of
/// a merge, which only adds; `arithmetic` has those of the passes).
const std::set<std::string> attributes_that_may_differ{
    "date", "command_line", "options", "model_path", "corpus_path", "tasks_path", "threads"};

bool same_array(const Array& a, const Array& b) {
  const bool no_values = a.values.empty() && b.values.empty();
  return (no_values || a.shape == b.shape) && same_bits(a.values, b.values);
}

bool same_claim(const Claim& a, const Claim& b) {
  return a.number == b.number && a.statement == b.statement && a.verdict == b.verdict &&
         a.effect_name == b.effect_name && a.evidence == b.evidence && a.source == b.source &&
         a.exact == b.exact && a.arithmetic == b.arithmetic &&
         same_bits({a.effect.value, a.effect.low, a.effect.high},
                   {b.effect.value, b.effect.low, b.effect.high});
}

bool same_interval(const Variable& a, const Variable& b) {
  if (!a.interval || !b.interval) return a.interval.has_value() == b.interval.has_value();
  return same_array(a.interval->low, b.interval->low) &&
         same_array(a.interval->high, b.interval->high) &&
         same_array(a.interval->resamples, b.interval->resamples) &&
         same_array(a.interval->influences, b.interval->influences) && a.resampling == b.resampling;
}

/// What of a variable differs; empty if nothing does.
std::string difference_of(const Variable& a, const Variable& b) {
  if (a.name != b.name) return "name";
  if (a.dimensions != b.dimensions) return "dimensions";
  if (a.type != b.type) return "type";
  if (a.values.shape != b.values.shape || !same_array(a.values, b.values)) return "values";
  if (a.text != b.text) return "text";
  if (!same_interval(a, b)) return "interval";
  if (a.long_name != b.long_name) return "long_name";
  if (a.units != b.units) return "units";
  if (a.references != b.references) return "references";
  return a.flag_meanings == b.flag_meanings ? "" : "flag_meanings";
}

bool same_dimension(const Dimension& a, const Dimension& b) {
  return a.name == b.name && a.text == b.text && same_bits(a.values, b.values);
}

std::map<std::string, AttributeValue> compared(std::map<std::string, AttributeValue> attributes) {
  std::erase_if(attributes,
                [](const auto& each) { return attributes_that_may_differ.contains(each.first); });
  return attributes;
}

/// Name of the first key of `a` that `b` lacks or has with another value; then the reverse.
template <typename Value, typename Same>
std::string first_difference_of_maps(const std::map<std::string, Value>& a,
                                     const std::map<std::string, Value>& b, const Same& same) {
  for (const auto& [name, value] : a) {
    const auto found = b.find(name);
    if (found == b.end() || !same(value, found->second)) return name;
  }
  for (const auto& [name, value] : b) {
    if (!a.contains(name)) return name;
  }
  return "";
}

}  // namespace

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

std::string first_difference(const ResultsGroup& a, const ResultsGroup& b) {
  if (a.name != b.name) return a.name + ": name";
  if (a.title != b.title) return a.name + ": title";
  if (a.summary != b.summary) return a.name + ": summary";
  const std::string dimension =
      first_difference_of_maps(a.dimensions, b.dimensions, same_dimension);
  if (!dimension.empty()) return a.name + ": dimension " + dimension;
  if (a.variables.size() != b.variables.size()) return a.name + ": number of variables";
  for (std::size_t i = 0; i < a.variables.size(); ++i) {
    const std::string difference = difference_of(a.variables[i], b.variables[i]);
    if (!difference.empty()) return a.name + "/" + a.variables[i].name + ": " + difference;
  }
  if (a.claims.size() != b.claims.size()) return a.name + ": number of claims";
  for (std::size_t i = 0; i < a.claims.size(); ++i) {
    if (!same_claim(a.claims[i], b.claims[i])) return a.name + ": " + a.claims[i].statement;
  }
  return "";
}

std::string first_difference(const Results& a, const Results& b) {
  const std::string attribute = first_difference_of_maps(
      compared(a.attributes), compared(b.attributes), std::equal_to<AttributeValue>());
  if (!attribute.empty()) return "attribute " + attribute;
  if (a.groups.size() != b.groups.size()) return "number of groups";
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    const std::string difference = first_difference(a.groups[i], b.groups[i]);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace headscope::test
