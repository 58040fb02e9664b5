// tokenizer.json, added_tokens.json, and tokenizers found with a model.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::data_path;
using test::message_of;

json parse_file(const std::string& path) {
  return json::parse(test::read_file(path));
}

void expect_golden_ids(const Tokenizer& tokenizer, const std::string& name = "hub/cases.json") {
  const json cases = parse_file(data_path(name));
  ASSERT_GE(cases.size(), 15U);
  for (const json& one : cases) {
    const auto text = one["text"].get<std::string>();
    const Tokenizer::Encoding encoding = tokenizer.encode(text);
    EXPECT_EQ(encoding.ids, one["ids"].get<TokenIds>()) << text;
    EXPECT_EQ(tokenizer.decode(encoding.ids), text);
    std::size_t end = 0;
    for (const auto& [begin, next] : encoding.spans) {
      EXPECT_EQ(begin, end) << text;
      end = next;
    }
    EXPECT_EQ(end, text.size());
  }
}

TEST(TokenizerJson, GivesTheIdsOfHuggingFaceWithAddedTokensAndEitherFormOfMerges) {
  const Tokenizer pairs = Tokenizer::from_directory(data_path("hub/snapshot"));
  const Tokenizer texts = Tokenizer::from_directory(data_path("hub/tokenizer_text_merges.json"));
  expect_golden_ids(pairs);
  expect_golden_ids(texts);
  EXPECT_EQ(pairs.sha256(), texts.sha256());
  EXPECT_EQ(pairs.size(), 307U);
  EXPECT_EQ(pairs.first_token(), 0);
  EXPECT_EQ(pairs.decode(304), "日本語");
}

TEST(TokenizerJson, BytesWithoutATokenAreLeftOutWhereTheTokenizerSaysSo) {
  const test::TemporaryDirectory folder;
  json content = parse_file(data_path("hub/snapshot/tokenizer.json"));
  json& vocabulary = content["model"]["vocab"];
  vocabulary["a token that no text has"] = vocabulary["\u0100"];
  vocabulary.erase("\u0100");  // byte 0
  test::write_file(folder.file("tokenizer.json"), content.dump());
  const Tokenizer tokenizer = Tokenizer::from_directory(folder.file("tokenizer.json"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(std::string("one\0", 4)).ids), "one");
}

TEST(TokenizerJson, OtherKindsAreRefusedByName) {
  const auto error = [](const std::string& name) {
    const std::string path = data_path("hub/other_" + name + ".json");
    const std::string text = message_of<DataError>([&] { Tokenizer::from_directory(path); });
    EXPECT_TRUE(text.starts_with(path + ":")) << text;
    return text.substr(std::min(text.size(), path.size() + 1));
  };
  EXPECT_EQ(error("word_piece"), "model: expected BPE, got WordPiece");
  EXPECT_EQ(error("unigram"), "model: expected BPE, got Unigram");
  EXPECT_EQ(error("prefix_space"), "pre_tokenizer.add_prefix_space: expected false, got true");
}

TEST(TokenizerJson, FoldersOfOtherKindsAreRefusedByName) {
  for (const auto& [name, kind] :
       {std::pair{"tokenizer.model", "SentencePiece"}, std::pair{"spiece.model", "SentencePiece"},
        std::pair{"vocab.txt", "WordPiece"}}) {
    const test::TemporaryDirectory folder;
    test::write_file(folder.file(name), "x");
    EXPECT_EQ(message_of<DataError>([&] { Tokenizer::from_directory(folder.path()); }),
              folder.path() + ": expected tokenizer.json, or vocab.json and merges.txt, got " +
                  name + " of " + kind);
  }
}

TEST(TokenizerJson, MalformedPartsAreNamed) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("tokenizer.json");
  const auto error = [&](const std::function<void(json&)>& edit) {
    json content = parse_file(data_path("hub/snapshot/tokenizer.json"));
    edit(content);
    test::write_file(path, content.dump());
    const std::string text = message_of<DataError>([&] { Tokenizer::from_directory(path); });
    return text.starts_with(path) ? text.substr(path.size()) : text;
  };
  EXPECT_EQ(error([](json&) {}), "no error");
  EXPECT_EQ(error([](json& j) { j = json::array(); }), ": expected a JSON object");
  EXPECT_EQ(error([](json& j) { j.erase("model"); }), ":model: expected BPE, got none");
  EXPECT_EQ(error([](json& j) { j["model"]["merges"] = "a b"; }),
            ":model.merges: expected a list of merges");
  EXPECT_EQ(error([](json& j) {
              j["model"]["merges"][0] = json::array({"a", "b c"});
            }),
            ":model.merges: expected pairs of tokens without white space, got [\"a\",\"b c\"]");
  EXPECT_EQ(error([](json& j) { j["model"]["merges"][0] = "a\nb c"; }),
            ":model.merges: expected pairs of tokens without white space, got \"a\\nb c\"");
  EXPECT_EQ(error([](json& j) { j["model"]["merges"][2] = "a \xC3\xBFz"; }),
            ":model.merges:3: expected tokens of the vocabulary, got \"\xC3\xBFz\"");
  EXPECT_EQ(error([](json& j) { j["model"].erase("vocab"); }),
            ":model.vocab: expected a JSON object of tokens and ids, got null");
  EXPECT_EQ(error([](json& j) { j["added_tokens"] = 1; }),
            ":added_tokens: expected a list of tokens");
  EXPECT_EQ(error([](json& j) { j["added_tokens"][1].erase("id"); }),
            ":added_tokens: expected tokens with content and id, got "
            "{\"content\":\"<|pad|>\",\"lstrip\":false,\"normalized\":false,\"rstrip\":false,"
            "\"single_word\":false,\"special\":true}");
  EXPECT_EQ(error([](json& j) { j["added_tokens"][1]["id"] = 7; }),
            ":added_tokens: expected ids 0 to 306, each once, got 7 again for \"<|pad|>\"");
  EXPECT_EQ(error([](json& j) { j["added_tokens"][0]["id"] = 7; }),
            ":added_tokens:<|endoftext|>: expected id 0, as in the vocabulary, got 7");
  EXPECT_EQ(error([](json& j) { j["added_tokens"][1]["lstrip"] = true; }), "no error");
  EXPECT_EQ(error([](json& j) { j["added_tokens"][2]["lstrip"] = true; }),
            ":added_tokens:[TOOL]: expected lstrip false, got true");
}

/// A folder with the files of hub/added_tokens, some of them edited.
struct EditedTokenizer {
  test::TemporaryDirectory folder;

  EditedTokenizer() { fs::copy(data_path("hub/added_tokens"), folder.path()); }
  void edit(const std::string& name, const std::function<void(json&)>& change) const {
    json content = parse_file(folder.file(name));
    change(content);
    test::write_file(folder.file(name), content.dump());
  }
  std::string error() const {
    const std::string text =
        message_of<DataError>([&] { Tokenizer::from_directory(folder.path()); });
    const std::string path = folder.path() + "/";
    return text.starts_with(path) ? text.substr(path.size()) : text;
  }
};

TEST(AddedTokens, GiveTheIdsOfHuggingFaceFromTheFilesOfLaterAndOfEarlyVersions) {
  const EditedTokenizer files;
  expect_golden_ids(Tokenizer::from_directory(files.folder.path()), "hub/added_tokens/cases.json");
  fs::remove(files.folder.file("tokenizer_config.json"));
  expect_golden_ids(Tokenizer::from_directory(files.folder.path()),
                    "hub/added_tokens/cases_early.json");
}

TEST(AddedTokens, MalformedFilesAreNamed) {
  {
    const EditedTokenizer files;
    files.edit("tokenizer_config.json",
               [](json& j) { j["added_tokens_decoder"]["300"] = "[TOOL]"; });
    EXPECT_EQ(files.error(),
              "tokenizer_config.json:added_tokens_decoder: expected tokens with content and id, "
              "got {\"id\":300}");
    files.edit("tokenizer_config.json", [](json& j) { j["add_prefix_space"] = true; });
    EXPECT_EQ(files.error(),
              "tokenizer_config.json:add_prefix_space: expected false, as in GPT-2, got true");
  }
  const EditedTokenizer files;
  fs::remove(files.folder.file("tokenizer_config.json"));
  EXPECT_EQ(files.error(), "no error");
  files.edit("added_tokens.json", [](json& j) { j["[TOOL]"] = 7; });
  EXPECT_TRUE(files.error().starts_with("added_tokens.json: expected ids 0 to ")) << files.error();
  files.edit("added_tokens.json", [](json& j) { j = json::array(); });
  EXPECT_EQ(files.error(), "added_tokens.json: expected a JSON object");
}

TEST(TokenizerOfAModel, IsTheOneInTheFileElseTheOneBesideIt) {
  Model model = load_model(data_path("hub/snapshot"));
  const auto beside = tokenizer_files_of(model);
  ASSERT_TRUE(beside);
  expect_golden_ids(Tokenizer(*beside));
  store_tokenizer(*beside, model);
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("model.h5");
  save_model(model, path);
  fs::copy_file(data_path("tokenizer/vocab.json"), folder.file("vocab.json"));
  fs::copy_file(data_path("tokenizer/merges.txt"), folder.file("merges.txt"));
  const auto inside = tokenizer_files_of(load_model(path));
  ASSERT_TRUE(inside);
  expect_golden_ids(Tokenizer(*inside));
  EXPECT_EQ(Tokenizer(*inside).sha256(), Tokenizer(*beside).sha256());
  EXPECT_FALSE(tokenizer_files_of(load_model(data_path("tiny_flat/float64.h5"))));
}

TEST(TokenizerOfAModel, MustHaveTheModelsNumberOfTokensUpToPadding) {
  Model model;
  model.path = "model.h5";
  const Tokenizer tokenizer = Tokenizer::from_directory(data_path("hub/snapshot"));  // 307
  const auto error = [&](Index d_vocab) {
    model.config.d_vocab = d_vocab;
    return message_of<DataError>([&] { check_tokenizer_fits(tokenizer, model); });
  };
  for (const Index fitting : {0, 307, 312, 1024}) EXPECT_EQ(error(fitting), "no error");
  EXPECT_EQ(error(306), data_path("hub/snapshot/tokenizer.json") +
                            ":model.vocab: expected at most 306 tokens, as model.h5 has, got 307");
  EXPECT_NE(error(50257), "no error");
}

}  // namespace
}  // namespace headscope
