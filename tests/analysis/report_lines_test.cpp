#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "attend/sentence.hpp"
#include "circuits/circuits.hpp"
#include "classification/results.hpp"
#include "correlation/results.hpp"
#include "pruning/results.hpp"
#include "report_text.hpp"
#include "support/small_tokenizer.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;
using testing::Not;

void add(ResultsGroup& group, const std::string& name, std::vector<std::string> dimensions,
         Array values) {
  group.add({name, std::move(dimensions), "1", name}, std::move(values));
}

ResultsGroup two_layers_of_three_heads() {
  ResultsGroup group;
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::count("head", 3));
  return group;
}

/// What a presentation says of the group of its name.
Description described(const Presentation& presentation, ResultsGroup group,
                      const std::string& pruned_heads = "") {
  group.name = presentation.group;
  Results results;
  results.attributes["pruned_heads"] = pruned_heads;
  results.attributes["d_vocab"] = std::int64_t{1000};
  results.groups.push_back(std::move(group));
  return presentation.describe(results);
}

std::map<std::string, std::string> lines(const Description& description) {
  std::map<std::string, std::string> said;
  for (const Finding& finding : description.findings) said[finding.about] = finding.text;
  return said;
}

ResultsGroup pruning(double n_interval, double n_harmless) {
  ResultsGroup group = two_layers_of_three_heads();
  group.add_dimension(Dimension::labels("ablation", {"zero", "mean"}));
  Array increase({2, 2, 3}, 0.1);
  increase(0, 0, 0) = std::nan("");
  increase(0, 1, 2) = 2.5;
  increase(1, 0, 1) = 3;
  add(group, "loss_increase", {"ablation", "layer", "head"}, increase);
  add(group, "loss_baseline", {}, Array(Shape{}, 5));
  add(group, "loss", {}, Array(Shape{}, 6));
  add(group, "n_document_ablated", {}, Array(Shape{}, 30));
  add(group, "n_document_first_order", {}, Array(Shape{}, 30));
  add(group, "n_interval", {"ablation"}, Array({2}, {n_interval, 6}));
  add(group, "n_harmless", {"ablation"}, Array({2}, {n_harmless, 6}));
  return group;
}

TEST(MarginText, WritesNatsWithoutPowersOfTen) {
  EXPECT_EQ(margin_text({99.4, 3.25, 99.6}), "99 nats, interval 3.2 to 100");
  EXPECT_EQ(margin_text({-123.6}), "-124 nats");
}

TEST(PruningLines, NameTheHeadThatCostsMost) {
  const Description part = described(pruning_presentation(), pruning(5, 2));
  EXPECT_THAT(
      lines(part)["Pruning one head"],
      HasSubstr(
          "Setting L1H2 to zero costs most: the loss rises by 2.5 nats (50 % of 5, the loss on "
          "the documents of this analysis)."));
  EXPECT_EQ(part.model_loss, "its loss is 6 nats per token") << "on all documents";
  EXPECT_FALSE(lines(part).contains("Pruning many")) << "without a curve";
}

/// Gives all loss increases intervals that reach below 0. @return the variable.
Variable& with_wide_intervals(ResultsGroup& group) {
  Variable& increase = group.variables.front();
  increase.interval.emplace();
  increase.interval->low = increase.values.mapped([](double value) { return value - 3; });
  increase.interval->high = increase.values.mapped([](double value) { return value + 3; });
  return increase;
}

TEST(PruningLines, CallNoHeadOneThatMattersByChance) {
  ResultsGroup group = pruning(6, 6);
  Variable& increase = with_wide_intervals(group);
  EXPECT_EQ(described(pruning_presentation(), group).found,
            "No head is shown to matter by itself: the costliest, L1H2, raises the loss by 2.5 "
            "nats, which may be chance. 6 of 6 heads can each be pruned without measurable loss.");
  increase.interval->low = increase.values.mapped([](double value) { return value - 1; });
  EXPECT_THAT(
      described(pruning_presentation(), group).found,
      testing::StartsWith("Set to zero, L1H2 costs most (2.5 nats); set to its mean, L0H1 "));
}

TEST(PruningLines, NameTheHeadThatMeanAblationAloneShowsToMatter) {
  ResultsGroup group = pruning(6, 6);
  with_wide_intervals(group).interval->low(1, 0, 1) = 0.5;
  EXPECT_THAT(described(pruning_presentation(), group).found,
              testing::StartsWith("Set to zero, no head is shown to matter by itself; set to its "
                                  "mean, L0H1 costs most (3 nats). 6 of 6"));
}

TEST(PruningLines, NameTheCostliestOfTheHeadsThatAreShownToMatter) {
  ResultsGroup group = pruning(5, 4);
  Variable& increase = with_wide_intervals(group);
  increase.interval->low(0, 0, 1) = 0.05;
  const Description part = described(pruning_presentation(), group);
  EXPECT_EQ(part.found,
            "L0H1 matters most of the heads shown to matter: without it the loss rises by 0.1 "
            "nats. 4 of 5 heads can each be pruned without measurable loss.");
  EXPECT_THAT(lines(part)["Pruning one head"],
              testing::StartsWith("Setting L0H1 to zero costs most of the heads shown to matter:"));
}

TEST(PruningLines, NameTheCostliestHeadOfEachAblationWhereTheyDiffer) {
  EXPECT_EQ(described(pruning_presentation(), pruning(0, 0)).found,
            "Set to zero, L1H2 costs most (2.5 nats); set to its mean, L0H1 costs most (3 nats). "
            "Without intervals this may be chance.");
}

TEST(PruningLines, NameNoHeadThatTheModelHasLostAndNoneByATie) {
  EXPECT_EQ(described(pruning_presentation(), pruning(0, 0), "L1H2").found,
            "L0H1 matters as much as any: without it the loss rises by 0.1 nats. Without intervals "
            "this may be chance.");
  EXPECT_EQ(described(pruning_presentation(), pruning(0, 0), "L0H1,L0H2,L1H0,L1H1,L1H2").found,
            "Set to zero, no head is shown to matter by itself; set to its mean, L0H0 costs most "
            "(0.1 nats). Without intervals this may be chance.");
}

TEST(PruningLines, SayThatTheModelHasNoHeadLeft) {
  const Description part =
      described(pruning_presentation(), pruning(0, 0), "L0H0,L0H1,L0H2,L1H0,L1H1,L1H2");
  EXPECT_EQ(part.found, "The model has no head left.");
  EXPECT_TRUE(part.findings.empty());
  EXPECT_EQ(part.model_loss, "its loss is 6 nats per token");
}

TEST(PruningLines, CountTheHarmlessHeadsAsTheAnalysisDid) {
  EXPECT_THAT(lines(described(pruning_presentation(), pruning(5, 2)))["Pruning one head"],
              HasSubstr("without a measurable increase: 2 of 5."));
  EXPECT_THAT(lines(described(pruning_presentation(), pruning(0, 0)))["Pruning one head"],
              HasSubstr("Without intervals the run cannot tell"));
}

TEST(PruningLines, SpeakOfOneHead) {
  EXPECT_THAT(described(pruning_presentation(), pruning(1, 0)).found,
              testing::EndsWith(" 0 of 1 head can be pruned without measurable loss."));
}

TEST(PruningLines, SayThatNoHeadCostsWhereLossesFall) {
  ResultsGroup group = pruning(5, 5);
  for (double& increase : group.variables.front().values.values) increase = -std::abs(increase);
  const Description part = described(pruning_presentation(), group);
  EXPECT_EQ(part.found,
            "No head's removal raises the loss. 5 of 5 heads can each be pruned without "
            "measurable loss.");
  EXPECT_EQ(lines(part)["Pruning one head"],
            "No head's removal raises the loss. Heads that can each be pruned without a measurable "
            "increase: 5 of 5.");
}

TEST(PruningLines, RepeatThePrunableShares) {
  ResultsGroup group = pruning(5, 2);
  group.add_dimension(Dimension::numbers("tolerance", {0.01, 0.05}));
  add(group, "prunable_share", {"tolerance"}, Array({2}, {0.3, 0.525}));
  EXPECT_EQ(
      lines(described(pruning_presentation(), group))["Pruning many"],
      "Heads that can be pruned together, least important first, interpolated between the steps of "
      "the curve: 30 % with a loss increase of at most 1 %, 52.5 % with a loss increase of at most "
      "5 %.");
}

TEST(PruningLines, WarnOfALossAboveThatOfGuessing) {
  ResultsGroup group = pruning(5, 2);
  EXPECT_EQ(described(pruning_presentation(), group).warning, "");
  group.variables[2].values.values[0] = std::log(1000) * (1 + 1e-7);
  EXPECT_EQ(described(pruning_presentation(), group).warning, "") << "rounding";
  group.variables[2].values.values[0] = std::log(1000) * (1 + 1e-5);
  EXPECT_THAT(described(pruning_presentation(), group).warning,
              HasSubstr("the loss of 6.90782 nats per token is above 6.90776, the loss of"));
  group.variables[2].values.values[0] = 7;
  EXPECT_THAT(
      described(pruning_presentation(), group).warning,
      HasSubstr("the loss of 7 nats per token is above 6.91, the loss of guessing among the "
                "1000 tokens"));
}

TEST(CircuitLines, RepeatTheCountsOfTheAnalysis) {
  ResultsGroup group = two_layers_of_three_heads();
  Array copying({2, 3}, 0.25);
  copying(1, 0) = 0.75;
  add(group, "ov_copying", {"layer", "head"}, copying);
  add(group, "n_copying", {}, Array(Shape{}, 4));
  add(group, "n_opposite", {}, Array(Shape{}, 2));
  EXPECT_EQ(lines(described(circuits_presentation(), group))["Weights"],
            "By weights alone, as if heads read raw embeddings, heads that copy the token that "
            "they attend to: 4; heads that write its opposite: 2. L1H0 copies most (0.75; the "
            "threshold is 0.5). Deep heads do not read raw embeddings: the analysis "
            "classification measures copying on text.");
}

TEST(CircuitLines, NameTheHeadThatComesClosestToCopyingWhereNoneCopies) {
  ResultsGroup group = two_layers_of_three_heads();
  add(group, "ov_copying", {"layer", "head"}, Array({2, 3}, {0.1, 0.4, 0, 0, -0.9, 0}));
  add(group, "n_copying", {}, Array(Shape{}, 0));
  add(group, "n_opposite", {}, Array(Shape{}, 1));
  EXPECT_THAT(lines(described(circuits_presentation(), group))["Weights"],
              HasSubstr(". L0H1 comes closest to copying (0.4; the threshold is 0.5)."));
}

TEST(CircuitLines, QuoteTheEffectMeasuredOnTextWhereThereIsOne) {
  Results results;
  results.groups = {two_layers_of_three_heads()};
  results.groups[0].name = "circuits";
  add(results.groups[0], "ov_copying", {"layer", "head"}, Array({2, 3}, 0.25));
  add(results.groups[0], "n_copying", {}, Array(Shape{}, 4));
  add(results.groups[0], "n_opposite", {}, Array(Shape{}, 2));
  ResultsGroup measured = two_layers_of_three_heads();
  measured.name = "classification";
  measured.add_dimension(Dimension::labels("head_type", {"sink", "copying", "suppressing"}));
  add(measured, "type", {"head_type", "layer", "head"},
      Array({3, 2, 3}, {1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}));
  add(measured, "copy_effect", {"layer", "head"}, Array({2, 3}, {9, 0.2, 0, 0, 0, 0.65}));
  add(measured, "suppression_effect", {"layer", "head"}, Array({2, 3}, {-9, 0, 0, 0, -0.25, 0}));
  add(measured, "type_threshold", {"head_type", "layer", "head"}, Array({3, 2, 3}, 0.1));
  add(measured, "type_share", {"head_type"}, Array({3}, {0.5, 0.4, std::nan("")}));
  results.groups.push_back(measured);
  std::map<std::string, std::string> said = lines(circuits_presentation().describe(results));
  EXPECT_FALSE(said.contains("Weights"));
  EXPECT_EQ(said["Copying"],
            "Heads by what they are shown to do on the text: copying (raises the logit of the "
            "attended token by at least 0.1): 2 heads (most: L1H2, by 0.65); suppressing (lowers "
            "the logit of attended tokens that were already predicted by at least 0.1): not "
            "tested.");
}

TEST(LikenessLine, NamesTheLayersWhoseIntervalsSayThatTrainingChangedThem) {
  const Estimate more{0.1, 0.05, 0.2}, less{-0.1, -0.2, -0.05}, neither{0.1, -0.1, 0.2};
  EXPECT_EQ(
      likeness_line(0.1, 0.2, {less, less, less}, {more, neither, less}),
      "The outputs of two heads of a layer have a mean absolute cosine of 0.1; in untrained models "
      "of this shape it is 0.2. Compared with untrained models, before W_O the outputs are less "
      "alike in layers 0, 1, 2; after W_O they are more alike in layer 0 and less alike in layer "
      "2.");
  EXPECT_THAT(likeness_line(0.1, 0.2, {neither}, {neither}),
              HasSubstr("before W_O the outputs are not measurably different in any layer;"));
  const Estimate unknown{0.1, std::nan(""), std::nan("")};
  EXPECT_THAT(likeness_line(0.1, 0.2, {unknown}, {unknown}),
              HasSubstr("Without intervals the run cannot tell"));
}

ResultsGroup classification() {
  ResultsGroup group = two_layers_of_three_heads();
  group.add_dimension(Dimension::labels("head_type", {"positional", "long_range"}));
  add(group, "type", {"head_type", "layer", "head"},
      Array({2, 2, 3}, {0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1}));
  const double nan = std::nan("");
  add(group, "induction", {"layer", "head"}, Array({2, 3}, {nan, 0.1, 0.1, 0.1, 0.9, 0.1}));
  add(group, "previous_token", {"layer", "head"}, Array({2, 3}, {nan, 0.1, 0.5, 0.1, 0.1, 0.1}));
  add(group, "sink", {"layer", "head"}, Array({2, 3}, {nan, 0.25, 0.25, 0.25, 0.5, 0.25}));
  return group;
}

TEST(SentenceLines, AHeadJustBelowTheLimitHasTheDecimalsThatSaySo) {
  ResultsGroup group = two_layers_of_three_heads();
  group.add_dimension(Dimension::count("token", 1));
  group.add_dimension(Dimension::count("rank", 6));
  group.add({"token_text", "token", "1", "x", "r", "", Variable::Type::text},
            std::vector<std::string>{"Cats"});
  for (const char* const name : {"previous_token", "current_token", "sink", "duplicate_token",
                                 "induction_like", "last_token_weight", "last_token_key"}) {
    add(group, name, {"layer", "head"}, Array({2, 3}, 0.0));
  }
  group.variables[1].values.values = {0, 0.3, 0.3996, 0, 0, 0};
  group.variables[2].values.values = {0.4, 0.3, 0, 0, 0, 0};
  group.variables[3].values.values = {0.384, 0.3, 0, 0, 0, 0};
  group.add({"candidate_text", "token rank", "1", "x", "r", "", Variable::Type::text},
            std::vector<std::string>(6, "x"));
  add(group, "candidate_probability", {"token", "rank"}, Array({1, 6}, 0.1));
  add(group, "candidate_effect", {"token", "rank", "layer", "head"}, Array({1, 6, 2, 3}));
  std::map<std::string, std::string> said =
      lines(described(sentence_analysis(test::small_tokenizer()).presentation, group));
  EXPECT_EQ(said["Previous token"], "no head reaches 0.4; most is L0H2 0.3996");
  EXPECT_EQ(said["Current token"], "L0H0 0.40");
  EXPECT_EQ(said["First token"], "no head reaches 0.4; most is L0H0 0.38");
  said = lines(described(sentence_analysis(test::small_tokenizer()).presentation, group, "L0H0"));
  EXPECT_EQ(said["Current token"], "no head reaches 0.4; most is L0H1 0.30");
  EXPECT_THAT(said["From “Cats”"], Not(HasSubstr("L0H0")));
}

TEST(ClassificationLines, CountTypesAndNameTheLeadingHeadsThatAreThere) {
  std::map<std::string, std::string> said =
      lines(described(classification_presentation(), classification()));
  EXPECT_EQ(
      said["Types"],
      "1 of 6 heads are specialised: 1 positional. A head may have several types. Not counted, "
      "since they say that a head rests or how far it looks, not what it does: 2 long range; "
      "1 of these heads is specialised by another type.");
  EXPECT_EQ(said["Repetition and position"],
            "On repeated random tokens, L1H1 puts 90 % of its attention on the token that followed "
            "last time, more than any other head. L0H2 attends most to the previous token (50 %).");
  EXPECT_EQ(said["Attention sink"],
            "On average a head puts 30 % of its attention on the first token, the sink; L1H1 puts "
            "the most there (50 %).");
  EXPECT_FALSE(said.contains("Syntax")) << "without relations";
}

TEST(ClassificationLines, NameNoHeadThatIsMostByNothing) {
  ResultsGroup group = classification();
  for (Variable& variable : group.variables) {
    if (variable.name == "induction" || variable.name == "previous_token") {
      std::ranges::fill(variable.values.values, 0);
    }
    if (variable.name == "sink") std::ranges::fill(variable.values.values, 0.5);
  }
  std::map<std::string, std::string> said = lines(described(classification_presentation(), group));
  EXPECT_EQ(said["Repetition and position"],
            "On repeated random tokens, no head attends to the token that followed last time. No "
            "head attends to the previous token.");
  EXPECT_EQ(said["Attention sink"],
            "On average a head puts 50 % of its attention on the first token, the sink, and none "
            "more than 50 %.");
}

TEST(ClassificationLines, LeaveOutRemovedHeads) {
  const Description description =
      described(classification_presentation(), classification(), "L1H1,L1H2");
  std::map<std::string, std::string> said = lines(description);
  EXPECT_THAT(said["Types"], testing::StartsWith("1 of 4 heads are specialised"));
  EXPECT_THAT(description.headline.attend_by, testing::StartsWith("1 of 4 heads are specialised"));
  EXPECT_THAT(said["Attention sink"], testing::StartsWith("On average a head puts 25 % of"));
  EXPECT_THAT(said["Repetition and position"], Not(HasSubstr("L1H1")));
}

TEST(ClassificationLines, SpeakOfOneHead) {
  ResultsGroup group = classification();
  ASSERT_EQ(group.variables.front().name, "type");
  group.variables.front().values(1, 0, 0) = 0;
  const Description description =
      described(classification_presentation(), group, "L0H0,L0H1,L0H2,L1H0,L1H1");
  EXPECT_THAT(lines(description)["Types"], testing::StartsWith("1 of 1 head is specialised:"));
  EXPECT_THAT(description.headline.attend_by, testing::StartsWith("1 of 1 head is specialised:"));
}

TEST(ClassificationLines, TypesThatUntrainedModelsHaveTooAreNotCounted) {
  ResultsGroup group = classification();
  group.add_dimension(Dimension::count("control", 2));
  group.add({"control_type_heads", "control head_type", "1", "x"}, Array({2, 2}, {0, 1, 0, 2}));
  EXPECT_EQ(lines(described(classification_presentation(), group))["Types"],
            "1 of 6 heads are specialised: 1 positional (untrained: none). A head may have several "
            "types. Not counted, since untrained models have as many: 2 long range (untrained: at "
            "most 2). Untrained: the largest number of such heads in one of 2 untrained models.");
}

TEST(ClassificationLines, SayOfEachTypeHowManyUntrainedHeadsHaveIt) {
  ResultsGroup group = classification();
  Array& types = group.variables.front().values;
  ASSERT_EQ(group.variables.front().name, "type");
  std::fill(types.values.begin(), types.values.begin() + 6, 0);  // no positional head
  group.add_dimension(Dimension::count("control", 2));
  group.add({"control_type_heads", "control head_type", "1", "x"},
            Array({2, 2}, {1, std::nan(""), 0, 0}));
  EXPECT_EQ(
      lines(described(classification_presentation(), group))["Types"],
      "0 of 6 heads are specialised. A head may have several types. Not counted, since untrained "
      "models have as many or could not be tested: 2 long range (untrained: untestable). Types "
      "without a head: positional (untrained: at most 1). Untrained: the largest number of such "
      "heads in one of 2 untrained models.");
  EXPECT_THAT(described(classification_presentation(), group).headline.attend_by,
              testing::StartsWith("0 of 6 heads are specialised"));
}

TEST(ClassificationLines, NoRelationTestedIsNotNoRelationFound) {
  const auto syntax_line = [](double tested, double accuracy,
                              const std::string& word_class = "VERB") {
    ResultsGroup group = classification();
    group.add_dimension(Dimension::labels("relation", {"nsubj"}));
    group.add_dimension(Dimension::labels("direction", {"dependent_to_head"}));
    const auto add_one = [&](const char* name, double value) {
      add(group, name, {"relation", "direction"}, Array({1, 1}, value));
    };
    add_one("relation_best_accuracy_heldout", accuracy);
    add_one("relation_baseline_heldout", 0.5);
    add_one("relation_tested", tested);
    add_one("relation_count_heldout", 40);
    add_one("relation_baseline_rule", 1);
    add_one("relation_offset", 1);
    group.add({"relation_class", "relation direction", "1", "x"}, std::vector{word_class});
    add_one("relation_best_layer", 0);
    add_one("relation_best_head", 1);
    Array passed({1, 1, 2, 3}, 0.0);
    passed.values[1] = accuracy > 0.5 ? 1 : 0;
    for (const char* const name : {"relation_passed", "relation_passed_offset"}) {
      add(group, name, {"relation", "direction", "layer", "head"}, passed);
    }
    return lines(described(classification_presentation(), group))["Syntax"];
  };
  EXPECT_THAT(
      syntax_line(1, 0.75),
      AllOf(
          HasSubstr("L0H1 finds the most arcs beyond its baseline: on nsubj → head it attends "
                    "most to the right word in 75 % of 40 held-out arcs"),
          HasSubstr("the baseline, the nearest of earlier verbs, is right in 50 %"),
          HasSubstr("1 head is shown to beat the best fixed offset on some relation by at least 10 "
                    "points; "
                    "1 is also shown to beat the nearest word")));
  EXPECT_THAT(syntax_line(1, 0.75, ""), testing::EndsWith("by at least 10 points."));
  EXPECT_THAT(syntax_line(1, 0.4),
              HasSubstr("no chosen head is shown to beat the best simple rule by at least 10 "
                        "points. "));
  EXPECT_THAT(syntax_line(0, 0.75), HasSubstr("the run cannot tell whether a head finds"));
}

TEST(ClassificationLines, AHeadBetterThanTheRulesForPronounsByLessThanTheTypeAsksIsNotDenied) {
  const auto coreference_line = [](double n_passed) {
    ResultsGroup group = two_layers_of_three_heads();
    group.add_dimension(Dimension::labels("head_type", {"coreference"}));
    group.add_dimension(Dimension::count("rule", 4));
    group.add_dimension(Dimension::count("mention", 2));
    Array type({1, 2, 3});
    for (Index head = 0; static_cast<double>(head) < n_passed; ++head) type(0, 0, head) = 1;
    add(group, "type", {"head_type", "layer", "head"}, type);
    for (const char* const name :
         {"induction", "previous_token", "sink", "coreference_p", "coreference_pronoun_heldout"}) {
      add(group, name, {"layer", "head"}, Array({2, 3}, {0.5, 0, 0, 0, 0, 0}));
    }
    add(group, "coreference_baseline_heldout", {"rule", "mention"},
        Array({4, 2}, {0, 0.45, 0, 0.4, 0, 0.4, 0, 0.4}));
    return lines(described(classification_presentation(), group))["Coreference"];
  };
  EXPECT_EQ(coreference_line(0),
            "In finding what a pronoun refers to, no head is shown to beat the best simple rule by "
            "at least 10 points. L0H0 is best: right on 50 % of the held-out pronouns, where the "
            "nearest mention is right on 45 %.");
  EXPECT_THAT(coreference_line(1), HasSubstr("1 head is shown to beat"));
  EXPECT_THAT(coreference_line(2), HasSubstr("2 heads are shown to beat"));
}

TEST(RelationTexts, AreOfHeadsThatBeatTheOffsetAlone) {
  ResultsGroup group;
  group.name = "classification";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 3));
  group.add_dimension(Dimension::labels("relation", {"obj"}));
  group.add_dimension(Dimension::labels("direction", {"dependent_to_head", "head_to_dependent"}));
  const auto add_tests = [&](const char* name, std::vector<double> values) {
    add(group, name, {"relation", "direction"}, Array({1, 2}, std::move(values)));
  };
  const auto add_heads = [&](const char* name, std::vector<double> values) {
    add(group, name, {"relation", "direction", "layer", "head"},
        Array({1, 2, 1, 3}, std::move(values)));
  };
  add_tests("relation_baseline_heldout_offset", {0.37, 0.5});
  add_tests("relation_baseline_heldout_word_class", {0.96, 0.4});
  add_tests("relation_count_heldout", {606, 606});
  add_tests("relation_offset", {1, 2});
  group.add({"relation_class", "relation direction", "1", "x"},
            std::vector<std::string>{"VERB", "NOUN"});
  // L0H0 beats the offset alone, L0H1 both rules on the other direction, L0H2 neither.
  add_heads("relation_accuracy_heldout", {0.9, 0.9, 0.1, 0.1, 0.8, 0.1});
  add_heads("relation_passed_offset", {1, 1, 0, 0, 1, 0});
  add_heads("relation_passed", {0, 0, 0, 0, 1, 0});
  EXPECT_THAT(
      relation_texts(group),
      testing::ElementsAre(
          "Not syntactic: it beats the fixed offset but is not shown to beat the nearest of "
          "earlier verbs. "
          "On obj → head it attends most to the right word in 90 % of 606 held-out arcs; "
          "the word 1 before is right in 37 %, the nearest of earlier verbs in 96 %.",
          "", ""));
}

}  // namespace
}  // namespace headscope
