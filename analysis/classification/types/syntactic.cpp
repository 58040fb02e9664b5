#include <algorithm>

#include "base/number_text.hpp"
#include "classification/types/power.hpp"
#include "classification/types/registry.hpp"
#include "classification/variables.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// The test that says whether the head is syntactic: of those it passes the one of largest gain on
/// even documents, else that of largest margin; no_position if all were refused.
Index deciding_test(const RelationTests& relations, Index head_index) {
  Index best = no_position;
  const auto rank = [&](const RelationTest& test) {
    const bool passed = passes(test, head_index);
    // A relation without arcs in even documents comes after all that have them.
    const double gain = std::isnan(test.even_gain[head_index]) ? -2 : test.even_gain[head_index];
    return std::pair(passed, passed ? gain
                                    : threshold_margin(test.heldout_accuracy(head_index, 0),
                                                       relation_threshold(test, 0), 1));
  };
  for (Index number = 0; number < relations.size(); ++number) {
    if (!(relations[number].q[head_index] < significant_q)) continue;
    if (best == no_position || rank(relations[number]) > rank(relations[best])) best = number;
  }
  return best;
}

/// On each head's deciding test.
TypeScores syntactic_scores(const Measured& measured) {
  const RelationTests& relations = measured.relations;
  std::vector<Index> deciding;
  for (Index head_index = 0; head_index < measured.n_head_total(); ++head_index) {
    deciding.push_back(deciding_test(relations, head_index));
  }
  const auto number = [&](auto value) {
    return [&relations, deciding, value](Index head_index, Index w) {
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
          .threshold = number(
              [](const RelationTest& test, Index, Index w) { return relation_threshold(test, w); }),
          .is_significant =
              [deciding](Index head_index) { return deciding[head_index] != no_position; },
          .choice = [deciding](Index head_index) { return deciding[head_index]; }};
}

std::string untested_relations(const Measured& measured, bool /*is_scored*/) {
  if (measured.relations.empty()) return "the corpus has no dependencies";
  if (std::ranges::any_of(measured.relations, is_tested)) return "";
  return "no relation has " + enough_text("arcs");
}

/// Alike for any tested relation of known power.
double syntactic_power(const Measured& measured) {
  double n_test = 0;
  for (const RelationTest& test : measured.relations)
    n_test += is_tested(test) ? n_number(test.p) : 0;
  std::vector<double> powers;
  for (const RelationTest& test : measured.relations) {
    if (!is_tested(test)) continue;
    powers.push_back(test_power(
        least_gain, standard_error(test.heldout_accuracy, test.heldout_baseline, measured.pruned),
        significant_q / n_test, test.heldout_documents));
  }
  return mean_of_numbers(powers);
}

/// How many heads would pass by the published test.
std::string offset_note(const Measured& measured) {
  const bool has_class = std::ranges::any_of(
      measured.relations, [](const RelationTest& test) { return test.word_class != no_position; });
  if (!has_class) return " The only rule was the best fixed offset, as in published tests.";
  std::size_t n = 0;
  for (Index head_index = 0; head_index < measured.n_head_total(); ++head_index) {
    n += std::ranges::any_of(measured.relations, [&](const RelationTest& test) {
      return passes_offset(test, head_index);
    });
  }
  return " Against the best fixed offset alone, as in published tests, " + count_text(n, "head") +
         " would pass.";
}

/// The relation that each head claims.
void add_claimed_relations(const Measured& measured, const MeasuredType& syntactic,
                           ResultsGroup& group) {
  if (measured.relations.empty()) return;
  std::vector<double> relation(syntactic.choice.size(), -1), direction = relation,
                                                             arcs(relation.size(), 0);
  for (const Index head_index : syntactic.heads()) {
    const Index number = syntactic.choice[head_index];
    relation[head_index] = static_cast<double>(number / 2);
    direction[head_index] = static_cast<double>(number % 2);
    arcs[head_index] = measured.relations[number].heldout_count;
  }
  const VariableTable& variables = classification_variables();
  group.add(variables["syntactic_relation"], std::move(relation));
  group.add(variables["syntactic_direction"], std::move(direction));
  group.add(variables["syntactic_arcs"], std::move(arcs));
}

/// The number of the claimed relation's test: along relation and direction.
Index claimed_relation(const ResultsGroup& group, Index head_index) {
  const auto value = [&](const char* name) {
    return static_cast<Index>(group.values(name).values[head_index]);
  };
  return 2 * value("syntactic_relation") + value("syntactic_direction");
}

/// The relations that the head passes on, the claimed one first.
std::vector<Index> passed_relations(const ResultsGroup& group, Index head_index) {
  const Array& passed = group.values("relation_passed");
  const Index n_head_total = passed.shape[2] * passed.shape[3],
              claimed = claimed_relation(group, head_index);
  std::vector<Index> numbers;
  for (Index number = 0; number * n_head_total < passed.size(); ++number) {
    if (passed.values[number * n_head_total + head_index] != 1) continue;
    numbers.insert(number == claimed ? numbers.begin() : numbers.end(), number);
  }
  return numbers;
}

/// What the claimed relation's baseline takes.
std::vector<Place> rival_rule(const ResultsGroup& group, Index head_index) {
  const Index number = claimed_relation(group, head_index);
  const auto value = [&](const char* name) { return group.values(name).values[number]; };
  const Index word_class = word_class_of(group.texts("relation_class")[number]);
  if (value("relation_baseline_rule") == static_cast<double>(RelationRule::word_class)) {
    return {nearest_word_before(word_class)};
  }
  const double offset = value("relation_offset");
  return offset > 0 ? std::vector{word_before(static_cast<Index>(offset))} : std::vector<Place>();
}

std::vector<ExampleCase> relation_cases(const ExampleSource& source) {
  std::vector<ExampleCase> cases;
  for (const Arc& arc : source.piece.words.arcs) {
    if (!is_scored_relation(arc.relation)) continue;
    add_word_case(source, arc.later, {arc.earlier}, arc_text(arc.relation, arc.direction), cases);
  }
  return cases;
}

}  // namespace

HeadType syntactic_type() {
  return {
      .name = "syntactic",
      .rule =
          "for some relation with >= 30 held-out arcs in >= 10 documents, accuracy >= that of the "
          "best simple rule (a fixed offset or, by --relation-baseline best, the nearest word of a "
          "part of speech) + 0.10 with q < 0.05",
      .sentence =
          "From a word it attends to an earlier word that a grammatical relation links to it.",
      .claim_part = 2,
      .scores = syntactic_scores,
      .untested = untested_relations,
      .power = syntactic_power,
      .claim_note = offset_note,
      .add_variables = add_claimed_relations,
      .choices = passed_relations,
      .choice_text =
          [](const ResultsGroup& group, Index number) {
            const double count = group.values("relation_count_heldout").values[number];
            return arc_text(group, number) + " (" +
                   count_text(static_cast<std::size_t>(count), "held-out arc") + ")";
          },
      .place =
          [](const ResultsGroup& group, Index head_index) {
            const Index number = claimed_relation(group, head_index);
            return arc_end(group.labels("relation")[number / 2],
                           static_cast<ArcDirection>(number % 2));
          },
      .rivals = rival_rule,
      .examples = {.cases = relation_cases,
                   .choice =
                       [](const ResultsGroup& group, Index head_index) {
                         return arc_text(group, claimed_relation(group, head_index));
                       }},
      .features =
          [](const ResultsGroup& group, Index head_index) {
            const Index number = claimed_relation(group, head_index);
            return std::vector{group.labels("relation")[number / 2] +
                               (number % 2 == 0 ? "_to_head" : "_to_dependent")};
          },
  };
}

}  // namespace headscope
