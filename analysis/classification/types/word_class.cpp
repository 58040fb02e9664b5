#include <algorithm>

#include "classification/types/registry.hpp"
#include "classification/variables.hpp"

namespace headscope {
namespace {

constexpr double least_class_share = 0.5, times_class_baseline = 2;

/// The class of each head: on even documents the one with the largest multiple of what the rule
/// asks for; no_position without a share.
std::vector<Index> chosen_classes(const WeightedSums& sums, Index n_head_total) {
  const arma::mat shares = sums.ratio("word_class_share", Half::even),
                  baselines = sums.ratio("word_class_baseline", Half::even);
  std::vector<Index> chosen(n_head_total, no_position);
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    double largest = 0;
    for (Index word_class = 0; word_class < n_word_class; ++word_class) {
      const double share = shares(word_class * n_head_total + head_index, 0),
                   multiple = std::min(share / least_class_share,
                                       share / (times_class_baseline * baselines(word_class, 0)));
      if (!(multiple > largest)) continue;
      largest = multiple;
      chosen[head_index] = word_class;
    }
  }
  return chosen;
}

/// On the documents of odd number.
TypeScores word_class_scores(const Measured& measured) {
  const Index n_head_total = measured.n_head_total();
  const std::vector<Index> chosen = chosen_classes(measured.sums, n_head_total);
  const arma::mat shares = measured.sums.ratio("word_class_share", Half::odd),
                  baselines = measured.sums.ratio("word_class_baseline", Half::odd);
  arma::mat share(n_head_total, shares.n_cols), baseline = share;
  share.fill(arma::datum::nan);
  baseline.fill(arma::datum::nan);
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    if (chosen[head_index] == no_position) continue;
    share.row(head_index) = shares.row(chosen[head_index] * n_head_total + head_index);
    baseline.row(head_index) = baselines.row(chosen[head_index]);
  }
  arma::mat threshold =
      arma::max(times_class_baseline * baseline,
                arma::mat(arma::size(baseline), arma::fill::value(least_class_share)));
  return {.score = of_heads(std::move(share)),
          .baseline = of_heads(std::move(baseline)),
          .threshold = of_heads(std::move(threshold)),
          .second_margin = attends_beyond_sink(measured.sums),
          .choice = [chosen](Index head_index) { return chosen[head_index]; }};
}

std::string untested_class(const Measured& measured, bool is_scored) {
  if (is_scored) return "";
  const std::string no_attention = no_attention_text(measured);
  return no_attention.empty() ? "the corpus has no parts of speech in documents of both halves"
                              : no_attention;
}

Index class_of(const ResultsGroup& group, Index head_index) {
  return static_cast<Index>(group.values("word_class").values[head_index]);
}

void add_classes_of_heads(const Measured& /*measured*/, const MeasuredType& word_class,
                          ResultsGroup& group) {
  group.add(classification_variables()["word_class"], word_class.choices_of_heads());
}

/// The keys whose word is of the head's class.
std::vector<Index> keys_of_class(const ExampleCase& example, const SeenHead& head) {
  const Index of_head = class_of(head.group, head.head_index);
  return keys_where(example.query,
                    [&](Index key) { return head.document.token_class[key] == of_head; });
}

}  // namespace

HeadType word_class_type() {
  return {
      .name = "word_class",
      .rule =
          "for the part of speech (but punctuation) that even-numbered documents choose, "
          "word_class_share_heldout >= 0.5 and >= 2 x the part of speech's share of the keys of "
          "odd-numbered documents, and sink <= 0.98",
      .sentence =
          "It attends to words of one part of speech, such as verbs or determiners, wherever they "
          "stand.",
      .scores = word_class_scores,
      .untested = untested_class,
      .add_variables = add_classes_of_heads,
      .choices = [](const ResultsGroup& group,
                    Index head_index) { return std::vector{class_of(group, head_index)}; },
      .choice_text = [](const ResultsGroup&,
                        Index choice) { return std::string(word_classes[choice].words); },
      .place = [](const ResultsGroup& group,
                  Index head_index) { return nearest_of_class(class_of(group, head_index)); },
      .examples = {.targets = keys_of_class},
      .features =
          [](const ResultsGroup& group, Index head_index) {
            return std::vector{std::string("upos_") +
                               word_classes[class_of(group, head_index)].name};
          },
  };
}

}  // namespace headscope
