#include "results/results_claims.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "headscope/error.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

using Claims = std::vector<PlacedClaim>;

Variable claim_text(const char* name, const char* long_name, const Claims& claims,
                    const std::function<std::string(const PlacedClaim&)>& field) {
  std::vector<std::string> text;
  for (const PlacedClaim& each : claims) text.push_back(field(each));
  return Variable::strings(name, {"claim"}, std::move(text), long_name, own_definition);
}

Array numbers(const Claims& claims, const std::function<double(const Claim&)>& field) {
  Array values({claims.size()});
  for (std::size_t i = 0; i < claims.size(); ++i) values.values[i] = field(*claims[i].claim);
  return values;
}

Variable reals(const char* name, const char* long_name, const Claims& claims,
               const std::function<double(const Claim&)>& field) {
  return Variable::real(name, {"claim"}, numbers(claims, field), long_name, "1", own_definition);
}

}  // namespace

std::vector<PlacedClaim> claims_by_number(const std::vector<ResultsGroup>& groups) {
  Claims claims;
  for (const ResultsGroup& group : groups) {
    for (const Claim& claim : group.claims) claims.push_back({&claim, &group, ""});
  }
  std::ranges::stable_sort(claims, {}, [](const PlacedClaim& each) { return each.claim->number; });
  std::map<int, std::size_t> n_part, n_named;
  for (const PlacedClaim& each : claims) ++n_part[each.claim->number];
  for (PlacedClaim& each : claims) {
    const int number = each.claim->number;
    each.label = std::to_string(number);
    if (n_part[number] > 1) each.label += static_cast<char>('a' + n_named[number]++);
  }
  return claims;
}

std::vector<PlacedClaim> claims_by_group(const std::vector<ResultsGroup>& groups) {
  Claims claims = claims_by_number(groups);
  std::ranges::stable_sort(claims, {}, [](const PlacedClaim& each) {
    return std::pair(each.claim->arithmetic, each.group);
  });
  return claims;
}

ResultsGroup claims_group(const std::vector<ResultsGroup>& groups) {
  const Claims claims = claims_by_number(groups);
  ResultsGroup group;
  group.name = layout::claims;
  group.title = "Claims";
  if (claims.empty()) return group;
  group.add_dimension(Dimension::count("claim", claims.size()));
  group.add(Variable::integer("number", {"claim"},
                              numbers(claims, [](const Claim& claim) { return claim.number; }),
                              "Number of the claim", "1", own_definition));
  group.add(claim_text("label", "Number of the claim as in the report; parts of one have letters",
                       claims, [](const PlacedClaim& each) { return each.label; }));
  group.add(claim_text("statement", "What is claimed", claims,
                       [](const PlacedClaim& each) { return each.claim->statement; }));
  group.add(Variable::flag(
      "verdict", {"claim"},
      numbers(claims, [](const Claim& claim) { return static_cast<double>(claim.verdict); }),
      {"holds", "does_not_hold", "undecided"}, "What became of the claim on this model",
      own_definition));
  group.add(claim_text("effect_name", "What the effect measures, with units", claims,
                       [](const PlacedClaim& each) { return each.claim->effect_name; }));
  group.add(reals("effect", "Effect size", claims,
                  [](const Claim& claim) { return claim.effect.value; }));
  group.add(reals(layout::low, "Lower end of the effect's 95 % interval; NaN where there is none",
                  claims, [](const Claim& claim) { return claim.effect.low; }));
  group.add(reals(layout::high, "Upper end of the effect's 95 % interval; NaN where there is none",
                  claims, [](const Claim& claim) { return claim.effect.high; }));
  group.add(Variable::flag(
      "exact", {"claim"},
      numbers(claims, [](const Claim& claim) { return claim.exact ? 1.0 : 0.0; }), {"no", "yes"},
      "Whether the effect is counted or computed, without sampling", own_definition));
  group.add(Variable::flag(
      "arithmetic", {"claim"},
      numbers(claims, [](const Claim& claim) { return claim.arithmetic ? 1.0 : 0.0; }),
      {"no", "yes"}, "Whether the claim is true of every such model by arithmetic",
      own_definition));
  group.add(claim_text("evidence", "This model's numbers in words", claims,
                       [](const PlacedClaim& each) { return each.claim->evidence; }));
  group.add(claim_text("source", "Who says so, or whose finding the claim tests", claims,
                       [](const PlacedClaim& each) { return each.claim->source; }));
  group.add(claim_text("group", "Results group that settles the claim", claims,
                       [](const PlacedClaim& each) { return each.group->name; }));
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
    claim.effect = {number("effect", i), number(layout::low, i), number(layout::high, i)};
    claim.evidence = text("evidence", i);
    claim.exact = whole_number("exact", i, 1) == 1;
    claim.arithmetic = claims.has("arithmetic") && whole_number("arithmetic", i, 1) == 1;
    if (claims.has("source")) claim.source = text("source", i);
    results.group(text("group", i)).claims.push_back(std::move(claim));
  }
}

}  // namespace headscope
