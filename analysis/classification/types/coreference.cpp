#include "classification/types/power.hpp"
#include "classification/types/registry.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

TypeScores coreference_scores(const Measured& measured) {
  const CoreferenceTest& test = measured.coreference;
  return {.score = of_heads(test.accuracy),
          .baseline = of_corpus(test.baseline),
          .threshold = of_corpus(test.baseline + least_gain),
          .is_significant = [&](Index head_index) { return test.q[head_index] < significant_q; }};
}

std::string untested_coreference(const Measured& measured, bool /*is_scored*/) {
  const CoreferenceTest& test = measured.coreference;
  if (is_enough(test.n_pronoun, test.n_document)) return "";
  return "the corpus does not have " + enough_text("annotated non-first pronouns");
}

double coreference_power(const Measured& measured) {
  const CoreferenceTest& test = measured.coreference;
  const double n_test = n_number(test.p);
  if (n_test == 0) return arma::datum::nan;
  return test_power(least_gain, standard_error(test.accuracy, test.baseline, measured.pruned),
                    significant_q / n_test, test.n_document);
}

std::vector<ExampleCase> pronoun_cases(const ExampleSource& source) {
  std::vector<ExampleCase> cases;
  for (const CoreferenceQuery& reference : source.piece.words.references) {
    if (!reference.is_pronoun || reference.antecedents.empty()) continue;
    add_word_case(source, reference.word, reference.antecedents, "", cases);
  }
  return cases;
}

}  // namespace

HeadType coreference_type() {
  return {
      .name = "coreference",
      .rule =
          "accuracy on held-out pronouns >= that of the best of four rules + 0.10 with q < 0.05; "
          "the rules take the nearest mention, the mention completed last, the nearest of the same "
          "form, or the nearest of the same gender and number",
      .sentence =
          "From a pronoun or a name it attends to an earlier mention of the same person or thing.",
      .claim_part = 4,
      .scores = coreference_scores,
      .untested = untested_coreference,
      .power = coreference_power,
      .place = of_all_heads(nearest_antecedent()),
      .examples = {.cases = pronoun_cases},
      .features = of_all_heads(std::vector<std::string>{"same_entity", "latest_mention"}),
  };
}

}  // namespace headscope
