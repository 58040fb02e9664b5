#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "classification/classification.hpp"
#include "classification/types/types.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/passes.hpp"
#include "support/planted.hpp"
#include "support/shared_data.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

/// The model with planted heads on the first stories.
class PlantedModel : public testing::Test {
 protected:
  PlantedModel() { settings_.n_bootstrap = 50; }

  AnalysisContext context() const { return {planted_.model, &planted_.corpus, settings_}; }
  test::Passes make() const { return {classification_, context()}; }

  /// Made once.
  const std::vector<ResultsGroup>& results_of_all() const {
    static const std::vector<ResultsGroup> results = make().results_of_all();
    return results;
  }

  const test::PlantedStories planted_{12};
  AnalysisSettings settings_;
  const RegisteredAnalysis classification_ = classification_analysis();
};

TEST_F(PlantedModel, EveryPlantedHeadIsRecovered) {
  const std::map<std::string, std::string> type_of_role{
      {"previous_token", "positional"}, {"self", "current_token"}, {"punctuation", "delimiter"},
      {"induction", "induction"},       {"sink", "sink"},          {"random", "none"}};
  const auto planted = nlohmann::json::parse(std::get<std::string>(
      *hdf5::InputFile(test::planted_model_file).attribute("", "planted_heads")));
  const ResultsGroup& group = results_of_all().front();
  const Variable& primary = group.variable("primary");
  for (const auto& [name, role] : planted.items()) {
    const HeadIndex head = HeadIndex::parse(name);
    const auto found = static_cast<std::size_t>(primary.values(head.layer, head.head));
    EXPECT_EQ(primary.flag_meanings[found], type_of_role.at(role.get<std::string>())) << name;
  }
  const auto score = [&](const char* variable, Index layer, Index head) {
    return group.variable(variable).values(layer, head);
  };
  // A planted head leaves less than 0.003 of its attention elsewhere.
  EXPECT_GT(score("previous_token", 0, 0), 0.99);
  EXPECT_GT(score("induction", 1, 0), 0.99);
  EXPECT_GT(score("delimiter", 0, 2), 0.99);
  EXPECT_GT(score("sink", 1, 1), 0.99);
}

TEST_F(PlantedModel, StatisticsOfTwoHalvesMergeToTheWhole) {
  test::expect_halves_merge(classification_, context(), results_of_all());
}

TEST_F(PlantedModel, ExamplesShowTheirHeadsAtWork) {
  const std::vector<ResultsGroup>& groups = results_of_all();
  ASSERT_EQ(groups.size(), 2u);
  const ResultsGroup &group = groups[0], &examples = groups[1];
  const auto number = [&](const char* name, std::size_t i) {
    return examples.variable(name).values.values[i];
  };
  std::map<std::string, std::size_t> n_found;
  for (std::size_t i = 0; i < examples.dimensions.at("example").size(); ++i) {
    const std::string& text = examples.variable("text").text[i];
    const std::string& type = examples.variable("type").text[i];
    const auto marked = [&](const std::string& what) {  // the stories are ASCII
      const auto start = static_cast<std::size_t>(number((what + "_start").c_str(), i));
      return text.substr(start,
                         static_cast<std::size_t>(number((what + "_end").c_str(), i)) - start);
    };
    const auto& names = group.dimensions.at("head_type").text;
    const auto place = static_cast<Index>(std::ranges::find(names, type) - names.begin());
    EXPECT_EQ(group.variable("type").values(place, static_cast<Index>(number("layer", i)),
                                            static_cast<Index>(number("head", i))),
              1)
        << type;
    EXPECT_EQ(static_cast<int>(number("document", i)) % 2, 1);
    const bool found = number("found", i) == 1;
    EXPECT_EQ(found, number("attended_start", i) == number("target_start", i)) << text;
    if (!found) continue;
    ++n_found[type];
    if (type == "delimiter") {
      EXPECT_THAT(marked("target"), testing::MatchesRegex("[[:punct:]]+"));
    }
    if (type == "current_token") {
      EXPECT_EQ(marked("target"), marked("query"));
    }
    if (type == "positional") {
      EXPECT_EQ(examples.variable("about").text[i], "offset 1");
      EXPECT_GE(number("query_start", i), number("target_end", i));
      EXPECT_LE(number("query_start", i), number("target_end", i) + 1);
    }
    if (type == "copying") {
      const auto next = static_cast<std::size_t>(number("query_end", i));
      EXPECT_THAT(text.substr(text.find_first_not_of(' ', next)),
                  testing::StartsWith(marked("target")));
    }
    if (type == "suppressing") {  // the planted one takes out the token that it reads
      EXPECT_EQ(marked("target"), marked("query"));
    }
    if (type == "induction") {
      const auto before = static_cast<std::size_t>(number("target_start", i));
      const std::size_t copy = text.substr(0, before).rfind(marked("query"));
      EXPECT_NE(copy, std::string::npos) << marked("query") << " in " << text;
    }
  }
  for (const char* const type :
       {"delimiter", "current_token", "positional", "induction", "copying", "suppressing"}) {
    EXPECT_GE(n_found[type], 3u) << type;
  }
}

TEST_F(PlantedModel, InductionPatternIsThatOfTheBestHeadOnARepeatedSequence) {
  const ResultsGroup& group = results_of_all().front();
  const auto scalar = [&](const char* name) { return group.variable(name).values.values.front(); };
  EXPECT_EQ(scalar("induction_pattern_layer"), 1);
  EXPECT_EQ(scalar("induction_pattern_head"), 0);
  const std::vector<double>& tokens = group.variable("induction_tokens").values.values;
  const Array& pattern = group.variable("induction_pattern").values;
  const std::size_t n_token = tokens.size(), half = n_token / 2;
  ASSERT_EQ(pattern.shape, (Shape{n_token, n_token}));
  double stripe = 0;
  for (std::size_t query = 0; query < n_token; ++query) {
    double sum = 0;
    for (std::size_t key = 0; key < n_token; ++key) {
      sum += pattern(query, key);
      if (key > query) {
        EXPECT_EQ(pattern(query, key), 0);
      }
    }
    EXPECT_NEAR(sum, 1, 5e-6) << query;  // up to 101 exponentials in float32 and their sum
    if (query <= half) continue;
    EXPECT_EQ(tokens[query], tokens[query - half]);
    stripe += pattern(query, query - half + 1);
  }
  // The score is the mean of several such sequences, in all of which the head finds its place.
  EXPECT_NEAR(stripe / static_cast<double>(half), group.variable("induction").values(1, 0), 1e-5);
}

TEST_F(PlantedModel, EvidenceNamesTheOffset) {
  const ResultsGroup& group = results_of_all().front();
  const std::size_t n_head_total = group.variable("primary").values.size();
  const std::size_t positional = *group.dimension("head_type").place_of("positional");
  EXPECT_EQ(group.variable("type_about").text[positional * n_head_total], "offset 1");
}

TEST_F(PlantedModel, EvidenceAgreesWithTheTypes) {
  const ResultsGroup& group = results_of_all().front();
  const Array& type = group.variable("type").values;
  const Array &score = group.variable("type_score").values,
              &threshold = group.variable("type_threshold").values,
              &margin = group.variable("type_margin").values;
  std::size_t n_type = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (std::isnan(margin.values[i])) continue;  // its test failed
    EXPECT_EQ(type.values[i] == 1, margin.values[i] >= 0) << i;
    if (type.values[i] == 0) continue;
    EXPECT_GE(score.values[i], threshold.values[i]) << i;
    ++n_type;
  }
  EXPECT_GE(n_type, 5u);
}

TEST_F(PlantedModel, TokensOutsideTheVocabularyAreRefused) {
  Piece piece = planted_.corpus.piece(0);
  piece.tokens[3] = 2560;
  test::Passes run = make();
  run.begin(0);
  EXPECT_EQ(test::message_of<ShapeError>([&] { run.observe(piece); }),
            "token ids of document " + piece.id + ": expected below 2560, got 2560");
}

TEST_F(PlantedModel, DependencyAlignmentCountsTheAttentionOfPiecesThatHaveWordsButNoArc) {
  const test::TemporaryDirectory folder;
  const auto alignment_of = [&](const std::string& text) {
    std::ofstream(folder.file("text.conllu")) << text;
    const Corpus corpus({folder.file("text.conllu")}, &planted_.tokenizer, {.max_tokens = 256});
    const ResultsGroup group = test::Passes(classification_, {planted_.model, &corpus, settings_})
                                   .results_of_all()
                                   .front();
    return std::pair(group.variable("dependency_alignment").values(0, 0),
                     group.variable("dependency_alignment_baseline").values.values[0]);
  };
  const auto word = [](const char* number, const char* form, const char* head,
                       const char* relation) {
    return std::string(number) + "\t" + form + "\t_\tNOUN\t_\t_\t" + head + "\t" + relation +
           "\t_\t_\n";
  };
  const std::string joined = "# newdoc\n" + word("1", "ship", "2", "nsubj") +
                             word("2", "rope", "0", "root") + "\n",
                    apart = "# newdoc\n" + word("1", "ship", "0", "root") + "\n" +
                            word("1", "rope", "0", "root") + "\n";
  // Of two words the second attends to the first alone, whatever the head.
  EXPECT_EQ(alignment_of(joined), std::pair(1.0, 1.0));
  EXPECT_EQ(alignment_of(apart), std::pair(0.0, 0.0));
  const auto [of_both, baseline] = alignment_of(joined + apart);
  EXPECT_EQ(baseline, 0.5);
  EXPECT_GT(of_both, 0.3);
  EXPECT_LT(of_both, 0.7);
}

/// Runs the program, saves all patterns, and recomputes every score from them in NumPy.
/// @param n_tested  heads and relations, at least so many of which the script must find tested.
void check_against_numpy(const std::string& model, const std::string& corpus,
                         const std::string& max_documents, const std::string& n_tested) {
  const test::TemporaryDirectory folder;
  const test::Finished run = test::run_headscope_without_gnuplot({"run",
                                                                  "--model",
                                                                  model,
                                                                  "--corpus",
                                                                  corpus,
                                                                  "--max-documents",
                                                                  max_documents,
                                                                  "--analyses",
                                                                  "classification,attention",
                                                                  "--patterns",
                                                                  "1000",
                                                                  "--pattern-tokens",
                                                                  "0",
                                                                  "--bootstrap",
                                                                  "10",
                                                                  "--quiet",
                                                                  "--output",
                                                                  folder.path(),
                                                                  "--explain-documents",
                                                                  "1"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  test::run_reference("classification_check.py",
                      {folder.file("results.h5"), model, corpus, "", n_tested});
}

/// The program on a treebank whose documents are cut into pieces, checked by another script.
class Treebank : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(test::shared_data)) GTEST_SKIP() << "../shared is absent";
  }

  void keep_first_sentences(const std::string& n_sentence) {
    const std::string beginnings = folder_.file("beginnings.conllu");
    const test::Finished written = test::run_program(
        {"/usr/bin/python3", HEADSCOPE_PROJECT_DIR "/tests/support/first_sentences.py", corpus_,
         n_sentence, "0", beginnings});
    ASSERT_EQ(written.exit_status, 0) << written.err;
    corpus_ = beginnings;
  }

  void run(const std::vector<std::string>& options) const {
    std::vector<std::string> words{"run",      "--model", model_,    "--tokenizer", tokenizer_,
                                   "--corpus", corpus_,   "--quiet", "--output",    folder_.path()};
    words.insert(words.end(), options.begin(), options.end());
    const test::Finished run = test::run_headscope_without_gnuplot(words);
    ASSERT_EQ(run.exit_status, 0) << run.err;
  }

  /// @param script  in tests/reference/.
  void check(const std::string& script, const std::vector<std::string>& more) const {
    std::vector<std::string> words{folder_.file("results.h5"), model_, corpus_, tokenizer_};
    words.insert(words.end(), more.begin(), more.end());
    test::run_reference(script, words);
  }

 private:
  const std::string model_ = test::shared_data + "/models/english-mini.h5",
                    tokenizer_ = test::shared_data + "/models/english-mini-tokenizer";
  std::string corpus_ = test::shared_data + "/treebanks/en_gum-ud-dev.conllu";
  const test::TemporaryDirectory folder_;
};

// The first sentences of a document are still more than a context.
TEST_F(Treebank, ScoresOfDocumentsCutIntoPiecesAgreeWithNumPy) {
  keep_first_sentences("25");
  run({"--max-documents", "2", "--analyses", "classification"});
  check("classification_check.py", {});
}

// 30 documents, cut into some 200 pieces: loss, cosines and arcs with intervals and halves.
TEST_F(Treebank, ThoroughUnitsOfInferenceAreItsDocuments) {
  run({"--analyses", "pruning,correlation,classification", "--prune-documents", "1", "--js-queries",
       "0", "--bootstrap", "100"});
  check("units_check.py", {"100"});
}

/// Runs the program on stories and recomputes in NumPy what heads write, or what labels explain.
/// @param what  copying, labels.
/// @return      values of `explained` that are not missing.
std::ptrdiff_t check_effects(const std::string& model, const std::string& corpus,
                             const std::string& max_documents, const std::string& what) {
  const test::TemporaryDirectory folder;
  const test::Finished run = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--corpus", corpus, "--max-documents", max_documents, "--analyses",
       "classification", "--bootstrap", "40", "--quiet", "--output", folder.path()});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  test::run_reference("effects_check.py", {folder.file("results.h5"), model, corpus, "", what});
  const std::vector<double> shares =
      hdf5::InputFile(folder.file("results.h5")).read_reals("classification/explained").values;
  return std::ranges::count_if(shares, [](double share) { return !std::isnan(share); });
}

TEST(ClassificationAgainstNumPy, WhatHeadsWriteAgreesOnStories) {
  check_effects(HEADSCOPE_PROJECT_DIR "/data/default-model.h5", HEADSCOPE_SHORT_STORIES, "6",
                "copying");
}

// Enough documents for intervals, without which no label is measured.
TEST(ClassificationAgainstNumPy, WhatLabelsExplainAgreesOnStories) {
  EXPECT_GE(check_effects(test::planted_model_file, test::stories_file, "20", "labels"), 2);
}

// As many documents as tests of pronouns and of a relation need.
TEST(ClassificationAgainstNumPy, AgreesOnStories) {
  check_against_numpy(test::planted_model_file, HEADSCOPE_SHORT_STORIES, "40", "8");
}

TEST(ClassificationAgainstNumPy, AgreesOnHardAnnotation) {
  check_against_numpy(test::planted_model_file, HEADSCOPE_TEST_DATA "/classification.conllu", "0",
                      "0");
}

}  // namespace
}  // namespace headscope
