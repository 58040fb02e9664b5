// Tokenizers of each family, against Hugging Face's ids.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/normal_form.hpp"
#include "base/utf8.hpp"
#include "corpus/document_cut.hpp"
#include "corpus/split_pattern.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using nlohmann::json;
using test::data_path;

const std::vector<std::string> families{"neox",   "smollm2", "llama3",   "qwen2",
                                        "llama2", "mistral", "metaspace"};

json family_json(const std::string& name) {
  return json::parse(test::read_file(data_path("tokenizer_families/" + name)));
}

std::string path_of(const std::string& family) {
  return data_path("tokenizer_families/" + family + ".json");
}

std::vector<std::string> texts() {
  return family_json("texts.json").get<std::vector<std::string>>();
}

std::string normal_form(const std::string& text) {
  std::string result;
  compose_canonically(
      text, [&](std::size_t, std::size_t, std::string_view composed) { result += composed; });
  return result;
}

std::string digest_of(const TokenIds& ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(id >> shift);
  }
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

bool composes(const std::string& family) {
  return family == "neox" || family == "qwen2" || family == "metaspace";
}

TEST(TokenizerFamilies, GiveTheIdsOfHuggingFaceOn500StrangeTexts) {
  const std::vector<std::string> all = texts();
  ASSERT_EQ(all.size(), 500U);
  for (const std::string& family : families) {
    const Tokenizer tokenizer = Tokenizer::from_directory(path_of(family));
    const json expected = family_json(family + "_ids.json")["ids"];
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(tokenizer.encode(all[i]).ids, expected[i].get<TokenIds>())
          << family << " " << i << ": " << all[i];
    }
  }
}

TEST(TokenizerFamilies, TokensStandForTheTextAndTheirSpansCoverIt) {
  for (const std::string& family : families) {
    const Tokenizer tokenizer = Tokenizer::from_directory(path_of(family));
    for (const std::string& text : texts()) {
      // A space is put before texts after an added token too, or stands for the one that a text
      // has, and the mark of a space is read as one: decoding gives another text there, as Hugging
      // Face's does.
      if (text.starts_with(' ') || text.find("\u2581") != text.npos ||
          text.find("[T") != text.npos) {
        continue;
      }
      const Tokenizer::Encoding encoding = tokenizer.encode(text);
      const std::string decoded = tokenizer.decode(encoding.ids);
      // An added token stands for its text as it was added.
      EXPECT_EQ(composes(family) ? normal_form(decoded) : decoded,
                composes(family) ? normal_form(text) : text)
          << family;
      ASSERT_EQ(encoding.spans.size(), encoding.ids.size());
      std::size_t begin = 0, end = 0;
      for (const auto& [first, last] : encoding.spans) {
        // The tokens of a character that was normalised share its span.
        EXPECT_TRUE(first >= begin && first <= end && last >= end) << family << ": " << text;
        if (!composes(family)) {
          EXPECT_EQ(first, end) << family << ": " << text;
        }
        begin = first;
        end = last;
      }
      EXPECT_EQ(end, text.size()) << family << ": " << text;
    }
  }
}

TEST(TokenizerFamilies, TheFirstTokenIsWhatTheTokenizerPrepends) {
  for (const auto& [family, first] :
       {std::pair{"neox", "<|endoftext|>"}, std::pair{"smollm2", "<|endoftext|>"},
        std::pair{"llama3", "<|begin_of_text|>"}, std::pair{"qwen2", "<|endoftext|>"},
        std::pair{"llama2", "<s>"}, std::pair{"mistral", "<s>"}}) {
    const Tokenizer tokenizer = Tokenizer::from_directory(path_of(family));
    EXPECT_EQ(tokenizer.decode(tokenizer.first_token()), first);
    TokenIds with_first = tokenizer.encode("a").ids;
    if (tokenizer.first_token_reason() == "the tokenizer") {
      with_first.insert(with_first.begin(), tokenizer.first_token());
    }
    EXPECT_EQ(with_first,
              family_json(std::string(family) + "_ids.json")["with_first"].get<TokenIds>());
  }
}

TEST(TokenizerFamilies, AnotherFirstTokenIsOneOfTheVocabulary) {
  Tokenizer tokenizer = Tokenizer::from_directory(path_of("llama2"));
  tokenizer.begin_with("</s>", "--bos");
  EXPECT_EQ(tokenizer.first_token(), 2);
  EXPECT_EQ(tokenizer.first_token_reason(), "--bos");
  EXPECT_EQ(test::message_of<DataError>([&] { tokenizer.begin_with("</S>", "--bos"); }),
            path_of("llama2") +
                ":model.vocab: expected the token \"</S>\", with which documents begin, got none; "
                "did you mean </s>?");
  EXPECT_THROW(tokenizer.begin_with(TokenId{100000}, "--bos"), ShapeError);
}

TEST(TokenizerFamilies, CharactersWithoutATokenAreBytes) {
  const Tokenizer tokenizer = Tokenizer::from_directory(path_of("llama2"));
  const TokenIds ids = tokenizer.encode("\xF0\x9F\x98\x80 \xFF").ids;
  std::string bytes;
  for (const TokenId id : ids) bytes += tokenizer.decode(id);
  EXPECT_EQ(bytes, " \xF0\x9F\x98\x80 \xFF");
  EXPECT_EQ(tokenizer.decode(*tokenizer.token("<0x41>")), "A");
  // The text of a byte's entry is text.
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("<0x41>").ids), "<0x41>");
}

TEST(TokenizerFamilies, TokensOfTwoPartsAddUpWhereWordsAreApart) {
  for (const std::string& family : families) {
    const Tokenizer tokenizer = Tokenizer::from_directory(path_of(family));
    ASSERT_TRUE(tokenizer.separates_words()) << family;
    for (const std::string& text : texts()) {
      for (std::size_t i = 1; i < text.size(); ++i) {
        const auto before = static_cast<unsigned char>(text[i - 1]);
        if (text[i] != ' ' || before <= ' ' || before >= 0x7F) continue;
        TokenIds joined = tokenizer.encode(text.substr(0, i)).ids;
        const TokenIds rest = tokenizer.encode(text.substr(i), true).ids;
        joined.insert(joined.end(), rest.begin(), rest.end());
        EXPECT_EQ(joined.size(), tokenizer.encode(text).ids.size()) << family << ": " << text;
      }
    }
  }
}

TEST(TokenizerFamilies, PiecesOfLongTextsFit) {
  for (const std::string& family : families) {
    const Tokenizer tokenizer = Tokenizer::from_directory(path_of(family));
    for (const std::string& text : texts()) {
      if (text.find_first_not_of(" \n\r\t") == text.npos) continue;
      for (const auto& [begin, end] : cut_text(tokenizer, text, 7).pieces) {
        ASSERT_LT(begin, end);
        EXPECT_LE(tokenizer.encode(text.substr(begin, end - begin)).ids.size(), 7U)
            << family << ": " << text;
      }
    }
  }
}

TEST(TokenizerFamilies, AreKeptInAModelFile) {
  const test::TemporaryDirectory folder;
  for (const std::string& family : families) {
    Model model = load_model(data_path("hub/snapshot"));
    store_tokenizer(read_tokenizer_files(path_of(family)), model);
    save_model(model, folder.file("model.h5"));
    const auto files = tokenizer_files_of(load_model(folder.file("model.h5")));
    ASSERT_TRUE(files);
    const Tokenizer kept(*files), given = Tokenizer::from_directory(path_of(family));
    EXPECT_EQ(kept.sha256(), given.sha256());
    for (const std::string& text : texts())
      EXPECT_EQ(kept.encode(text).ids, given.encode(text).ids);
  }
}

TEST(TokenizerFamilies, SmolLM2sOwnTokenizerGivesTheIdsOfHuggingFace) {
  const char* const set = std::getenv("HEADSCOPE_SMOLLM2");
  const std::string folder = set != nullptr ? set : HEADSCOPE_PROJECT_DIR "/../smollm2";
  if (!std::filesystem::exists(folder + "/tokenizer.json")) {
    GTEST_SKIP() << "no SmolLM2 in " << folder;
  }
  const Tokenizer tokenizer = Tokenizer::from_directory(folder);
  EXPECT_TRUE(tokenizer.separates_words());
  const std::vector<std::string> all = texts();
  const json expected = family_json("smollm2_135m_ids.json");
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(digest_of(tokenizer.encode(all[i]).ids), expected[i].get<std::string>()) << all[i];
  }
}

TEST(NormalForm, IsThatOfHuggingFaceForEveryCharacterItKnows) {
  for (const json& run : family_json("normal_form.json")) {
    std::string text;
    for (const json& range : run["ranges"]) {
      for (auto c = range[0].get<char32_t>(); c <= range[1].get<char32_t>(); ++c) {
        std::string one;
        utf8::append(one, c);
        for (const std::string after : {"", "\u0301a", "\u0323", "\u1161", "\u11a8\n"}) {
          text += one + after;
        }
      }
    }
    Sha256 hash;
    hash.add(normal_form(text));
    EXPECT_EQ(hash.finish(), run["nfc"].get<std::string>()) << run["ranges"][0];
  }
}

TEST(SplitPattern, KeepsWhatTokenizersUseAndRefusesTheRest) {
  EXPECT_EQ(pcre2_pattern(R"(\p{N}{1,3}| ?[^\s\p{L}]+[\r\n]*|\s+(?!\S)|[\]\d]?+)"),
            R"(\p{N}{1,3}| ?[^\p{White_Space}\p{L}]+[\r\n]*|\p{White_Space}+(?!\P{White_Space})|)"
            R"([\]\p{Nd}]?+)");
  for (const auto& [pattern, construct] :
       {std::pair{R"(\w+)", R"(\w)"}, std::pair{"a.b", "."}, std::pair{"^a", "^"},
        std::pair{"a{1,2}+", "}+"}, std::pair{"(?<n>a)", "(?<n"}, std::pair{"[a&&b]", "&&"},
        std::pair{"[[:alpha:]]", "[ within [ ]"}, std::pair{"a\\", "\\ at the end"}}) {
    try {
      pcre2_pattern(pattern);
      ADD_FAILURE() << pattern;
    } catch (const std::invalid_argument& error) {
      EXPECT_STREQ(error.what(), construct);
    }
  }
}

/// The refusal of a tokenizer with an edited file.
std::string refusal(const std::string& family, const std::function<void(json&)>& edit) {
  const test::TemporaryDirectory folder;
  json content = family_json(family + ".json");
  edit(content);
  const std::string path = folder.file("tokenizer.json");
  test::write_file(path, content.dump());
  const std::string text = test::message_of<DataError>([&] { Tokenizer::from_directory(path); });
  return text.starts_with(path) ? text.substr(path.size()) : text;
}

TEST(TokenizerFamilies, ASpaceMayStandForASpace) {
  EXPECT_EQ(refusal("llama2",
                    [](json& j) {
                      j["normalizer"] = {
                          {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", " "}};
                    }),
            "no error");
}

TEST(TokenizerFamilies, WhatIsNotSupportedIsRefusedByName) {
  EXPECT_EQ(refusal("llama3",
                    [](json& j) {
                      j["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {{"Regex", "\\w+"}};
                    }),
            ":pre_tokenizer.pattern: expected constructs of known meaning, got \\w");
  EXPECT_EQ(refusal("llama3",
                    [](json& j) {
                      j["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {{"Regex", "(a"}};
                    })
                .substr(0, 75),
            ":pre_tokenizer.pattern: expected constructs of known meaning, got pattern d");
  EXPECT_EQ(refusal("llama3",
                    [](json& j) {
                      j["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "MergedWithNext";
                    }),
            ":pre_tokenizer.behavior: expected Isolated or Removed, got \"MergedWithNext\"");
  EXPECT_EQ(refusal("qwen2",
                    [](json& j) {
                      j["normalizer"] = {{"type", "NFKC"}};
                    }),
            ":normalizer: expected NFC, Prepend or Replace, got NFKC");
  EXPECT_EQ(refusal("qwen2",
                    [](json& j) {
                      j["normalizer"] = {{"type", "Prepend"}, {"prepend", "x"}};
                    }),
            ":normalizer: expected none or NFC before ByteLevel, got Prepend or Replace");
  EXPECT_EQ(refusal("llama2", [](json& j) { j["model"]["byte_fallback"] = false; }),
            ":pre_tokenizer: expected ByteLevel, or model.byte_fallback true, got neither");
  EXPECT_EQ(refusal("llama2",
                    [](json& j) {
                      j["model"]["vocab"]["<0x0a>"] = j["model"]["vocab"]["<0x0A>"];
                      j["model"]["vocab"].erase("<0x0A>");
                    }),
            ":model.vocab: expected a token for every byte, got none for byte 10 (\"<0x0A>\")");
  EXPECT_EQ(refusal("llama2",
                    [](json& j) {
                      j["pre_tokenizer"] = {{"type", "Whitespace"}};
                    }),
            ":pre_tokenizer: expected ByteLevel, Digits, Split or Metaspace, got Whitespace");
  EXPECT_EQ(refusal("llama2", [](json& j) { j["model"]["dropout"] = 0.1; }),
            ":model.dropout: expected 0, got 0.1");
  EXPECT_EQ(refusal("llama2",
                    [](json& j) {
                      j["post_processor"]["single"].push_back({{"SpecialToken", {{"id", "</s>"}}}});
                    })
                .substr(0, 74),
            ":post_processor.single: expected the text alone or after one token, got [{");
  EXPECT_EQ(refusal("llama2",
                    [](json& j) {
                      j["post_processor"] = {{"type", "RobertaProcessing"}};
                    }),
            ":post_processor: expected TemplateProcessing or ByteLevel, got RobertaProcessing");
}

}  // namespace
}  // namespace headscope
