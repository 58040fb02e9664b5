#include "results/results_claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "headscope/error.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

using Claims = std::vector<PlacedClaim>;

const VariableTable claim_variables{
    Declaration::integer("number", "claim", "Number of the claim"),
    {"label", "claim", "1", "Number of the claim as in the report; parts of one have letters"},
    {"statement", "claim", "1", "What is claimed"},
    Declaration::flag("verdict", "claim", {"holds", "does_not_hold", "undecided"},
                      "Whether the claim holds on this model"),
    {"effect_name", "claim", "1", "What the effect measures, with units"},
    {"effect", "claim", "1", "Effect size"},
    {layout::low, "claim", "1", "Lower end of the effect's 95 % interval; NaN where there is none"},
    {layout::high, "claim", "1",
     "Upper end of the effect's 95 % interval; NaN where there is none"},
    Declaration::flag("exact", "claim", {"no", "yes"},
                      "Whether the effect is counted or computed, without sampling"),
    Declaration::flag("arithmetic", "claim", {"no", "yes"},
                      "Whether arithmetic alone decides the claim for every model of this shape"),
    {"evidence", "claim", "1", "This model's numbers in words"},
    {"source", "claim", "1", "Paper that makes the claim, or whose finding the claim tests"},
    {"group", "claim", "1", "Results group that settles the claim"},
};

}  // namespace

std::vector<PlacedClaim> claims_by_number(const std::vector<ResultsGroup>& groups) {
  Claims claims;
  for (const ResultsGroup& group : groups) {
    for (const Claim& claim : group.claims) claims.push_back({&claim, &group, ""});
  }
  std::ranges::stable_sort(claims, {},
                           [](const PlacedClaim& placed) { return placed.claim->number; });
  std::map<int, std::size_t> n_part, n_named;
  for (const PlacedClaim& placed : claims) ++n_part[placed.claim->number];
  for (PlacedClaim& placed : claims) {
    const int number = placed.claim->number;
    placed.label = std::to_string(number);
    if (n_part[number] > 1) placed.label += static_cast<char>('a' + n_named[number]++);
  }
  return claims;
}

bool is_tested(const Claim& claim) {
  return !std::isnan(claim.effect.value);
}

std::vector<PlacedClaim> claims_by_group(const std::vector<ResultsGroup>& groups) {
  Claims claims = claims_by_number(groups);
  std::ranges::stable_sort(claims, {}, [](const PlacedClaim& placed) {
    return std::tuple(placed.claim->arithmetic, !is_tested(*placed.claim), placed.group);
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
  const auto add = [&](const char* name, const auto& of) {
    group.add(claim_variables[name], claims,
              [&](const PlacedClaim& placed) { return of(*placed.claim); });
  };
  add("number", [](const Claim& claim) { return claim.number; });
  group.add(claim_variables["label"], claims, &PlacedClaim::label);
  add("statement", [](const Claim& claim) { return claim.statement; });
  add("verdict", [](const Claim& claim) { return static_cast<double>(claim.verdict); });
  add("effect_name", [](const Claim& claim) { return claim.effect_name; });
  add("effect", [](const Claim& claim) { return claim.effect.value; });
  add(layout::low, [](const Claim& claim) { return claim.effect.low; });
  add(layout::high, [](const Claim& claim) { return claim.effect.high; });
  add("exact", [](const Claim& claim) { return claim.exact; });
  add("arithmetic", [](const Claim& claim) { return claim.arithmetic; });
  add("evidence", [](const Claim& claim) { return claim.evidence; });
  add("source", [](const Claim& claim) { return claim.source; });
  group.add(claim_variables["group"], claims,
            [](const PlacedClaim& placed) { return placed.group->name; });
  return group;
}

void restore_claims(const ResultsGroup& claims, Results& results) {
  const std::size_t n_claim = claims.values("number").size();
  const auto number = [&](const char* name, std::size_t i) {
    const std::vector<double>& values = claims.values(name).values;
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
    const std::vector<std::string>& texts = claims.texts(name);
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
