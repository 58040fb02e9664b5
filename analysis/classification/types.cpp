#include "classification/types.hpp"

#include <algorithm>
#include <cmath>

#include "induction.hpp"

namespace headscope {
namespace {

// A head that is uniform up to float32 rounding must not count as above uniform.
constexpr double rounding = 1 + 1e-6;

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
     "for some relation with >= 30 held-out arcs, accuracy >= baseline + 0.10 with q < 0.05"},
    {"coreference",
     "held-out pronouns beat the nearest mention and the one completed last, whichever is better, "
     "by "
     "0.10 with q < 0.05"},
    {"semantic", "semantic >= 0.2 and z >= 5"},
    {"duplicate", "duplicate_token >= 0.4"},
    {"induction", "induction >= 0.4"},
    {"rare", "rare_token >= 0.5"},
    {"sink", "sink >= 0.9"},
    {"long_range", "distance above that of uniform attention"},
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
  for (Index w = 0; w < margins.n_cols; ++w) {
    for (double& margin : margins.col(w)) {
      margin = threshold_margin(margin, uniform(0, w) * rounding, furthest(0, w));
    }
  }
  return margins;
}

void set_syntactic(const WeightedSums& sums, const RelationTests& relations, Index n_unit,
                   TypeMargins& of_types) {
  arma::mat margins(n_unit, sums.n_weighting());
  margins.fill(arma::datum::nan);
  of_types.syntactic_test.assign(n_unit, no_position);
  for (Index number = 0; number < relations.size(); ++number) {
    const RelationTest& test = relations[number];
    if (!is_tested(test)) continue;
    for (Index unit = 0; unit < n_unit; ++unit) {
      if (!(test.q[unit] < type_threshold::q)) continue;
      for (Index w = 0; w < margins.n_cols; ++w) {
        const double margin = threshold_margin(test.heldout_accuracy(unit, w),
                                               test.heldout_baseline(w) + type_threshold::gain, 1);
        if (margins(unit, w) >= margin) continue;
        margins(unit, w) = margin;
        if (w == 0) of_types.syntactic_test[unit] = number;
      }
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
           {HeadType::long_range, "no document has a token beyond position 1"}}) {
    if (no_head_is_scored(margins.of(type))) reason(type) = needed;
  }
  if (sums.ratio(baseline_info(Baseline::delimiter_baseline).name)(0, 0) == 0) {
    reason(HeadType::delimiter) = "no token of the corpus is only punctuation";
  }
  if (relations.empty()) {
    reason(HeadType::syntactic) = "the corpus has no dependencies";
  } else if (std::none_of(relations.begin(), relations.end(), is_tested)) {
    reason(HeadType::syntactic) =
        "no relation has " + std::to_string(static_cast<int>(least_heldout_arcs)) +
        " arcs in documents of odd number and a baseline from those of even number";
  }
  if (!(coreference.n_pronoun > 0)) {
    reason(HeadType::coreference) =
        "no odd document of the corpus has an annotated non-first pronoun";
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
  if (room > 0) return (value - threshold) / room;
  return value >= threshold ? 0 : value - threshold;
}

CoreferenceTest test_coreference(const WeightedSums& sums) {
  const std::string name = score_info(HeadScore::coreference_pronoun).name;
  const std::string baseline_name = baseline_info(Baseline::coreference_pronoun_baseline).name;
  CoreferenceTest test;
  test.accuracy = sums.ratio(name, Half::odd);
  test.nearest = sums.ratio(baseline_name, Half::odd).row(0);
  test.completed =
      sums.ratio(baseline_info(Baseline::coreference_pronoun_baseline_completed).name, Half::odd)
          .row(0);
  test.baseline = arma::max(test.nearest, test.completed);
  test.n_pronoun = sums.total(weight_name(baseline_name), Half::odd)(0, 0);
  const arma::mat hits = sums.total(name, Half::odd);
  for (Index unit = 0; unit < hits.n_rows; ++unit) {
    test.p.push_back(
        test.n_pronoun > 0
            ? binomial_upper_tail(static_cast<std::uint64_t>(std::llround(hits(unit, 0))),
                                  static_cast<std::uint64_t>(std::llround(test.n_pronoun)),
                                  test.baseline(0))
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
    if (primary == 0 || margin > margins.margin[primary - 1](unit, 0)) primary = type + 1;
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
