#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "classification/classification.hpp"
#include "classification/types.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "support/message_of.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

std::string data_file(const std::string& name) {
  return HEADSCOPE_PROJECT_DIR "/data/" + name;
}

constexpr std::uint64_t n_document = 12;

/// The model with planted heads on the first stories.
class PlantedModel : public ::testing::Test {
 protected:
  PlantedModel()
      : model_(load_model(data_file("planted-model.h5"))),
        tokenizer_(*model_.tokenizer_vocab, *model_.tokenizer_merges, "planted-model.h5"),
        corpus_({data_file("stories.conllu")}, &tokenizer_, options()) {
    settings_.n_bootstrap = 50;
  }

  static CorpusOptions options() {
    CorpusOptions options;
    options.max_tokens = 256;
    options.max_documents = n_document;
    return options;
  }

  std::unique_ptr<Analysis> make() const {
    return classification_analysis().make({model_, &corpus_, settings_});
  }

  /// Shows one pass of the documents that `wanted` accepts.
  void show(Analysis& analysis, int pass, Statistics& statistics,
            const std::function<bool(std::uint64_t)>& wanted) const {
    Forward forward(model_);
    analysis.begin_pass(pass, statistics);
    LayerObserver* const observers[] = {&analysis};
    for (std::uint64_t index = 0; index < corpus_.n_document(); ++index) {
      if (!wanted(index)) continue;
      const Document document = corpus_.document(index);
      if (!analysis.begin_document(document, statistics)) continue;
      forward.run(document.tokens, observers);
    }
  }

  Statistics observe_all() const {
    const auto analysis = make();
    Statistics statistics;
    for (int pass = 0; pass < classification_analysis().info.n_pass; ++pass) {
      show(*analysis, pass, statistics, [](std::uint64_t) { return true; });
    }
    return statistics;
  }

  Model model_;
  Tokenizer tokenizer_;
  Corpus corpus_;
  AnalysisSettings settings_;
};

TEST_F(PlantedModel, EveryPlantedHeadIsRecovered) {
  const std::map<std::string, std::string> type_of_role{
      {"previous_token", "positional"}, {"self", "positional"}, {"punctuation", "delimiter"},
      {"induction", "induction"},       {"sink", "sink"},       {"random", "none"}};
  const auto planted = nlohmann::json::parse(std::get<std::string>(
      *hdf5::InputFile(data_file("planted-model.h5")).attribute("", "planted_heads")));
  const ResultsGroup group = make()->finish(observe_all()).front();
  const Variable& primary = group.variable("primary");
  for (const auto& [name, role] : planted.items()) {
    const HeadIndex head = HeadIndex::parse(name);
    const auto found = static_cast<std::size_t>(primary.values(head.layer, head.head));
    EXPECT_EQ(primary.flag_meanings[found], type_of_role.at(role.get<std::string>())) << name;
  }
  const auto score = [&](const char* variable, Index layer, Index head) {
    return group.variable(variable).values(layer, head);
  };
  EXPECT_GT(score("previous_token", 0, 0), 0.9);
  EXPECT_GT(score("induction", 1, 0), 0.9);
  EXPECT_GT(score("delimiter", 0, 2), 0.9);
  EXPECT_GT(score("sink", 1, 1), 0.9);
}

TEST_F(PlantedModel, StatisticsOfTwoHalvesMergeToTheWhole) {
  const auto in_first_half = [](std::uint64_t index) { return index < n_document / 2; };
  const auto in_second_half = [](std::uint64_t index) { return index >= n_document / 2; };
  Statistics counted;
  Statistics counted_second;
  show(*make(), 0, counted, in_first_half);
  show(*make(), 0, counted_second, in_second_half);
  counted.merge(counted_second);

  const auto observe_half = [&](const std::function<bool(std::uint64_t)>& wanted) {
    Statistics half = counted;
    show(*make(), 1, half, wanted);
    return half;
  };
  Statistics merged = observe_half(in_first_half);
  merged.merge(observe_half(in_second_half));

  const ResultsGroup whole = make()->finish(observe_all()).front();
  const ResultsGroup halves = make()->finish(merged).front();
  ASSERT_EQ(whole.variables.size(), halves.variables.size());
  for (const Variable& expected : whole.variables) {
    const Variable& got = halves.variable(expected.name);
    ASSERT_EQ(expected.values.shape, got.values.shape) << expected.name;
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      const double a = expected.values.values[i];
      const double b = got.values.values[i];
      if (std::isnan(a) && std::isnan(b)) continue;
      ASSERT_NEAR(a, b, 1e-9 * std::max(1.0, std::abs(a))) << expected.name << " " << i;
    }
  }
}

TEST_F(PlantedModel, TokensOutsideTheVocabularyAreRefused) {
  Document document = corpus_.document(0);
  document.tokens[3] = 2560;
  const auto analysis = make();
  Statistics statistics;
  analysis->begin_pass(0, statistics);
  EXPECT_EQ(
      testing::message_of<ShapeError>([&] { analysis->begin_document(document, statistics); }),
      "token ids of document " + document.id + ": expected below 2560, got 2560");
}

/// Runs the program with all patterns kept, then recomputes every score from them in NumPy.
void check_against_numpy(const std::string& model, const std::string& corpus,
                         const std::string& max_documents) {
  const testing::TemporaryDirectory folder;
  const testing::Finished run = testing::run_headscope(
      {"run", "--model", model, "--corpus", corpus, "--max-documents", max_documents, "--analyses",
       "classification,attention", "--patterns", "1000", "--pattern-tokens", "0", "--bootstrap",
       "10", "--quiet", "--output", folder.path()});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const testing::Finished check = testing::run_program(
      {"/usr/bin/python3", HEADSCOPE_PROJECT_DIR "/tests/reference/classification_check.py",
       folder.file("results.h5"), model, corpus});
  EXPECT_EQ(check.exit_status, 0) << check.out << check.err;
}

TEST(ClassificationAgainstNumPy, AgreesOnStories) {
  check_against_numpy(data_file("planted-model.h5"), data_file("stories.conllu"), "6");
}

TEST(ClassificationAgainstNumPy, AgreesOnHardAnnotation) {
  check_against_numpy(data_file("planted-model.h5"), HEADSCOPE_TEST_DATA "/classification.conllu",
                      "0");
}

}  // namespace
}  // namespace headscope
