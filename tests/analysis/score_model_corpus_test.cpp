#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "files/hdf5_file.hpp"
#include "headscope/model.hpp"
#include "headscope/prune.hpp"
#include "headscope/random.hpp"
#include "headscope/results.hpp"
#include "score_model/effects.hpp"
#include "score_model/score_model.hpp"
#include "score_model/score_results.hpp"
#include "support/passes.hpp"
#include "support/planted.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"

namespace headscope {
namespace {

std::string score_data_file(const std::string& name) {
  return HEADSCOPE_PROJECT_DIR "/data/" + name;
}

/// The model with planted heads on the first stories.
class PlantedScores : public testing::Test {
 protected:
  PlantedScores() {
    settings_.n_bootstrap = 50;
    settings_.options<ScoreModelOptions>() = {.n_query = 600, .n_effect = 4, .features = ""};
  }

  test::Passes make() const { return {analysis_, {planted_.model, &planted_.corpus, settings_}}; }

  /// With the settings of the fixture; made once.
  const ResultsGroup& results_of_all() const {
    static const ResultsGroup results = make().results_of_all().front();
    return results;
  }

  const test::PlantedStories planted_{48};
  AnalysisSettings settings_;
  const RegisteredAnalysis analysis_ = score_model_analysis();
};

TEST_F(PlantedScores, PlantedHeadsAttendByWhatWasPlanted) {
  const ResultsGroup& group = results_of_all();
  const Variable& attends_by = group.variable("attends_by");
  const auto family = [&](Index layer, Index head) {
    return attends_by.flag_meanings.at(static_cast<std::size_t>(attends_by.values(layer, head)));
  };
  EXPECT_EQ(family(0, 0), "position") << "the token before";
  EXPECT_EQ(family(0, 1), "position") << "the query's own place";
  EXPECT_EQ(family(1, 0), "repetition") << "induction";
  const Array& beyond = group.values("deviance_explained_beyond_sink");
  const auto full = static_cast<std::size_t>(*group.dimension("step").place_of("full"));
  EXPECT_GT(beyond(full, Index{0}, Index{0}), 0.99);
  EXPECT_GT(beyond(full, Index{1}, Index{0}), 0.9);
  const auto& names = group.dimension("feature");
  const Array& coefficient = group.values("coefficient");
  EXPECT_GT(coefficient(*names.place_of("offset_1"), Index{0}, Index{0}), 3);
  EXPECT_GT(coefficient(*names.place_of("after_copy"), Index{1}, Index{0}), 1);
  EXPECT_LT(group.scalar("largest_gradient"), 1e-8);
  // A head that does what its model says keeps its effect; another head's model does not.
  const Array& effect = group.values("effect_explained");
  EXPECT_GT(effect(full, Index{0}, Index{0}), 0.95);
  EXPECT_LT(group.values("effect_explained_control")(Index{0}, Index{0}), 0.5);
  EXPECT_EQ(group.scalar("effect_documents"), 4);
  const std::string& said = group.variable("attends_text").text.front();
  EXPECT_THAT(said, testing::StartsWith("Attends by position. The largest terms of its model: +"));
  EXPECT_THAT(said, testing::HasSubstr(" logits to the token before"));
  EXPECT_THAT(said,
              testing::HasSubstr("; the model keeps 99.9 % of the head's effect on the loss"));
}

TEST_F(PlantedScores, HeadsThatPredictRepeatedTokensKeepTheirEffect) {
  std::vector<TokenIds> documents(32);
  for (std::size_t d = 0; d < documents.size(); ++d) {
    const CounterRandom random(11, d);
    for (std::uint64_t i = 0; i < 60; ++i) {
      documents[d].push_back(static_cast<TokenId>(10 + random.below(500, i % 30)));
    }
  }
  const test::TemporaryDirectory folder;
  test::write_token_corpus(folder.file("tokens.h5"), documents);
  const Corpus repeated({folder.file("tokens.h5")}, &planted_.tokenizer, {});
  settings_.options<ScoreModelOptions>() = {.n_query = 400, .n_effect = 4, .features = ""};
  const ResultsGroup group =
      test::Passes(analysis_, {planted_.model, &repeated, settings_}).results_of_all().front();
  const auto full = static_cast<std::size_t>(*group.dimension("step").place_of("full"));
  const Array& effect = group.values("effect_explained");
  EXPECT_GE(effect(full, Index{0}, Index{0}), 0.95) << "the token before";
  EXPECT_GE(effect(full, Index{1}, Index{0}), 0.95) << "induction";
  const Variable& attends_by = group.variable("attends_by");
  const auto family = [&](Index layer, Index head) {
    return attends_by.flag_meanings.at(static_cast<std::size_t>(attends_by.values(layer, head)));
  };
  EXPECT_EQ(family(0, 0), "position");
  EXPECT_EQ(family(1, 0), "repetition");
}

TEST_F(PlantedScores, SurprisesAreQueriesOfOddDocumentsInOrderOfTheirDivergence) {
  const ResultsGroup& group = results_of_all();
  const Array &document = group.values("surprise_document"),
              &query = group.values("surprise_query"), &key = group.values("surprise_key"),
              &divergence = group.values("surprise_divergence"),
              &marks = group.values("surprise_marks");
  const std::vector<std::string>& text = group.variable("surprise_text").text;
  std::size_t n_marked_key = 0;
  for (std::size_t i = 0; i < document.size(); ++i) {
    if (document.values[i] < 0) continue;
    EXPECT_EQ(static_cast<int>(document.values[i]) % 2, 1);
    EXPECT_GE(divergence.values[i], least_uniform);
    if (i % 3 > 0) {
      EXPECT_LE(divergence.values[i], divergence.values[i - 1]);
      EXPECT_NE(document.values[i], document.values[i - 1]);
    }
    const Piece piece = planted_.corpus.piece(static_cast<std::uint64_t>(document.values[i]));
    const auto marked = [&](std::size_t first) {  // the stories are ASCII
      const auto start = static_cast<std::size_t>(marks.values[4 * i + first]);
      return text[i].substr(start,
                            static_cast<std::size_t>(marks.values[4 * i + first + 1]) - start);
    };
    const auto token = [&](double position) {
      const std::string& its = piece.token_text.at(static_cast<std::size_t>(position));
      return its.starts_with(" ") ? its.substr(1) : its;
    };
    EXPECT_EQ(marked(0), token(query.values[i]));
    if (marks.values[4 * i + 2] >= 0) {
      EXPECT_EQ(marked(2), token(key.values[i]));
      ++n_marked_key;
    }
  }
  EXPECT_GE(n_marked_key, 1u);
  const Index of_layer_1 = 3 * planted_.model.config.n_head;
  EXPECT_EQ(document.values[3], -1) << "the model of a head that attends to the query";
  EXPECT_GE(document.values[of_layer_1 + 2], 0) << "an induction head's third";
}

TEST_F(PlantedScores, ManyHeadsAtOnceCostLessOnTheirModelsThanAtTheirMeans) {
  const ResultsGroup& group = results_of_all();
  const Array& loss = group.values("joint_loss");
  ASSERT_EQ(loss.shape, (Shape{2, 5})) << "replacement, share";
  EXPECT_EQ(loss(Index{0}, Index{0}), loss(Index{1}, Index{0})) << "no head is replaced";
  for (Index share = 1; share < 5; ++share) {
    EXPECT_LT(loss(Index{0}, share), loss(Index{1}, share)) << share;
  }
  EXPECT_EQ(group.scalar("joint_documents"), 4);
}

TEST(EffectDocuments, OfManyHeadsAreOddAndNotThoseOfSingleHeads) {
  const EffectDocuments documents(41, 7, 3);
  EXPECT_EQ(documents.single.size(), 7);
  EXPECT_EQ(documents.joint.size(), 7);
  for (const std::uint64_t document : documents.joint) {
    EXPECT_EQ(document % 2, 1);
    EXPECT_FALSE(documents.single.contains(document));
  }
  EXPECT_EQ(EffectDocuments(20, 7, 3).joint.size(), 3) << "those left";
  EXPECT_TRUE(EffectDocuments(20, 16, 3).joint.empty());
}

TEST_F(PlantedScores, WithoutEffectDocumentsNoHeadIsReplaced) {
  settings_.options<ScoreModelOptions>() = {.n_query = 60, .n_effect = 0, .features = ""};
  const ResultsGroup group = make().results_of_all().front();
  EXPECT_FALSE(group.has("effect_explained"));
  EXPECT_FALSE(group.has("joint_loss"));
  EXPECT_TRUE(group.has("family_gain"));
}

TEST_F(PlantedScores, DocumentsCountThoughTheirFirstPieceHasNothingToPredict) {
  const test::TemporaryDirectory folder;
  std::string text;
  for (int d = 0; d < 8; ++d) text += "! Tom saw the cat and the dog.\n\n";
  test::write_file(folder.file("corpus.txt"), text);
  const Corpus corpus({folder.file("corpus.txt")}, &planted_.tokenizer,
                      {.prepend_bos = false, .max_tokens = 6});
  ASSERT_EQ(corpus.piece(0).tokens.size(), 1u);
  settings_.options<ScoreModelOptions>() = {.n_query = 16, .n_effect = 2, .features = ""};
  const ResultsGroup group =
      test::Passes(analysis_, {planted_.model, &corpus, settings_}).results_of_all().front();
  EXPECT_EQ(group.scalar("effect_documents"), 2);
  EXPECT_EQ(group.scalar("joint_documents"), 2);
}

TEST_F(PlantedScores, TheMeanOutputIsThatOfAllTokensHoweverFewQueriesAreSampled) {
  const test::PlantedStories few(24);
  const auto increase = [&](std::uint64_t n_query) {
    settings_.options<ScoreModelOptions>() = {.n_query = n_query, .n_effect = 2, .features = ""};
    const ResultsGroup group =
        test::Passes(analysis_, {few.model, &few.corpus, settings_}).results_of_all().front();
    return group.values("mean_replacement_increase").values;
  };
  EXPECT_EQ(increase(3), increase(48));
}

// Beside the model that has lost L0H1, one whose L0H1 attends as L0H2 and writes nothing.
TEST_F(PlantedScores, TheControlIsTheModelOfTheNextHeadThatIsLeft) {
  const test::PlantedStories few(24);
  settings_.options<ScoreModelOptions>() = {.n_query = 48, .n_effect = 4, .features = ""};
  const auto controls = [&](const Model& model) {
    return test::Passes(analysis_, {model, &few.corpus, settings_})
        .results_of_all()
        .front()
        .values("effect_explained_control");
  };
  const std::vector<HeadIndex> lost{{0, 1}, {1, 1}, {1, 2}, {1, 3}};
  Model removed = few.model, zeroed = few.model;
  prune_heads(removed, lost, PruneMode::remove);
  prune_heads(zeroed, lost, PruneMode::zero);
  const ModelConfig& config = zeroed.config;
  LayerWeights& layer = zeroed.layers[0];
  for (const auto& [from, to] :
       {std::pair(config.q_row(2), config.q_row(1)), std::pair(config.k_row(2), config.k_row(1))}) {
    const Index last = config.d_head() - 1;
    layer.W_QKV.rows(to, to + last) = layer.W_QKV.rows(from, from + last);
    layer.b_QKV.subvec(to, to + last) = layer.b_QKV.subvec(from, from + last);
  }
  const Array of_removed = controls(removed), of_zeroed = controls(zeroed);
  // A share of small differences; coefficients are fitted to gradients of 1e-8.
  EXPECT_NEAR(of_removed(0, 0), of_zeroed(0, 0), 1e-5);
  EXPECT_TRUE(std::isnan(of_removed(1, 0))) << "the only head that is left in its layer";
  EXPECT_FALSE(std::isnan(of_zeroed(1, 0)));
}

TEST_F(PlantedScores, AFeatureThatHoldsNowhereIsNamed) {
  const test::TemporaryDirectory folder;
  test::write_file(folder.file("features.jsonl"),
                   "{\"name\": \"never\", \"key\": {\"form\": \"^Zanzibar$\"}}\n"
                   "{\"name\": \"noun\", \"key\": {\"upos\": \"NOUN\"}}\n");
  settings_.options<ScoreModelOptions>() = {
      .n_query = 60, .n_effect = 1, .features = folder.file("features.jsonl")};
  const ResultsGroup group = make().results_of_all().front();
  const Array& coefficient = group.values("coefficient");
  const auto feature = [&](const char* name) {
    return coefficient.part(*group.dimension("feature").place_of(name)).values;
  };
  EXPECT_THAT(feature("user_never"), testing::Each(0));
  EXPECT_THAT(feature("user_noun"), testing::Contains(testing::Ne(0)));
  Results results;
  results.groups.push_back(group);
  std::string idle;
  for (const Finding& finding : score_presentation().describe(results).findings) {
    if (finding.about == "Features that no fit could use") idle = finding.text;
  }
  EXPECT_THAT(idle, testing::StartsWith("Hold at no sampled query of the even-numbered documents"));
  EXPECT_THAT(idle, testing::HasSubstr("user_never"));
  EXPECT_THAT(idle, testing::Not(testing::HasSubstr("user_noun")));
}

TEST_F(PlantedScores, CutDocumentsHaveAsManyQueriesAsAskedFor) {
  const test::TemporaryDirectory folder;
  std::vector<TokenIds> documents(8);
  for (std::size_t d = 0; d < documents.size(); ++d) {
    for (std::uint64_t i = 0; i < 10; ++i) {
      documents[d].push_back(static_cast<TokenId>(10 + CounterRandom(5, d).below(500, i)));
    }
  }
  test::write_token_corpus(folder.file("tokens.h5"), documents);
  const Corpus corpus({folder.file("tokens.h5")}, &planted_.tokenizer,
                      {.prepend_bos = false, .max_tokens = 8});
  ASSERT_EQ(corpus.piece(0, 1).tokens.size(), 2u) << "no query";
  settings_.options<ScoreModelOptions>() = {.n_query = 8, .n_effect = 0, .features = ""};
  const ResultsGroup group =
      test::Passes(analysis_, {planted_.model, &corpus, settings_}).results_of_all().front();
  EXPECT_EQ(group.scalar("fitted_queries"), 8);
  EXPECT_EQ(group.scalar("judged_queries"), 8);
}

TEST_F(PlantedScores, ALabelWhoseFeaturesTheModelLacksIsNotJudged) {
  settings_.options<ScoreModelOptions>() = {.n_query = 60, .n_effect = 0, .features = ""};
  test::Passes passes = make();
  dynamic_cast<CorpusAnalysis&>(*passes.model().items().front().analysis)
      .use_head_texts(
          {{"label_features",
            {"sink;offset_1", "sink;cc_to_nowhere", "sink;offset_1;cc_to_nowhere", "",
             "sink;cc_to_nowhere latest_punctuation", "sink", "sink;offset_1", "sink"}}});
  const Array explained =
      passes.results_of_all().front().values("deviance_explained").part(std::size_t{1});
  for (const std::size_t head_index : {1, 2, 3}) {
    EXPECT_TRUE(std::isnan(explained.values[head_index])) << head_index;
  }
  for (const std::size_t head_index : {0, 4, 5}) {
    EXPECT_FALSE(std::isnan(explained.values[head_index])) << head_index;
  }
}

TEST_F(PlantedScores, StatisticsOfTwoHalvesMergeToTheWhole) {
  const test::PlantedStories few(24);
  settings_.n_bootstrap = 20;
  settings_.options<ScoreModelOptions>() = {.n_query = 60, .n_effect = 1, .features = ""};
  const AnalysisContext context{few.model, &few.corpus, settings_};
  test::expect_halves_merge(analysis_, context, test::Passes(analysis_, context).results_of_all());
}

TEST_F(PlantedScores, AnUntrainedModelAttendsByNothing) {
  const Model untrained = random_model(planted_.model.config, 3);
  settings_.options<ScoreModelOptions>() = {.n_query = 60, .n_effect = 0, .features = ""};
  const ResultsGroup group =
      test::Passes(analysis_, {untrained, &planted_.corpus, settings_}).results_of_all().front();
  const Array& beyond = group.values("deviance_explained_beyond_sink");
  const Array& attends_by = group.values("attends_by");
  for (std::size_t i = 0; i < attends_by.size(); ++i) EXPECT_EQ(attends_by.values[i], 0) << i;
  for (const double value : beyond.values) EXPECT_TRUE(std::isnan(value)) << value;
}

TEST(ScoreModelProgram, TypesNameTheFeaturesOfTheStepLabel) {
  const test::TemporaryDirectory folder;
  const test::Finished run = test::run_headscope_without_gnuplot({"run",
                                                                  "--model",
                                                                  test::planted_model_file,
                                                                  "--corpus",
                                                                  test::stories_file,
                                                                  "--analyses",
                                                                  "classification,score_model",
                                                                  "--max-documents",
                                                                  "48",
                                                                  "--score-queries",
                                                                  "400",
                                                                  "--score-effect-documents",
                                                                  "0",
                                                                  "--explain-documents",
                                                                  "1",
                                                                  "--bootstrap",
                                                                  "40",
                                                                  "--quiet",
                                                                  "--output",
                                                                  folder.path()});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const Array explained =
      hdf5::InputFile(folder.file("results.h5")).read_reals("score_model/deviance_explained");
  constexpr std::size_t label = 1, position = 2;
  // L0H0 looks at the token before, as its type says; L0H3 is random and has no type.
  EXPECT_GT(explained.values[8 * label], 0.95);
  EXPECT_TRUE(std::isnan(explained.values[8 * label + 3]));
  EXPECT_FALSE(std::isnan(explained.values[8 * position + 3]));
}

/// Runs the program on the first stories, and a script of NumPy on its results.
void expect_agreement(const std::string& model_name, const std::string& n_document,
                      const std::string& n_query, const std::string& n_effect_document,
                      const std::string& script, const std::vector<std::string>& more = {}) {
  const test::TemporaryDirectory folder;
  const std::string model = score_data_file(model_name), corpus = HEADSCOPE_SHORT_STORIES;
  const test::Finished run = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--corpus", corpus, "--analyses", "score_model", "--max-documents",
       n_document, "--score-queries", n_query, "--score-effect-documents", n_effect_document,
       "--bootstrap", "40", "--quiet", "--output", folder.path()});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  std::vector<std::string> words{folder.file("results.h5"), model, corpus, n_document, n_query};
  words.insert(words.end(), more.begin(), more.end());
  test::run_reference(script, words);
}

TEST(ScoreModelReference, LossesWithOneAndManyHeadsReplacedAgree) {
  expect_agreement("planted-model.h5", "16", "200", "3", "score_joint_check.py", {"3"});
}

TEST(ScoreModelReference, CoefficientsAndDeviancesAgreeWithAnotherOptimiser) {
  expect_agreement("default-model.h5", "12", "100", "0", "score_check.py");
}

}  // namespace
}  // namespace headscope
