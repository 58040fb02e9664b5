#include <gmock/gmock.h>

#include <cmath>

#include "scores/words.hpp"
#include "support/classification_example.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

Word make_word(std::vector<Index> tokens, const std::string& upos, const std::string& relation,
               std::optional<Index> head) {
  Word word;
  word.tokens = std::move(tokens);
  word.upos = upos;
  word.relation = relation;
  word.head = head;
  return word;
}

Mention make_mention(const std::string& entity, Index head_word) {
  Mention mention;
  mention.entity = entity;
  mention.words = {head_word};
  mention.head_word = head_word;
  return mention;
}

/// Four words with tokens 1, 2-3, none and 4. The last word is the root and head of the others.
Piece example_piece() {
  Piece piece;
  piece.tokens = {0, 1, 2, 3, 4};
  piece.has_bos = piece.has_dependencies = piece.has_coreference = true;
  piece.words = {make_word({1}, "NOUN", "obj", 3), make_word({2, 3}, "NOUN", "nsubj", 3),
                 make_word({}, "PUNCT", "punct", 3), make_word({4}, "PRON", "root", {})};
  return piece;
}

TEST(WordStructure, CountsWordsWithoutTokensAndDropsTheirArcs) {
  const WordStructure words = word_structure(example_piece());
  EXPECT_EQ(words.n_unaligned, 1u);
  ASSERT_EQ(words.arcs.size(), 2u);
  EXPECT_EQ(words.arcs[0].later, 3u);
  EXPECT_EQ(words.arcs[0].earlier, 0u);
  EXPECT_EQ(words.arcs[0].relation, "obj");
  EXPECT_EQ(words.arcs[0].direction, ArcDirection::head_to_dependent);
}

TEST(WordStructure, ADependentAfterItsHeadAttendsToTheHead) {
  Piece piece = example_piece();
  piece.words[1].head = 0;
  const WordStructure words = word_structure(piece);
  EXPECT_EQ(words.arcs[1].later, 1u);
  EXPECT_EQ(words.arcs[1].earlier, 0u);
  EXPECT_EQ(words.arcs[1].direction, ArcDirection::dependent_to_head);
}

TEST(WordStructure, AnArcIsFoundByTheNearestWordOfItsClassAlone) {
  Piece piece = example_piece();
  WordStructure words = word_structure(piece);
  EXPECT_EQ(words.arcs[0].nearest_class, no_position) << "another noun lies between";
  EXPECT_EQ(words.arcs[1].nearest_class, word_class_of("NOUN"));
  piece.words[1].upos = "VERB";
  words = word_structure(piece);
  EXPECT_EQ(words.arcs[0].nearest_class, word_class_of("NOUN"));
  EXPECT_EQ(words.arcs[1].nearest_class, word_class_of("VERB"));
  EXPECT_THAT(words.token_class,
              ElementsAre(no_position, word_class_of("NOUN"), word_class_of("VERB"),
                          word_class_of("VERB"), word_class_of("PRON")));
  EXPECT_EQ(word_class_of("PUNCT"), no_position);
}

TEST(WordClassShares, AreOfTheAttentionBeyondTheSink) {
  // Queries 2 and 3 put 0.5 and 0.25 on the sink.
  Matrix pattern(4, 4, arma::fill::zeros);
  pattern.col(2) = arma::fvec{0.5F, 0.25F, 0.25F, 0};
  pattern.col(3) = arma::fvec{0.25F, 0.5F, 0, 0.25F};
  const Index noun = word_class_of("NOUN"), verb = word_class_of("VERB");
  const auto shares = word_class_shares(pattern, {no_position, noun, verb, no_position});
  EXPECT_DOUBLE_EQ(shares[noun].value(), 0.75 / 1.25);
  EXPECT_DOUBLE_EQ(shares[verb].value(), 0.25 / 1.25);
  const auto baselines = word_class_baselines({no_position, noun, verb, no_position});
  EXPECT_DOUBLE_EQ(baselines[noun].value(), 2.0 / 5);
  EXPECT_DOUBLE_EQ(baselines[verb].value(), 2.0 / 5);
}

bool is_right(const CoreferenceQuery& query, CoreferenceRule rule) {
  return query.rule_is_right[static_cast<std::size_t>(rule)];
}

TEST(WordStructure, TheSinkBelongsToNoWord) {
  Piece piece = example_piece();
  piece.has_bos = false;
  piece.words[0].tokens = {0, 1};
  piece.words[2].tokens = {0};
  const WordStructure words = word_structure(piece);
  EXPECT_THAT(words.tokens[0], ElementsAre(1));
  EXPECT_EQ(words.n_unaligned, 1u);
}

TEST(WordStructure, RootAndPunctuationAreNotScored) {
  EXPECT_FALSE(is_scored_relation("root"));
  EXPECT_FALSE(is_scored_relation("punct"));
  EXPECT_FALSE(is_scored_relation(""));
  EXPECT_TRUE(is_scored_relation("nsubj"));
}

TEST(WordAttention, SumsToWordsAndAveragesFromWords) {
  const WordStructure words = word_structure(example_piece());
  arma::mat attention;
  word_attention(example_pattern(), words, attention);
  EXPECT_DOUBLE_EQ(attention(0, 1), (0.25 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(attention(0, 3), 0);
  EXPECT_DOUBLE_EQ(attention(1, 3), 0 + 1);
  EXPECT_DOUBLE_EQ(attention(2, 3), 0);
  EXPECT_THAT(largest_earlier_words(attention, words), ElementsAre(no_position, 0, no_position, 1));
}

TEST(WordAttention, TheNearestWordWinsTiesAndUnalignedWordsNeverWin) {
  const WordStructure words = word_structure(example_piece());
  const arma::mat attention(4, 4, arma::fill::zeros);
  EXPECT_THAT(largest_earlier_words(attention, words), ElementsAre(no_position, 0, no_position, 1));
}

TEST(DependencyAlignment, IsTheShareOfMassAlongArcs) {
  const WordStructure words = word_structure(example_piece());
  arma::mat attention;
  word_attention(example_pattern(), words, attention);
  const Ratio alignment = dependency_alignment(attention, words);
  EXPECT_DOUBLE_EQ(alignment.numerator, 0 + 1);
  EXPECT_DOUBLE_EQ(alignment.denominator, 0.375 + 1);
}

TEST(DependencyAlignment, BaselineSpreadsEvenlyOverEarlierWords) {
  const Ratio baseline = dependency_alignment_baseline(word_structure(example_piece()));
  EXPECT_DOUBLE_EQ(baseline.numerator, 0.0 / 1 + 2.0 / 2);
  EXPECT_DOUBLE_EQ(baseline.denominator, 2);
}

TEST(DependencyAlignment, OfTheWordBeforeIsTheShareOfWordsJoinedToIt) {
  WordStructure words;
  words.tokens = {{1}, {2}, {}, {3}, {4, 5}};  // the third word has no token
  words.arcs = {{1, 0, "det"}, {3, 1, "obj"}, {4, 0, "root"}};
  const Ratio previous = dependency_alignment_previous(words);
  EXPECT_DOUBLE_EQ(previous.numerator, 2);
  EXPECT_DOUBLE_EQ(previous.denominator, 3);
  EXPECT_DOUBLE_EQ(dependency_alignment_previous({}).denominator, 0);
}

TEST(Coreference, ScoresMentionsThatHaveAnAntecedent) {
  Piece piece = example_piece();
  piece.mentions = {make_mention("a", 0), make_mention("b", 1), make_mention("a", 3),
                    make_mention("b", 3)};
  const WordStructure words = word_structure(piece);
  ASSERT_EQ(words.references.size(), 2u);
  EXPECT_THAT(words.references[0].antecedents, ElementsAre(0));
  EXPECT_FALSE(is_right(words.references[0], CoreferenceRule::nearest));
  EXPECT_TRUE(is_right(words.references[1], CoreferenceRule::nearest));
  EXPECT_TRUE(words.references[0].is_pronoun);

  const std::vector<Index> largest{no_position, 0, no_position, 1};
  const Ratio accuracy = coreference_accuracy(largest, words.references, false);
  EXPECT_DOUBLE_EQ(accuracy.numerator, 1) << "b's antecedent is word 1, a's is not";
  EXPECT_DOUBLE_EQ(accuracy.denominator, 2);
  EXPECT_DOUBLE_EQ(
      coreference_rule_accuracy(words.references, CoreferenceRule::nearest, false).value(), 0.5);
}

TEST(Coreference, TheMentionCompletedLastIsTheLongestOfThoseThatEndLast) {
  Piece piece = example_piece();
  Mention outer = make_mention("a", 0);
  outer.words = {0, 1};
  piece.mentions = {outer, make_mention("b", 1), make_mention("a", 3)};
  WordStructure words = word_structure(piece);
  ASSERT_EQ(words.references.size(), 1u);
  EXPECT_FALSE(is_right(words.references[0], CoreferenceRule::nearest))
      << "b's head word is nearer";
  EXPECT_TRUE(is_right(words.references[0], CoreferenceRule::completed_last));
  EXPECT_DOUBLE_EQ(
      coreference_rule_accuracy(words.references, CoreferenceRule::completed_last, true).value(),
      1);

  outer.words = {0, 3};  // not completed before the pronoun
  piece.mentions[0] = outer;
  words = word_structure(piece);
  EXPECT_FALSE(is_right(words.references[0], CoreferenceRule::completed_last));
}

TEST(Coreference, TheNearestMentionOfTheSameFormElseTheNearestIsTaken) {
  Piece piece = example_piece();
  piece.mentions = {make_mention("a", 0), make_mention("b", 1), make_mention("a", 3)};
  const auto right = [&] {
    return is_right(word_structure(piece).references[0], CoreferenceRule::same_form);
  };
  piece.words[0].form = "She";
  piece.words[1].form = "Kate";
  piece.words[3].form = "she";
  EXPECT_TRUE(right());
  piece.words[1].form = "SHE";
  EXPECT_FALSE(right()) << "b is nearer";
  piece.words[0].form = piece.words[1].form = "Kate";
  EXPECT_FALSE(right()) << "no form agrees";
  piece.mentions[1].entity = "a";
  EXPECT_TRUE(right());
}

TEST(Coreference, TheNearestMentionOfTheSameGenderAndNumberElseTheNearestIsTaken) {
  Piece piece = example_piece();
  piece.mentions = {make_mention("a", 0), make_mention("b", 1), make_mention("a", 3)};
  const auto right = [&] {
    return is_right(word_structure(piece).references[0], CoreferenceRule::agreement);
  };
  piece.words[3].form = "her";
  EXPECT_FALSE(right()) << "neither agrees";
  piece.words[0].features = {{"Gender", "Fem"}, {"Number", "Sing"}};
  EXPECT_TRUE(right());
  piece.words[1].features = {{"Gender", "Fem"}, {"Number", "Plur"}};
  EXPECT_TRUE(right());
  piece.words[1].features = {{"Gender", "Fem"}, {"Number", "Sing"}};
  EXPECT_FALSE(right()) << "b is nearer";
  piece.words[3].features = {{"Number", "Plur"}};
  EXPECT_FALSE(right()) << "features come before forms; none agrees";
}

TEST(Coreference, ThePronounsFormSaysGenderAndNumberWhereFeaturesDoNot) {
  Word word = make_word({1}, "PRON", "nsubj", std::nullopt);
  word.form = "Themselves";
  EXPECT_EQ(agreement_of(word), (Agreement{"", "Plur"}));
  word.form = "him";
  EXPECT_EQ(agreement_of(word), (Agreement{"Masc", "Sing"}));
  word.features = {{"Gender", "Fem"}};
  EXPECT_EQ(agreement_of(word), (Agreement{"Fem", "Sing"}));
  word = make_word({1}, "NOUN", "nsubj", std::nullopt);
  word.form = "him";
  EXPECT_EQ(agreement_of(word), Agreement{});
}

TEST(Coreference, AnyAntecedentOfTheEntityCounts) {
  Piece piece = example_piece();
  piece.mentions = {make_mention("a", 0), make_mention("a", 1), make_mention("a", 3)};
  const WordStructure words = word_structure(piece);
  EXPECT_THAT(words.references[1].antecedents, ElementsAre(0, 1));
  const std::vector<Index> looks_far{no_position, 0, no_position, 0};
  EXPECT_DOUBLE_EQ(coreference_accuracy(looks_far, words.references, false).value(), 1);
}

TEST(Coreference, PronounsAreScoredApart) {
  Piece piece = example_piece();
  piece.mentions = {make_mention("a", 0), make_mention("a", 1), make_mention("a", 3)};
  const WordStructure words = word_structure(piece);
  const std::vector<Index> largest{no_position, 0, no_position, 2};
  EXPECT_DOUBLE_EQ(coreference_accuracy(largest, words.references, true).denominator, 1);
  EXPECT_DOUBLE_EQ(coreference_accuracy(largest, words.references, true).value(), 0);
  EXPECT_DOUBLE_EQ(coreference_accuracy(largest, words.references, false).value(), 0.5);
}

TEST(Sentences, AreMarkedByWhetherTheyHoldAPronoun) {
  Piece piece = example_piece();
  piece.words[2].sentence = piece.words[3].sentence = 1;
  const WordStructure words = word_structure(piece);
  EXPECT_THAT(words.sentence, ElementsAre(SentencePronoun::unknown, SentencePronoun::without,
                                          SentencePronoun::without, SentencePronoun::without,
                                          SentencePronoun::with));
}

}  // namespace
}  // namespace headscope
