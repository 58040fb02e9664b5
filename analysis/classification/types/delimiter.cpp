#include <algorithm>

#include "classification/types/registry.hpp"

namespace headscope {
namespace {

constexpr double least_delimiter = 0.5, times_baseline = 2;

TypeScores delimiter_scores(const Measured& measured) {
  const ByHead baseline = baseline_of(measured.sums, Baseline::delimiter_baseline);
  return {.score = ratio_of(measured.sums, HeadScore::delimiter),
          .baseline = baseline,
          .threshold =
              [=](Index head_index, Index w) {
                return std::max(least_delimiter, times_baseline * baseline(head_index, w));
              },
          .second_margin = attends_beyond_sink(measured.sums)};
}

std::string untested_delimiter(const Measured& measured, bool is_scored) {
  if (measured.sums.ratio(baseline_info(Baseline::delimiter_baseline).name)(0, 0) == 0) {
    return "no token of the corpus is only punctuation";
  }
  if (is_scored) return "";
  const std::string no_attention = no_attention_text(measured);
  return no_attention.empty() ? "the corpus has no text, only token ids" : no_attention;
}

std::vector<ExampleCase> delimiter_cases(const ExampleSource& source) {
  return token_cases(source, [&](Index query) {
    return keys_where(query, [&](Index key) {
      return !source.piece.is_punctuation.empty() && source.piece.is_punctuation[key] != 0;
    });
  });
}

}  // namespace

HeadType delimiter_type() {
  return {
      .name = "delimiter",
      .rule = "delimiter >= 0.5 and >= 2 x delimiter_baseline, and sink <= 0.98",
      .sentence = "It attends to commas, full stops and other punctuation.",
      .claim_part = 5,
      .scores = delimiter_scores,
      .untested = untested_delimiter,
      .place = of_all_heads(nearest_punctuation()),
      .examples = {.cases = delimiter_cases},
      .features = of_all_heads(std::vector<std::string>{"upos_PUNCT", "latest_punctuation"}),
  };
}

}  // namespace headscope
