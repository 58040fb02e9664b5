#include "classification/claims.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/types/power.hpp"
#include "classification/types/registry.hpp"
#include "headscope/analysis.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// Of a type with a significance test.
constexpr std::string_view of_interval_with_test =
    " The interval varies only the scores; the significance test uses all documents.";

/// The heads of a type with what makes them so if there are few, `L0H1 by offset 1, L2H3 by offset
/// 2`; of many how many heads each makes so, `5 by offset 1, 3 by offset 2`, most first, or
/// nothing.
std::string heads_text(const MeasuredType& type, const ResultsGroup& group, Index n_head) {
  constexpr std::size_t few = 6;
  const std::vector<Index> heads = type.heads();
  if (heads.size() <= few) {
    return joined(heads, ", ", [&](Index head_index) {
      const std::vector<std::string> choices = choice_texts(*type.type, group, head_index);
      return head_text(head_index, n_head) +
             (choices.empty() ? "" : " by " + joined(choices, " and "));
    });
  }
  std::map<std::string, std::size_t> count;
  for (const Index head_index : heads) {
    const std::vector<std::string> choices = choice_texts(*type.type, group, head_index);
    // Of several relations only the claimed one is counted.
    if (!choices.empty()) ++count[" by " + choices.front()];
  }
  std::vector<std::pair<std::string, std::size_t>> order(count.begin(), count.end());
  std::ranges::stable_sort(order, std::ranges::greater(),
                           &std::pair<std::string, std::size_t>::second);
  return joined(order, ", ",
                [](const auto& counted) { return std::to_string(counted.second) + counted.first; });
}

/// Those of the types that were not tested, and why: `syntactic (the corpus has no dependencies)`.
std::string untested_types(const std::vector<const MeasuredType*>& types) {
  std::vector<std::string> untested;
  for (const MeasuredType* const type : types) {
    if (!type->untested.empty())
      untested.push_back(spaced(type->type->name) + " (" + type->untested + ")");
  }
  return joined(untested, ", ");
}

/// The types that have a part of claim 7, in the order of the parts.
std::vector<const MeasuredType*> with_claim(const MeasuredTypes& types) {
  std::vector<const MeasuredType*> claimed;
  for (const MeasuredType& type : types) {
    if (type.type->claim_part > 0) claimed.push_back(&type);
  }
  std::ranges::sort(claimed, {}, [](const MeasuredType* type) { return type->type->claim_part; });
  return claimed;
}

const char* const claimed_by = "Voita et al. 2019; Clark et al. 2019";

std::string type_statement(const HeadType& type) {
  return "Some heads are " + spaced(type.name) + " heads.";
}

/// Does finding no head prove that there is none? Adds the reasons to the evidence. A type with a
/// significance test needs a powerful one; a head that passes it, or any head of a type without a
/// test, must have an interval below the threshold.
Verdict verdict_of_none(const MeasuredType& type, double power, std::string& evidence) {
  if (type.has_power()) {
    evidence += std::isnan(power) ? " The probability that the significance test would find one "
                                    "head at the threshold is unknown."
                                  : " The significance test would find one head at the threshold "
                                    "with a probability of " +
                                        percent(power) + ".";
    if (!(power >= least_power)) return Verdict::undecided;
  }
  Index n_near = 0;
  for (Index head_index = 0; head_index < type.margin.n_rows; ++head_index) {
    n_near += row_estimate(type.margin, head_index).high >= 0 ? 1 : 0;
  }
  const std::string significant = type.has_power() ? "significant " : "";
  if (n_near == 0) {
    evidence += " No " + significant + "head's interval reaches the threshold.";
    return Verdict::does_not_hold;
  }
  evidence +=
      " The interval of " + count_text(n_near, significant + "head") + " reaches the threshold.";
  return Verdict::undecided;
}

Claim type_claim(const MeasuredType& type, double power, const std::string& note) {
  Claim claim;
  claim.number = 7;
  claim.source = claimed_by;
  claim.statement = type_statement(*type.type);
  claim.effect_name = "share of heads that are " + spaced(type.type->name) + " heads";
  if (!type.untested.empty()) {
    claim.evidence = "Cannot be told: " + type.untested + ".";
    return claim;
  }
  claim.effect = share_of({&type});
  const std::size_t n = type.heads().size();
  claim.evidence = std::to_string(n) + " of " + count_text(type.n_head(), "head") +
                   (type.n_head() == 1 ? " passes" : " pass") + " the rule: " + type.rule + "." +
                   note;
  if (!claim.effect.has_interval()) {
    claim.evidence += " There is no interval to settle it.";
  } else if (type.is_out_of_reach) {
    claim.evidence +=
        " No head can pass: the baseline leaves less room above it than the rule requires.";
  } else if (n == 0) {
    claim.verdict = verdict_of_none(type, power, claim.evidence);
  } else if (claim.effect.low == 0) {
    claim.evidence += " In some resamples of the documents no head passes.";
  }
  if (claim.effect.has_interval() && type.has_power()) claim.evidence += of_interval_with_test;
  return claim;
}

}  // namespace

std::vector<Claim> specialisation_claims(const MeasuredTypes& types,
                                         const std::vector<double>& powers,
                                         const std::vector<std::string>& notes) {
  const std::vector<const MeasuredType*> named = with_claim(types);
  const auto place_of = [&](const MeasuredType* type) {
    return static_cast<std::size_t>(type - types.data());
  };
  const auto power_of = [&](const MeasuredType* type) { return powers[place_of(type)]; };
  Claim any;
  any.number = 7;
  any.source = claimed_by;
  any.statement =
      "Heads specialise: most are positional, syntactic, semantic, coreference or delimiter heads.";
  any.effect_name = "share of heads of at least one of the five types";
  any.effect = share_of(named);
  any.verdict = verdict_of(any.effect, Side::above, 0.5);
  any.evidence = std::isnan(any.effect.value)
                     ? no_head_left_text
                     : percent(any.effect.value) +
                           " of the heads pass the threshold of at least one of the five types. "
                           "The claim holds if more than half of the heads do.";
  const std::string untested = untested_types(named);
  if (!untested.empty() && !std::isnan(any.effect.value)) {
    // Types that were not tested may still be present.
    if (any.verdict == Verdict::does_not_hold) any.verdict = Verdict::undecided;
    any.evidence +=
        " The share is a lower bound, since these types could not be tested: " + untested + ".";
  }
  std::vector<std::string> weak;
  for (const MeasuredType* const type : named) {
    if (!type->has_power() || !type->untested.empty() || power_of(type) >= least_power) continue;
    weak.push_back(spaced(type->type->name));
  }
  if (!weak.empty()) {
    if (any.verdict == Verdict::does_not_hold) any.verdict = Verdict::undecided;
    any.evidence +=
        " The share may be larger: for some types the probability that a single head at the "
        "threshold would be found is unknown or below " +
        percent(least_power) + " (" + joined(weak, ", ") + ").";
  }
  std::vector<Claim> claims{any};
  for (const MeasuredType* const type : named) {
    claims.push_back(type_claim(*type, power_of(type), notes[place_of(type)]));
  }
  return claims;
}

void settle_by_controls(const HeadTypeList& types, const std::vector<ControlHeads>& controls,
                        Index n_head_total, std::vector<Claim>& claims) {
  for (std::size_t type = 0; type < types.size(); ++type) {
    // Types without a part of claim 7 have no such claim.
    const auto claim = std::ranges::find(claims, type_statement(types[type]), &Claim::statement);
    if (claim == claims.end() || !(claim->effect.value > 0)) continue;
    if (controls.empty()) {
      claim->evidence +=
          " No untrained model was run (--control random), so chance may give as many.";
      continue;
    }
    const auto n_of = [&](const ControlHeads& control) { return control[type]; };
    if (std::ranges::any_of(
            controls, [](double n) { return std::isnan(n); }, n_of)) {
      claim->evidence += " The documents of the untrained models do not suffice to test them.";
      continue;
    }
    claim->evidence +=
        " Untrained models have " +
        joined(controls, ", ", [&](const auto& control) { return number_text(n_of(control), 3); }) +
        ".";
    double most = 0;
    for (const ControlHeads& control : controls) most = std::max(most, n_of(control));
    if (controls.size() >= n_control_per_kind && claim->effect.has_interval() &&
        claim->effect.low > most / static_cast<double>(n_head_total)) {
      claim->verdict = Verdict::holds;
    }
  }
}

void remove_intervals_of_no_width(std::vector<Claim>& claims) {
  for (Claim& claim : claims) {
    if (claim.number != 7 || !claim.effect.has_interval()) continue;
    claim.effect = with_width(claim.effect);
    if (claim.effect.has_interval()) continue;
    const std::size_t place = claim.evidence.find(of_interval_with_test);
    if (place != std::string::npos) claim.evidence.erase(place, of_interval_with_test.size());
    claim.evidence +=
        " The number has no interval: in every resample of documents the same number of heads "
        "passes.";
  }
}

std::vector<Claim> rest_claims(const MeasuredTypes& types, const WeightedSums& sums, Index n_head) {
  const MeasuredType& coreference = type_named("coreference", types);
  const std::vector<Index> heads = coreference.heads();
  const auto claim_of = [&](const std::string& sum, const std::string& statement,
                            const std::string& quantity, const std::string& units, Side side) {
    Claim claim;
    claim.number = 8;
    claim.source = "Clark et al. 2019; Vig & Belinkov 2019";
    claim.statement = statement;
    claim.effect_name = quantity + " without a pronoun minus with one, " + units;
    if (heads.empty()) {
      claim.evidence = "Cannot be told: " +
                       (coreference.untested.empty() ? "no head is shown to be a coreference head"
                                                     : coreference.untested) +
                       ".";
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
    claim.evidence =
        "Coreference heads (" + head_list(heads, n_head) + "): " + quantity + " " +
        number_text(without, 3) + " on sentences without a pronoun and " + number_text(with, 3) +
        " on sentences with a pronoun (means). By the intervals, " + std::to_string(n_rest) +
        " of " + count_text(heads.size(), "head") + (heads.size() == 1 ? " rests" : " rest") +
        " and " + std::to_string(n_opposite) + (n_opposite == 1 ? " does" : " do") +
        " the opposite. The claim holds if all heads rest.";
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

std::string type_summary(const MeasuredTypes& types, const ResultsGroup& group, Index n_head) {
  const MeasuredType& first = types.front();
  std::string summary = "Of " + count_text(first.n_head(), "head") + ": ";
  Index n_typed = 0, n_specialised = 0;
  for (Index head_index = 0; head_index < first.margin.n_rows; ++head_index) {
    n_typed += primary_type(types, head_index) == 0 ? 0 : 1;
    n_specialised += std::ranges::any_of(types, [&](const MeasuredType& type) {
      return type.type->is_specialised && type.has(head_index);
    });
  }
  std::vector<const MeasuredType*> all_types;
  for (const MeasuredType& type : types) {
    all_types.push_back(&type);
    const std::size_t n = type.heads().size();
    if (n == 0) continue;
    summary += std::to_string(n) + " " + spaced(type.type->name);
    const std::string which = heads_text(type, group, n_head);
    if (!which.empty()) summary += " (" + which + ")";
    summary += ", ";
  }
  summary += std::to_string(first.n_head() - n_typed) + " without a type" +
             (n_typed == n_specialised
                  ? ""
                  : ", " + std::to_string(n_typed - n_specialised) + " of no type but " +
                        types_apart() + ", which do not count as specialised") +
             ". A head may have several types.";
  const std::string untested = untested_types(all_types);
  return untested.empty() ? summary : summary + " Not tested: " + untested + ".";
}

}  // namespace headscope
