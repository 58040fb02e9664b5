#include "classification/types/head_type.hpp"

#include <cmath>

#include "report_text.hpp"

namespace headscope {

ByHead always(double value) {
  return [value](Index, Index) { return value; };
}

ByHead of_heads(arma::mat values) {
  return [values = std::move(values)](Index head_index, Index w) { return values(head_index, w); };
}

ByHead of_corpus(arma::mat values) {
  return [values = std::move(values)](Index, Index w) { return values(0, w); };
}

ByHead ratio_of(const WeightedSums& sums, HeadScore score) {
  return of_heads(sums.ratio(score_info(score).name));
}

ByHead baseline_of(const WeightedSums& sums, Baseline baseline) {
  return of_corpus(sums.ratio(baseline_info(baseline).name));
}

double threshold_margin(double value, double threshold, double ceiling) {
  const double room = ceiling - threshold;
  if (std::isinf(room)) return value - threshold;
  if (room > 0) return (value - threshold) / room;
  return value >= threshold ? 0 : value - threshold;
}

ByHead attends_beyond_sink(const WeightedSums& sums) {
  return [sink = ratio_of(sums, HeadScore::sink)](Index head_index, Index w) {
    return sink(head_index, w) > 0.98 ? -1 : INFINITY;
  };
}

double TypeScores::margin(Index head_index, Index weighting) const {
  const double first =
      threshold_margin(score(head_index, weighting), threshold(head_index, weighting),
                       ceiling(head_index, weighting));
  if (!second_margin || std::isnan(first)) return first;
  const double second = second_margin(head_index, weighting);
  return first <= second ? first : second;
}

TypeScores share_scores(const Measured& measured, HeadScore score, double threshold) {
  return {.score = ratio_of(measured.sums, score), .threshold = always(threshold)};
}

Untested unless_scored(std::string reason) {
  return [reason = std::move(reason)](const Measured&, bool is_scored) {
    return is_scored ? "" : reason;
  };
}

std::vector<Index> MeasuredType::heads() const {
  return numbers_where(margin.n_rows, [&](Index head_index) { return has(head_index); });
}

std::vector<double> MeasuredType::choices_of_heads() const {
  std::vector<double> choices(choice.size(), -1);
  for (const Index head_index : heads()) {
    choices[head_index] = static_cast<double>(choice[head_index]);
  }
  return choices;
}

bool is_too_short(const Measured& measured) {
  const arma::mat shares = measured.sums.ratio("offset_share");
  const arma::uvec finite = arma::find_finite(shares.col(0));
  return finite.empty();
}

std::string no_attention_text(const Measured& measured) {
  if (is_too_short(measured)) return too_short_text;
  const arma::mat distances = measured.sums.ratio(score_info(HeadScore::distance).name);
  for (Index head_index = 0; head_index < measured.n_head_total(); ++head_index) {
    if (!measured.has_lost(head_index) && std::isfinite(distances(head_index, 0))) return "";
  }
  return "no head attends beyond the first token";
}

}  // namespace headscope
