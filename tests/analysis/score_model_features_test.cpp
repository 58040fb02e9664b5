#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>

#include "headscope/error.hpp"
#include "score_model/collect.hpp"
#include "score_model/sample.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

/// `The cat sat. The cat slept.`, whose second `cat` is its first, as one piece of eight words.
Piece cats() {
  Piece piece;
  piece.id = "cats";
  piece.tokens = {0, 1, 2, 3, 4, 1, 2, 5, 4};
  piece.token_text = {"", "The", " cat", " sat", ".", " The", " cat", " slept", "."};
  piece.has_bos = piece.has_dependencies = piece.has_coreference = true;
  const char* const upos[] = {"DET", "NOUN", "VERB", "PUNCT"};
  const char* const relation[] = {"det", "nsubj", "root", "punct"};
  for (Index i = 0; i < 8; ++i) {
    Word word;
    word.form = piece.token_text[i + 1];
    word.upos = upos[i % 4];
    word.relation = relation[i % 4];
    word.sentence = i / 4;
    if (i % 4 != 2) word.head = 4 * (i / 4) + (i % 4 == 0 ? 1 : 2);
    word.tokens = {i + 1};
    piece.words.push_back(word);
  }
  piece.mentions = {{"e1", "", {0, 1}, 1}, {"e1", "", {4, 5}, 5}};
  return piece;
}

FeatureList features_of(const std::vector<UserFeature>& user = {}) {
  return {{.has_text = true,
           .has_words = true,
           .has_dependencies = true,
           .has_coreference = true,
           .relations = {{"det", ArcDirection::head_to_dependent},
                         {"nsubj", ArcDirection::head_to_dependent},
                         {"punct", ArcDirection::dependent_to_head}}},
          user};
}

/// The keys of a query at which a feature is 1.
std::vector<Index> keys_of(const Piece& piece, const FeatureList& features, Index query,
                           const std::string& name) {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint16_t> marks;
  PieceMarks(piece, features).add_query(query, begin, marks);
  EXPECT_EQ(begin.size(), query);
  std::vector<Index> keys;
  for (Index key = 1; key <= query; ++key) {
    for (std::uint32_t i = key == 1 ? 0 : begin[key - 2]; i < begin[key - 1]; ++i) {
      if (marks[i] == features.place_of(name)) keys.push_back(key);
    }
  }
  return keys;
}

TEST(ScoreFeatures, MarkTheKeysThatTheirDefinitionsName) {
  const Piece piece = cats();
  const FeatureList features = features_of();
  const auto keys = [&](Index query, const char* name) {
    return keys_of(piece, features, query, name);
  };
  EXPECT_THAT(keys(6, "offset_0"), ElementsAre(6));
  EXPECT_THAT(keys(6, "offset_5"), ElementsAre(1));
  EXPECT_THAT(keys(6, "offset_6"), ElementsAre()) << "the sink is at no offset";
  EXPECT_THAT(keys(6, "same_sentence"), ElementsAre(5, 6));
  EXPECT_THAT(keys(6, "same_word"), ElementsAre(6));
  EXPECT_THAT(keys(6, "first_of_sentence"), ElementsAre(1, 5));
  EXPECT_THAT(keys(8, "last_of_sentence"), ElementsAre(4, 8));
  EXPECT_THAT(keys(7, "latest_punctuation"), ElementsAre(4));
  EXPECT_THAT(keys(8, "latest_punctuation"), ElementsAre(8));
  EXPECT_THAT(keys(6, "same_token"), ElementsAre(2));
  EXPECT_THAT(keys(6, "after_copy"), ElementsAre(3));
  EXPECT_THAT(keys(6, "after_copy_latest"), ElementsAre(3));
  EXPECT_THAT(keys(6, "after_copy_2"), ElementsAre(3)) << "The cat, again";
  EXPECT_THAT(keys(5, "after_copy_2"), ElementsAre()) << "before The stands the sink";
  EXPECT_THAT(keys(6, "before_copy"), ElementsAre(1));
  EXPECT_THAT(keys(5, "before_copy"), ElementsAre()) << "that would be the sink";
  EXPECT_THAT(keys(8, "upos_VERB"), ElementsAre(3, 7));
  EXPECT_THAT(keys(8, "capital"), ElementsAre(1, 5));
  EXPECT_THAT(keys(6, "det_to_dependent"), ElementsAre(5));
  EXPECT_THAT(keys(7, "nsubj_to_dependent"), ElementsAre(6));
  EXPECT_THAT(keys(8, "punct_to_head"), ElementsAre(7));
  EXPECT_THAT(keys(8, "sibling"), ElementsAre(6));
  EXPECT_THAT(keys(6, "same_entity"), ElementsAre(1, 2, 5));
  EXPECT_THAT(keys(6, "latest_mention"), ElementsAre(5));
  EXPECT_THAT(keys(7, "same_entity"), ElementsAre());
}

TEST(ScoreFeatures, ThoseWithoutTheirAnnotationAreAbsent) {
  const FeatureList features({.has_text = true}, {});
  EXPECT_FALSE(features.has(FeatureFamily::syntax));
  EXPECT_FALSE(features.has(FeatureFamily::coreference));
  EXPECT_EQ(features.place_of("same_sentence"), no_feature);
  EXPECT_NE(features.place_of("latest_punctuation"), no_feature);
  Piece piece = cats();
  piece.words.clear();
  piece.mentions.clear();
  EXPECT_THAT(keys_of(piece, features, 6, "same_token"), ElementsAre(2));
}

TEST(ScoreFeatures, SurviveBeingKeptAsBytes) {
  const PieceQueries kept(cats(), features_of(), {2, 5, 8});
  const PieceQueries read = PieceQueries::unpacked(kept.packed());
  EXPECT_EQ(read.tokens, kept.tokens);
  EXPECT_EQ(read.queries, kept.queries);
  EXPECT_EQ(read.begin, kept.begin);
  EXPECT_EQ(read.marks, kept.marks);
  for (const std::size_t n_byte : {0, 4, 20}) {
    EXPECT_THROW(PieceQueries::unpacked(kept.packed().substr(0, n_byte)), Error) << n_byte;
  }
}

TEST(ScoreQueries, AreAsManyInEveryDocumentOfAHalfAndAtLeastThoseAskedFor) {
  const auto half = [](std::uint64_t n_document, std::uint64_t n_wanted) {
    const QuerySample::Half used = QuerySample::half(n_document, n_wanted);
    return std::pair(used.n_document, used.n_query);
  };
  EXPECT_EQ(half(20, 4000), std::pair(20UL, 200UL));
  EXPECT_EQ(half(3999, 4000), std::pair(3999UL, 2UL));
  EXPECT_EQ(half(5000, 4000), std::pair(4000UL, 1UL));
  EXPECT_EQ(half(0, 4000), std::pair(0UL, 0UL));
}

TEST(ScoreQueries, AreDrawnWithoutRepeats) {
  const std::set<Index> queries = sampled_queries(48, 20, 1, 7);
  EXPECT_EQ(queries.size(), 20U);
  EXPECT_LT(*queries.rbegin(), 48U);
  EXPECT_EQ(queries, sampled_queries(48, 20, 1, 7));
  EXPECT_NE(queries, sampled_queries(48, 20, 1, 8));
  EXPECT_EQ(sampled_queries(8, 20, 1, 7).size(), 8U) << "all that there are";
  EXPECT_TRUE(sampled_queries(0, 20, 1, 7).empty());
}

TEST(ScoreQueries, OfACutDocumentAreThoseOfTheDocumentFromTheThirdTokenOfEveryPieceOn) {
  constexpr std::uint64_t seed = 4;
  std::vector<Piece> pieces(4);
  std::vector<std::pair<std::uint64_t, Index>> places;
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    pieces[i].index = i;
    pieces[i].n_piece = pieces.size();
    pieces[i].tokens.resize(std::array<std::size_t, 4>{6, 1, 2, 9}[i]);
    for (Index t = 2; t < pieces[i].tokens.size(); ++t) places.emplace_back(i, t);
  }
  QuerySample sample(1, 3, seed);
  Statistics statistics;
  const auto in_all_pieces = [&](const auto& visit) {
    for (const Piece& piece : pieces) {
      DocumentStatistics of_piece(statistics, 0);
      visit(piece, of_piece);
      of_piece.end();
    }
  };
  in_all_pieces(
      [&](const Piece& piece, DocumentStatistics& of_piece) { sample.count(piece, of_piece); });
  statistics.seal();
  sample.use_counts(statistics);
  std::vector<std::pair<std::uint64_t, Index>> found, expected;
  in_all_pieces([&](const Piece& piece, DocumentStatistics& of_piece) {
    for (const Index query : sample.queries_of(piece, of_piece)) {
      found.emplace_back(piece.index, query);
    }
  });
  for (const Index place : sampled_queries(places.size(), 3, seed, 0)) {
    expected.push_back(places[place]);
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found.size(), 3U);
}

class UserFeatures : public testing::Test {
 protected:
  std::vector<UserFeature> read(const std::string& lines) const {
    std::ofstream(path_) << lines;
    return read_user_features(path_);
  }
  std::string refusal(const std::string& lines) const {
    return test::message_of<DataError>([&] { read(lines); });
  }

  test::TemporaryDirectory folder_;
  std::string path_ = folder_.file("features.jsonl");
};

TEST_F(UserFeatures, HoldWhereAllTheirConditionsHold) {
  const FeatureList features = features_of(read(
      R"({"name": "cats", "key": {"form": "^ ?[Cc]at$"}}
{"name": "far verb", "query": {"upos": "VERB"}, "key": {"upos": "VERB"}, "offset": [1, 4]}
{"name": "here", "key": {"relation": "det"}, "same_sentence": true}
{"name": "subject", "relation": "nsubj", "direction": "to_dependent"}
{"name": "stop", "key": {"token": "."}, "earlier_copy": true}
)"));
  const Piece piece = cats();
  EXPECT_THAT(keys_of(piece, features, 7, "user_cats"), ElementsAre(2, 6));
  EXPECT_THAT(keys_of(piece, features, 7, "user_far verb"), ElementsAre(3));
  EXPECT_THAT(keys_of(piece, features, 6, "user_far verb"), ElementsAre());
  EXPECT_THAT(keys_of(piece, features, 7, "user_here"), ElementsAre(5));
  EXPECT_THAT(keys_of(piece, features, 7, "user_subject"), ElementsAre(6));
  EXPECT_THAT(keys_of(piece, features, 8, "user_stop"), ElementsAre(4));
}

TEST_F(UserFeatures, AreRefusedWhereAFormTakesTooManySteps) {
  Piece piece = cats();
  piece.words[1].form = std::string(60, 'a') + "b";
  const FeatureList features =
      features_of(read("\n{\"name\": \"hard\", \"key\": {\"form\": \"^(a|aa|aaa)+$\"}}"));
  EXPECT_EQ(test::message_of<DataError>([&] { keys_of(piece, features, 7, "user_hard"); }),
            path_ +
                ":2: feature \"hard\": expected a regular expression that can be matched with all "
                "words, got \"PCRE2: match limit exceeded\"");
}

TEST_F(UserFeatures, AreRefusedWithLineAndKey) {
  EXPECT_EQ(refusal("\n{\"name\": \"a\", \"kye\": {}}\n"),
            path_ +
                ":2: key \"kye\": expected one of name, query, key, offset, same_sentence, "
                "relation, direction, earlier_copy, got another key");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"key\": {\"form\": \"(\"}}"),
            path_ + ":1: key \"key.form\": expected a regular expression, got \"(\"");
  EXPECT_EQ(
      refusal("{\"name\": \"a\", \"offset\": [3, 1]}"),
      path_ + ":1: key \"offset\": expected [least, most], two whole numbers >= 0, got [3,1]");
  EXPECT_EQ(
      refusal("{\"name\": \"a\", \"relation\": \"det\"}"),
      path_ + ":1: key \"direction\": expected both relation and direction, got relation alone");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"relation\": \"nsubj:pass\", \"direction\": \"to_head\"}"),
            path_ +
                ":1: key \"relation\": expected a relation without subtype, which a corpus is read "
                "without, got \"nsubj:pass\"");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"query\": {\"relation\": \"acl:relcl\"}}"),
            path_ +
                ":1: key \"query.relation\": expected a relation without subtype, which a "
                "corpus is read without, got \"acl:relcl\"");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"key\": {\"upos\": \"noun\"}}"),
            path_ +
                ":1: key \"key.upos\": expected one of ADJ, ADP, ADV, AUX, CCONJ, DET, INTJ, "
                "NOUN, NUM, PART, PRON, PROPN, PUNCT, SCONJ, SYM, VERB, X, got \"noun\"");
  EXPECT_EQ(refusal("{\"name\": \"a\"}"),
            path_ + ":1: key \"name\": expected a condition besides the name, got none");
  EXPECT_EQ(refusal("{\"key\": {\"upos\": \"VERB\"}}"),
            path_ + ":1: key \"name\": expected a text, got none");
  EXPECT_EQ(
      refusal("{\"name\": \"a\", \"earlier_copy\": true}\n{\"name\": \"a\", \"offset\": [1, 1]}"),
      path_ + ":2: key \"name\": expected another name than an earlier feature's, got \"a\"");
  EXPECT_EQ(refusal("[]"), path_ + ":1: expected a JSON object, got other text");
  EXPECT_EQ(refusal("\n"), path_ + ": expected features, a line of JSON each, got none");
  std::string many;
  for (int i = 0; i <= 200; ++i)
    many += "{\"name\": \"f" + std::to_string(i) + "\", \"offset\": [1, 1]}\n";
  EXPECT_EQ(refusal(many), path_ + ":201: expected at most 200 features, got more");
}

}  // namespace
}  // namespace headscope
