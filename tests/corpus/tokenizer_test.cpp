#include "headscope/tokenizer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/shared_data.hpp"
#include "support/small_tokenizer.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

const std::string golden = HEADSCOPE_TEST_DATA "/tokenizer";

using test::small_tokenizer;

nlohmann::json read_json(const std::string& name) {
  return nlohmann::json::parse(test::read_file(golden + "/" + name));
}

// SHA-256 of the ids as little-endian 32-bit integers, as in the golden script.
std::string digest(const TokenIds& ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(id >> shift);
  }
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string tokenizer_error(const std::string& vocab, const std::string& merges) {
  return test::message_of<DataError>([&] { Tokenizer(vocab, merges, "tokens"); });
}

// A vocabulary of the 256 bytes, followed by the entries of `more`.
nlohmann::json byte_vocabulary(const std::vector<std::string>& more = {}) {
  const auto trained = read_json("vocab.json");
  nlohmann::json vocabulary;
  for (const auto& [token, id] : trained.items()) {
    if (small_tokenizer().decode(id.get<TokenId>()).size() == 1) {
      vocabulary[token] = vocabulary.size();
    }
  }
  for (const std::string& token : more) vocabulary[token] = vocabulary.size();
  return vocabulary;
}

// A tokenizer of the 256 bytes and the word "the".
const Tokenizer& the_tokenizer() {
  static const Tokenizer tokenizer(byte_vocabulary({"th", "the"}).dump(), "t h\nth e\n", "tokens");
  return tokenizer;
}

TEST(Tokenizer, GivesTheIdsOfHuggingFace) {
  const auto cases = read_json("cases.json");
  ASSERT_GE(cases.size(), 30u);
  for (const auto& one : cases) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(small_tokenizer().encode(text).ids, one["ids"].get<TokenIds>()) << text;
  }
}

TEST(Tokenizer, ClassesOfEveryAssignedCharacterAreThoseOfHuggingFace) {
  for (const auto& run : read_json("characters.json")) {
    std::string text;
    for (const auto& range : run["ranges"]) {
      for (auto c = range[0].get<char32_t>(); c <= range[1].get<char32_t>(); ++c) {
        std::string character;
        utf8::append(character, c);
        for (const char* const piece : {"a", "b ", "1", "2 .", "! ", "", " \n"}) {
          text += piece;
          if (piece != std::string(" \n")) text += character;
        }
      }
    }
    // The text is "a{c}b {c}1{c}2 .{c}! {c}{c} \n".
    EXPECT_EQ(digest(small_tokenizer().encode(text).ids), run["sha256"].get<std::string>())
        << "run from code point " << run["ranges"][0][0];
  }
}

TEST(Tokenizer, EncodesTheSharedTextsAsHuggingFaceDoes) {
  if (!std::filesystem::exists(test::shared_data)) GTEST_SKIP() << "../shared is absent";
  const Tokenizer gpt2 = Tokenizer::from_directory(test::shared_data + "/tokenizer");
  EXPECT_EQ(gpt2.size(), 50257u);
  EXPECT_EQ(gpt2.first_token(), 50256);
  EXPECT_TRUE(gpt2.separates_words());
  std::size_t n_file = 0;
  const auto files = read_json("shared_files.json");
  for (const auto& [name, expected] : files.items()) {
    const std::string text = test::read_file(test::shared_data + "/" + name);
    const auto encoding = gpt2.encode(text);
    EXPECT_EQ(encoding.ids.size(), expected["n_token"].get<std::size_t>()) << name;
    EXPECT_EQ(digest(encoding.ids), expected["sha256"].get<std::string>()) << name;
    EXPECT_TRUE(gpt2.decode(encoding.ids) == text) << name;
    ++n_file;
  }
  EXPECT_EQ(n_file, 26u);
}

TEST(Tokenizer, DecodeUndoesEncodeForAnyBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    std::string bytes(random() % 200, '\0');
    // Half of the rounds draw from few bytes, which makes merges and valid UTF-8 likely.
    const bool any = round % 2 == 0;
    const std::string common = "ath e\xC3\xA9 \n'\xF0\x9F\x98\x80";
    for (char& byte : bytes) {
      byte = any ? static_cast<char>(random()) : common[random() % common.size()];
    }
    const auto encoding = small_tokenizer().encode(bytes);
    EXPECT_EQ(small_tokenizer().decode(encoding.ids), bytes);
    std::size_t end = 0;
    ASSERT_EQ(encoding.spans.size(), encoding.ids.size());
    for (std::size_t t = 0; t < encoding.ids.size(); ++t) {
      EXPECT_EQ(encoding.spans[t].first, end);
      end = encoding.spans[t].second;
      EXPECT_EQ(bytes.substr(encoding.spans[t].first, end - encoding.spans[t].first),
                small_tokenizer().decode(encoding.ids[t]));
    }
    EXPECT_EQ(end, bytes.size());
  }
}

TEST(Tokenizer, SplitsBytesThatAreNotUtf8AsPunctuation) {
  const auto& t = the_tokenizer();
  // An invalid byte is split off from letters on both sides, as punctuation is.
  const auto spans_with = [&](const std::string& middle) {
    std::vector<std::string> parts;
    for (const auto& [begin, end] : t.encode("the " + middle + "the").spans) {
      parts.push_back(("the " + middle + "the").substr(begin, end - begin));
    }
    return parts;
  };
  EXPECT_EQ(spans_with("\xFF").back(), "the");
  EXPECT_EQ(spans_with("\xFF").front(), "the");
  EXPECT_EQ(spans_with("\xFF")[1], " ");
  // A surrogate, an overlong encoding and a cut character are not UTF-8 either.
  for (const std::string bytes : {"\xED\xA0\x80", "\xC0\xAF", "\xE6\x9D"}) {
    EXPECT_EQ(spans_with(bytes).back(), "the");
    EXPECT_EQ(t.decode(t.encode(bytes).ids), bytes);
  }
}

// The pattern of GPT-2, by which parts of ASCII are found without it.
TEST(Tokenizer, PartsAreThoseOfThePattern) {
  const UnicodePattern pattern(
      R"('(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  const std::vector<std::string> letters{"a",  "the", "S",  "1",  " ",  " ",      " ",      "\n",
                                         "\t", "'",   "'s", "re", "ll", "!",      "\x01",   "\x7F",
                                         "é",  "٣",   "中", "—",  "\r", "\u00A0", "\u2003", "\v"};
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t n = 1 + random() % 12; n > 0; --n) text += letters[random() % letters.size()];
    TokenIds expected;
    UnicodePattern::Search search(pattern, text);
    for (auto part = search.next(0); part; part = search.next(part->second)) {
      const TokenIds ids =
          small_tokenizer().encode(text.substr(part->first, part->second - part->first)).ids;
      expected.insert(expected.end(), ids.begin(), ids.end());
      if (part->second == text.size()) break;
    }
    ASSERT_EQ(small_tokenizer().encode(text).ids, expected) << escaped_utf8(text);
  }
}

TEST(Tokenizer, EmptyTextHasNoTokens) {
  EXPECT_TRUE(small_tokenizer().encode("").ids.empty());
}

TEST(Tokenizer, MergesLowestRankFirstThenLeftmost) {
  const auto vocabulary = byte_vocabulary({"ab", "bc", "abc", "aa"}).dump();
  const Tokenizer bc_first(vocabulary, "#version: 0.2\nb c\na b\na bc\na a\n", "tokens");
  const auto parts = [&](const std::string& text) {
    std::string joined;
    for (const TokenId id : bc_first.encode(text).ids) joined += bc_first.decode(id) + "|";
    return joined;
  };
  EXPECT_EQ(parts("abc"), "abc|");
  EXPECT_EQ(parts("abab"), "ab|ab|");
  EXPECT_EQ(parts("aaa"), "aa|a|");
  EXPECT_EQ(parts("aabc"), "a|abc|");
}

TEST(Tokenizer, LongPartsMergeAsShortOnesDo) {
  // Short parts are merged by a scan, long ones by a queue; 400 equal words are long enough.
  const auto& t = the_tokenizer();
  const TokenIds one = t.encode("the").ids;
  ASSERT_EQ(one.size(), 1u);
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the";
  EXPECT_EQ(t.encode(text).ids, TokenIds(400, one[0]));
}

TEST(Tokenizer, MillionsOfSpacesAndLettersTakeNoQuadraticTime) {
  const std::string text = std::string(1 << 20, ' ') + std::string(1 << 20, 'q');
  EXPECT_EQ(small_tokenizer().decode(small_tokenizer().encode(text).ids), text);
}

TEST(Tokenizer, ThreadsGetTheSameIds) {
  const std::string text = read_json("cases.json").dump();
  const TokenIds expected = small_tokenizer().encode(text).ids;
  std::vector<TokenIds> found(4);
  std::vector<std::thread> threads;
  for (TokenIds& ids : found) {
    threads.emplace_back([&] { ids = small_tokenizer().encode(text).ids; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const TokenIds& ids : found) EXPECT_EQ(ids, expected);
}

TEST(Tokenizer, EndOfTextInATextIsText) {
  const auto& t = small_tokenizer();
  EXPECT_EQ(t.decode(t.first_token()), "<|endoftext|>");
  const auto ids = t.encode("<|endoftext|>").ids;
  EXPECT_GT(ids.size(), 1u);
}

TEST(Tokenizer, MalformedFilesAreNamed) {
  EXPECT_EQ(tokenizer_error("{", ""), "tokens:vocab: expected JSON, got unfinished or other text");
  EXPECT_EQ(tokenizer_error("[1]", ""),
            "tokens:vocab: expected a JSON object of tokens and ids, got array");
  EXPECT_EQ(tokenizer_error("{}", ""), "tokens:vocab: expected tokens, got none");
  EXPECT_EQ(tokenizer_error(R"({"a": -1})", ""),
            "tokens:vocab: expected ids 0 to 0, each once, got -1 for \"a\"");
  EXPECT_EQ(tokenizer_error(R"({"a": "0"})", ""),
            "tokens:vocab: expected ids 0 to 0, each once, got \"0\" for \"a\"");
  EXPECT_EQ(tokenizer_error(R"({"a": 1, "b": 1})", ""),
            "tokens:vocab: expected ids 0 to 1, each once, got 1 again for \"b\"");
  EXPECT_EQ(tokenizer_error(R"({"a": 0, "b": 4000000000})", ""),
            "tokens:vocab: expected ids 0 to 1, each once, got 4000000000 for \"b\"");
  EXPECT_EQ(tokenizer_error(R"({"a": 0})", ""),
            "tokens:vocab: expected a token for every byte, got none for byte 0 (\"\xC4\x80\")");
  const std::string bytes = byte_vocabulary().dump();
  EXPECT_EQ(tokenizer_error(bytes, "#version: 0.2\nab\n"),
            "tokens:merges:2: expected two tokens with a space between them, got \"ab\"");
  EXPECT_EQ(tokenizer_error(bytes, "a b c"),
            "tokens:merges:1: expected two tokens with a space between them, got \"a b c\"");
  EXPECT_EQ(tokenizer_error(bytes, "a b\n"),
            "tokens:merges:1: expected tokens of the vocabulary, got \"ab\"");
  EXPECT_EQ(tokenizer_error(bytes, ""), "no error");
}

TEST(Tokenizer, MissingFilesAndTokensAreNamed) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(test::message_of<DataError>([&] { Tokenizer::from_directory(folder.file("")); }),
            folder.file("") + ": expected vocab.json or encoder.json, got neither");
  const auto error_with = [&](const char* name, const std::string& text) {
    test::write_file(folder.file(name), text);
    try {
      Tokenizer::from_directory(folder.path());
      return std::string("no error");
    } catch (const DataError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(error_with("vocab.json", byte_vocabulary().dump()),
            folder.path() + ": expected merges.txt or vocab.bpe, got neither");
  EXPECT_EQ(
      error_with("merges.txt", "ab"),
      folder.file("merges.txt:1") + ": expected two tokens with a space between them, got \"ab\"");
  EXPECT_EQ(error_with("vocab.json", "{"),
            folder.file("vocab.json") + ": expected JSON, got unfinished or other text");
  const Tokenizer bytes_only(byte_vocabulary().dump(), "", "tokens");
  EXPECT_THROW(bytes_only.first_token(), DataError);
  EXPECT_THROW(bytes_only.decode(256), ShapeError);
  EXPECT_THROW(bytes_only.decode(-1), ShapeError);
}

}  // namespace
}  // namespace headscope
