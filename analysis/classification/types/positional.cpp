#include "classification/types/registry.hpp"
#include "classification/variables.hpp"

namespace headscope {
namespace {

constexpr double least_share = 0.9, least_mass = 0.2;

std::string offset_text(Index offset) {
  return "offset " + std::to_string(offset);
}

/// At the offset from `first` to `last` that suits each head best, under each weighting.
TypeScores offset_scores(const Measured& measured, Index first, Index last) {
  const arma::mat shares = measured.sums.ratio("offset_share"),
                  masses = measured.sums.ratio("offset_mass");
  const Index n_head_total = measured.n_head_total();
  arma::mat share(n_head_total, shares.n_cols), mass = share, best(arma::size(share));
  best.fill(static_cast<double>(first));
  for (Index w = 0; w < shares.n_cols; ++w) {
    for (Index head_index = 0; head_index < n_head_total; ++head_index) {
      double largest = arma::datum::nan;
      for (Index offset = first; offset <= last; ++offset) {
        const Index row = offset * n_head_total + head_index;
        const double of_share = threshold_margin(shares(row, w), least_share, 1),
                     of_mass = threshold_margin(masses(row, w), least_mass, 1),
                     margin = of_share <= of_mass ? of_share : of_mass;
        if (!(margin > largest) && !std::isnan(largest)) continue;
        largest = margin;
        best(head_index, w) = static_cast<double>(offset);
        share(head_index, w) = shares(row, w);
        mass(head_index, w) = masses(row, w);
      }
    }
  }
  return {.score = of_heads(std::move(share)),
          .threshold = always(least_share),
          .second_margin =
              [mass = std::move(mass)](Index head_index, Index w) {
                return threshold_margin(mass(head_index, w), least_mass, 1);
              },
          .choice = [best = std::move(best)](
                        Index head_index) { return static_cast<Index>(best(head_index, 0)); }};
}

/// Of a positional head.
Index offset_of(const ResultsGroup& group, Index head_index) {
  return static_cast<Index>(group.values("positional_offset").values[head_index]);
}

/// The query's key at an offset, the sink left out.
std::vector<Index> key_before(Index query, Index offset) {
  if (query < 1 + offset) return {};
  return {query - offset};
}

}  // namespace

HeadType positional_type() {
  return {
      .name = "positional",
      .rule =
          "one offset from 1 to 8 has the largest weight for >= 0.90 of queries and a mean mass >= "
          "0.20",
      .sentence = "It attends to the token at a fixed distance, most often the token before.",
      .claim_part = 1,
      .scores = [](const Measured& measured) { return offset_scores(measured, 1, n_offset - 1); },
      .untested = unless_scored(too_short_text),
      .add_variables =
          [](const Measured&, const MeasuredType& measured, ResultsGroup& group) {
            group.add(classification_variables()["positional_offset"], measured.choices_of_heads());
          },
      .choices = [](const ResultsGroup& group,
                    Index head_index) { return std::vector{offset_of(group, head_index)}; },
      .choice_text = [](const ResultsGroup&, Index offset) { return offset_text(offset); },
      .place = [](const ResultsGroup& group,
                  Index head_index) { return token_before(offset_of(group, head_index)); },
      .rivals = of_all_heads(std::vector{token_before(0)}),
      .examples = {.targets =
                       [](const ExampleCase& example, const SeenHead& head) {
                         return key_before(example.query, offset_of(head.group, head.head_index));
                       }},
      .features =
          [](const ResultsGroup& group, Index head_index) {
            return std::vector{"offset_" + std::to_string(offset_of(group, head_index))};
          },
  };
}

HeadType current_token_type() {
  return {
      .name = "current_token",
      .rule = "offset 0 has the largest weight for >= 0.90 of queries and a mean mass >= 0.20",
      .sentence = "It attends to the query's own token.",
      .scores = [](const Measured& measured) { return offset_scores(measured, 0, 0); },
      .untested = unless_scored(too_short_text),
      .choice_text = [](const ResultsGroup&, Index offset) { return offset_text(offset); },
      .place = of_all_heads(token_before(0)),
      .examples = {.targets = [](const ExampleCase& example,
                                 const SeenHead&) { return key_before(example.query, 0); }},
      .features = of_all_heads(std::vector<std::string>{"offset_0"}),
  };
}

}  // namespace headscope
