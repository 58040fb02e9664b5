#include "classification/types.hpp"

#include <algorithm>
#include <cmath>

#include "classification/copy_effect.hpp"
#include "classification/paired.hpp"
#include "classification/words.hpp"
#include "induction.hpp"

namespace headscope {
namespace {

struct TypeInfo {
  const char* name;
  const char* rule;
};

constexpr std::array<TypeInfo, n_head_type> types{{
    {"positional",
     "at one fixed offset from 1 to 8 the largest weight for >= 0.90 of queries and a mean mass >= "
     "0.20"},
    {"current_token",
     "at offset 0 the largest weight for >= 0.90 of queries and a mean mass >= 0.20"},
    {"delimiter", "delimiter >= 0.5 and >= 2 x delimiter_baseline"},
    {"syntactic",
     "for some relation with >= 30 held-out arcs in >= 10 documents, accuracy >= that of the best "
     "fixed offset + 0.10 with q < 0.05"},
    {"coreference",
     "held-out pronouns beat by 0.10 with q < 0.05 the best of four rules: the nearest mention, "
     "the "
     "one completed last, the nearest of the same form, the nearest of the same gender and number"},
    {"semantic", "semantic >= 0.2 and z >= 5"},
    {"duplicate", "duplicate_token >= 0.4"},
    {"induction", "induction >= 0.4"},
    {"rare", "rare_token >= 0.5"},
    {"sink", "sink >= 0.9"},
    {"long_range",
     "distance >= distance_uniform + 0.25 x (distance_furthest - distance_uniform), and its "
     "interval above distance_uniform"},
    {"copying", "copy_effect >= 0.1 logits and above copy_effect_null with q < 0.05"},
    {"suppressing",
     "suppression_effect <= -0.1 logits and below suppression_effect_null with q < 0.05"},
}};

arma::mat fixed_threshold_margins(arma::mat values, double threshold) {
  values.transform([=](double value) { return threshold_margin(value, threshold, 1); });
  return values;
}

/// Margin of each offset, unit x weighting: the smaller of those of share and mass.
std::array<arma::mat, n_offset> offset_margins(const WeightedSums& sums) {
  const arma::mat share = fixed_threshold_margins(sums.ratio("offset_share"),
                                                  type_threshold::positional),
                  mass = fixed_threshold_margins(sums.ratio("offset_mass"), type_threshold::mass);
  const Index n_unit = share.n_rows / n_offset;
  std::array<arma::mat, n_offset> margins;
  for (Index offset = 0; offset < n_offset; ++offset) {
    const arma::span rows(offset * n_unit, (offset + 1) * n_unit - 1);
    margins[offset] = share(rows, arma::span::all);
    const arma::mat of_mass = mass(rows, arma::span::all);
    for (Index i = 0; i < of_mass.n_elem; ++i) {
      if (!(margins[offset](i) <= of_mass(i))) margins[offset](i) = of_mass(i);
    }
  }
  return margins;
}

void set_positional(const WeightedSums& sums, TypeMargins& margins) {
  const std::array<arma::mat, n_offset> of_offset = offset_margins(sums);
  arma::mat best = of_offset[1];
  margins.positional_offset.assign(best.n_rows, 1);
  for (Index offset = 2; offset < n_offset; ++offset) {
    for (Index i = 0; i < best.n_elem; ++i) {
      const double margin = of_offset[offset](i);
      if (!(margin > best(i)) && !std::isnan(best(i))) continue;
      best(i) = margin;
      if (i < best.n_rows) margins.positional_offset[i] = offset;
    }
  }
  margins.margin[static_cast<std::size_t>(HeadType::positional)] = std::move(best);
  margins.margin[static_cast<std::size_t>(HeadType::current_token)] = of_offset[0];
}

arma::mat delimiter_margins(const WeightedSums& sums) {
  arma::mat margins = sums.ratio(score_info(HeadScore::delimiter).name);
  const arma::mat baseline = sums.ratio(baseline_info(Baseline::delimiter_baseline).name);
  for (Index w = 0; w < margins.n_cols; ++w) {
    const double threshold =
        std::max(type_threshold::delimiter, type_threshold::delimiter_factor * baseline(0, w));
    for (double& margin : margins.col(w)) margin = threshold_margin(margin, threshold, 1);
  }
  return margins;
}

arma::mat long_range_margins(const WeightedSums& sums) {
  arma::mat margins = sums.ratio(score_info(HeadScore::distance).name);
  const arma::mat uniform = sums.ratio(baseline_info(Baseline::distance_uniform).name);
  const arma::mat furthest = sums.ratio(baseline_info(Baseline::distance_furthest).name);
  const std::vector<Estimate> distances = sums.estimates([](const WeightedSums& weighted) {
    return weighted.ratio(score_info(HeadScore::distance).name);
  });
  for (Index unit = 0; unit < margins.n_rows; ++unit) {
    const bool is_above = distances[unit].low > uniform(0, 0);
    for (Index w = 0; w < margins.n_cols; ++w) {
      const double threshold = long_range_threshold(uniform(0, w), furthest(0, w));
      margins(unit, w) = is_above ? threshold_margin(margins(unit, w), threshold, furthest(0, w))
                                  : arma::datum::nan;
    }
  }
  return margins;
}

/// Margin of accuracy over the baseline on held-out documents.
double relation_margin(const RelationTest& test, Index unit, Index weighting) {
  return threshold_margin(test.heldout_accuracy(unit, weighting),
                          test.heldout_baseline(weighting) + type_threshold::gain, 1);
}

/// The test that says whether the head is syntactic; no_position if all were refused.
Index deciding_test(const RelationTests& relations, Index unit) {
  Index best = no_position;
  const auto rank = [&](const RelationTest& test) {
    const bool passed = passes(test, unit);
    // A relation without arcs in even documents comes after all that have them.
    const double gain = std::isnan(test.even_gain[unit]) ? -2 : test.even_gain[unit];
    return std::pair(passed, passed ? gain : relation_margin(test, unit, 0));
  };
  for (Index number = 0; number < relations.size(); ++number) {
    if (!(relations[number].q[unit] < type_threshold::q)) continue;
    if (best == no_position || rank(relations[number]) > rank(relations[best])) best = number;
  }
  return best;
}

void set_syntactic(const WeightedSums& sums, const RelationTests& relations, Index n_unit,
                   TypeMargins& of_types) {
  arma::mat margins(n_unit, sums.n_weighting());
  margins.fill(arma::datum::nan);
  for (Index unit = 0; unit < n_unit; ++unit) {
    const Index number = deciding_test(relations, unit);
    of_types.syntactic_test.push_back(number);
    if (number == no_position) continue;
    for (Index w = 0; w < margins.n_cols; ++w) {
      margins(unit, w) = relation_margin(relations[number], unit, w);
    }
  }
  of_types.margin[static_cast<std::size_t>(HeadType::syntactic)] = std::move(margins);
}

arma::mat coreference_margins(const CoreferenceTest& test) {
  arma::mat margins = test.accuracy;
  for (Index unit = 0; unit < margins.n_rows; ++unit) {
    for (Index w = 0; w < margins.n_cols; ++w) {
      margins(unit, w) =
          test.q[unit] < type_threshold::q
              ? threshold_margin(margins(unit, w), test.baseline(w) + type_threshold::gain, 1)
              : arma::datum::nan;
    }
  }
  return margins;
}

arma::mat semantic_margins(const WeightedSums& sums, const SemanticTest& test) {
  arma::mat margins = fixed_threshold_margins(sums.ratio(score_info(HeadScore::semantic).name),
                                              type_threshold::semantic);
  for (Index unit = 0; unit < margins.n_rows; ++unit) {
    if (!(test.z[unit] >= type_threshold::semantic_z)) margins.row(unit).fill(arma::datum::nan);
  }
  return margins;
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

bool has_ceiling(HeadType type) {
  return type != HeadType::copying && type != HeadType::suppressing;
}

double threshold_margin(double value, double threshold, double ceiling) {
  const double room = ceiling - threshold;
  if (room > 0) return (value - threshold) / room;
  return value >= threshold ? 0 : value - threshold;
}

double long_range_threshold(double uniform, double furthest) {
  return std::lerp(uniform, furthest, type_threshold::long_range);
}

bool passes(const RelationTest& test, Index unit) {
  return test.q[unit] < type_threshold::q && relation_margin(test, unit, 0) >= 0;
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
  for (Index unit = 0; unit < test.accuracy.n_rows; ++unit) {
    test.p.push_back(is_enough(test.n_pronoun, test.n_document)
                         ? paired.p(unit, test.of_rule.col(0).index_max())
                         : arma::datum::nan);
  }
  test.q = benjamini_hochberg(test.p);
  return test;
}

SemanticTest test_semantic(const WeightedSums& sums) {
  const arma::mat observed = sums.ratio(score_info(HeadScore::semantic).name);
  const Array totals = sums.statistics().total("semantic_null");
  const Array weights = sums.statistics().total(weight_name("semantic_null"));
  const Index n_unit = observed.n_rows;
  const Index n_permutation = totals.size() / n_unit;
  SemanticTest test;
  for (Index unit = 0; unit < n_unit; ++unit) {
    arma::vec null(n_permutation);
    for (Index r = 0; r < n_permutation; ++r) {
      const Index i = r * n_unit + unit;
      null(r) = Ratio{totals.values[i], weights.values[i]}.value();
    }
    test.null_mean.push_back(arma::mean(null));
    test.null_std.push_back(arma::stddev(null));
    test.z.push_back((observed(unit, 0) - test.null_mean.back()) / test.null_std.back());
  }
  return test;
}

TypeMargins type_margins(const WeightedSums& sums, const RelationTests& relations,
                         const CoreferenceTest& coreference, const SemanticTest& semantic,
                         const arma::mat& induction) {
  const auto score = [&](HeadScore which) { return sums.ratio(score_info(which).name); };
  TypeMargins margins;
  const auto set = [&](HeadType type, arma::mat values) {
    margins.margin[static_cast<std::size_t>(type)] = std::move(values);
  };
  set_positional(sums, margins);
  set(HeadType::delimiter, delimiter_margins(sums));
  set_syntactic(sums, relations, induction.n_rows, margins);
  set(HeadType::coreference, coreference_margins(coreference));
  set(HeadType::semantic, semantic_margins(sums, semantic));
  set(HeadType::duplicate,
      fixed_threshold_margins(score(HeadScore::duplicate_token), type_threshold::duplicate));
  set(HeadType::induction, fixed_threshold_margins(induction, type_threshold::induction));
  set(HeadType::rare, fixed_threshold_margins(score(HeadScore::rare_token), type_threshold::rare));
  set(HeadType::sink, fixed_threshold_margins(score(HeadScore::sink), type_threshold::sink));
  set(HeadType::long_range, long_range_margins(sums));
  set(HeadType::copying, copying_margins(sums));
  set(HeadType::suppressing, suppressing_margins(sums));
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

Index primary_type(const TypeMargins& margins, Index unit) {
  Index primary = 0;
  for (Index type = 0; type < n_head_type; ++type) {
    const double margin = margins.margin[type](unit, 0);
    if (!(margin >= 0)) continue;
    const auto rank = [&](Index of) {
      return std::pair(has_ceiling(static_cast<HeadType>(of)), margins.margin[of](unit, 0));
    };
    if (primary == 0 || rank(type) > rank(primary - 1)) primary = type + 1;
  }
  return primary;
}

Estimate share_of(const TypeMargins& margins, const std::vector<HeadType>& any_of) {
  const arma::mat& any = margins.of(any_of.front());
  arma::mat share(1, any.n_cols, arma::fill::zeros);
  for (Index w = 0; w < any.n_cols; ++w) {
    for (Index unit = 0; unit < any.n_rows; ++unit) {
      for (const HeadType type : any_of) {
        if (!margins.has(type, unit, w)) continue;
        share(0, w) += 1.0 / static_cast<double>(any.n_rows);
        break;
      }
    }
  }
  return row_estimate(share, 0);
}

}  // namespace headscope
