#include "classification/types/types.hpp"

#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/variables.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

std::string rule_text(const HeadType& type, const PermutedScores& permuted) {
  if (!type.beats_permuted) return type.rule;
  const auto least = permuted.find(type.name);
  if (least == permuted.end()) {
    return type.rule +
           " (not compared with heads of permuted weights, which needs --control random)";
  }
  return type.rule + ", and " + (type.is_low ? "below" : "above") +
         " 95 % of heads with permuted weights (" +
         number_text(type.is_low ? -least->second : least->second, 2) + ")";
}

/// The type's scores, with the threshold at least that of heads with permuted weights.
TypeScores scores_of(const HeadType& type, const Measured& measured) {
  TypeScores scores = type.scores(measured);
  const auto least = measured.permuted.find(type.name);
  if (type.beats_permuted && least != measured.permuted.end()) {
    scores.threshold = [threshold = scores.threshold, least = least->second](Index head, Index w) {
      return std::max(threshold(head, w), least);
    };
  }
  return scores;
}

MeasuredType measured_type(const HeadType& type, const Measured& measured) {
  const TypeScores scores = scores_of(type, measured);
  const Index n_head_total = measured.n_head_total();
  MeasuredType found;
  found.type = &type;
  found.rule = rule_text(type, measured.permuted);
  found.margin.set_size(n_head_total, measured.sums.n_weighting());
  found.has_ceiling = !std::isinf(scores.ceiling(0, 0));
  found.is_out_of_reach = true;
  bool is_scored = false;
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    found.numbers.push_back({scores.score(head_index, 0), scores.baseline(head_index, 0),
                             scores.threshold(head_index, 0)});
    found.choice.push_back(scores.choice ? scores.choice(head_index) : no_position);
    found.is_out_of_reach &= measured.has_lost(head_index) ||
                             scores.threshold(head_index, 0) > scores.ceiling(head_index, 0);
    const bool is_significant = scores.is_significant(head_index);
    for (Index w = 0; w < found.margin.n_cols; ++w) {
      found.margin(head_index, w) =
          is_significant ? scores.margin(head_index, w) : arma::datum::nan;
    }
    is_scored |= !measured.has_lost(head_index) && !std::isnan(found.margin(head_index, 0));
  }
  found.untested = measured.pruned.size() == n_head_total ? "the model has no head left"
                                                          : type.untested(measured, is_scored);
  return found;
}

/// What the type's score is about: by what the head is of the type, or else comes closest.
std::string about_type(const MeasuredType& measured, const ResultsGroup& group, Index head_index) {
  const HeadType& type = *measured.type;
  if (measured.has(head_index) && type.choices) {
    return joined(choice_texts(type, group, head_index), "; ");
  }
  const Index choice = measured.choice[head_index];
  return choice == no_position ? "" : type.choice_text(group, choice);
}

void add_evidence(const MeasuredTypes& types, ResultsGroup& group) {
  std::vector<double> score, baseline, threshold;
  std::vector<std::string> about, rules, sentences, features;
  for (const MeasuredType& measured : types) {
    rules.push_back(measured.rule);
    sentences.push_back(measured.type->sentence);
    for (Index head_index = 0; head_index < measured.numbers.size(); ++head_index) {
      const TypeNumbers& numbers = measured.numbers[head_index];
      score.push_back(numbers.score);
      baseline.push_back(numbers.baseline);
      threshold.push_back(numbers.threshold);
      about.push_back(about_type(measured, group, head_index));
      const bool names_features = measured.has(head_index) && measured.type->features;
      features.push_back(names_features ? joined(measured.type->features(group, head_index), " ")
                                        : "");
    }
  }
  const VariableTable& variables = classification_variables();
  group.add(variables["type_score"], std::move(score));
  group.add(variables["type_baseline"], std::move(baseline));
  group.add(variables["type_threshold"], std::move(threshold));
  group.add(variables["type_about"], std::move(about));
  group.add(variables["type_rule"], std::move(rules));
  group.add(variables["type_sentence"], std::move(sentences));
  group.add(variables["type_features"], std::move(features));
}

}  // namespace

MeasuredTypes measured_types(const HeadTypeList& types, const Measured& measured) {
  MeasuredTypes found;
  found.reserve(types.size());
  for (const HeadType& type : types) found.push_back(measured_type(type, measured));
  leave_out_heads(measured.pruned, found);
  return found;
}

const MeasuredType& type_named(const std::string& name, const MeasuredTypes& types) {
  const auto found = std::ranges::find_if(
      types, [&](const MeasuredType& measured) { return measured.type->name == name; });
  if (found == types.end()) throw Error("no type of heads is called " + name);
  return *found;
}

void leave_out_heads(const std::vector<Index>& pruned, MeasuredTypes& types) {
  for (MeasuredType& measured : types) {
    measured.n_removed = pruned.size();
    for (const Index head_index : pruned) measured.margin.row(head_index).fill(arma::datum::nan);
  }
}

Index primary_type(const MeasuredTypes& types, Index head_index) {
  Index primary = 0;
  const auto rank = [&](Index type) {
    return std::pair(types[type].has_ceiling, types[type].margin(head_index, 0));
  };
  for (Index type = 0; type < types.size(); ++type) {
    if (!types[type].has(head_index)) continue;
    if (primary == 0 || rank(type) > rank(primary - 1)) primary = type + 1;
  }
  return primary;
}

Estimate share_of(const std::vector<const MeasuredType*>& any_of) {
  const arma::mat& any = any_of.front()->margin;
  arma::mat share(1, any.n_cols);
  for (Index w = 0; w < any.n_cols; ++w) {
    Index n = 0;
    for (Index head_index = 0; head_index < any.n_rows; ++head_index) {
      n += std::ranges::any_of(any_of,
                               [&](const MeasuredType* type) { return type->has(head_index, w); });
    }
    share(0, w) = static_cast<double>(n) / static_cast<double>(any_of.front()->n_head());
  }
  // What BCa intervals take for the bias of a number of heads is its variation: a head that just
  // passes fails in half of the resamples, and such heads are as likely to fail in truth.
  const std::vector<double> resampled(share.begin() + 1, share.end());
  Estimate estimate = percentile_estimate(share.front(), resampled);
  if (!estimate.has_interval()) return estimate;
  estimate.low = std::min(estimate.low, estimate.value);
  estimate.high = std::max(estimate.high, estimate.value);
  return estimate;
}

std::vector<std::string> choice_texts(const HeadType& type, const ResultsGroup& group,
                                      Index head_index) {
  std::vector<std::string> texts;
  if (!type.choices) return texts;
  for (const Index choice : type.choices(group, head_index)) {
    texts.push_back(type.choice_text(group, choice));
  }
  return texts;
}

void add_types(const MeasuredTypes& types, const Measured& measured, ResultsGroup& group) {
  std::vector<double> is_type, margin, primary;
  std::vector<std::string> rules, names{"none"};
  std::vector<Estimate> shares;
  for (const MeasuredType& type : types) {
    rules.push_back(type.type->name + ": " + type.rule);
    names.push_back(type.type->name);
    shares.push_back(type.untested.empty() ? share_of({&type}) : Estimate());
    for (Index head_index = 0; head_index < measured.n_head_total(); ++head_index) {
      is_type.push_back(type.has(head_index) ? 1 : 0);
      margin.push_back(type.margin(head_index, 0));
    }
  }
  for (Index head_index = 0; head_index < measured.n_head_total(); ++head_index) {
    primary.push_back(static_cast<double>(primary_type(types, head_index)));
  }
  const VariableTable& variables = classification_variables();
  group.add(variables["type"].with("rules", joined(rules, "; ")), std::move(is_type));
  group.add(variables["type_margin"], std::move(margin));
  Declaration declared_primary = variables["primary"];
  declared_primary.flag_meanings = names;
  group.add(declared_primary, std::move(primary));
  group.add(variables["type_share"], shares);
  for (const MeasuredType& type : types) {
    if (type.type->add_variables) type.type->add_variables(measured, type, group);
  }
  add_evidence(types, group);
}

std::vector<std::string> label_features(const ResultsGroup& group) {
  const std::vector<std::string>& features = group.texts("type_features");
  const std::vector<double>& has_type = group.values("type").values;
  const std::size_t n_head_total = group.values("primary").size();
  std::vector<std::string> by_head(n_head_total);
  for (std::size_t i = 0; i < features.size(); ++i) {
    std::string& of_head = by_head[i % n_head_total];
    if (has_type[i] == 1 && of_head.empty()) of_head = "sink";
    if (!features[i].empty()) of_head += ";" + features[i];
  }
  return by_head;
}

}  // namespace headscope
