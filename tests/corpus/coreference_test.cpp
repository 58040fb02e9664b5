#include "corpus/coreference.hpp"

#include <gtest/gtest.h>

#include "headscope/error.hpp"
#include "support/message_of.hpp"

namespace headscope::coreference {
namespace {

// Reads one node per entry of `entities`, on lines from 1. Nodes listed in `empty_nodes` are no
// words.
std::vector<Mention> read_mentions(const std::string& declaration,
                                   const std::vector<std::string>& entities,
                                   const MentionReader::Heads& heads, bool whole = true,
                                   const std::vector<std::size_t>& empty_nodes = {}) {
  MentionReader reader("f.conllu", EntityFields::parse(declaration), whole);
  Index word = 0;
  for (std::size_t i = 0; i < entities.size(); ++i) {
    const bool empty = std::find(empty_nodes.begin(), empty_nodes.end(), i) != empty_nodes.end();
    reader.add(empty ? std::nullopt : std::optional<Index>(word++), entities[i], i + 1);
  }
  return reader.finish(heads);
}

std::string coreference_error(const std::vector<std::string>& entities) {
  return test::message_of<DataError>(
      [&] { read_mentions("eid-etype-head", entities, MentionReader::Heads(entities.size())); });
}

const std::optional<Index> root;

TEST(MentionReader, ReadsNestedMentionsInOrder) {
  // "[the owner of [the house] 's] ... [she]"
  const auto mentions =
      read_mentions("GRP-etype-infstat-minspan",
                    {"(1-person-new-2", "", "", "(2-place-new-2", "2)1)", "", "(1-person-giv-1)"},
                    {1, 5, 4, 4, 1, root, 5});
  ASSERT_EQ(mentions.size(), 3u);
  EXPECT_EQ(mentions[0].entity, "1");
  EXPECT_EQ(mentions[0].type, "person");
  EXPECT_EQ(mentions[0].words, (std::vector<Index>{0, 1, 2, 3, 4}));
  EXPECT_EQ(mentions[0].head_word, 1u);
  EXPECT_EQ(mentions[1].words, (std::vector<Index>{3, 4}));
  EXPECT_EQ(mentions[1].head_word, 4u);
  EXPECT_EQ(mentions[2].entity, "1");
  EXPECT_EQ(mentions[2].words, (std::vector<Index>{6}));
}

TEST(MentionReader, BracketsOnOneWordCloseAndOpenInTurn) {
  // A mention of entity 3 inside another, then a word that closes one and opens the next.
  const auto mentions = read_mentions("eid", {"(3(3)", "3)(3", "3)"}, {root, 0, 0});
  ASSERT_EQ(mentions.size(), 3u);
  EXPECT_EQ(mentions[0].words, (std::vector<Index>{0, 1}));
  EXPECT_EQ(mentions[1].words, (std::vector<Index>{0}));
  EXPECT_EQ(mentions[2].words, (std::vector<Index>{1, 2}));
}

TEST(MentionReader, CrossingMentionsAreRead) {
  const auto mentions = read_mentions("eid", {"(a", "(b", "a)", "b)"}, {root, 0, 0, 0});
  ASSERT_EQ(mentions.size(), 2u);
  EXPECT_EQ(mentions[0].words, (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(mentions[1].words, (std::vector<Index>{1, 2, 3}));
}

TEST(MentionReader, JoinsThePartsOfADiscontinuousMention) {
  const auto mentions = read_mentions(
      "eid-etype-head", {"(e1[1/2]-person-3", "e1[1/2])", "(e2)", "(e1[2/2]-person-3)"},
      {3, 3, 3, root});
  ASSERT_EQ(mentions.size(), 2u);
  EXPECT_EQ(mentions[0].entity, "e1");
  EXPECT_EQ(mentions[0].type, "person");
  EXPECT_EQ(mentions[0].words, (std::vector<Index>{0, 1, 3}));
  EXPECT_EQ(mentions[0].head_word, 3u);
}

TEST(MentionReader, FieldsFollowTheDeclaration) {
  EXPECT_EQ(read_mentions("eid-head-etype", {"(e1-2-place", "e1)"}, {1, root})[0].type, "place");
  EXPECT_EQ(read_mentions("eid-head-etype", {"(e1-1-place", "e1)"}, {1, root})[0].head_word, 0u);
  EXPECT_EQ(read_mentions("eid-minspan-etype", {"(e1-1-place", "e1)"}, {1, root})[0].head_word, 0u);
  EXPECT_EQ(read_mentions("", {"(e1-1-place", "e1)"}, {1, root})[0].type, "");
}

TEST(MentionReader, WithoutHeadFieldTheHeadGovernsFromOutside) {
  // Word 1's head is word 2, whose head is word 0, outside the mention.
  EXPECT_EQ(read_mentions("eid-etype", {"", "(e1-x", "e1)"}, {root, 2, 0})[0].head_word, 2u);
  EXPECT_EQ(read_mentions("eid-etype", {"(e1-x", "e1)"}, {1, root})[0].head_word, 1u);
  EXPECT_EQ(read_mentions("eid-etype-head", {"(e1-x-", "e1)"}, {1, root})[0].head_word, 1u);
}

TEST(MentionReader, OfSeveralHeadPositionsTheOutermostCounts) {
  // "Digital humanities": minspan lists both words; the first depends on the second.
  EXPECT_EQ(read_mentions("eid-etype-minspan", {"(e1-x-1,2", "e1)", ""}, {1, 2, root})[0].head_word,
            1u);
  // "learning and processing": minspan lists both nouns; the second depends on the first.
  EXPECT_EQ(read_mentions("eid-etype-minspan", {"(e1-x-1,3", "", "e1)"}, {root, 2, 0})[0].head_word,
            0u);
}

TEST(MentionReader, EmptyNodesHoldPositionsButAreNoWords) {
  const auto mentions =
      read_mentions("eid-etype-head", {"(e1-x-2", "e1)", "(e2-x-1)"}, {root}, true, {0, 2});
  ASSERT_EQ(mentions.size(), 1u);
  EXPECT_EQ(mentions[0].words, (std::vector<Index>{0}));
}

TEST(MentionReader, APieceLeavesOutWhatReachesBeyondIt) {
  const auto mentions = read_mentions("eid", {"e0)", "(e1)", "(e2", "e3[1/2])", "(e4[2/2])"},
                                      MentionReader::Heads(5), false);
  ASSERT_EQ(mentions.size(), 1u);
  EXPECT_EQ(mentions[0].entity, "e1");
}

TEST(MentionReader, EntitiesLeftOpenWithoutEndAreRefused) {
  std::string opening, parts;
  for (int i = 0; i < 1001; ++i) {
    opening += "(e";
    parts += "(e" + std::to_string(i) + "[1/2])";
  }
  const std::string error =
      "f.conllu:1: expected at most 1000 entities to be open at once, got more";
  EXPECT_EQ(coreference_error({opening}), error);
  EXPECT_EQ(coreference_error({parts}), error);
}

TEST(MentionReader, MalformedBracketsAreNamed) {
  EXPECT_EQ(coreference_error({"", "5"}), "f.conllu:2: expected Entity= in brackets, got \"5\"");
  EXPECT_EQ(coreference_error({"()"}), "f.conllu:1: expected Entity= in brackets, got \"()\"");
  EXPECT_EQ(coreference_error({"(1-x", "2)"}),
            "f.conllu:2: expected an open bracket of entity \"2\", got none");
  EXPECT_EQ(coreference_error({"", "(1-x", ""}),
            "f.conllu:2: expected a closing bracket of entity \"1\" in the document, got none");
  EXPECT_EQ(coreference_error({"(1[3/2]-x)"}),
            "f.conllu:1: expected a part like [1/2] of an entity, got \"1[3/2]\"");
  EXPECT_EQ(coreference_error({"(1[1/2-x)"}),
            "f.conllu:1: expected a part like [1/2] of an entity, got \"1[1/2\"");
  EXPECT_EQ(coreference_error({"(1[1/2]-x)"}),
            "f.conllu:1: expected part 2 of entity \"1\" in the document, got none");
  EXPECT_EQ(coreference_error({"(1[2/2]-x)"}),
            "f.conllu:1: expected part 1 of entity \"1\" before part 2, got none");
  EXPECT_EQ(coreference_error({"", "(1-x-3", "1)"}),
            "f.conllu:2: expected a head position from 1 to 2 in entity \"1\", got \"3\"");
}

}  // namespace
}  // namespace headscope::coreference
