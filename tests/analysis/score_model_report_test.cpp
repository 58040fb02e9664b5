#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "score_model/effects.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;

constexpr double no_effect = std::numeric_limits<double>::quiet_NaN();

/// Results without variables.
ResultsGroup scored_heads(const HeadShape& shape, const std::vector<std::string>& families,
                          const std::vector<std::string>& features) {
  ResultsGroup scores;
  scores.name = "score_model";
  scores.add_dimension(Dimension::count("layer", shape.n_layer));
  scores.add_dimension(Dimension::count("head", shape.n_head));
  scores.add_dimension(
      Dimension::labels("step", {"sink", "label", "position", "lexical", "features", "full"}));
  scores.add_dimension(Dimension::labels("family", families));
  scores.add_dimension(Dimension::labels("feature", features));
  return scores;
}

/// Six heads; L0H2 has no measurable effect, and of the others L0H0 and L1H0 have a label.
ResultsGroup six_heads() {
  ResultsGroup group = scored_heads({2, 3}, {"position", "word_class"},
                                    {"sink", "offset_1", "upos_NOUN", "capital"});
  group.add_dimension(Dimension::labels("replacement", {"score_model", "mean"}));
  group.add_dimension(Dimension::numbers("share", {0, 0.25, 0.5, 0.75, 1}));
  const VariableTable& variables = score_variables();
  const auto add = [&](const char* name, Array values) {
    group.add(variables[name], std::move(values));
  };
  Array explained({6, 2, 3}, 0.3);
  for (std::size_t i = 30; i < 36; ++i) explained.values[i] = 0.6;  // full
  add("deviance_explained_beyond_sink", explained);
  add("attends_by", Array({2, 3}, {1, 1, 0, 4, 1, 3}));
  group.add(variables["family_gain"], std::vector<Estimate>(12, Estimate{0.1, 0, 0.2}));
  add("effect_explained",
      Array({6, 2, 3}, {0.1, 0.1,       no_effect, 0.1,  0.1,       0.1,        // sink
                        0.5, no_effect, no_effect, 0.2,  no_effect, no_effect,  // label
                        0.6, 0.7,       no_effect, 0.1,  0.1,       0.1,        // position
                        0.7, 0.7,       no_effect, 0.1,  0.1,       0.1,        // lexical
                        0.8, 0.8,       no_effect, 0.4,  0.1,       0.1,        // features
                        0.9, 0.9,       no_effect, 0.55, 0.3,       0.2}));     // full
  add("effect_explained_control", Array({2, 3}, 0.1));
  add("mean_replacement_increase", Array({2, 3}, {0.1, 0.2, 0.9, 0.1, 0.04, 0.3}));
  add("joint_loss", Array({2, 5}, {1, 1.25, 1.5, 1.75, 2, 1, 2.5, 3, 3.5, 4}));
  add("joint_documents", Array(Shape{}, 7));
  return group;
}

std::map<std::string, std::string> score_lines(ResultsGroup group,
                                               const std::string& pruned_heads = "") {
  Results results;
  results.attributes["pruned_heads"] = pruned_heads;
  results.groups.push_back(std::move(group));
  std::map<std::string, std::string> said;
  for (const Finding& finding : score_presentation().describe(results).findings) {
    said[finding.about] = finding.text;
  }
  return said;
}

TEST(ScoreModelLines, CountHeadsThatKeepHalfByLabelByPositionAndByTheFullModel) {
  EXPECT_EQ(
      score_lines(six_heads())["Effects explained"],
      "Heads that keep at least half of their effect on the loss, by the estimate, when models "
      "replace their attention in a sample of documents: with all features 3 of 5 heads with a "
      "measurable effect; with position "
      "alone 2; with the features of the label 1 of 2 heads with a label.");
}

TEST(ScoreModelLines, NameHeadsWithLargeEffectsThatFeaturesDoNotKeep) {
  EXPECT_EQ(score_lines(six_heads())["Effects of which features keep less than half"],
            "By the estimate, the model with all features keeps less than half of the effect of 2 "
            "heads: L1H2 (0.3 nats), L1H1 (0.04 nats).");
}

TEST(ScoreModelLines, CountHeadsByFamily) {
  EXPECT_THAT(
      score_lines(six_heads())["What heads attend by"],
      HasSubstr("What 6 heads attend by: position 3; repetition 1; word class or frequency 1; "
                "no measurable family 1."));
}

TEST(ScoreModelLines, NameFourCountsAtMostInTheHeadline) {
  const auto headline = [](const std::vector<double>& families) {
    Results results;
    results.groups.push_back(six_heads());
    std::ranges::find(results.groups[0].variables, "attends_by", &Variable::name)->values.values =
        families;
    return score_presentation().describe(results).headline.attend_by;
  };
  EXPECT_EQ(headline({1, 1, 0, 4, 1, 3}),
            "What 6 heads attend by: position 3; repetition 1; word class or frequency 1; no "
            "measurable family 1.");
  EXPECT_EQ(headline({1, 1, 0, 4, 2, 3}),
            "What 6 heads attend by: position 2; segment 1; repetition 1; remaining 2.");
}

TEST(ScoreModelLines, CountNoHeadsThatTheModelHasLost) {
  EXPECT_THAT(score_lines(six_heads(), "L0H2,L1H0")["What heads attend by"],
              testing::StartsWith("What 4 heads attend by: position 3; repetition 1. "));
  EXPECT_THAT(score_lines(six_heads(), "L0H0,L0H1,L1H0,L1H1,L1H2")["What heads attend by"],
              testing::StartsWith("What 1 head attends by: no measurable family 1. "));
}

/// Two heads that attend by no single family, of two features. L0H0 is explained by either of two
/// families; of L0H1 the run cannot tell whether it needs the second.
ResultsGroup heads_of_two_families() {
  const double some = 0.005, nothing = -0.01;
  ResultsGroup group =
      scored_heads({1, 2}, {"position", "word_class"}, {"sink", "offset_1", "upos_NOUN"});
  const VariableTable& variables = score_variables();
  const auto estimates = [](const std::vector<double>& values, const std::vector<double>& margin) {
    std::vector<Estimate> found;
    for (std::size_t i = 0; i < values.size(); ++i) {
      found.push_back({values[i], values[i] - margin[i], values[i] + margin[i]});
    }
    return found;
  };
  group.add(variables["deviance_explained_beyond_sink"],
            estimates({0, 0, no_effect, no_effect, 0.94, nothing, 0.95, 0.1, 0.98, 0.5, 1, 0.5},
                      std::vector<double>(12, some)));
  group.add(variables["divergence_beyond_sink"], Array({1, 2}, {4, 4}));
  group.add(variables["family_gain"], estimates({some, 0, some, 0.3}, {some, some, some, 0.4}));
  group.add(variables["attends_by"], Array({1, 2}, {0, 0}));
  group.add(variables["coefficient"], Array({3, 1, 2}, {1, 1, 2, 2, 3, 3}));
  group.add(variables["coefficient_pull"], Array({3, 1, 2}, {1, 1, 2, 2, 1, 1}));
  group.add(variables["feature_family"], {"sink", "position", "word_class"});
  return group;
}

TEST(ScoreModelLines, TellHeadsOfSeveralFamiliesFromHeadsOfNoMeasurableFamily) {
  EXPECT_EQ(score_lines(heads_of_two_families())["What heads attend by"],
            "What 2 heads attend by: several families 1; no measurable family 1. A head attends by "
            "the family of features that a model of its attention needs most: without this family "
            "the share of the deviance on held-out documents that the model explains falls by more "
            "than 2 points (by the whole interval). A head attends by several families if its "
            "model needs none of them alone: without any one family more than half of what all "
            "features explain stays.");
  EXPECT_THAT(score_lines(heads_of_two_families(), "L0H0")["What heads attend by"],
              testing::StartsWith("What 1 head attends by: no measurable family 1. "));
}

TEST(ScoreModelHeadText, SaysWhatIsExplainedWhereOneFamilyStandsInForAnother) {
  ResultsGroup group = heads_of_two_families();
  add_head_texts(64, group);
  const std::vector<std::string>& texts = group.variable("attends_text").text;
  EXPECT_EQ(texts[0],
            "Attends by several families of features: without any one of them its model still "
            "explains more than half as much. The largest terms of its model: +2 logits to the "
            "token before, +3 to words of class NOUN. All features explain 100 % of its attention "
            "beyond the first token on held-out text (position alone 94 %, all but the two tokens "
            "alone 98 %).");
  EXPECT_THAT(texts[1], testing::StartsWith("Attends by no measurable family of features. "));
  EXPECT_THAT(texts[1], testing::EndsWith("on held-out text."));
}

TEST(ScoreModelHeadText, ListsTheLargestTermOfEachFamilyThatItNamesAndNoTermThatPullsBack) {
  ResultsGroup group = scored_heads({1, 1}, {"position", "repetition"},
                                    {"sink", "offset_1", "offset_2", "offset_3", "offset_4",
                                     "offset_5", "distance", "same_token", "after_copy"});
  const VariableTable& variables = score_variables();
  group.add(variables["feature_family"], {"sink", "position", "position", "position", "position",
                                          "position", "position", "repetition", "repetition"});
  group.add(variables["deviance_explained_beyond_sink"],
            std::vector<Estimate>(6, {0.9, 0.8, 0.95}));
  group.add(variables["divergence_beyond_sink"], Array({1, 1}, {4}));
  group.add(variables["family_gain"], std::vector<Estimate>{{0, -0.1, 0.1}, {0.5, 0.4, 0.6}});
  group.add(variables["attends_by"], Array({1, 1}, {0}));
  group.add(variables["coefficient"], Array({9, 1, 1}, {1, 11, 12, 13, 14, 15, 16, 17, 18}));
  group.add(variables["coefficient_pull"],
            Array({9, 1, 1}, {1, 0.9, 0.8, 0.7, 0.6, 0.5, -2, -0.1, 0.001}));
  add_head_texts(64, group);
  EXPECT_THAT(group.variable("attends_text").text[0],
              testing::StartsWith(
                  "Attends by repetition. The largest terms of its model: +11 logits to the token "
                  "before, +12 to the token 2 before, +13 to the token 3 before, +18 to tokens "
                  "after an earlier copy. All features explain 90 %"));
}

TEST(ScoreModelLines, SayThatTheModelHasNoHeadLeft) {
  ResultsGroup group = six_heads();
  for (Variable& variable : group.variables) {
    if (variable.name == "deviance_explained_beyond_sink") variable.values.values.assign(36, NAN);
  }
  EXPECT_THAT(score_lines(group)["What heads attend by"], testing::StartsWith("No head's"));
  EXPECT_EQ(score_lines(group, "L0H0,L0H1,L0H2,L1H0,L1H1,L1H2"),
            (std::map<std::string, std::string>{
                {"What heads attend by", "The model has no head left."}}));
}

TEST(ScoreModelLines, NameFamiliesInWords) {
  const ResultsGroup group = six_heads();
  EXPECT_EQ(family_words(group, "word_class"), "word class or frequency");
  EXPECT_EQ(family_words(group, "lexical"), "the two tokens alone");
  EXPECT_EQ(family_words(group, "user"), "your features");
}

TEST(ScoreModelLines, NameTheFamilyOfWordClassByTheFeatureThatLeadsIt) {
  const std::vector<std::string> features{"sink", "upos_DET", "capital", "log_frequency"};
  ResultsGroup group = scored_heads({1, 4}, {"word_class"}, features);
  const VariableTable& variables = score_variables();
  group.add(variables["feature_family"], {"sink", "word_class", "word_class", "word_class"});
  group.add(variables["deviance_explained_beyond_sink"],
            std::vector<Estimate>(24, {0.9, 0.8, 0.95}));
  group.add(variables["divergence_beyond_sink"], Array({1, 4}, 4));
  group.add(variables["family_gain"], std::vector<Estimate>(4, {0.5, 0.4, 0.6}));
  group.add(variables["attends_by"], Array({1, 4}, 4));
  // The sign of the coefficient, of rare or of frequent tokens, makes no difference.
  group.add(variables["coefficient"], Array({4, 1, 4}, -1));
  group.add(variables["coefficient_pull"], Array({4, 1, 4}, {9, 9, 9, 9,    //
                                                             2, 0.1, 0, 1,  //
                                                             1, 0.2, 3, 1,  //
                                                             1, 0.3, 0, 2}));
  add_head_texts(64, group);
  const std::vector<std::string> words{"word class", "frequency of the key's token",
                                       "capital of the key's token",
                                       "frequency of the key's token"};
  for (std::size_t head = 0; head < words.size(); ++head) {
    EXPECT_THAT(group.variable("attends_text").text[head],
                testing::StartsWith("Attends by " + words[head] + ". "));
  }
  EXPECT_THAT(score_lines(group)["What heads attend by"],
              testing::StartsWith("What 4 heads attend by: frequency of the key's token 2; capital "
                                  "of the key's token 1; word class 1. "));
}

/// The group with these features instead.
ResultsGroup with_features(ResultsGroup group, const std::vector<std::string>& features) {
  group.dimensions.at("feature").text = features;
  return group;
}

TEST(ScoreModelLines, NameNoWordClassWithoutPartsOfSpeech) {
  const ResultsGroup text = with_features(six_heads(), {"sink", "offset_1", "capital", "lexical"}),
                     ids =
                         with_features(six_heads(), {"sink", "offset_1", "same_token", "lexical"});
  EXPECT_EQ(family_words(ids, "word_class"), "token frequency");
  EXPECT_THAT(score_lines(text)["What heads attend by"],
              HasSubstr("repetition 1; capitals and frequency 1; no measurable family 1."));
}

TEST(ScoreModelFigures, SetNoWordClassAgainstPositionWithoutPartsOfSpeech) {
  const auto drawn = [](ResultsGroup group) {
    Results results;
    results.groups.push_back(std::move(group));
    return score_figures(results);
  };
  const auto legend = [](const Figure& families) {
    std::vector<std::string> labels;
    for (const Series& series : std::get<Chart>(families.content).panels.front().series) {
      labels.push_back(series.label);
    }
    return labels;
  };
  const std::vector<Figure> annotated = drawn(six_heads()),
                            plain = drawn(with_features(
                                six_heads(), {"sink", "offset_1", "same_token", "capital"}));
  EXPECT_EQ(annotated.at(1).name, "positional_syntactic");
  EXPECT_NE(plain.at(1).name, "positional_syntactic");
  EXPECT_THAT(legend(annotated.front()), testing::Contains("word class or frequency"));
  EXPECT_THAT(legend(plain.front()), testing::Contains("capitals and frequency"));
}

TEST(ScoreModelFigures, DrawTheHeadsThatMatterMostAndNoneThatIsExplainedByConstruction) {
  const auto families = [](ResultsGroup group) {
    Results results;
    results.groups.push_back(std::move(group));
    return score_figures(results).front();
  };
  const auto heads = [](const Figure& figure) { return std::get<Chart>(figure.content).x_labels; };
  ResultsGroup group = six_heads();
  const std::string left_out = "Heads of layer 0 are left out";
  EXPECT_THAT(heads(families(group)), testing::ElementsAre("L1H2", "L1H0", "L1H1"));
  EXPECT_THAT(families(group).caption,
              testing::AllOf(HasSubstr("the loss rises most"), HasSubstr(left_out)));
  std::erase_if(group.variables, [](const Variable& variable) {
    return variable.name.starts_with("effect") || variable.name == "mean_replacement_increase";
  });
  Variable& explained =
      *std::ranges::find(group.variables, "deviance_explained_beyond_sink", &Variable::name);
  explained.values.values[34] = 0.9;
  EXPECT_THAT(heads(families(group)), testing::ElementsAre("L1H1", "L1H0", "L1H2"));
  EXPECT_THAT(families(group).caption, HasSubstr("that are explained best."));
  for (std::size_t i = 33; i < 36; ++i) explained.values.values[i] = no_effect;
  EXPECT_THAT(heads(families(group)), testing::ElementsAre("L0H0", "L0H1", "L0H2"));
  EXPECT_THAT(families(group).caption, testing::Not(HasSubstr(left_out)));
}

TEST(ScoreModelLines, SayThatWithoutIntervalsTheRunCannotTell) {
  ResultsGroup group = six_heads();
  for (Variable& variable : group.variables) variable.interval.reset();
  EXPECT_THAT(score_lines(group)["What heads attend by"],
              testing::StartsWith("The run cannot tell what 6 heads attend by: no family's gain "
                                  "has an interval. "));
  ResultsGroup two = heads_of_two_families();
  for (Variable& variable : two.variables) variable.interval.reset();
  add_head_texts(64, two);
  EXPECT_THAT(two.variable("attends_text").text[1],
              testing::StartsWith(
                  "Without intervals the run cannot tell what the head attends by. The largest"));
}

TEST(ScoreModelPresentation, OffersNoPlacesOfSurprisesAsScores) {
  for (const char* const name :
       {"surprise_document", "surprise_query", "surprise_key", "surprise_marks"}) {
    EXPECT_TRUE(score_presentation().auxiliary.contains(name)) << name;
  }
  EXPECT_FALSE(score_presentation().auxiliary.contains("surprise_divergence"));
}

TEST(ScoreModelLines, GiveTheLossWithManyHeadsReplaced) {
  EXPECT_EQ(
      score_lines(six_heads())["Many heads at once"],
      "On 7 documents the loss is 1 nats. When models replace the attention of half of the "
      "heads, cheapest first, the loss is 1.5; of all heads, 2. When the mean outputs replace "
      "the outputs of the same heads, the loss is 3 and 4.");
}

TEST(ScoreModelLines, SayNothingOfHalfOfOneHead) {
  EXPECT_EQ(score_lines(six_heads(), "L0H0,L0H1,L1H0,L1H1,L1H2")["Many heads at once"],
            "On 7 documents the loss is 1 nats. When a model replaces the attention of the only "
            "head, the loss is 2; when the mean output replaces the head's output, 4.");
}

TEST(ScoreModelLines, WithoutEffectsSayNothingOfThem) {
  ResultsGroup group = six_heads();
  std::erase_if(group.variables, [](const Variable& variable) {
    return variable.name.starts_with("effect") || variable.name.starts_with("joint");
  });
  const auto said = score_lines(std::move(group));
  EXPECT_FALSE(said.contains("Effects explained"));
  EXPECT_FALSE(said.contains("Many heads at once"));
}

/// What the results have of one head's surprise in one document.
ResultsGroup with_surprise(double query, double key, const std::vector<std::string>& tokens,
                           double divergence = 0.5) {
  Statistics statistics;
  DocumentStatistics document(statistics, 1);
  document.record(score_surprise_name, {1, 1, 3}).values = {query, key, divergence};
  document.texts(score_text_name) = tokens;
  document.row(score_effect_row, {1});
  document.end();
  ResultsGroup group;
  group.name = "score_model";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 1));
  add_surprises(statistics, group);
  return group;
}

// `й` is split over two tokens, as byte-level vocabularies split rare characters.
TEST(Surprises, KeepCharactersThatTokensShare) {
  const ResultsGroup group = with_surprise(4, 2, {"<|endoftext|>", " чу", "ж\xD0", "\xB9", " кот"});
  EXPECT_EQ(group.variable("surprise_text").text.at(0), "чужй кот");
  const std::vector<double>& marks = group.values("surprise_marks").values;
  EXPECT_EQ(std::vector(marks.begin(), marks.begin() + 4), (std::vector<double>{5, 8, 2, 4}))
      << "кот, and жй though its token has half of й";
}

TEST(Surprises, LeaveOutWhatTheModelExpects) {
  const std::vector<std::string> tokens{"<|endoftext|>", " a", " b", " c"};
  EXPECT_EQ(with_surprise(3, 2, tokens, 0.011).values("surprise_query").values[0], 3);
  const ResultsGroup group = with_surprise(3, 2, tokens, 0.009);
  EXPECT_EQ(group.values("surprise_query").values[0], -1);
  EXPECT_TRUE(std::isnan(group.values("surprise_divergence").values[0]));
  EXPECT_EQ(group.variable("surprise_text").text.at(0), "");
}

TEST(Surprises, TakeCharactersAtBothEndsAsTheyAre) {
  std::vector<std::string> tokens(21, "a");
  tokens[1] = tokens[18] = "\xD0";
  tokens[2] = tokens[19] = "\xB9";
  const ResultsGroup group = with_surprise(14, 3, tokens);
  EXPECT_EQ(group.variable("surprise_text").text.at(0), "й" + std::string(15, 'a') + "йa");
}

}  // namespace
}  // namespace headscope
