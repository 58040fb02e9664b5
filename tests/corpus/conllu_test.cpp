#include "corpus/conllu.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "headscope/error.hpp"
#include "support/message_of.hpp"

namespace headscope::conllu {
namespace {

// Replaces spaces with the tabs between columns.
std::string tabs(std::string text) {
  for (char& c : text) {
    if (c == ' ') c = '\t';
  }
  return text;
}

std::vector<Sentence> read_sentences(const std::string& text) {
  std::istringstream input(text);
  Reader reader(input, "f.conllu");
  std::vector<Sentence> sentences;
  while (auto sentence = reader.next()) sentences.push_back(std::move(*sentence));
  return sentences;
}

std::string conllu_error(const std::string& text) {
  return test::message_of<DataError>([&] { read_sentences(text); });
}

TEST(Conllu, ReadsWordsRangesAndEmptyNodes) {
  const auto sentences =
      read_sentences("# newdoc id = one\n# sent_id = 1\n" +
                     tabs("1 She she PRON PRP Case=Nom|Number=Sing 2 nsubj:pass _ _\n"
                          "2-3 can't _ _ _ _ _ _ _ SpaceAfter=No\n"
                          "2 ca can AUX MD _ 0 root _ _\n"
                          "3 n't not PART RB _ 2 advmod _ SpaceAfter=No\n"
                          "3.1 go go VERB VB _ _ _ 2:x Entity=(e1)\n"
                          "4 _ _ PUNCT . _ 2 punct _ Entity=(e2-x)|Bridge=e1<e2\n") +
                     "\n# newpar\n" + tabs("1 Yes _ _ _ _ _ _ _ _"));
  ASSERT_EQ(sentences.size(), 2u);
  const Sentence& s = sentences[0];
  EXPECT_TRUE(s.starts_document);
  EXPECT_EQ(s.document_id, "one");
  EXPECT_TRUE(s.has_dependencies);
  ASSERT_EQ(s.words.size(), 4u);
  EXPECT_EQ(s.words[0].relation, "nsubj");
  EXPECT_EQ(s.words[0].head, 1u);
  EXPECT_EQ(s.words[1].head, std::nullopt);
  EXPECT_EQ(s.words[0].features, (std::vector<std::pair<std::string, std::string>>{
                                     {"Case", "Nom"}, {"Number", "Sing"}}));
  EXPECT_EQ(s.words[3].form, "_");
  EXPECT_EQ(s.words[3].lemma, "_");
  ASSERT_EQ(s.surfaces.size(), 3u);
  EXPECT_EQ(s.surfaces[1].form, "can't");
  EXPECT_FALSE(s.surfaces[1].space_after);
  EXPECT_EQ(s.surfaces[1].first_word, 1u);
  EXPECT_EQ(s.surfaces[1].end_word, 3u);
  ASSERT_EQ(s.nodes.size(), 5u);
  EXPECT_EQ(s.nodes[3].word, std::nullopt);
  EXPECT_EQ(s.nodes[3].entity, "(e1)");
  EXPECT_EQ(s.nodes[4].entity, "(e2-x)");
  EXPECT_FALSE(sentences[1].starts_document);
  EXPECT_FALSE(sentences[1].has_dependencies);
  EXPECT_EQ(sentences[1].words[0].lemma, "");
  EXPECT_EQ(sentences[1].begin, s.end);
}

TEST(Conllu, LineEndsAndByteOrderMarkDoNotMatter) {
  const auto sentences =
      read_sentences("\xEF\xBB\xBF# newdoc\r\n" +
                     tabs("1 a a X _ _ 0 root _ _\r\n\r\n\r\n1 b b X _ _ 0 root _ _"));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_TRUE(sentences[0].starts_document);
  EXPECT_EQ(sentences[1].words[0].form, "b");
}

TEST(Conllu, SeveralRootsAreRead) {
  const auto sentences = read_sentences(tabs("1 a a X _ _ 0 root _ _\n2 b b X _ _ 0 root _ _\n"));
  EXPECT_EQ(sentences[0].words[1].head, std::nullopt);
}

TEST(Conllu, MalformedLinesAreNamed) {
  EXPECT_EQ(conllu_error("# text\n" + tabs("1 a a X _ _ 0 root _\n")),
            "f.conllu:2: expected 10 tab-separated columns, got 9");
  EXPECT_EQ(conllu_error(tabs("x a a X _ _ 0 root _ _\n")),
            "f.conllu:1: expected an id like 3, 3-4 or 3.1, got \"x\"");
  EXPECT_EQ(conllu_error(tabs("2 a a X _ _ 0 root _ _\n")),
            "f.conllu:1: expected word 1, got \"2\"");
  EXPECT_EQ(conllu_error(tabs("1 a a X _ _ 0 root _ _\n1-2 ab _ _ _ _ _ _ _ _\n")),
            "f.conllu:2: expected word 2 or a range from it, got \"1-2\"");
  EXPECT_EQ(conllu_error(tabs("1-2 ab _ _ _ _ _ _ _ _\n1-2 ab _ _ _ _ _ _ _ _\n")),
            "f.conllu:2: expected word 1 of a multiword token, got \"1-2\"");
  EXPECT_EQ(conllu_error(tabs("1-3 ab _ _ _ _ _ _ _ _\n1 a a X _ _ 0 root _ _\n")),
            "f.conllu:1: expected words up to 3, got a sentence of 1");
  EXPECT_EQ(conllu_error(tabs("1 a a X _ _ 0 root _ _\n2.1 b _ _ _ _ _ _ _ _\n")),
            "f.conllu:2: expected an empty node after word 1, got \"2.1\"");
  EXPECT_EQ(conllu_error(tabs("0.1 b _ _ _ _ _ _ _ _\n")),
            "f.conllu:1: expected a word in the sentence, got none");
  EXPECT_EQ(conllu_error(tabs("1  a X _ _ 0 root _ _\n")),
            "f.conllu:1: expected a word form, got an empty column");
  EXPECT_EQ(conllu_error(tabs("1 a a X _ Sing 0 root _ _\n")),
            "f.conllu:1: expected features like Name=Value, got \"Sing\"");
  EXPECT_EQ(conllu_error(tabs("1 a a X _ _ 0 root _ _\n\n1 a a X _ _ 2 nsubj _ _\n")),
            "f.conllu:3: expected a head from 0 to 1, got \"2\"");
  EXPECT_EQ(conllu_error(tabs("1 a a X _ _ 0 root _ _\n2 a a X _ _ _ nsubj _ _\n")),
            "f.conllu:2: expected a head from 0 to 2, got \"_\"");
  EXPECT_EQ(
      conllu_error(tabs("1 a a X _ _ 0 root _ _\n2 b b X _ _ 3 x _ _\n3 c c X _ _ 2 x _ _\n")),
      "f.conllu:2: expected a tree, got a cycle through word 2");
  EXPECT_EQ(conllu_error(tabs("1 a a X _ _ 1 root _ _\n")),
            "f.conllu:1: expected a tree, got a cycle through word 1");
  EXPECT_EQ(conllu_error(tabs("1 caf\xE9 a X _ _ 0 root _ _\n")),
            "f.conllu:1: expected UTF-8, got byte 233 at column 6");
}

TEST(Conllu, LimitsTheWordsOfASentence) {
  std::string sentence;
  for (int word = 1; word <= 50'001; ++word) {
    sentence += std::to_string(word) + "\ta\ta\tX\t_\t_\t0\troot\t_\t_\n";
  }
  EXPECT_EQ(
      conllu_error(sentence),
      "f.conllu:50001: expected a sentence of at most 50000 words, got a longer one; an empty "
      "line ends a sentence");
}

}  // namespace
}  // namespace headscope::conllu
