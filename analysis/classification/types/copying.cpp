#include "classification/tests/copy_effect.hpp"
#include "classification/types/power.hpp"
#include "classification/types/registry.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

EffectTest test_of(const Measured& measured, HeadScore effect, HeadScore null) {
  return test_effect(measured.sums.statistics(), score_info(effect).name, score_info(null).name,
                     measured.pruned);
}

/// An effect on logits, which has no largest value.
/// @param sign  1 of an effect that raises, -1 of one that lowers.
std::function<TypeScores(const Measured&)> effect_scores(HeadScore effect, HeadScore null,
                                                         double sign) {
  return [=](const Measured& measured) -> TypeScores {
    const EffectTest test = test_of(measured, effect, null);
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
  };
}

Untested untested_effect(HeadScore effect, HeadScore null) {
  return [=](const Measured& measured, bool /*is_scored*/) -> std::string {
    if (n_number(test_of(measured, effect, null).q) > 0) return "";
    return is_too_short(measured) ? too_short_text : "one document cannot be tested";
  };
}

/// Queries whose next token has an earlier copy.
std::vector<ExampleCase> copied_cases(const ExampleSource& source) {
  return token_cases(source, [&](Index query) {
    return query + 1 < source.n_token() ? source.piece.copies[query + 1] : std::vector<Index>();
  });
}

/// The text, a sentence, must show the token that comes next.
std::vector<Index> copied_keys(const ExampleCase& example, const SeenHead& head) {
  const std::vector<Index>& sentence = head.document.sentence;
  return sentence[example.query + 1] == sentence[example.query] ? example.targets
                                                                : std::vector<Index>();
}

std::vector<Index> lowered_keys(const ExampleCase& example, const SeenHead& head) {
  const Index key = head.lowered_key(example.query);
  return key == no_position ? std::vector<Index>() : std::vector<Index>{key};
}

}  // namespace

HeadType copying_type() {
  return {
      .name = "copying",
      .rule = "copy_effect >= 0.1 logits and above copy_effect_null with q < 0.05",
      .sentence =
          "It makes the tokens that it attends to more probable; the examples show an earlier copy "
          "of the token that comes next.",
      .scores = effect_scores(HeadScore::copy_effect, HeadScore::copy_effect_null, 1),
      .beats_permuted = true,
      .untested = untested_effect(HeadScore::copy_effect, HeadScore::copy_effect_null),
      .examples = {.cases = copied_cases, .targets = copied_keys},
  };
}

HeadType suppressing_type() {
  return {
      .name = "suppressing",
      .rule = "suppression_effect <= -0.1 logits and below suppression_effect_null with q < 0.05",
      .sentence =
          "It attends to tokens that were likely to come next and makes them less probable; the "
          "examples show the token that it lowers most.",
      .scores =
          effect_scores(HeadScore::suppression_effect, HeadScore::suppression_effect_null, -1),
      .beats_permuted = true,
      .is_low = true,
      .untested =
          untested_effect(HeadScore::suppression_effect, HeadScore::suppression_effect_null),
      .examples = {.targets = lowered_keys},
  };
}

}  // namespace headscope
