// Files of a corpus as people have them: compressed, in other encodings, in folders with other
// files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <limits>

#include "files/hdf5_file.hpp"
#include "files/sha256.hpp"
#include "headscope/corpus.hpp"
#include "headscope/error.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/small_tokenizer.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CorpusFiles : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;

  std::string write(const std::string& name, const std::string& bytes) const {
    test::write_file(folder_.file(name), bytes);
    return folder_.file(name);
  }
  std::string compressed(const std::string& path) const {
    EXPECT_EQ(test::run_program({"gzip", path}).exit_status, 0);
    return path + ".gz";
  }
  Corpus open(const std::string& path, const std::string& encoding = "utf-8") const {
    CorpusOptions options;
    options.encoding = encoding;
    return Corpus({path}, &test::small_tokenizer(), options);
  }
  std::string error(const std::string& path, const std::string& encoding = "utf-8") const {
    std::string text = test::message_of([&] { open(path, encoding); });
    const std::string folder = folder_.file("");
    return text.starts_with(folder) ? text.substr(folder.size()) : text;
  }
  std::vector<std::string> texts(const Corpus& corpus) const {
    std::vector<std::string> all;
    // Backwards: documents are read in any order.
    for (std::uint64_t i = corpus.n_document(); i-- > 0;) {
      const TokenIds tokens = corpus.piece(i).tokens;
      all.insert(all.begin(), test::small_tokenizer().decode({tokens.begin() + 1, tokens.end()}));
    }
    return all;
  }
};

const std::string sentence =
    "# newdoc id = one\n1\tHeads\thead\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n"
    "2\tlook\tlook\tVERB\tVBP\t_\t0\troot\t_\t_\n\n";

TEST_F(CorpusFiles, EachKindMayBeCompressed) {
  const std::string text = "One.\n\nTwo, from byte six.\n";
  const std::string path = compressed(write("a.txt", text));
  const Corpus corpus = open(path);
  EXPECT_THAT(texts(corpus), ElementsAre("One.", "Two, from byte six."));
  EXPECT_EQ(corpus.piece(1).id, "a.txt.gz:3");
  EXPECT_EQ(corpus.sha256(), file_sha256(path));

  const Corpus treebank = open(compressed(write("b.conllu", sentence)));
  EXPECT_THAT(texts(treebank), ElementsAre("Heads look"));
  EXPECT_EQ(treebank.piece(0).words[0].relation, "nsubj");

  const std::string ids = folder_.file("c.h5");
  {
    hdf5::OutputFile file(ids);
    file.write("tokens", {3}, std::span<const std::int64_t>(std::vector<std::int64_t>{5, 6, 7}));
    file.write("offsets", {2}, std::span<const std::int64_t>(std::vector<std::int64_t>{0, 3}));
    file.publish();
  }
  const std::string stored = compressed(ids);
  EXPECT_EQ(open(stored).piece(0).tokens,
            (TokenIds{test::small_tokenizer().first_token(), 5, 6, 7}));
  EXPECT_EQ(error(compressed(write("d.h5", "no HDF5"))).substr(0, 8), "d.h5.gz:");
}

TEST_F(CorpusFiles, TheLayoutTellsFilesApartWhoseBytesAreTheSame) {
  const CorpusOptions options;
  const auto corpus_of = [&](const std::vector<std::string>& paths) {
    return Corpus(paths, &test::small_tokenizer(), options);
  };
  const std::string first = write("a.txt", "One"), second = write("b.txt", " and two.\n"),
                    both = write("ab.txt", "One and two.\n"), copy = write("c", "One and two.\n");
  const Corpus parts = corpus_of({first, second}), whole = corpus_of({both});
  EXPECT_EQ(parts.n_document(), 2U);
  EXPECT_EQ(parts.sha256(), whole.sha256());
  EXPECT_NE(parts.layout_sha256(), whole.layout_sha256());
  EXPECT_EQ(corpus_of({copy}).layout_sha256(), whole.layout_sha256());
}

TEST_F(CorpusFiles, DocumentsThatRepeatAnEarlierOneAreCountedInAllFiles) {
  const std::string text =
                        write("a.txt", "Heads look\n\nand look\n\nHeads look\n\n\nHeads look.\n"),
                    tree = write("b.conllu", sentence + sentence);
  hdf5::OutputFile file(folder_.file("c.h5"));
  const std::vector<std::int64_t> tokens{5, 6, 5, 6, 7, 5, 6}, offsets{0, 2, 5, 7};
  file.write("tokens", {tokens.size()}, std::span(tokens));
  file.write("offsets", {offsets.size()}, std::span(offsets));
  file.publish();
  EXPECT_EQ(open(text).n_copy(), 1U);
  EXPECT_EQ(open(tree).n_copy(), 1U);
  EXPECT_EQ(open(folder_.file("c.h5")).n_copy(), 1U);
  const Corpus both({text, tree}, &test::small_tokenizer(), {});
  EXPECT_EQ(both.n_document(), 6U);
  EXPECT_EQ(both.n_copy(), 3U);
  CorpusOptions two;
  two.max_documents = 2;
  EXPECT_EQ(Corpus({text}, &test::small_tokenizer(), two).n_copy(), 0U);
}

TEST_F(CorpusFiles, DamagedCompressionIsAnErrorAtEveryLength) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i * i) + (i % 9 == 0 ? "\n\n" : " ");
  const std::string whole = test::read_file(compressed(write("a.txt", text)));
  for (std::size_t length = 2; length < whole.size(); length += 37) {
    EXPECT_EQ(error(write("a.txt.gz", whole.substr(0, length))),
              "a.txt.gz: cannot be decompressed: the file is damaged or cut short")
        << length;
  }
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] ^ 4);
  EXPECT_EQ(error(write("a.txt.gz", changed)),
            "a.txt.gz: cannot be decompressed: the file is damaged or cut short");
}

TEST_F(CorpusFiles, AllMembersOfACompressedFileAreRead) {
  const std::string first = test::read_file(compressed(write("a.txt", "One.\n\n"))),
                    second = test::read_file(compressed(write("b.txt", "Two.\n"))),
                    damaged = "a.txt.gz: cannot be decompressed: the file is damaged or cut short";
  const auto all = [&](const std::string& bytes) { return texts(open(write("a.txt.gz", bytes))); };
  const std::string zeros(70000, '\0');
  EXPECT_THAT(all(first + second), ElementsAre("One.", "Two."));
  EXPECT_THAT(all(first + second + zeros), ElementsAre("One.", "Two."));
  std::string without_magic = second;
  without_magic[0] = 'x';
  for (const std::string& rest : {without_magic, std::string("x"), zeros + "x", second.substr(1),
                                  second.substr(0, second.size() - 1)}) {
    EXPECT_EQ(error(write("a.txt.gz", first + rest)), damaged) << rest.size();
  }
}

TEST_F(CorpusFiles, WhatGrowsAsNoTextDoesWhenDecompressedIsRefused) {
  std::string text;
  while (text.size() < std::size_t{70} << 20) text += "A text.\n\n";
  EXPECT_THAT(error(compressed(write("a.txt", text))),
              testing::MatchesRegex("a.txt.gz: expected data that grow at most 200-fold when "
                                    "decompressed, got 64 MiB and more from [0-9,]+ bytes; "
                                    "decompress the file first"));
}

TEST_F(CorpusFiles, IdsAboveAllNumbersArePrintedAsTheFileHasThem) {
  const std::string path = folder_.file("a.h5");
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const auto write_numbers = [&](const char* name, const std::vector<std::uint64_t>& numbers) {
    const hsize_t size = numbers.size();
    const hid_t space = H5Screate_simple(1, &size, nullptr),
                dataset = H5Dcreate2(file, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT,
                                     H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    H5Dclose(dataset);
    H5Sclose(space);
  };
  write_numbers("tokens", {5, 6, std::numeric_limits<std::uint64_t>::max()});
  write_numbers("offsets", {0, 3});
  H5Fclose(file);
  EXPECT_EQ(error(path),
            "a.h5:tokens: expected numbers up to 9223372036854775807, got 18446744073709551615 at "
            "position 2");
}

TEST_F(CorpusFiles, OtherDatasetsThanTokensAndOffsetsAreNamed) {
  const auto error_of = [&](const std::vector<std::pair<std::string, Shape>>& datasets) {
    hdf5::OutputFile file(folder_.file("a.h5"));
    for (const auto& [name, shape] : datasets) {
      file.write(name, shape, std::span<const std::int64_t>(std::vector<std::int64_t>(2)));
    }
    file.publish();
    return error(folder_.file("a.h5"));
  };
  const std::string expected = "a.h5: expected the datasets tokens and offsets, got ";
  EXPECT_EQ(error_of({}), expected + "none");
  EXPECT_EQ(error_of({{"input_ids", {1, 2}}}), expected + "input_ids");
  EXPECT_EQ(error_of({{"tokens", {2}}}), expected + "tokens");
  EXPECT_EQ(error_of({{"a", {2}}, {"b", {2}}, {"c", {2}}, {"d", {2}}}),
            expected + "a, b, c and 1 more");
  EXPECT_EQ(error_of({{"offsets", {2}}, {"tokens", {1, 2}}}),
            "a.h5:tokens: expected whole numbers in one row, got int64 of shape [1, 2]");
}

TEST_F(CorpusFiles, ConllIsConlluIfItIs) {
  EXPECT_THAT(texts(open(write("a.conll", sentence))), ElementsAre("Heads look"));
  EXPECT_EQ(error(write("b.conll", "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n")),
            "b.conll:1: expected CoNLL-U, whose words are lines of ten columns that begin with a "
            "number, got another form of CoNLL");
}

TEST_F(CorpusFiles, AFolderSaysWhatItTookAndWhatItLeft) {
  for (const char* const name : {"b.txt", "a.txt", "README.txt", "readme", "LICENSE.txt",
                                 "License-data.txt", "COPYING.txt", "notes.md", ".hidden.txt"}) {
    write(name, "Text.");
  }
  write("readmes.txt", "A text named like a README.");
  write("c.conllu", sentence);
  std::filesystem::create_directory(folder_.file("more.txt"));
  const Corpus corpus = open(folder_.path());
  EXPECT_EQ(corpus.n_document(), 4U);
  ASSERT_EQ(corpus.folders().size(), 1U);
  EXPECT_EQ(corpus.folders()[0].path, folder_.path());
  EXPECT_THAT(corpus.folders()[0].read, ElementsAre("a.txt", "b.txt", "c.conllu", "readmes.txt"));
  EXPECT_THAT(corpus.folders()[0].ignored,
              ElementsAre("COPYING.txt", "LICENSE.txt", "License-data.txt", "README.txt",
                          "more.txt", "notes.md", "readme"));
  EXPECT_THAT(open(folder_.file("a.txt")).folders(), IsEmpty());
}

TEST_F(CorpusFiles, TextThatIsNotUtf8IsRefusedWithItsPlaceOrConverted) {
  const std::string latin1 = write("a.txt", "One.\n\nUn caf\xE9.\n");
  EXPECT_EQ(error(latin1), "a.txt:3: expected UTF-8, got byte 233 at column 7");
  EXPECT_THAT(texts(open(latin1, "latin1")), ElementsAre("One.", "Un caf\u00E9."));
  EXPECT_THAT(texts(open(compressed(latin1), "ISO-8859-1")), ElementsAre("One.", "Un caf\u00E9."));

  const std::string utf16 = write("b.txt", std::string("\xFF\xFEO\0n\0\xE9\0\n\0\n\0x\0", 14));
  EXPECT_EQ(error(utf16), "b.txt:1: expected UTF-8, got byte 255 at column 1");
  EXPECT_THAT(texts(open(utf16, "utf-16")), ElementsAre("On\u00E9", "x"));

  std::string treebank = sentence;
  treebank.replace(treebank.find("Heads"), 5, "T\xEAtes");
  EXPECT_EQ(error(write("c.conllu", treebank)),
            "c.conllu:2: expected UTF-8, got byte 234 at column 4");
  EXPECT_THAT(texts(open(folder_.file("c.conllu"), "latin1")), ElementsAre("T\u00EAtes look"));
}

TEST_F(CorpusFiles, EncodingsThatDoNotFitAreRefused) {
  const std::string path = write("a.txt", "abc\xFF");
  EXPECT_EQ(error(path, "ascii"),
            "a.txt: expected text in ascii, got byte 255 at byte 4 of the text");
  EXPECT_EQ(error(write("b.txt", "abc"), "utf-16"),
            "b.txt: expected text in utf-16, got byte 99 at byte 3 of the text");
  EXPECT_EQ(error(path, "klingon"),
            "encoding: expected an encoding that iconv knows, such as latin1, got \"klingon\"");
  for (const char* const name : {"utf-8", "UTF-8", "utf8"}) {
    EXPECT_THAT(error(path, name), HasSubstr("expected UTF-8")) << name;
  }
}

TEST_F(CorpusFiles, LongTextsAreConvertedAcrossBlocks) {
  // 200,000 bytes: characters of two bytes fall on the ends of the blocks read.
  std::string latin1, utf8;
  for (int i = 0; i < 200'000; ++i) {
    latin1 += i % 997 == 0 ? "\n\n" : "\xE9";
    utf8 += i % 997 == 0 ? "\n\n" : "\u00E9";
  }
  const Corpus converted = open(write("a.txt", latin1), "latin1"),
               plain = open(write("b.txt", utf8));
  EXPECT_EQ(converted.n_document(), 201U);
  EXPECT_EQ(texts(converted), texts(plain));
  std::string utf16;
  for (const char c : latin1) utf16 += {c, '\0'};
  EXPECT_EQ(texts(open(write("c.txt", utf16), "utf-16le")), texts(plain));
}

TEST_F(CorpusFiles, TheLastCharacterOfATextMayWaitForAMark) {
  EXPECT_THAT(texts(open(write("a.txt", "Hai"), "cp1258")), ElementsAre("Hai"));
  EXPECT_THAT(texts(open(write("b.txt", "\xF9\xEC"), "cp1255")), ElementsAre("\u05E9\u05DC"));
}

TEST_F(CorpusFiles, ALongDocumentOfSpacesIsLeftOut) {
  std::string spaces;
  for (int i = 0; i < 600; ++i) spaces += "\u00A0";
  const std::string path = write("a.txt", "One.\n\n" + spaces + "\n\nTwo.\n");
  const Corpus corpus({path}, &test::small_tokenizer(), {.max_tokens = 16});
  EXPECT_THAT(texts(corpus), ElementsAre("One.", "Two."));
}

// The Mongolian vowel separator is no white space, as it was in early versions of Unicode.
TEST_F(CorpusFiles, CutsDropWhiteSpaceAlone) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "ab\u180E";
  const std::string path = write("a.txt", text);
  const Corpus corpus({path}, &test::small_tokenizer(), {.max_tokens = 16});
  std::string all;
  for (std::uint64_t piece = 0; piece < corpus.n_piece(); ++piece) {
    const TokenIds tokens = corpus.piece(0, piece).tokens;
    all += test::small_tokenizer().decode({tokens.begin() + 1, tokens.end()});
  }
  EXPECT_EQ(all, text);
}

TEST_F(CorpusFiles, LinesMayEndWithCrAlone) {
  EXPECT_THAT(texts(open(write("a.txt", "One,\rtwo.\r\rThree.\r"))),
              ElementsAre("One,\ntwo.", "Three."));
  EXPECT_EQ(open(folder_.file("a.txt")).piece(1).id, "a.txt:4");
  // A CR within lines that end otherwise is kept.
  EXPECT_THAT(texts(open(write("b.txt", "One\rtwo.\n\nThree."))),
              ElementsAre("One\rtwo.", "Three."));
  std::string treebank = sentence;
  std::replace(treebank.begin(), treebank.end(), '\n', '\r');
  EXPECT_THAT(texts(open(write("c.conllu", treebank))), ElementsAre("Heads look"));
}

TEST_F(CorpusFiles, LinesThatEndWithCrLfAreThoseThatEndWithLf) {
  const std::string path = write("a.txt", "One,\r\ntwo\rtwo.\r\n\r\nThree.\r\n\r");
  EXPECT_THAT(texts(open(path)), ElementsAre("One,\ntwo\rtwo.", "Three."));
  EXPECT_EQ(open(path).piece(1).id, "a.txt:4");
  // CR and LF on both sides of the blocks in which a file is read.
  std::string text = "First.\n", windows = "First.\r\n";
  for (const std::size_t block : {std::size_t{1} << 16, std::size_t{1} << 20}) {
    const std::string words(block - 1 - windows.size(), 'x');
    text += words + "\n";
    windows += words + "\r\n";
  }
  EXPECT_EQ(texts(open(write("b.txt", windows))), texts(open(write("c.txt", text))));
}

TEST_F(CorpusFiles, GitLfsPointersAreCalledThat) {
  EXPECT_EQ(error(write("a.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
            "a.txt: expected the file itself, got a Git LFS pointer to it; `git lfs pull` "
            "downloads the file");
}

TEST_F(CorpusFiles, ATokenizerWithoutEndOfTextIsRefusedBeforeReading) {
  const std::string vocabulary = test::read_file(test::data_path("tokenizer/vocab.json"));
  std::string without = vocabulary;
  without.replace(without.find("<|endoftext|>"), 13, "<|begin|>");
  const Tokenizer tokenizer(without, "", "tokens");
  const std::string path = write("a.txt", "Text.");
  EXPECT_EQ(test::message_of([&] { Corpus({path}, &tokenizer, {}); }),
            "tokens:vocab: expected the token <|endoftext|>, with which documents begin, got "
            "none");
  CorpusOptions bare;
  bare.prepend_bos = false;
  EXPECT_EQ(Corpus({path}, &tokenizer, bare).n_document(), 1U);
}

}  // namespace
}  // namespace headscope
