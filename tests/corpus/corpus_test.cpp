#include "headscope/corpus.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/hdf5_file.hpp"
#include "files/sha256.hpp"
#include "files/text_file.hpp"
#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/shared_data.hpp"
#include "support/small_tokenizer.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

class CorpusTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    test::write_file(folder_.file(name), bytes);
    return folder_.file(name);
  }
  std::string error_of(const std::string& path, const CorpusOptions& options = {},
                       const Tokenizer* with = &test::small_tokenizer()) {
    return test::message_of([&] { Corpus({path}, with, options); });
  }
  test::TemporaryDirectory folder_;
};

std::string text_of(const Piece& piece) {
  TokenIds ids = piece.tokens;
  if (piece.has_bos) ids.erase(ids.begin());
  return test::small_tokenizer().decode(ids);
}

std::vector<Piece> pieces_of(const Corpus& corpus) {
  std::vector<Piece> pieces;
  for (std::uint64_t document = 0; document < corpus.n_document(); ++document) {
    for (std::uint64_t index = 0; index < corpus.n_piece(document); ++index) {
      pieces.push_back(corpus.piece(document, index));
      EXPECT_EQ(pieces.back().document, document);
      EXPECT_EQ(pieces.back().index, index);
    }
  }
  EXPECT_EQ(corpus.n_piece(), pieces.size());
  return pieces;
}

std::vector<std::string> texts_of(const Corpus& corpus) {
  std::vector<std::string> texts;
  for (const Piece& piece : pieces_of(corpus)) texts.push_back(text_of(piece));
  return texts;
}

std::string line(const std::string& id, const std::string& form, const std::string& head,
                 const std::string& relation, const std::string& misc = "_") {
  return id + "\t" + form + "\t" + form + "\tX\t_\t_\t" + head + "\t" + relation + "\t_\t" + misc +
         "\n";
}

using Texts = std::vector<std::string>;

TEST_F(CorpusTest, BlankLinesEndPlainTextDocuments) {
  const std::string path = write("a.txt",
                                 "\xEF\xBB\xBF"
                                 "One, two\nthree.\n \t\n\n  Four\r\nfive\r\n\r\nsix");
  const Corpus corpus({path}, &test::small_tokenizer(), {});
  EXPECT_EQ(texts_of(corpus), (Texts{"One, two\nthree.", "  Four\r\nfive", "six"}));
  const Piece first = corpus.piece(0);
  EXPECT_EQ(first.id, "a.txt:1");
  EXPECT_EQ(corpus.piece(1).id, "a.txt:5");
  EXPECT_TRUE(first.has_bos);
  EXPECT_EQ(first.tokens[0], test::small_tokenizer().first_token());
  EXPECT_EQ(first.token_text[0], "<|endoftext|>");
  EXPECT_EQ(first.token_text.size(), first.tokens.size());
  EXPECT_TRUE(first.words.empty());
  EXPECT_EQ(corpus.sha256(), file_sha256(path));
  EXPECT_EQ(test::message_of<ShapeError>([&] { corpus.piece(3); }),
            "document: expected 0 to 2, got 3");
  EXPECT_EQ(test::message_of<ShapeError>([&] { corpus.piece(2, 1); }),
            "piece: expected 0 to 0, got 1");
}

TEST_F(CorpusTest, SentencesWithoutNewdocAreOneDocumentOrDocumentsOfSoMany) {
  std::string sentences;
  for (const char* const form : {"a", "b", "c", "d", "e"}) {
    sentences += line("1", form, "0", "root") + "\n";
  }
  const std::string path = write("a.conllu", sentences);
  const Corpus whole({path}, &test::small_tokenizer(), {});
  EXPECT_EQ(texts_of(whole), (Texts{"a b c d e"}));
  ASSERT_EQ(whole.undivided_files().size(), 1U);
  EXPECT_EQ(whole.undivided_files()[0].path, path);
  EXPECT_EQ(whole.undivided_files()[0].n_sentence, 5U);

  CorpusOptions options;
  options.document_sentences = 2;
  const Corpus parts({path}, &test::small_tokenizer(), options);
  EXPECT_EQ(texts_of(parts), (Texts{"a b", "c d", "e"}));
  EXPECT_EQ(parts.piece(1).id, "a.conllu:5");
  EXPECT_TRUE(parts.undivided_files().empty());
  options.max_documents = 2;
  EXPECT_EQ(texts_of(Corpus({path}, &test::small_tokenizer(), options)), (Texts{"a b", "c d"}));

  // From its first newdoc on a file divides itself.
  options = {};
  options.document_sentences = 1;
  const std::string divided = write("b.conllu", "# newdoc\n" + sentences);
  EXPECT_EQ(texts_of(Corpus({divided}, &test::small_tokenizer(), options)), (Texts{"a b c d e"}));
  EXPECT_TRUE(Corpus({divided}, &test::small_tokenizer(), {}).undivided_files().empty());
}

TEST_F(CorpusTest, ConlluUnderAnotherNameIsNotTakenForPlainText) {
  const std::string text = "# newdoc id = a\n\n" + line("1", "One", "0", "root");
  EXPECT_EQ(error_of(write("a.tab", text)),
            folder_.file("a.tab") +
                ":3: expected plain text, got CoNLL-U, which is read from files named *.conllu "
                "or *.conll");
  EXPECT_EQ(error_of(write("table.txt", "Numbers:\n1\t2\t3\t4\t5\t6\t7\t8\t9\t10\n")), "no error");
}

TEST_F(CorpusTest, WithoutBosTokensAreTheTextAlone) {
  CorpusOptions options;
  options.prepend_bos = false;
  const Corpus corpus({write("a.txt", "the one")}, &test::small_tokenizer(), options);
  EXPECT_FALSE(corpus.piece(0).has_bos);
  EXPECT_EQ(corpus.piece(0).tokens, test::small_tokenizer().encode("the one").ids);
}

TEST_F(CorpusTest, LongTextIsCutAfterSentences) {
  const std::string a = "The sister gave \"it\" back.", b = "We looked (twice!)", c = "Really?";
  const Index room = test::small_tokenizer().encode(a + "  " + b).ids.size();
  CorpusOptions options;
  options.max_tokens = room + 1;
  const Corpus corpus({write("a.txt", a + "  " + b + "\n" + c)}, &test::small_tokenizer(), options);
  EXPECT_EQ(texts_of(corpus), (Texts{a + "  " + b, c}));
  EXPECT_EQ(corpus.n_document(), 1u);
  EXPECT_EQ(corpus.piece(0, 1).id, "a.txt:1/2");
  options.max_tokens = room;
  EXPECT_EQ(texts_of(Corpus({folder_.file("a.txt")}, &test::small_tokenizer(), options)),
            (Texts{a, b + "\n" + c}));
}

TEST_F(CorpusTest, PiecesNeverExceedTheContextAndLoseOnlySpace) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "word" + std::to_string(i * 7919) + (i % 7 == 0 ? ". " : i % 5 == 0 ? "  " : " ");
  }
  text += std::string(300, 'q') + "\xF0\x9F\x98\x80\xF0\x9F\x98\x80 end";
  const std::string path = write("a.txt", text);
  const auto without_space = [](std::string s) {
    std::erase(s, ' ');
    return s;
  };
  for (const Index max_tokens : {2, 3, 5, 8, 30, 200}) {
    CorpusOptions options;
    options.max_tokens = max_tokens;
    const Corpus corpus({path}, &test::small_tokenizer(), options);
    std::string joined;
    for (const Piece& piece : pieces_of(corpus)) {
      EXPECT_LE(piece.tokens.size(), max_tokens);
      joined += text_of(piece);
    }
    EXPECT_EQ(without_space(joined), without_space(text)) << max_tokens;
  }
}

TEST_F(CorpusTest, TheLongestPieceIsKnownWhereNoDocumentIsCut) {
  const std::string text = write("a.txt", "One.\n\nTwo words and more of them.\n\nThree here.");
  const std::string treebank = write(
      "b.conllu", "# newdoc id = x\n" + line("1", "head", "0", "root") + "\n" +
                      line("1", "looks", "0", "root") + "\n" + line("1", "there", "0", "root") +
                      "\n# newdoc id = y\n" + line("1", "back", "0", "root"));
  hdf5::OutputFile ids(folder_.file("c.h5"));
  const std::vector<std::int64_t> tokens{1, 2, 3, 4, 5, 6}, offsets{0, 4, 6};
  ids.write("tokens", {tokens.size()}, std::span(tokens));
  ids.write("offsets", {offsets.size()}, std::span(offsets));
  ids.publish();
  for (const std::string& path : {text, treebank, folder_.file("c.h5")}) {
    for (const bool prepend_bos : {false, true}) {
      CorpusOptions options;
      options.prepend_bos = prepend_bos;
      const Corpus corpus({path}, &test::small_tokenizer(), options);
      const auto pieces = pieces_of(corpus);
      EXPECT_EQ(pieces.size(), corpus.n_document());
      EXPECT_EQ(corpus.longest_piece(), std::ranges::max(pieces, {}, [](const Piece& piece) {
                                          return piece.tokens.size();
                                        }).tokens.size());
      options.max_tokens = corpus.longest_piece() - 1;
      const Corpus cut({path}, &test::small_tokenizer(), options);
      EXPECT_GT(cut.n_piece(), cut.n_document());
      EXPECT_EQ(cut.longest_piece(), options.max_tokens);
    }
  }
}

TEST_F(CorpusTest, WordsAlignWithTokensAcrossRangesAndGaps) {
  const std::string path =
      write("a.conllu", "# newdoc id = doc\n# global.Entity = eid-etype-head\n" +
                            line("1", "the", "2", "det", "Entity=(e1-person-2") +
                            line("2", "sister", "0", "root", "Entity=e1)") +
                            line("3-4", "isn't", "_", "_", "SpaceAfter=No") +
                            line("3", "is", "2", "cop") + line("4", "n't", "2", "advmod:neg") +
                            line("5", ".", "2", "punct") + "\n" +
                            line("1", "She", "0", "root", "Entity=(e1-person-1)"));
  const Piece d = Corpus({path}, &test::small_tokenizer(), {}).piece(0);
  EXPECT_EQ(d.id, "doc");
  EXPECT_EQ(text_of(d), "the sister isn't. She");
  ASSERT_EQ(d.words.size(), 6u);
  EXPECT_TRUE(d.has_dependencies);
  EXPECT_TRUE(d.has_coreference);
  EXPECT_EQ(d.words[3].relation, "advmod");
  EXPECT_EQ(d.words[3].head, 1u);
  EXPECT_EQ(d.words[5].head, std::nullopt);
  EXPECT_EQ(d.words[5].sentence, 1u);
  for (const Word& word : d.words) {
    std::string spelled;
    for (const Index t : word.tokens) spelled += d.token_text[t];
    // GPT-2 splits "isn't" before the apostrophe; the token with the "n" belongs mostly to "is".
    const std::string expected = word.form == "n't" ? "'t" : word.form;
    EXPECT_NE(spelled.find(expected), std::string::npos) << word.form << " in " << spelled;
  }
  ASSERT_EQ(d.mentions.size(), 2u);
  EXPECT_EQ(d.mentions[0].head_word, 1u);
  EXPECT_EQ(d.mentions[1].words, (std::vector<Index>{5}));
  EXPECT_EQ(d.mentions[1].entity, "e1");
}

TEST_F(CorpusTest, TreebankDocumentsAreCutBetweenSentences) {
  std::string text = "# newdoc id = d\n";
  for (const char* const name : {"a", "b", "c"}) {
    text += line("1", "head", "2", "nsubj", std::string("Entity=(") + name + ")") +
            line("2", "looks", "0", "root", "Entity=(x") +
            line("3", "back", "2", "advmod", "Entity=x)") + "\n";
  }
  const std::string path = write("a.conllu", text);
  CorpusOptions options;
  options.max_tokens =
      1 + test::small_tokenizer().encode("head looks back head looks back").ids.size();
  const Corpus corpus({path}, &test::small_tokenizer(), options);
  EXPECT_EQ(texts_of(corpus), (Texts{"head looks back head looks back", "head looks back"}));
  EXPECT_EQ(corpus.n_document(), 1u);
  const Piece second = corpus.piece(0, 1);
  EXPECT_EQ(second.id, "d/2");
  ASSERT_EQ(second.words.size(), 3u);
  EXPECT_EQ(second.words[0].head, 1u);
  EXPECT_EQ(second.words[0].sentence, 0u);
  ASSERT_EQ(second.mentions.size(), 2u);
  EXPECT_EQ(second.mentions[0].entity, "c");
}

TEST_F(CorpusTest, LongSentencesAreCutBetweenWordsAndLoseWhatCrosses) {
  const std::string path = write("a.conllu", line("1", "head", "2", "nsubj", "Entity=(e1)") +
                                                 line("2", "looks", "0", "root", "Entity=(e2") +
                                                 line("3", "back", "2", "advmod", "Entity=e2)") +
                                                 line("4", "there", "3", "advmod", "Entity=(e3)"));
  CorpusOptions options;
  options.max_tokens = 1 + test::small_tokenizer().encode("head looks").ids.size();
  const Corpus corpus({path}, &test::small_tokenizer(), options);
  ASSERT_EQ(texts_of(corpus), (Texts{"head looks", "back there"}));
  const Piece first = corpus.piece(0), second = corpus.piece(0, 1);
  EXPECT_EQ(first.id, "a.conllu:1/1");
  EXPECT_EQ(first.words[0].head, 1u);
  ASSERT_EQ(first.mentions.size(), 1u);
  EXPECT_EQ(first.mentions[0].entity, "e1");
  EXPECT_EQ(second.words[0].head, std::nullopt);
  EXPECT_EQ(second.words[0].relation, "advmod");
  EXPECT_EQ(second.words[1].head, 0u);
  ASSERT_EQ(second.mentions.size(), 1u);
  EXPECT_EQ(second.mentions[0].head_word, 1u);
}

TEST_F(CorpusTest, AWordLongerThanTheContextIsShortened) {
  const std::string path =
      write("a.conllu", line("1", "the", "2", "det") + line("2", "qqqqqqqq", "0", "root") +
                            line("3", "the", "2", "det"));
  CorpusOptions options;
  options.max_tokens = 4;
  const Corpus corpus({path}, &test::small_tokenizer(), options);
  EXPECT_EQ(texts_of(corpus), (Texts{"the", "qqq", "the"}));
  EXPECT_EQ(corpus.piece(0, 1).words[0].form, "qqqqqqqq");
  EXPECT_EQ(corpus.piece(0, 1).words[0].tokens, (std::vector<Index>{1, 2, 3}));
}

TEST_F(CorpusTest, HeadsOfMentionsAreFoundInEverySentence) {
  const std::string path = write(
      "a.conllu", line("1", "now", "3", "advmod") + line("2", "he", "3", "nsubj") +
                      line("3", "saw", "0", "root") + line("4", "it", "3", "obj") + "\n" +
                      line("1", "the", "3", "det", "Entity=(e1") + line("2", "old", "3", "amod") +
                      line("3", "man", "0", "root", "Entity=e1)"));
  const Piece document = Corpus({path}, &test::small_tokenizer(), {}).piece(0);
  ASSERT_EQ(document.mentions.size(), 1u);
  EXPECT_EQ(document.words[document.mentions[0].head_word].form, "man");
}

TEST_F(CorpusTest, CoreferenceIsCheckedInTheWholeDocument) {
  const std::string path =
      write("a.conllu", "# newdoc\n" + line("1", "a", "0", "root", "Entity=(e1") + "\n# newdoc\n" +
                            line("1", "b", "0", "root", "Entity=e1)"));
  EXPECT_EQ(error_of(path), path +
                                ":2: expected a closing bracket of entity \"e1\" in the "
                                "document, got none");
}

TEST_F(CorpusTest, FoldersGiveTheirFilesInNameOrder) {
  write("b.txt", "second");
  write("a.conllu", line("1", "first", "0", "root"));
  write("c.md", "not read");
  Corpus corpus({folder_.file("")}, &test::small_tokenizer(), {});
  EXPECT_EQ(texts_of(corpus), (Texts{"first", "second"}));
  Sha256 both;
  both.add(test::read_file(folder_.file("a.conllu")) + "second");
  EXPECT_EQ(corpus.sha256(), both.finish());
  CorpusOptions one;
  one.max_documents = 1;
  EXPECT_EQ(texts_of(Corpus({folder_.file("")}, &test::small_tokenizer(), one)), Texts{"first"});
}

TEST_F(CorpusTest, ExtensionsGoWithoutCase) {
  write("a.CONLLU", line("1", "first", "0", "root"));
  write("b.TXT", "second");
  EXPECT_EQ(texts_of(Corpus({folder_.file("")}, &test::small_tokenizer(), {})),
            (Texts{"first", "second"}));
}

TEST_F(CorpusTest, TokenIdsAreReadCutAndChecked) {
  const auto write_ids = [&](const std::string& name, const std::vector<std::int64_t>& tokens,
                             const std::vector<std::int64_t>& offsets) {
    hdf5::OutputFile file(folder_.file(name));
    file.write("tokens", {tokens.size()}, std::span(tokens));
    file.write("offsets", {offsets.size()}, std::span(offsets));
    file.publish();
    return folder_.file(name);
  };
  const std::int64_t bos = test::small_tokenizer().first_token();
  CorpusOptions options;
  options.max_tokens = 3;
  const std::string path = write_ids("a.h5", {bos, 5, 6, 7, 8, 9}, {0, 4, 6});
  const Corpus corpus({path}, &test::small_tokenizer(), options);
  ASSERT_EQ(corpus.n_document(), 2u);
  EXPECT_EQ(corpus.n_piece(0), 2u);
  EXPECT_EQ(corpus.n_piece(1), 1u);
  const TokenId bos_id = test::small_tokenizer().first_token();
  EXPECT_EQ(corpus.piece(0).tokens, (TokenIds{bos_id, 5, 6}));
  EXPECT_EQ(corpus.piece(0, 1).tokens, (TokenIds{bos_id, 7}));
  EXPECT_EQ(corpus.piece(1).tokens, (TokenIds{bos_id, 8, 9}));
  EXPECT_EQ(corpus.piece(0, 1).id, "a.h5:0/2");
  EXPECT_EQ(corpus.piece(1).token_text[1], test::small_tokenizer().decode(8));

  CorpusOptions bare;
  bare.prepend_bos = false;
  const Piece raw = Corpus({path}, nullptr, bare).piece(0);
  EXPECT_EQ(raw.tokens, (TokenIds{bos_id, 5, 6, 7}));
  EXPECT_TRUE(raw.token_text.empty());
  EXPECT_EQ(Corpus({path}, nullptr, bare).kinds(), std::set<std::string>{"token ids"});
  bare.d_vocab = 8;
  EXPECT_EQ(error_of(write_ids("v.h5", {1, 8}, {0, 2}), bare, nullptr),
            folder_.file("v.h5") + ":tokens: expected ids from 0 to 7, got 8 at position 1");

  EXPECT_EQ(error_of(path, {}, nullptr),
            path +
                ": expected a tokenizer that knows the id of the token with which documents "
                "begin, got none");
  EXPECT_EQ(error_of(write_ids("b.h5", {1, 600}, {0, 2})),
            folder_.file("b.h5") + ":tokens: expected ids from 0 to " +
                std::to_string(test::small_tokenizer().size() - 1) + ", got 600 at position 1");
  EXPECT_EQ(error_of(write_ids("c.h5", {1, 2}, {0, 3})),
            folder_.file("c.h5") +
                ":offsets: expected positions that rise from 0 to at most 2, got 3 as number 1");
  EXPECT_EQ(error_of(write_ids("d.h5", {1, 2, 3}, {0, 2})),
            folder_.file("d.h5") +
                ":offsets: expected positions from 0 to 3, the number of tokens, got 0 to 2");
  EXPECT_EQ(error_of(write_ids("e.h5", {1, 2, 3}, {1, 3})),
            folder_.file("e.h5") +
                ":offsets: expected positions from 0 to 3, the number of tokens, got 1 to 3");
  EXPECT_EQ(error_of(write_ids("f.h5", {}, {0})),
            folder_.file("f.h5") + ": expected at least one document, got none");
}

TEST_F(CorpusTest, TheDocumentLimitCountsDocumentsNotPieces) {
  const std::string text = write("a.txt", "One here. Two here. Three here.\n\nFour.\n\nFive.");
  const std::string treebank = write(
      "b.conllu", "# newdoc id = x\n" + line("1", "head", "0", "root") + "\n" +
                      line("1", "looks", "0", "root") + "\n" + line("1", "there", "0", "root") +
                      "\n# newdoc id = y\n" + line("1", "back", "0", "root") +
                      "\n# newdoc id = z\n" + line("1", "there", "0", "root"));
  CorpusOptions options;
  options.max_tokens = 4;
  options.max_documents = 2;
  const Corpus of_text({text}, &test::small_tokenizer(), options);
  EXPECT_EQ(of_text.n_document(), 2u);
  EXPECT_GT(of_text.n_piece(0), 2u);
  EXPECT_EQ(text_of(of_text.piece(1)).substr(0, 4), "Four");
  const Corpus of_treebank({treebank}, &test::small_tokenizer(), options);
  EXPECT_EQ(of_treebank.n_document(), 2u);
  EXPECT_EQ(of_treebank.n_piece(0), 2u);
  EXPECT_EQ(of_treebank.piece(0, 1).id, "x/2");
  EXPECT_EQ(of_treebank.piece(1).id, "y");
}

TEST_F(CorpusTest, UnfitFilesAreNamed) {
  EXPECT_EQ(error_of(folder_.file("none.txt")),
            folder_.file("none.txt") + ": expected a file or folder, but there is none");
  EXPECT_EQ(error_of("/dev/null"), "/dev/null: expected a file or folder, got a pipe or device");
  EXPECT_EQ(error_of(folder_.file("")),
            folder_.file("") +
                ": expected .txt, .conllu, .conll or .h5 files, or those as .gz, got none");
  const std::string empty = write("empty.txt", "\n\n");
  EXPECT_EQ(error_of(empty), empty + ": expected at least one document, got none");
  EXPECT_EQ(error_of(empty, {}, nullptr),
            empty + ": expected a tokenizer to read text with, got none");
  const std::string binary = write("b.bin", std::string("a\nb\0c", 5));
  EXPECT_EQ(error_of(binary), binary + ":2: expected text, got a NUL byte");
  const std::string treebank = write("t.conllu", line("1", "a", "0", "root") + "\n1\tb\n");
  EXPECT_EQ(error_of(treebank), treebank + ":3: expected 10 tab-separated columns, got 2");
  CorpusOptions options;
  options.max_tokens = 1;
  EXPECT_EQ(error_of(binary, options), "--context: expected at least 2, got 1");
}

TEST_F(CorpusTest, EndOfTextEndsADocumentOfPlainTextUnlessItIsTakenLiterally) {
  const std::string path = write(
      "a.txt", "One.\n<|endoftext|>\nTwo\nlines. <|endoftext|> Three.<|endoftext|>Four.\n\nFive.");
  const Corpus corpus({path}, &test::small_tokenizer(), {});
  std::vector<std::string> texts, ids;
  for (const Piece& piece : pieces_of(corpus)) {
    texts.push_back(text_of(piece));
    ids.push_back(piece.id);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"One.", "Two\nlines. ", "Three.", "Four.", "Five."}));
  EXPECT_EQ(ids,
            (std::vector<std::string>{"a.txt:1", "a.txt:3", "a.txt:4", "a.txt:4.2", "a.txt:6"}));
  ASSERT_EQ(corpus.separated_files().size(), 1U);
  EXPECT_EQ(corpus.separated_files()[0].n_separator, 3U);
  CorpusOptions literal;
  literal.literal_special_tokens = true;
  const Corpus as_text({path}, &test::small_tokenizer(), literal);
  EXPECT_EQ(as_text.n_document(), 2U);
  EXPECT_TRUE(as_text.separated_files().empty());
  EXPECT_NE(text_of(as_text.piece(0)).find("<|endoftext|>"), std::string::npos);
}

TEST_F(CorpusTest, LinesAndDocumentsAreBounded) {
  const std::string line(most_line_bytes + 1, 'a'), at = folder_.file("a.txt");
  const std::string refusal = ": expected lines of at most 64 MiB, got a longer one";
  write("a.txt", line);
  EXPECT_EQ(error_of(at), at + ":1" + refusal);
  write("a.txt", "First.\n\n" + line);
  EXPECT_EQ(error_of(at), at + ":3" + refusal);
  std::string document;
  while (document.size() <= most_line_bytes) document += std::string(1 << 20, 'a') + "\n";
  write("a.txt", "First.\n\n" + document);
  EXPECT_EQ(error_of(at), at + ":3: expected documents of at most 64 MiB, which a blank line or "
                               "<|endoftext|> ends, got a longer one");
}

TEST_F(CorpusTest, FilesOfOtherProgramsAreCalledByTheirKind) {
  for (const auto& [begin, kind] :
       {std::pair{"%PDF-1.7\n%\xE2\xE3", "a PDF document"}, std::pair{"\x89PNG\r\n", "a PNG image"},
        std::pair{"PK\x03\x04", "a zip archive or office document"}}) {
    const std::string path = write("a.txt", begin);
    EXPECT_EQ(error_of(path), path + ": expected text, CoNLL-U or token ids, got " + kind);
  }
}

TEST_F(CorpusTest, TablesAndMarkupAreNotReadAsProse) {
  for (const auto& [name, extension] :
       {std::pair{"a.jsonl", ".jsonl"}, std::pair{"a.csv", ".csv"}, std::pair{"a.html", ".html"},
        std::pair{"a.CSV", ".csv"}, std::pair{"a.Csv.GZ", ".csv"}}) {
    const std::string path = write(name, "{\"text\": \"a cat\"}\n");
    EXPECT_EQ(error_of(path),
              path + ": expected plain text, CoNLL-U or token ids, got a file named " + extension);
  }
}

TEST_F(CorpusTest, AFileIsReadOnce) {
  const std::string path = write("a.txt", "a cat\n");
  const std::string same = std::filesystem::path(path).parent_path() / "." / "a.txt";
  EXPECT_EQ(test::message_of([&] {
              Corpus({path, same}, &test::small_tokenizer(), {});
            }),
            same + ": expected once in a corpus, got twice");
}

TEST_F(CorpusTest, TreebanksHoldWhatAPlainCountFinds) {
  if (!std::filesystem::exists(test::shared_data)) GTEST_SKIP() << "../shared is absent";
  const Tokenizer gpt2 = Tokenizer::from_directory(test::shared_data + "/tokenizer");
  const auto expected =
      nlohmann::json::parse(test::read_file(HEADSCOPE_TEST_DATA "/corpus/treebank_counts.json"));
  CorpusOptions options;
  options.max_tokens = 1 << 20;  // nothing is cut
  for (const auto& [name, counts] : expected.items()) {
    const Corpus corpus({test::shared_data + "/treebanks/" + name}, &gpt2, options);
    std::size_t n_sentence = 0, n_word = 0, n_arc = 0, n_mention = 0, n_mention_word = 0;
    std::uint64_t checksum = 0, n_unaligned = 0;
    for (const Piece& d : pieces_of(corpus)) {
      n_word += d.words.size();
      n_mention += d.mentions.size();
      for (const Mention& mention : d.mentions) n_mention_word += mention.words.size();
      n_sentence += d.words.back().sentence + 1;
      Index first_of_sentence = 0;
      for (Index w = 0; w < d.words.size(); ++w) {
        if (w > 0 && d.words[w].sentence != d.words[w - 1].sentence) first_of_sentence = w;
        n_arc += d.words[w].head.has_value();
        const Index head = d.words[w].head ? *d.words[w].head - first_of_sentence + 1 : 0;
        checksum = (checksum * 31 + head) % 1000000007;
        n_unaligned += d.words[w].tokens.empty();
      }
    }
    EXPECT_EQ(corpus.n_document(), counts["documents"].get<std::size_t>()) << name;
    EXPECT_EQ(n_sentence, counts["sentences"].get<std::size_t>()) << name;
    EXPECT_EQ(n_word, counts["words"].get<std::size_t>()) << name;
    EXPECT_EQ(n_arc, counts["arcs"].get<std::size_t>()) << name;
    EXPECT_EQ(n_mention, counts["mentions"].get<std::size_t>()) << name;
    EXPECT_EQ(n_mention_word, counts["mention_words"].get<std::size_t>()) << name;
    EXPECT_EQ(checksum, counts["head_checksum"].get<std::uint64_t>()) << name;
    EXPECT_LT(n_unaligned, n_word / 50) << name;  // whose only token is another word's
  }
}

TEST_F(CorpusTest, TreebanksFitTheContextAfterCutting) {
  if (!std::filesystem::exists(test::shared_data)) GTEST_SKIP() << "../shared is absent";
  const Tokenizer gpt2 = Tokenizer::from_directory(test::shared_data + "/tokenizer");
  CorpusOptions options;
  options.max_tokens = 64;
  const Corpus web({test::shared_data + "/treebanks/en_ewt-ud-dev.conllu"}, &gpt2, options);
  for (const Piece& piece : pieces_of(web)) EXPECT_LE(piece.tokens.size(), 64u);
  options.max_tokens = 128;
  const Corpus corpus({test::shared_data + "/treebanks/en_gum-ud-dev.conllu"}, &gpt2, options);
  std::size_t n_word = 0;
  EXPECT_EQ(corpus.n_document(), 30u);
  EXPECT_GT(corpus.n_piece(), 200u);
  for (const Piece& d : pieces_of(corpus)) {
    EXPECT_LE(d.tokens.size(), 128u);
    EXPECT_TRUE(d.has_coreference);
    for (const Mention& mention : d.mentions) EXPECT_LT(mention.words.back(), d.words.size());
    n_word += d.words.size();
  }
  EXPECT_EQ(n_word, 28119u);
}

}  // namespace
}  // namespace headscope
