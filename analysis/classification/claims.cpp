#include "classification/claims.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/types/evidence.hpp"
#include "headscope/analysis.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// The heads of a type with what makes them so if there are few, `L0H1 at offset 1, L2H3 at offset
/// 2`; of many how many heads each makes so, `5 at offset 1, 3 at offset 2`, most first, or
/// nothing.
std::string carriers_text(const ResultsGroup& group, HeadType type,
                          const std::vector<Index>& head_indices, Index n_head) {
  constexpr std::size_t few = 6;
  if (head_indices.size() <= few) {
    return joined(head_indices, ", ", [&](Index head_index) {
      const std::vector<std::string> carriers = type_carriers(group, type, head_index);
      return head_text(head_index, n_head) +
             (carriers.empty() ? "" : " " + carrier_text(type, carriers));
    });
  }
  std::map<std::string, std::size_t> count;
  for (const Index head_index : head_indices) {
    const std::vector<std::string> carriers = type_carriers(group, type, head_index);
    // Of several relations only the claimed one is counted.
    if (!carriers.empty()) ++count[carrier_text(type, {carriers.front()})];
  }
  std::vector<std::pair<std::string, std::size_t>> order(count.begin(), count.end());
  std::ranges::stable_sort(order, std::ranges::greater(),
                           &std::pair<std::string, std::size_t>::second);
  return joined(order, ", ",
                [](const auto& each) { return std::to_string(each.second) + " " + each.first; });
}

std::vector<Index> heads_of(const TypeMargins& margins, HeadType type) {
  std::vector<Index> head_indices;
  for (Index head_index = 0; head_index < margins.of(type).n_rows; ++head_index) {
    if (margins.has(type, head_index)) head_indices.push_back(head_index);
  }
  return head_indices;
}

/// Those of `types` that were not tested, and why: `syntactic (the corpus has no dependencies)`.
std::string untested_types(const TypeMargins& margins, const std::vector<HeadType>& types) {
  std::vector<std::string> untested;
  for (const HeadType type : types) {
    const std::string& reason = margins.untested_reason(type);
    if (!reason.empty()) {
      untested.push_back(std::string(head_type_name(type)) + " (" + reason + ")");
    }
  }
  return joined(untested, ", ");
}

constexpr std::array named_types{HeadType::positional, HeadType::syntactic, HeadType::semantic,
                                 HeadType::coreference, HeadType::delimiter};

const char* const claimed_by = "Voita et al. 2019; Clark et al. 2019";

std::string type_statement(HeadType type) {
  return "Some heads are " + std::string(head_type_name(type)) + " heads.";
}

/// Whether that no head was found says that there is none, and why. A type with a significance test
/// needs a powerful one; a head that any test lets through counts by its interval.
Verdict verdict_of_none(const arma::mat& margin, double power, std::string& evidence) {
  if (!std::isnan(power)) {
    evidence +=
        " The significance test would find one head at the threshold with a probability "
        "of " +
        percent(power) + ".";
    if (power < least_power) return Verdict::undecided;
  }
  Index n_near = 0;
  for (Index head_index = 0; head_index < margin.n_rows; ++head_index) {
    n_near += row_estimate(margin, head_index).high >= 0 ? 1 : 0;
  }
  const std::string significant = std::isnan(power) ? "" : "significant ";
  if (n_near == 0) {
    evidence += " No " + significant + "head's interval reaches the threshold.";
    return Verdict::does_not_hold;
  }
  evidence +=
      " The interval of " + count_text(n_near, significant + "head") + " reaches the threshold.";
  return Verdict::undecided;
}

Claim type_claim(HeadType type, const TypeMargins& margins, double power) {
  Claim claim;
  claim.number = 7;
  claim.source = claimed_by;
  claim.statement = type_statement(type);
  claim.effect_name = "share of heads that are " + std::string(head_type_name(type)) + " heads";
  const std::string& untested = margins.untested_reason(type);
  if (!untested.empty()) {
    claim.evidence = "Cannot be told: " + untested + ".";
    return claim;
  }
  claim.effect = share_of(margins, {type});
  const std::size_t n = heads_of(margins, type).size();
  claim.evidence = std::to_string(n) + " of " + std::to_string(margins.of(type).n_rows) +
                   " heads pass the rule: " + head_type_rule(type) + ".";
  if (!claim.effect.has_interval()) {
    claim.evidence += " There is no interval to settle it.";
  } else if (margins.is_out_of_reach[static_cast<std::size_t>(type)]) {
    claim.evidence +=
        " No head could: the baseline leaves less room above it than the rule asks for.";
  } else if (n == 0) {
    claim.verdict = verdict_of_none(margins.of(type), power, claim.evidence);
  } else if (claim.effect.low == 0) {
    claim.evidence += " In some resamples of the documents no head passes.";
  }
  if (claim.effect.has_interval() && !std::isnan(power)) {
    claim.evidence +=
        " The interval varies the scores alone: the significance test is that of all documents.";
  }
  return claim;
}

}  // namespace

std::vector<Claim> specialisation_claims(const TypeMargins& margins,
                                         const std::array<double, n_head_type>& powers) {
  const std::vector<HeadType> named(named_types.begin(), named_types.end());
  Claim any;
  any.number = 7;
  any.source = claimed_by;
  any.statement =
      "Heads specialise: most are positional, syntactic, semantic, coreference or delimiter heads.";
  any.effect_name = "share of heads of at least one of the five types";
  any.effect = share_of(margins, named);
  any.verdict = verdict_of(any.effect, Side::above, 0.5);
  any.evidence = percent(any.effect.value) +
                 " of the heads pass the threshold of at least one of the five types; the claim is "
                 "taken to hold where more than half do.";
  const std::string untested = untested_types(margins, named);
  if (!untested.empty()) {
    // Types that were not tested may still be present.
    if (any.verdict == Verdict::does_not_hold) any.verdict = Verdict::undecided;
    any.evidence +=
        " The share is the least it can be, since there was no looking for " + untested + ".";
  }
  std::vector<std::string> weak;
  for (const HeadType type : named) {
    if (powers[static_cast<std::size_t>(type)] < least_power) {
      weak.emplace_back(head_type_name(type));
    }
  }
  if (!weak.empty()) {
    if (any.verdict == Verdict::does_not_hold) any.verdict = Verdict::undecided;
    any.evidence +=
        " It may be larger: one head at the threshold would be found with a probability "
        "below " +
        percent(least_power) + " of " + joined(weak, ", ") + " heads.";
  }
  std::vector<Claim> claims{any};
  for (const HeadType type : named) {
    claims.push_back(type_claim(type, margins, powers[static_cast<std::size_t>(type)]));
  }
  return claims;
}

void settle_by_controls(const std::vector<ControlHeads>& controls, Index n_head_total,
                        std::vector<Claim>& claims) {
  for (const HeadType type : named_types) {
    const auto claim = std::ranges::find(claims, type_statement(type), &Claim::statement);
    if (claim == claims.end() || !(claim->effect.value > 0)) continue;
    const auto n_of = [&](const ControlHeads& control) {
      return control[static_cast<std::size_t>(type)];
    };
    if (std::ranges::any_of(
            controls, [](double n) { return std::isnan(n); }, n_of)) {
      claim->evidence += " The documents of the untrained models do not suffice to test them.";
      continue;
    }
    claim->evidence +=
        " Untrained models have " +
        joined(controls, ", ", [&](const auto& each) { return number_text(n_of(each), 3); }) + ".";
    double most = 0;
    for (const ControlHeads& control : controls) most = std::max(most, n_of(control));
    if (controls.size() >= least_controls && claim->effect.has_interval() &&
        claim->effect.low * static_cast<double>(n_head_total) > most) {
      claim->verdict = Verdict::holds;
    }
  }
}

void say_without_controls(std::vector<Claim>& claims) {
  for (const HeadType type : named_types) {
    const auto claim = std::ranges::find(claims, type_statement(type), &Claim::statement);
    if (claim == claims.end() || !(claim->effect.value > 0)) continue;
    claim->evidence +=
        " No untrained model was run (--control random), so that it cannot be told whether chance "
        "gives as many.";
  }
}

std::vector<Claim> rest_claims(const TypeMargins& margins, const WeightedSums& sums, Index n_head) {
  const std::vector<Index> heads = heads_of(margins, HeadType::coreference);
  const auto claim_of = [&](const std::string& sum, const std::string& statement,
                            const std::string& quantity, const std::string& units, Side side) {
    Claim claim;
    claim.number = 8;
    claim.source = "Clark et al. 2019; Vig & Belinkov 2019";
    claim.statement = statement;
    claim.effect_name = quantity + " without a pronoun minus with one, " + units;
    if (heads.empty()) {
      claim.evidence = "Cannot be told: no head of this model is a coreference head.";
      return claim;
    }
    // Without less with a pronoun of every head, and their mean.
    const auto differences = [&](const WeightedSums& weighted) {
      const arma::mat means = weighted.ratio(sum);
      const Index n_head_total = means.n_rows / 2;
      arma::mat difference(heads.size() + 1, means.n_cols, arma::fill::zeros);
      for (Index i = 0; i < heads.size(); ++i) {
        difference.row(i) = means.row(heads[i]) - means.row(n_head_total + heads[i]);
        difference.row(heads.size()) += difference.row(i) / static_cast<double>(heads.size());
      }
      return difference;
    };
    std::vector<Estimate> estimates = sums.estimates(differences);
    claim.effect = std::move(estimates.back());
    estimates.pop_back();
    if (std::isnan(claim.effect.value)) {
      claim.evidence = "Cannot be told: the corpus lacks sentences of one of the two kinds.";
      return claim;
    }
    std::size_t n_rest = 0, n_opposite = 0;
    for (const Estimate& of_head : estimates) {
      const Verdict verdict = verdict_of(of_head, side, 0);
      n_rest += verdict == Verdict::holds ? 1 : 0;
      n_opposite += verdict == Verdict::does_not_hold ? 1 : 0;
    }
    const arma::mat means = sums.ratio(sum);
    double without = 0, with = 0;
    for (const Index head_index : heads) {
      without += means(head_index, 0) / static_cast<double>(heads.size());
      with += means(means.n_rows / 2 + head_index, 0) / static_cast<double>(heads.size());
    }
    if (n_rest == heads.size()) claim.verdict = Verdict::holds;
    if (n_opposite == heads.size()) claim.verdict = Verdict::does_not_hold;
    claim.evidence = "Coreference heads (" + head_list(heads, n_head) + "): " + quantity + " " +
                     number_text(without, 3) + " on sentences without a pronoun, " +
                     number_text(with, 3) + " on those with one, on average. By their intervals " +
                     std::to_string(n_rest) + " of " + std::to_string(heads.size()) + " rest and " +
                     std::to_string(n_opposite) + " do the opposite; it holds if all rest.";
    return claim;
  };
  return {claim_of("sentence_sink",
                   "A coreference head rests on sentences without pronouns: it attends more to the "
                   "sink there.",
                   "sink mass", "probability", Side::above),
          claim_of("sentence_entropy",
                   "A coreference head rests on sentences without pronouns: its attention has less "
                   "entropy there.",
                   "entropy", "nats", Side::below)};
}

std::string carrier_text(HeadType type, const std::vector<std::string>& carriers) {
  if (carriers.empty()) return "";
  return (type == HeadType::positional ? "at " : "by ") + joined(carriers, " and ");
}

std::string type_summary(const TypeMargins& margins, const ResultsGroup& group, Index n_head) {
  const Index n_head_total = margins.margin[0].n_rows;
  std::string summary = "Of " + count_text(n_head_total, "head") + ": ";
  std::vector<HeadType> all_types;
  Index n_none = 0;
  for (Index head_index = 0; head_index < n_head_total; ++head_index)
    n_none += primary_type(margins, head_index) == 0 ? 1 : 0;
  for (std::size_t i = 0; i < n_head_type; ++i) {
    const auto type = static_cast<HeadType>(i);
    all_types.push_back(type);
    const std::vector<Index> head_indices = heads_of(margins, type);
    if (head_indices.empty()) continue;
    summary += std::to_string(head_indices.size()) + " " + head_type_name(type);
    const std::string which = carriers_text(group, type, head_indices, n_head);
    if (!which.empty()) summary += " (" + which + ")";
    summary += ", ";
  }
  summary += std::to_string(n_none) + " of no type. A head may be of several types.";
  const std::string untested = untested_types(margins, all_types);
  return untested.empty() ? summary : summary + " Not looked for: " + untested + ".";
}

}  // namespace headscope
