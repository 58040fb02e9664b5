#include "results_claims.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "headscope/error.hpp"
#include "results_layout.hpp"

namespace headscope {
namespace {

struct PlacedClaim {
  const Claim* claim;
  const std::string* group;
};

Variable claim_variable(const char* name, const char* long_name, Variable::Type type) {
  Variable variable;
  variable.name = name;
  variable.dimensions = {"claim"};
  variable.type = type;
  variable.long_name = long_name;
  variable.units = "1";
  return variable;
}

Variable words(const char* name, const char* long_name, const std::vector<PlacedClaim>& claims,
               const std::function<std::string(const PlacedClaim&)>& field) {
  Variable variable = claim_variable(name, long_name, Variable::Type::text);
  for (const PlacedClaim& each : claims) variable.text.push_back(field(each));
  return variable;
}

Variable numbers(const char* name, const char* long_name, Variable::Type type,
                 const std::vector<PlacedClaim>& claims,
                 const std::function<double(const Claim&)>& field) {
  Variable variable = claim_variable(name, long_name, type);
  variable.values = Array({claims.size()});
  for (std::size_t i = 0; i < claims.size(); ++i) {
    variable.values.values[i] = field(*claims[i].claim);
  }
  return variable;
}

}  // namespace

ResultsGroup claims_group(const std::vector<ResultsGroup>& groups) {
  std::vector<PlacedClaim> claims;
  for (const ResultsGroup& group : groups) {
    for (const Claim& claim : group.claims) claims.push_back({&claim, &group.name});
  }
  ResultsGroup group;
  group.name = layout::claims;
  group.title = "Claims";
  if (claims.empty()) return group;
  using Type = Variable::Type;
  group.add_dimension(Dimension::count("claim", claims.size()));
  group.add(numbers("number", "Number of the claim", Type::integer, claims,
                    [](const Claim& claim) { return claim.number; }));
  group.add(words("statement", "What is claimed", claims,
                  [](const PlacedClaim& each) { return each.claim->statement; }));
  Variable verdict =
      numbers("verdict", "What became of the claim on this model", Type::flag, claims,
              [](const Claim& claim) { return static_cast<double>(claim.verdict); });
  verdict.flag_meanings = {"holds", "does_not_hold", "undecided"};
  group.add(verdict);
  group.add(words("effect_name", "What the effect measures, with units", claims,
                  [](const PlacedClaim& each) { return each.claim->effect_name; }));
  group.add(numbers("effect", "Effect size", Type::real, claims,
                    [](const Claim& claim) { return claim.effect; }));
  group.add(numbers("ci_low", "Lower end of the effect's 95 % interval; NaN where there is none",
                    Type::real, claims, [](const Claim& claim) { return claim.ci_low; }));
  group.add(numbers("ci_high", "Upper end of the effect's 95 % interval; NaN where there is none",
                    Type::real, claims, [](const Claim& claim) { return claim.ci_high; }));
  Variable exact =
      numbers("exact", "Whether the effect is counted or computed, without sampling", Type::flag,
              claims, [](const Claim& claim) { return claim.exact ? 1.0 : 0.0; });
  exact.flag_meanings = {"no", "yes"};
  group.add(exact);
  group.add(words("evidence", "This model's numbers in words", claims,
                  [](const PlacedClaim& each) { return each.claim->evidence; }));
  group.add(words("group", "Results group that settles the claim", claims,
                  [](const PlacedClaim& each) { return *each.group; }));
  return group;
}

void restore_claims(const ResultsGroup& claims, Results& results) {
  const std::size_t n_claim = claims.variable("number").values.size();
  const auto number = [&](const char* name, std::size_t i) {
    const std::vector<double>& values = claims.variable(name).values.values;
    check_count(std::string("numbers in ") + name, n_claim, values.size());
    return values[i];
  };
  const auto whole_number = [&](const char* name, std::size_t i, int most) {
    const double value = number(name, i);
    if (value >= 0 && value <= most && value == std::floor(value)) return static_cast<int>(value);
    throw Error(std::string(name) + ": expected a whole number from 0 to " + std::to_string(most) +
                ", got " + std::to_string(value));
  };
  const auto text = [&](const char* name, std::size_t i) {
    const std::vector<std::string>& texts = claims.variable(name).text;
    check_count(std::string("texts in ") + name, n_claim, texts.size());
    return texts[i];
  };
  for (std::size_t i = 0; i < n_claim; ++i) {
    Claim claim;
    claim.number = whole_number("number", i, std::numeric_limits<int>::max());
    claim.statement = text("statement", i);
    claim.verdict =
        static_cast<Verdict>(whole_number("verdict", i, static_cast<int>(Verdict::undecided)));
    claim.effect_name = text("effect_name", i);
    claim.effect = number("effect", i);
    claim.ci_low = number("ci_low", i);
    claim.ci_high = number("ci_high", i);
    claim.evidence = text("evidence", i);
    // Files of before this was noted do not say.
    claim.exact = claims.has("exact") && whole_number("exact", i, 1) == 1;
    results.group(text("group", i)).claims.push_back(std::move(claim));
  }
}

}  // namespace headscope
