#include "classification/types/types.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "classification/tests/copy_effect.hpp"
#include "classification/tests/paired.hpp"
#include "induction.hpp"
#include "scores/words.hpp"

namespace headscope {
namespace {

/// A number by head and weighting.
using ByHead = std::function<double(Index head_index, Index weighting)>;

ByHead always(double value) {
  return [value](Index, Index) { return value; };
}

/// Values by head x weighting.
ByHead of_heads(arma::mat values) {
  return [values = std::move(values)](Index head_index, Index w) { return values(head_index, w); };
}

/// Values by weighting, the same of all heads.
ByHead of_corpus(arma::mat values) {
  return [values = std::move(values)](Index, Index w) { return values(0, w); };
}

ByHead ratio_of(const WeightedSums& sums, HeadScore score) {
  return of_heads(sums.ratio(score_info(score).name));
}

ByHead baseline_of(const WeightedSums& sums, Baseline baseline) {
  return of_corpus(sums.ratio(baseline_info(baseline).name));
}

/// What the rules read.
struct Measured {
  const WeightedSums& sums;
  const RelationTests& relations;
  const CoreferenceTest& coreference;
  const SemanticTest& semantic;
  const arma::mat& induction;  // head_index x weighting
  Index n_head_total() const { return induction.n_rows; }
};

/// What a type's rule compares: a head is of the type if its score reaches the threshold and its
/// test, on the whole corpus, is significant.
struct TypeScores {
  ByHead score;
  ByHead baseline = always(arma::datum::nan);
  ByHead threshold;
  ByHead ceiling = always(1);  // the largest possible score
  std::function<bool(Index head_index)> is_significant = [](Index) { return true; };
  /// A further condition, as a margin; a rule with one has the smaller margin of both.
  ByHead second_margin = nullptr;
};

/// Shares of largest weights and mean masses by offset: n_offset * n_head_total x weighting.
struct OffsetRatios {
  arma::mat share, mass;
};

TypeScores offset_scores(const OffsetRatios& ratios, Index offset) {
  const Index first = offset * (ratios.share.n_rows / n_offset);
  return {.score = [&ratios, first](Index head_index,
                                    Index w) { return ratios.share(first + head_index, w); },
          .threshold = always(type_threshold::positional),
          .second_margin =
              [&ratios, first](Index head_index, Index w) {
                return threshold_margin(ratios.mass(first + head_index, w), type_threshold::mass,
                                        1);
              }};
}

TypeScores delimiter_scores(const Measured& measured) {
  const ByHead baseline = baseline_of(measured.sums, Baseline::delimiter_baseline);
  return {.score = ratio_of(measured.sums, HeadScore::delimiter),
          .baseline = baseline,
          .threshold = [=](Index head_index, Index w) {
            return std::max(type_threshold::delimiter,
                            type_threshold::delimiter_factor * baseline(head_index, w));
          }};
}

TypeScores coreference_scores(const Measured& measured) {
  const CoreferenceTest& test = measured.coreference;
  return {.score = of_heads(test.accuracy),
          .baseline = of_corpus(test.baseline),
          .threshold = of_corpus(test.baseline + type_threshold::gain),
          .is_significant = [&](Index head_index) { return test.q[head_index] < significant_q; }};
}

TypeScores semantic_scores(const Measured& measured) {
  const SemanticTest& test = measured.semantic;
  return {.score = ratio_of(measured.sums, HeadScore::semantic),
          .baseline = [&](Index head_index, Index) { return test.null_mean[head_index]; },
          .threshold = always(type_threshold::semantic),
          .is_significant =
              [&](Index head_index) { return test.z[head_index] >= type_threshold::semantic_z; }};
}

/// A mean share of attention against a fixed threshold.
TypeScores share_scores(const Measured& measured, HeadScore score, double threshold) {
  return {.score = ratio_of(measured.sums, score), .threshold = always(threshold)};
}

TypeScores induction_scores(const Measured& measured) {
  return {.score = of_heads(measured.induction), .threshold = always(type_threshold::induction)};
}

TypeScores long_range_scores(const Measured& measured) {
  const ByHead uniform = baseline_of(measured.sums, Baseline::distance_uniform),
               furthest = baseline_of(measured.sums, Baseline::distance_furthest);
  const std::vector<Estimate> distances = measured.sums.estimates([](const WeightedSums& weighted) {
    return weighted.ratio(score_info(HeadScore::distance).name);
  });
  return {.score = ratio_of(measured.sums, HeadScore::distance),
          .baseline = uniform,
          .threshold =
              [=](Index head_index, Index w) {
                return long_range_threshold(uniform(head_index, w), furthest(head_index, w));
              },
          .ceiling = furthest,
          .is_significant =
              [=](Index head_index) { return distances[head_index].low > uniform(head_index, 0); }};
}

/// An effect on logits, which has no largest value.
/// @param sign  1 of an effect that raises, -1 of one that lowers.
TypeScores effect_scores(const Measured& measured, HeadScore effect, HeadScore null, double sign) {
  const EffectTest test =
      test_effect(measured.sums.statistics(), score_info(effect).name, score_info(null).name);
  const ByHead score = of_heads(sign * measured.sums.ratio(score_info(effect).name)),
               baseline = of_heads(sign * measured.sums.ratio(score_info(null).name));
  return {.score = score,
          .baseline = baseline,
          .threshold = always(least_effect),
          .ceiling = always(arma::datum::inf),
          .is_significant = [=](Index head_index) {
            return test.q[head_index] < significant_q &&
                   score(head_index, 0) > baseline(head_index, 0);
          }};
}

TypeScores copying_scores(const Measured& measured) {
  return effect_scores(measured, HeadScore::copy_effect, HeadScore::copy_effect_null, 1);
}

TypeScores suppressing_scores(const Measured& measured) {
  return effect_scores(measured, HeadScore::suppression_effect, HeadScore::suppression_effect_null,
                       -1);
}

/// Margin of accuracy over the baseline on held-out documents.
double relation_margin(const RelationTest& test, Index head_index, Index weighting) {
  return threshold_margin(test.heldout_accuracy(head_index, weighting),
                          test.heldout_baseline(weighting) + type_threshold::gain, 1);
}

/// The test that says whether the head is syntactic; no_position if all were refused.
Index deciding_test(const RelationTests& relations, Index head_index) {
  Index best = no_position;
  const auto rank = [&](const RelationTest& test) {
    const bool passed = passes(test, head_index);
    // A relation without arcs in even documents comes after all that have them.
    const double gain = std::isnan(test.even_gain[head_index]) ? -2 : test.even_gain[head_index];
    return std::pair(passed, passed ? gain : relation_margin(test, head_index, 0));
  };
  for (Index number = 0; number < relations.size(); ++number) {
    if (!(relations[number].q[head_index] < significant_q)) continue;
    if (best == no_position || rank(relations[number]) > rank(relations[best])) best = number;
  }
  return best;
}

/// On each head's deciding test.
TypeScores syntactic_scores(const RelationTests& relations, const std::vector<Index>& deciding) {
  const auto number = [&](auto value) {
    return [&, value](Index head_index, Index w) {
      return deciding[head_index] == no_position
                 ? arma::datum::nan
                 : value(relations[deciding[head_index]], head_index, w);
    };
  };
  return {.score = number([](const RelationTest& test, Index head_index, Index w) {
            return test.heldout_accuracy(head_index, w);
          }),
          .baseline = number(
              [](const RelationTest& test, Index, Index w) { return test.heldout_baseline(w); }),
          .threshold = number([](const RelationTest& test, Index, Index w) {
            return test.heldout_baseline(w) + type_threshold::gain;
          }),
          .is_significant = [&](Index head_index) { return deciding[head_index] != no_position; }};
}

/// A type: its name, its rule in words, and what the rule compares. Positional and syntactic heads
/// are found at the offset and on the relation that suits each best.
struct TypeInfo {
  const char* name;
  const char* rule;
  TypeScores (*scores)(const Measured&) = nullptr;
};

constexpr std::array<TypeInfo, n_head_type> types{{
    {"positional",
     "at one fixed offset from 1 to 8 the largest weight for >= 0.90 of queries and a mean mass >= "
     "0.20"},
    {"current_token",
     "at offset 0 the largest weight for >= 0.90 of queries and a mean mass >= 0.20"},
    {"delimiter", "delimiter >= 0.5 and >= 2 x delimiter_baseline", delimiter_scores},
    {"syntactic",
     "for some relation with >= 30 held-out arcs in >= 10 documents, accuracy >= that of the best "
     "fixed offset + 0.10 with q < 0.05"},
    {"coreference",
     "held-out pronouns beat by 0.10 with q < 0.05 the best of four rules: the nearest mention, "
     "the one completed last, the nearest of the same form, the nearest of the same gender and "
     "number",
     coreference_scores},
    {"semantic", "semantic >= 0.2 and z >= 5", semantic_scores},
    {"duplicate", "duplicate_token >= 0.4",
     [](const Measured& measured) {
       return share_scores(measured, HeadScore::duplicate_token, type_threshold::duplicate);
     }},
    {"induction", "induction >= 0.4", induction_scores},
    {"rare", "rare_token >= 0.5",
     [](const Measured& measured) {
       return share_scores(measured, HeadScore::rare_token, type_threshold::rare);
     }},
    {"sink", "sink >= 0.9",
     [](const Measured& measured) {
       return share_scores(measured, HeadScore::sink, type_threshold::sink);
     }},
    {"long_range",
     "distance >= distance_uniform + 0.25 x (distance_furthest - distance_uniform), and its "
     "interval above distance_uniform",
     long_range_scores},
    {"copying", "copy_effect >= 0.1 logits and above copy_effect_null with q < 0.05",
     copying_scores},
    {"suppressing",
     "suppression_effect <= -0.1 logits and below suppression_effect_null with q < 0.05",
     suppressing_scores},
}};

double margin_of(const TypeScores& scores, Index head_index, Index w) {
  const double margin = threshold_margin(
      scores.score(head_index, w), scores.threshold(head_index, w), scores.ceiling(head_index, w));
  if (!scores.second_margin) return margin;
  const double second = scores.second_margin(head_index, w);
  return margin <= second ? margin : second;
}

void set_type(HeadType type, const TypeScores& scores, const Measured& measured,
              TypeMargins& margins) {
  const Index n_head_total = measured.n_head_total();
  arma::mat& margin = margins.margin[static_cast<std::size_t>(type)];
  margin.set_size(n_head_total, measured.sums.n_weighting());
  margins.has_ceiling[static_cast<std::size_t>(type)] = !std::isinf(scores.ceiling(0, 0));
  bool& is_out_of_reach = margins.is_out_of_reach[static_cast<std::size_t>(type)];
  is_out_of_reach = true;
  std::vector<TypeNumbers>& numbers = margins.numbers[static_cast<std::size_t>(type)];
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    numbers.push_back({scores.score(head_index, 0), scores.baseline(head_index, 0),
                       scores.threshold(head_index, 0)});
    is_out_of_reach &= scores.threshold(head_index, 0) > scores.ceiling(head_index, 0);
    const bool is_significant = scores.is_significant(head_index);
    for (Index w = 0; w < margin.n_cols; ++w) {
      margin(head_index, w) = is_significant ? margin_of(scores, head_index, w) : arma::datum::nan;
    }
  }
}

void set_positional(const Measured& measured, TypeMargins& margins) {
  const Index n_head_total = measured.n_head_total();
  const OffsetRatios ratios{measured.sums.ratio("offset_share"),
                            measured.sums.ratio("offset_mass")};
  set_type(HeadType::current_token, offset_scores(ratios, 0), measured, margins);
  set_type(HeadType::positional, offset_scores(ratios, 1), measured, margins);
  margins.positional_offset.assign(n_head_total, 1);
  arma::mat& best = margins.margin[static_cast<std::size_t>(HeadType::positional)];
  std::vector<TypeNumbers>& numbers =
      margins.numbers[static_cast<std::size_t>(HeadType::positional)];
  for (Index offset = 2; offset < n_offset; ++offset) {
    const TypeScores scores = offset_scores(ratios, offset);
    for (Index w = 0; w < best.n_cols; ++w) {
      for (Index head_index = 0; head_index < n_head_total; ++head_index) {
        const double margin = margin_of(scores, head_index, w);
        if (!(margin > best(head_index, w)) && !std::isnan(best(head_index, w))) continue;
        best(head_index, w) = margin;
        if (w > 0) continue;
        margins.positional_offset[head_index] = offset;
        numbers[head_index].score = scores.score(head_index, 0);
      }
    }
  }
}

bool all_nan(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

bool no_head_is_scored(const arma::mat& margins) {
  return all_nan({margins.begin_col(0), margins.end_col(0)});
}

std::string enough_text(const std::string& cases) {
  return std::to_string(static_cast<int>(least_heldout_cases)) + " " + cases + " in " +
         std::to_string(static_cast<int>(least_heldout_documents)) + " documents of odd number";
}

/// Fills in why a type is untested: the corpus lacks what its rule needs.
void explain_untested(const WeightedSums& sums, const RelationTests& relations,
                      const CoreferenceTest& coreference, const SemanticTest& semantic,
                      TypeMargins& margins) {
  const auto reason = [&](HeadType type) -> std::string& {
    return margins.untested[static_cast<std::size_t>(type)];
  };
  const bool is_too_short = no_head_is_scored(margins.of(HeadType::positional));
  for (const auto& [type, needed] : std::initializer_list<std::pair<HeadType, const char*>>{
           {HeadType::positional, "no document has a token beyond position 1"},
           {HeadType::current_token, "no document has a token beyond position 1"},
           {HeadType::delimiter, is_too_short ? "no document has a token beyond position 1"
                                              : "the corpus has no text, only token ids"},
           {HeadType::duplicate, "no document repeats a token"},
           {HeadType::rare, "no query has a key rarer than all others"},
           {HeadType::sink, "no document has a token beyond position 0"},
           {HeadType::copying, is_too_short ? "no document has a token beyond position 1"
                                            : "one document cannot be tested"},
           {HeadType::suppressing, is_too_short ? "no document has a token beyond position 1"
                                                : "one document cannot be tested"}}) {
    if (no_head_is_scored(margins.of(type))) reason(type) = needed;
  }
  if (is_too_short) {
    reason(HeadType::long_range) = "no document has a token beyond position 1";
  } else if (sums.n_weighting() == 1) {
    reason(HeadType::long_range) = "there is no interval: too few documents, or resamples";
  }
  if (sums.ratio(baseline_info(Baseline::delimiter_baseline).name)(0, 0) == 0) {
    reason(HeadType::delimiter) = "no token of the corpus is only punctuation";
  }
  if (relations.empty()) {
    reason(HeadType::syntactic) = "the corpus has no dependencies";
  } else if (std::none_of(relations.begin(), relations.end(), is_tested)) {
    reason(HeadType::syntactic) = "no relation has " + enough_text("arcs");
  }
  if (!is_enough(coreference.n_pronoun, coreference.n_document)) {
    reason(HeadType::coreference) =
        "the corpus does not have " + enough_text("annotated non-first pronouns");
  }
  if (all_nan(semantic.z)) {
    reason(HeadType::semantic) =
        "no query has 5 keys of other tokens whose similarity differs from chance exchanges";
  }
}

}  // namespace

const char* head_type_name(HeadType type) {
  return types[static_cast<std::size_t>(type)].name;
}

const char* head_type_rule(HeadType type) {
  return types[static_cast<std::size_t>(type)].rule;
}

double threshold_margin(double value, double threshold, double ceiling) {
  const double room = ceiling - threshold;
  if (std::isinf(room)) return value - threshold;
  if (room > 0) return (value - threshold) / room;
  return value >= threshold ? 0 : value - threshold;
}

double long_range_threshold(double uniform, double furthest) {
  return std::lerp(uniform, furthest, type_threshold::long_range);
}

bool passes(const RelationTest& test, Index head_index) {
  return test.q[head_index] < significant_q && relation_margin(test, head_index, 0) >= 0;
}

CoreferenceTest test_coreference(const WeightedSums& sums) {
  const PairedSums paired(sums.statistics(), pronoun_test_name, n_coreference_rule);
  CoreferenceTest test;
  test.accuracy = sums.ratio(score_info(HeadScore::coreference_pronoun).name, Half::odd);
  const arma::mat rules = sums.ratio(coreference_baseline_name, Half::odd);
  test.of_rule.set_size(n_coreference_rule, sums.n_weighting());
  for (Index rule = 0; rule < n_coreference_rule; ++rule) {
    test.of_rule.row(rule) = rules.row(2 * rule + 1);  // of pronouns
  }
  test.baseline = arma::max(test.of_rule, 0);
  test.n_pronoun = paired.n_case();
  test.n_document = paired.n_document();
  for (Index head_index = 0; head_index < test.accuracy.n_rows; ++head_index) {
    test.p.push_back(is_enough(test.n_pronoun, test.n_document)
                         ? paired.p(head_index, test.of_rule.col(0).index_max())
                         : arma::datum::nan);
  }
  test.q = benjamini_hochberg(test.p);
  return test;
}

SemanticTest test_semantic(const WeightedSums& sums) {
  const arma::mat observed = sums.ratio(score_info(HeadScore::semantic).name);
  const Array totals = sums.statistics().total("semantic_null");
  const Array weights = sums.statistics().total(weight_name("semantic_null"));
  const Index n_head_total = observed.n_rows;
  const Index n_permutation = totals.size() / n_head_total;
  SemanticTest test;
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    arma::vec null(n_permutation);
    for (Index r = 0; r < n_permutation; ++r) {
      const Index i = r * n_head_total + head_index;
      null(r) = Ratio{totals.values[i], weights.values[i]}.value();
    }
    test.null_mean.push_back(arma::mean(null));
    test.null_std.push_back(arma::stddev(null));
    test.z.push_back((observed(head_index, 0) - test.null_mean.back()) / test.null_std.back());
  }
  return test;
}

TypeMargins type_margins(const WeightedSums& sums, const RelationTests& relations,
                         const CoreferenceTest& coreference, const SemanticTest& semantic,
                         const arma::mat& induction) {
  const Measured measured{sums, relations, coreference, semantic, induction};
  TypeMargins margins;
  set_positional(measured, margins);
  for (Index head_index = 0; head_index < measured.n_head_total(); ++head_index) {
    margins.syntactic_test.push_back(deciding_test(relations, head_index));
  }
  set_type(HeadType::syntactic, syntactic_scores(relations, margins.syntactic_test), measured,
           margins);
  for (std::size_t type = 0; type < n_head_type; ++type) {
    if (types[type].scores == nullptr) continue;
    set_type(static_cast<HeadType>(type), types[type].scores(measured), measured, margins);
  }
  explain_untested(sums, relations, coreference, semantic, margins);
  return margins;
}

void leave_out_heads(const std::vector<HeadIndex>& pruned, Index n_head, TypeMargins& margins) {
  for (const HeadIndex head : pruned) {
    for (arma::mat& margin : margins.margin) {
      margin.row(head.layer * n_head + head.head).fill(arma::datum::nan);
    }
  }
}

Index primary_type(const TypeMargins& margins, Index head_index) {
  Index primary = 0;
  for (Index type = 0; type < n_head_type; ++type) {
    const double margin = margins.margin[type](head_index, 0);
    if (!(margin >= 0)) continue;
    const auto rank = [&](Index of) {
      return std::pair(margins.has_ceiling[of], margins.margin[of](head_index, 0));
    };
    if (primary == 0 || rank(type) > rank(primary - 1)) primary = type + 1;
  }
  return primary;
}

Estimate share_of(const TypeMargins& margins, const std::vector<HeadType>& any_of) {
  const arma::mat& any = margins.of(any_of.front());
  arma::mat share(1, any.n_cols, arma::fill::zeros);
  for (Index w = 0; w < any.n_cols; ++w) {
    for (Index head_index = 0; head_index < any.n_rows; ++head_index) {
      for (const HeadType type : any_of) {
        if (!margins.has(type, head_index, w)) continue;
        share(0, w) += 1.0 / static_cast<double>(any.n_rows);
        break;
      }
    }
  }
  return row_estimate(share, 0);
}

}  // namespace headscope
