#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "base/number_text.hpp"
#include "classification/classification.hpp"
#include "classification/explained/explained.hpp"
#include "classification/types/registry.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "induction.hpp"
#include "scores/tokens.hpp"
#include "support/passes.hpp"
#include "support/planted.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

/// Position 0, then `a . b a b a`, in two words: the first of tokens 1 and 2, the second of token
/// 3, and so on one each.
struct PlaceExample {
  TokenIds tokens{0, 5, 9, 6, 5, 6, 5};
  std::vector<unsigned char> is_punctuation{0, 0, 1, 0, 0, 0, 0};
  std::vector<std::vector<Index>> copies = earlier_copies(tokens);
  std::vector<std::optional<TokenId>> rarest{{}, {}, 9, 9, 9, 9, 9};
  WordStructure words;

  PlaceExample() {
    words.tokens = {{1, 2}, {3}, {4}, {5, 6}};
    const Index noun = word_class_of("NOUN");
    words.word_class = {noun, no_position, noun, no_position};
    words.token_class = {no_position, noun, noun, no_position, noun, no_position, no_position};
    words.arcs = {{1, 0, "det", ArcDirection::dependent_to_head},
                  {3, 0, "obj", ArcDirection::dependent_to_head},
                  {2, 1, "obj", ArcDirection::head_to_dependent}};
    words.references = {{3, {0, 2}, true, true, true}};
  }

  PlaceSource source() const {
    return {.tokens = tokens,
            .is_punctuation = is_punctuation,
            .copies = copies,
            .rarest = rarest,
            .words = words};
  }
  PlaceKeys keys(const Place& place) const { return place.keys(source()); }
};

using Keys = std::vector<Index>;
const Keys no_keys;

TEST(PlaceKeys, AreThePlaceThatTheTypeNames) {
  const PlaceExample of;
  EXPECT_THAT(of.keys(token_before(2)),
              ElementsAre(no_keys, no_keys, no_keys, Keys{1}, Keys{2}, Keys{3}, Keys{4}));
  EXPECT_THAT(of.keys(word_before(2)),
              ElementsAre(no_keys, no_keys, no_keys, no_keys, Keys{1, 2}, Keys{3}, Keys{3}));
  EXPECT_THAT(of.keys(token_before(0)),
              ElementsAre(Keys{0}, Keys{1}, Keys{2}, Keys{3}, Keys{4}, Keys{5}, Keys{6}));
  EXPECT_THAT(of.keys(nearest_punctuation()),
              ElementsAre(no_keys, no_keys, Keys{2}, Keys{2}, Keys{2}, Keys{2}, Keys{2}));
  EXPECT_THAT(of.keys(last_copy()),
              ElementsAre(no_keys, no_keys, no_keys, no_keys, Keys{1}, Keys{3}, Keys{4}));
  EXPECT_THAT(of.keys(after_last_copy()),
              ElementsAre(no_keys, no_keys, no_keys, no_keys, Keys{2}, Keys{4}, Keys{5}));
  const Index noun = word_class_of("NOUN");
  EXPECT_THAT(of.keys(nearest_of_class(noun)),
              ElementsAre(no_keys, Keys{1}, Keys{2}, Keys{2}, Keys{4}, Keys{4}, Keys{4}));
  EXPECT_THAT(of.keys(nearest_word_before(noun)),
              ElementsAre(no_keys, no_keys, no_keys, Keys{1, 2}, Keys{1, 2}, Keys{4}, Keys{4}));
  EXPECT_THAT(of.keys(rarest_token()),
              ElementsAre(no_keys, no_keys, Keys{2}, Keys{2}, Keys{2}, Keys{2}, Keys{2}));
  EXPECT_THAT(of.keys(first_position()),
              ElementsAre(Keys{0}, Keys{0}, Keys{0}, Keys{0}, Keys{0}, Keys{0}, Keys{0}));
  EXPECT_THAT(of.keys(arc_end("obj", ArcDirection::dependent_to_head)),
              ElementsAre(no_keys, no_keys, no_keys, no_keys, no_keys, Keys{1, 2}, Keys{1, 2}));
  EXPECT_THAT(of.keys(arc_end("obj", ArcDirection::head_to_dependent)),
              ElementsAre(no_keys, no_keys, no_keys, no_keys, Keys{3}, no_keys, no_keys));
  EXPECT_THAT(of.keys(nearest_antecedent()),
              ElementsAre(no_keys, no_keys, no_keys, no_keys, no_keys, Keys{4}, Keys{4}));
}

TEST(PlaceKeys, OfInductionLeaveOutACopyRightBeforeTheQuery) {
  PlaceExample of;
  of.tokens = {0, 5, 6, 5, 5, 5, 7};
  of.copies = earlier_copies(of.tokens);
  EXPECT_THAT(of.keys(after_last_copy()),
              ElementsAre(no_keys, no_keys, no_keys, Keys{2}, Keys{2}, Keys{4}, no_keys));
}

TEST(InductionExamples, NeverSeekTheQuery) {
  PlaceExample of;
  of.tokens = {0, 5, 6, 5, 5, 7, 7};
  of.copies = earlier_copies(of.tokens);
  const PlaceSource piece = of.source();
  const TokenSimilarity similarity(of.tokens, Matrix(2, 10, arma::fill::ones), 0, 0, 0);
  const std::vector<ExampleCase> cases = induction_type().examples.cases({piece, similarity});
  ASSERT_EQ(cases.size(), 2u) << "the copy of the last token is right before it";
  EXPECT_EQ(cases[0].query, 3u);
  EXPECT_THAT(cases[0].targets, ElementsAre(2));
  EXPECT_EQ(cases[1].query, 4u);
  EXPECT_THAT(cases[1].targets, ElementsAre(2));
}

/// What the results say of one head.
/// @param n_query  queries of a document for which the label names a place.
ResultsGroup explained_by(Index n_document, const AnalysisSettings& settings, double n_query = 10) {
  const HeadTypeList types{sink_type()};
  Statistics statistics;
  for (std::uint64_t number = 0; number < n_document; ++number) {
    DocumentStatistics document(statistics, number);
    document.sum(explained_document_count, {n_block})(number) = 1;
    document.sum(explained_token_count, {n_block})(number) = 10;
    Array& losses = document.sum(explained_loss_name("sink", 0), {n_block, n_explained_loss});
    losses(number, Index{explained_mean}) = 1 + 0.01 * static_cast<double>(number);
    document.sum(place_sums_name("sink", 0), {n_place_sum})(place_query) = n_query;
    document.end();
  }
  ResultsGroup group;
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 1));
  group.add_dimension(Dimension::labels("head_type", {"sink"}));
  group.add({"type", "head_type layer head", "1", "x"}, Array({1, 1, 1}, 1));
  group.add({"primary", "layer head", "1", "x"}, Array({1, 1}, 1));
  add_explained(types, statistics, settings, group);
  return group;
}

TEST(AddExplained, MeasuresNoLabelWhosePlaceNoQueryHas) {
  const ResultsGroup group = explained_by(20, {}, 0);
  EXPECT_EQ(group.texts("explained_text")[0],
            "not measured: the sampled documents have no such place");
  EXPECT_EQ(group.values("explained_verdict").values[0], not_measured);
  EXPECT_TRUE(std::isnan(group.values("explained").values[0]));
  EXPECT_GT(group.variable("mean_ablation_increase").estimate(0).low, 0);
  EXPECT_EQ(explained_line(group),
            "The run cannot tell whether labels explain effects: no head whose label names a place "
            "in the sampled documents has a measurable effect on the loss.");
}

TEST(AddExplained, SaysWhyThereIsNoInterval) {
  AnalysisSettings unresampled;
  unresampled.n_bootstrap = 0;
  const ResultsGroup few = explained_by(19, {}), enough = explained_by(20, {}),
                     no_resamples = explained_by(20, unresampled);
  EXPECT_EQ(few.texts("explained_text")[0], "not measured: too few documents to tell (19)");
  EXPECT_EQ(explained_line(few),
            "Without intervals the run cannot tell whether labels explain effects: too few "
            "documents to tell (19).");
  EXPECT_EQ(no_resamples.texts("explained_text")[0],
            "not measured: no interval to tell by (--bootstrap is below 20)");
  EXPECT_EQ(enough.values("explained_verdict").values[0], unexplained);
  EXPECT_THAT(explained_line(enough), testing::StartsWith("1 label names a place"));
}

/// The control of the only head of a model, which is of these types alone.
std::string control_of(const HeadTypeList& types, const HeadType& type) {
  ResultsGroup group;
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 1));
  group.add_dimension(Dimension::count("head_type", types.size()));
  group.add({"type", "head_type layer head", "1", "x"}, Array({types.size(), 1, 1}, 1));
  group.add({"primary", "layer head", "1", "x"}, Array({1, 1}, 1));
  return control_place(types, type, group, 0).text;
}

TEST(ControlPlace, IsNotTheLabelsPlaceWhicheverTypeIsNamedByIt) {
  HeadType type;
  type.name = "new_type";
  type.place = of_all_heads(token_before(1));
  EXPECT_EQ(control_of({type}, type), token_before(0).text);
  type.place = of_all_heads(first_position());
  EXPECT_EQ(control_of({type}, type), token_before(1).text);
  EXPECT_EQ(control_of({type, positional_type(), current_token_type()}, type), last_copy().text);
}

TEST(FillPlace, SharesAttentionAmongTheKeysAndElseTakesTheMeanRow) {
  Matrix pattern(4, 4);
  fill_place({no_keys, {0, 1}, no_keys, no_keys}, {3, 1, 0, 0}, 0.5, pattern);
  EXPECT_THAT(std::vector<float>(pattern.begin_col(0), pattern.end_col(0)),
              ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(std::vector<float>(pattern.begin_col(1), pattern.end_col(1)),
              ElementsAre(0.5F, 0.5F, 0, 0));
  EXPECT_THAT(std::vector<float>(pattern.begin_col(2), pattern.end_col(2)),
              ElementsAre(0.5F, 0.125F, 0.375F, 0));
  EXPECT_THAT(std::vector<float>(pattern.begin_col(3), pattern.end_col(3)),
              ElementsAre(0.5F, 0, 0.125F, 0.375F));
}

TEST(FillPlace, WithoutAMeanRowRestsOnPositionZero) {
  Matrix pattern(2, 2);
  fill_place({no_keys, no_keys}, {0, 0}, 0.25, pattern);
  EXPECT_EQ(pattern(0, 1), 1);
  EXPECT_EQ(pattern(1, 1), 0);
}

constexpr Index n_repetition = 24;

/// The planted model on documents of 50 random tokens twice: on stories its induction head does
/// harm, as nothing there repeats as it expects.
class PlantedLabels : public testing::Test {
 protected:
  PlantedLabels()
      : model_(test::planted_model()),
        documents_(induction_sequences(
            model_.config.d_vocab, induction_first_token(model_, nullptr), 50, n_repetition, 9)) {}

  /// Computed once.
  const ResultsGroup& classified() const {
    static const ResultsGroup group = classify();
    return group;
  }
  ResultsGroup classify() const {
    const test::TemporaryDirectory folder;
    test::write_token_corpus(folder.file("tokens.h5"), documents_);
    const Tokenizer tokenizer = test::tokenizer_in(model_);
    CorpusOptions options;
    options.prepend_bos = false;
    options.max_tokens = 256;
    const Corpus corpus({folder.file("tokens.h5")}, &tokenizer, options);
    AnalysisSettings settings;
    settings.n_bootstrap = 100;
    const RegisteredAnalysis analysis = classification_analysis();
    return test::Passes(analysis, {model_, &corpus, settings}).results_of_all().front();
  }

  /// Share of a head's effect that stays with its attention on each place, at the
  /// queries of which its label speaks; at others it looks at position 0.
  std::vector<double> shares_with(HeadIndex head, const Place& label,
                                  const std::vector<Place>& places) const {
    const Index d_model = model_.config.d_model;
    Forward forward(model_);
    Values values(head.layer);
    Vector mean(d_model, arma::fill::zeros);
    LayerObserver* const of_values[] = {&values};
    for (const TokenIds& tokens : documents_) {
      forward.run(tokens, of_values);
      mean += arma::sum(values.z.tail_cols(100), 1) / (100.0F * n_repetition);
    }
    double clean = 0, mean_loss = 0;
    std::vector<double> replaced_loss(places.size(), 0);
    const std::vector<std::optional<TokenId>> no_rarest(101);
    for (const TokenIds& tokens : documents_) {
      HeadAblation ablation(model_);
      forward.run(tokens, {&ablation, &values});
      const PlaceSource source{.tokens = tokens,
                               .is_punctuation = {},
                               .copies = earlier_copies(tokens),
                               .rarest = no_rarest,
                               .words = {}};
      const PlaceKeys of_label = label.keys(source);
      std::vector<Matrix> z;
      for (const Place& place : places) {
        PlaceKeys keys = place.keys(source);
        for (Index q = 0; q < keys.size(); ++q) {
          if (of_label[q].empty()) keys[q].clear();
        }
        Matrix pattern(101, 101);
        fill_place(keys, std::vector<double>(101), 1, pattern);
        z.push_back(values.v * pattern);
      }
      std::vector<HeadVariant> variants{
          {head.layer, {head.head}, {mean.memptr(), d_model, 101, 0}}};
      for (const Matrix& each : z) variants.push_back({head.layer, {head.head}, each});
      const std::vector<TokenLoss> losses = ablation.losses(tokens, variants);
      clean += ablation.clean_loss(tokens).sum();
      mean_loss += losses[0].sum();
      for (std::size_t i = 0; i < z.size(); ++i) replaced_loss[i] += losses[1 + i].sum();
    }
    for (double& loss : replaced_loss) loss = 1 - (loss - clean) / (mean_loss - clean);
    return replaced_loss;
  }

  /// What one layer attends to and mixes.
  struct Values : LayerObserver {
    explicit Values(Index of_layer) : layer(of_layer) {}
    void observe_layer(const LayerView& view) override {
      if (view.layer != layer) return;
      v = view.qkv.tail_rows(view.z.n_rows);
      z = view.z;
    }
    Index layer;
    Matrix v, z;
  };

  Model model_;
  std::vector<TokenIds> documents_;
};

TEST_F(PlantedLabels, ExplainWhatTheirHeadsDo) {
  const ResultsGroup group = classified();
  const auto value = [&](const char* name, const std::string& type, Index layer, Index head) {
    return group.variable(name).values(*group.dimension("head_type").place_of(type), layer, head);
  };
  for (const auto& [type, layer, head] :
       {std::tuple{"positional", 0, 0}, {"induction", 1, 0}, {"current_token", 1, 2}}) {
    // A planted head leaves less than 0.002 of its attention elsewhere.
    EXPECT_NEAR(value("explained", type, layer, head), 1, 0.001) << type;
    EXPECT_NEAR(value("explained_where_said", type, layer, head), 1, 0.001) << type;
    EXPECT_GE(value("explained_place_mass", type, layer, head), 0.99) << type;
    EXPECT_EQ(value("explained_verdict", type, layer, head), 2) << type;
    // The last copy, and the token before or at the query, are other places at nearly all queries.
    EXPECT_LE(value("explained_control_overlap", type, layer, head), 0.05) << type;
  }
  // Another place explains no more than the mean attention does, but for chance.
  EXPECT_LE(value("explained_control", "positional", 0, 0), 0.1);
  EXPECT_LE(value("explained_control", "induction", 1, 0), 0.1);
  EXPECT_LE(value("explained_control", "current_token", 1, 2), 0.1);
  const Array& increase = group.variable("mean_ablation_increase").values;
  EXPECT_GT(increase(1, 0), 3) << "nats: half of the tokens follow from the induction head alone";
  EXPECT_EQ(group.variable("explained_documents").values.values[0], n_repetition);
}

TEST_F(PlantedLabels, TextsNameThoseWhoseControlIsMostlyTheirPlace) {
  ResultsGroup group = classified();
  const auto caption = [&] { return labels_explained_figure(group)->caption; };
  const auto is_overlap = [](const Variable& variable) {
    return variable.name == "explained_control_overlap";
  };
  const auto same_place = testing::HasSubstr("the control is the same place");
  EXPECT_THAT(caption(), testing::Not(same_place));
  EXPECT_THAT(explained_line(group), testing::EndsWith("another type's place: 0."));
  const std::size_t induction = *group.dimension("head_type").place_of("induction");
  for (Variable& variable : group.variables) {
    if (is_overlap(variable)) variable.values(induction, Index{1}, Index{0}) = 0.7;
    if (variable.name == "explained_verdict") {
      variable.values(induction, Index{1}, Index{0}) = unexplained;
    }
  }
  EXPECT_THAT(caption(), same_place);
  EXPECT_THAT(caption(), testing::HasSubstr(" apart: L1H0 (" + percent(0.7) + ")."));
  EXPECT_THAT(explained_line(group),
              testing::HasSubstr(" For 1 of the unexplained labels the other type's place is the"));
  std::erase_if(group.variables, is_overlap);  // as in results of version 1.0.0
  EXPECT_THAT(caption(), testing::Not(same_place));
}

TEST_F(PlantedLabels, OtherTypesPlacesExplainNothing) {
  const std::vector<Place> places{token_before(1), token_before(2),   token_before(0),
                                  last_copy(),     after_last_copy(), first_position()};
  const ResultsGroup group = classified();
  const Array& verdicts = group.variable("explained_verdict").values;
  std::set<std::string> heads;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (static_cast<LabelVerdict>(verdicts.values[i]) == not_measured) continue;
    const Index n_head = model_.config.n_head, head_index = i % (model_.config.n_layer * n_head);
    const HeadIndex head = HeadIndex::of(head_index, n_head);
    const HeadType& type = head_type_list()[i / (model_.config.n_layer * n_head)];
    // L0H0 is a rare-token head too on these documents; that place is none of these.
    if (type.name == "rare") continue;
    const Place own = type.place(group, head_index);
    const std::vector<double> shares = shares_with(head, own, places);
    for (std::size_t place = 0; place < places.size(); ++place) {
      if (places[place].text == own.text) {
        EXPECT_GE(shares[place], 0.999) << head.text();
        heads.insert(head.text());
      } else {
        // As above, another place explains no more than the mean attention does, but for chance.
        EXPECT_LE(shares[place], 0.1) << head.text() << " at " << places[place].text;
      }
    }
  }
  // The other planted heads have no label that names a place, or no effect on these documents.
  EXPECT_THAT(heads, ElementsAre("L0H0", "L1H0", "L1H2"));
}

}  // namespace
}  // namespace headscope
