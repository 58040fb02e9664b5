#include "support/same_results.hpp"

#include <cstring>

namespace headscope::test {
namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool same_claim(const Claim& a, const Claim& b) {
  return a.number == b.number && a.statement == b.statement && a.verdict == b.verdict &&
         a.evidence == b.evidence && a.source == b.source && a.exact == b.exact &&
         a.arithmetic == b.arithmetic &&
         same_bits({a.effect.value, a.effect.low, a.effect.high},
                   {b.effect.value, b.effect.low, b.effect.high});
}

bool same_interval(const Variable& a, const Variable& b) {
  if (!a.interval || !b.interval) return a.interval.has_value() == b.interval.has_value();
  return same_bits(a.interval->low.values, b.interval->low.values) &&
         same_bits(a.interval->high.values, b.interval->high.values) &&
         same_bits(a.interval->resamples.values, b.interval->resamples.values) &&
         a.interval->resampling == b.interval->resampling;
}

std::string difference_of(const ResultsGroup& a, const ResultsGroup& b) {
  if (a.name != b.name || a.variables.size() != b.variables.size()) return a.name;
  if (a.summary != b.summary) return a.name + ": summary";
  for (std::size_t i = 0; i < a.variables.size(); ++i) {
    const Variable &x = a.variables[i], &y = b.variables[i];
    if (x.name != y.name || x.values.shape != y.values.shape || x.text != y.text ||
        x.long_name != y.long_name || !same_bits(x.values.values, y.values.values) ||
        !same_interval(x, y)) {
      return a.name + "/" + x.name;
    }
  }
  if (a.claims.size() != b.claims.size()) return a.name + ": claims";
  for (std::size_t i = 0; i < a.claims.size(); ++i) {
    if (!same_claim(a.claims[i], b.claims[i])) return a.name + ": " + a.claims[i].statement;
  }
  return "";
}

}  // namespace

std::string first_difference(const Results& a, const Results& b) {
  if (a.groups.size() != b.groups.size()) return "number of groups";
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    const std::string difference = difference_of(a.groups[i], b.groups[i]);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace headscope::test
