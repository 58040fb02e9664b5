#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "classification/classification.hpp"
#include "classification/results.hpp"
#include "classification/types/registry.hpp"
#include "figures/figure_colours.hpp"
#include "headscope/figure.hpp"
#include "headscope/model.hpp"
#include "report/report_heads.hpp"
#include "score_model/features.hpp"
#include "support/passes.hpp"
#include "support/planted.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// A type that CONTRIBUTING's section "Adding a head type" could have led to.
HeadType toy_type() {
  return {
      .name = "toy_type",
      .rule = "previous_token >= 0.75",
      .sentence = "It does what toys do.",
      .scores =
          [](const Measured& measured) {
            return share_scores(measured, HeadScore::previous_token, 0.75);
          },
      .untested = [](const Measured&,
                     bool is_scored) { return is_scored ? "" : "there is no previous token"; },
      .place = [](const ResultsGroup&, Index) { return token_before(1); },
      .examples = {.cases =
                       [](const ExampleSource& source) {
                         return token_cases(
                             source, [](Index query) { return std::vector<Index>{query - 1}; });
                       }},
      .features = [](const ResultsGroup&, Index) { return std::vector<std::string>{"offset_1"}; },
  };
}

/// What the other analyses of a run hear of heads.
class Listener : public CorpusAnalysis {
 public:
  explicit Listener(std::vector<HeadTexts>& heard) : heard_(heard) {}
  void use_head_texts(const HeadTexts& told) override { heard_.push_back(told); }
  std::unique_ptr<PieceObserver> begin_piece(const Piece&, DocumentStatistics&) override {
    return nullptr;
  }
  std::vector<ResultsGroup> finish(const Statistics&) const override { return {}; }

 private:
  std::vector<HeadTexts>& heard_;
};

/// The planted model on some stories, with a type more than the program has.
class NewType : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const test::PlantedStories planted(24);
    AnalysisSettings settings;
    settings.n_bootstrap = 50;
    HeadTypeList types = head_type_list();
    types.push_back(toy_type());
    const RegisteredAnalysis analysis = classification_analysis(types);
    results_.groups =
        test::Passes(analysis, {planted.model, &planted.corpus, settings}).results_of_all();
  }

  const ResultsGroup& group() const { return results_.group("classification"); }
  /// Where the type stands, and the place of its previous-token head.
  std::size_t toy() const { return head_type_list().size(); }

  static Results results_;
};
Results NewType::results_;

TEST_F(NewType, HasItsFlagItsWordsAndItsShare) {
  EXPECT_EQ(group().labels("head_type").back(), "toy_type");
  EXPECT_EQ(group().values("type")(toy(), 0, 0), 1) << "L0H0 is planted as a previous-token head";
  EXPECT_EQ(group().values("type")(toy(), 0, 1), 0);
  EXPECT_EQ(group().variable("type_rule").text[toy()], "previous_token >= 0.75");
  EXPECT_EQ(group().variable("type_sentence").text[toy()], "It does what toys do.");
  EXPECT_GT(group().values("type_share")(toy()), 0);
  EXPECT_THAT(group().variable("primary").flag_meanings, Contains("toy_type"));
  EXPECT_THAT(group().summary, HasSubstr("1 toy type (L0H0)"));
}

TEST_F(NewType, IsExplainedByItsPlace) {
  EXPECT_GT(group().values("explained_place_mass")(toy(), 0, 0), 0.99);
  const std::size_t n_head_total = group().values("primary").size();
  EXPECT_NE(group().variable("explained_text").text[toy() * n_head_total], "");
}

TEST_F(NewType, HasExamplesOfWhatItsHeadsDo) {
  const ResultsGroup& examples = results_.group("classification/examples");
  const std::vector<std::string>& types = examples.variable("type").text;
  ASSERT_EQ(std::ranges::count(types, "toy_type"), 3) << "L0H0 finds the token before everywhere";
  const auto first = static_cast<std::size_t>(std::ranges::find(types, "toy_type") - types.begin());
  EXPECT_EQ(examples.values("found").values[first], 1);
  EXPECT_LT(examples.values("target_start").values[first],
            examples.values("query_start").values[first]);
}

TEST_F(NewType, StandsInThePanelWithItsSentence) {
  const auto data =
      nlohmann::json::parse(head_data_json(results_, {classification_presentation()}));
  EXPECT_EQ(data["types"]["names"].back(), "toy_type");
  EXPECT_EQ(data["reasons"]["sentences"].back(), "It does what toys do.");
  const auto& held = data["reasons"]["heads"][0]["toy_type"];
  EXPECT_DOUBLE_EQ(held["threshold"].get<double>(), 0.75);
  EXPECT_GT(held["score"].get<double>(), 0.99);
  EXPECT_EQ(held["notes"].size(), 1u) << "what its place explains";
}

TEST_F(NewType, IsDrawn) {
  const std::vector<Figure> figures = classification_figures(results_);
  const auto map = std::ranges::find(figures, "head_types", &Figure::name);
  EXPECT_THAT(std::get<Heatmap>(map->content).categories, Contains("toy type"));
  const auto counts = std::ranges::find(figures, "voita2019_head_types", &Figure::name);
  std::vector<std::string> drawn;
  for (const Series& series : std::get<Chart>(counts->content).panels[0].series) {
    drawn.push_back(series.label);
  }
  EXPECT_THAT(drawn, Contains("toy type"));
}

TEST_F(NewType, TheCaptionOfDistancesHasNoMissingNumber) {
  const auto caption = [](const Results& results) {
    const std::vector<Figure> figures = classification_figures(results);
    return std::ranges::find(figures, "vig2019_distance", &Figure::name)->caption;
  };
  EXPECT_THAT(caption(results_), HasSubstr("evenly to all other keys, has "));
  Results near = results_;
  for (Variable& variable : near.group("classification").variables) {
    if (variable.name == "distance_uniform") variable.values.values = {std::nan("")};
  }
  EXPECT_EQ(caption(near), "Attention-weighted mean distance to the key, sink excluded, tokens.");
}

TEST_F(NewType, RemovedHeadsAreEmptyInMaps) {
  Results removed = results_;
  removed.attributes["pruned_heads"] = "L0H1";
  std::size_t n_map = 0;
  for (const Figure& figure : classification_figures(removed)) {
    const bool is_map = figure.name == "vig2019_distance" ||
                        figure.name == "olsson2022_induction" || figure.name == "head_types";
    if (!is_map) continue;
    ++n_map;
    for (const HeatmapPanel& panel : std::get<Heatmap>(figure.content).panels) {
      EXPECT_TRUE(std::isnan(panel.values(0, 1))) << figure.name << panel.title;
      EXPECT_FALSE(std::isnan(panel.values(0, 0))) << figure.name << panel.title;
    }
  }
  EXPECT_EQ(n_map, 3U);
}

TEST(TypeCounts, OfManyLayersAreAMap) {
  const test::PlantedStories planted(2, 64);
  ModelConfig config = test::tiny_config();
  config.n_layer = 13;
  config.d_model = 64;
  config.d_vocab = planted.model.config.d_vocab;
  config.n_ctx = 64;
  Model model = random_model(config, 1);
  for (LayerWeights& layer : model.layers) {  // heads look at their own token
    for (Index i = 0; i < config.d_model; ++i) {
      layer.W_QKV(i, i) = layer.W_QKV(config.d_model + i, i) = 5;
    }
  }
  Results results;
  results.groups =
      test::Passes(classification_analysis(), {model, &planted.corpus, {}}).results_of_all();
  const std::vector<Figure> figures = classification_figures(results);
  const auto counts = std::ranges::find(figures, "voita2019_head_types", &Figure::name);
  ASSERT_NE(counts, figures.end());
  const Heatmap& map = std::get<Heatmap>(counts->content);
  const auto row = std::ranges::find(map.row_labels, "current token") - map.row_labels.begin();
  ASSERT_LT(row, std::ssize(map.row_labels));
  const Array flags = results.group("classification").values("type").part(1);
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    EXPECT_EQ(map.panels[0].values(row, layer), flags(layer, 0) + flags(layer, 1)) << layer;
  }
}

TEST_F(NewType, NamesItsFeaturesForTheScoreModel) {
  const std::size_t n_head_total = group().values("primary").size();
  EXPECT_EQ(group().variable("type_features").text[toy() * n_head_total], "offset_1");
  EXPECT_EQ(group().variable("type_features").text[toy() * n_head_total + 1], "");
}

TEST_F(NewType, AndTheOthersNameFeaturesThatTheScoreModelHas) {
  ResultsGroup chosen = group();
  for (Variable& variable : chosen.variables) {  // heads of no type have a choice too, the first
    std::ranges::replace(variable.values.values, -1.0, 0.0);
  }
  CorpusTraits traits{
      .has_text = true, .has_words = true, .has_dependencies = true, .has_coreference = true};
  for (const std::string& relation : chosen.labels("relation")) {
    for (const ArcDirection direction :
         {ArcDirection::dependent_to_head, ArcDirection::head_to_dependent}) {
      traits.relations.emplace_back(relation, direction);
    }
  }
  const FeatureList features(traits, {});
  HeadTypeList types = head_type_list();
  types.push_back(toy_type());
  for (const HeadType& type : types) {
    if (!type.features) continue;
    for (Index head_index = 0; head_index < chosen.values("primary").size(); ++head_index) {
      for (const std::string& name : type.features(chosen, head_index)) {
        EXPECT_NE(features.place_of(name), no_feature) << type.name << ' ' << name;
      }
    }
  }
}

TEST(HeadTypeList, EveryTypeHasItsWordsAndSaysWhatItCannotTest) {
  for (const HeadType& type : head_type_list()) {
    EXPECT_NE(type.rule, "") << type.name;
    EXPECT_THAT(type.sentence, testing::MatchesRegex("(It|From|On) .*[.]")) << type.name;
    EXPECT_TRUE(type.scores && type.untested) << type.name;
    EXPECT_EQ(type.choices == nullptr, type.add_variables == nullptr) << type.name;
    EXPECT_TRUE(type.choice_text || !type.choices) << type.name;
  }
}

TEST(HeadTypeList, NamesAndColoursDifferAlsoWithAnotherType) {
  std::vector<std::string> names{"none", "another_type"};
  for (const HeadType& type : head_type_list()) {
    EXPECT_THAT(type.name, testing::MatchesRegex("[a-z_]+"));
    names.push_back(type.name);
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  const std::vector<std::string> colours = category_colours(names);
  EXPECT_EQ(std::set<std::string>(colours.begin(), colours.end()).size(), names.size());
}

TEST(HeadFeatures, AreToldToTheOtherAnalysesOnceTypesAreKnown) {
  const test::PlantedStories planted(6);
  AnalysisSettings settings;
  settings.n_bootstrap = 20;
  std::vector<HeadTexts> heard;
  const RegisteredAnalysis classification = classification_analysis();
  RegisteredAnalysis listener;
  listener.info.name = "listener";
  listener.info.passes = {"a", "b", "c", "d"};
  listener.make = [&](const AnalysisContext&) { return std::make_unique<Listener>(heard); };
  const AnalysisContext context{planted.model, &planted.corpus, settings};
  ModelRun run({&classification, &listener}, context);
  for (const Pass& pass :
       plan_passes({.context = context, .analyses = {&classification, &listener}})) {
    run.begin_pass(pass, run);
    for (std::uint64_t document = 0; document < 6; ++document) run.run_piece(pass, document, 0);
  }
  run.share();
  ASSERT_EQ(heard.size(), 5u) << "before each pass and before the results";
  EXPECT_TRUE(heard[0].empty() && heard[1].empty()) << "types are not known yet";
  for (const std::size_t pass : {2, 3, 4}) {
    const std::vector<std::string>& features = heard[pass].at("label_features");
    ASSERT_EQ(features.size(), planted.model.config.n_layer * planted.model.config.n_head);
    EXPECT_THAT(features[0], HasSubstr("offset_1")) << "L0H0 is positional";
  }
}

}  // namespace
}  // namespace headscope
