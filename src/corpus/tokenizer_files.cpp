#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.hpp"
#include "corpus/tokenizer_json.hpp"
#include "files/file_version.hpp"
#include "files/read_file.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Names = std::array<const char*, 2>;
constexpr Names vocab_names{"vocab.json", "encoder.json"}, merges_names{"merges.txt", "vocab.bpe"};
constexpr const char* json_name = "tokenizer.json";

/// The first of the names that exists in the folder.
std::optional<std::string> first_of(const std::string& directory, const Names& names) {
  for (const char* const name : names) {
    const auto path = fs::path(directory) / name;
    if (fs::is_regular_file(path)) return path.string();
  }
  return std::nullopt;
}

std::string expect_one_of(const std::string& directory, const Names& names) {
  if (const auto path = first_of(directory, names)) return *path;
  throw DataError(directory, "",
                  std::string("expected ") + names[0] + " or " + names[1] + ", got neither");
}

std::string read_unchanged(const std::string& path) {
  return FileVersion(path).during([&] { return headscope::read_file(path); });
}

TokenizerFiles read_json_file(const std::string& path) {
  return parse_tokenizer_json(read_unchanged(path), path);
}

/// Refuses a folder that has the tokenizer of another kind of model.
void check_kind(const std::string& directory) {
  for (const auto& [name, kind] :
       {std::pair{"tokenizer.model", "SentencePiece"}, std::pair{"spiece.model", "SentencePiece"},
        std::pair{"vocab.txt", "WordPiece"}}) {
    if (!fs::exists(fs::path(directory) / name)) continue;
    throw DataError(directory, "",
                    std::string("expected tokenizer.json, or vocab.json and merges.txt, got ") +
                        name + " of " + kind);
  }
}

/// The JSON object in a file; an empty one if the file does not exist.
json read_object(const fs::path& path) {
  if (!fs::is_regular_file(path)) return json::object();
  json object = parse_json(read_unchanged(path.string()), path.string());
  if (!object.is_object()) throw DataError(path.string(), "", "expected a JSON object");
  return object;
}

/// Adds the texts of special tokens: a text, an object with `content`, or a list of these.
void add_texts(const json& tokens, std::set<std::string>& texts) {
  if (tokens.is_string()) texts.insert(tokens.get<std::string>());
  if (tokens.is_object() && tokens.contains("content")) add_texts(tokens["content"], texts);
  if (!tokens.is_array()) return;
  for (const json& token : tokens) add_texts(token, texts);
}

/// The texts of `pad_token`, `additional_special_tokens` and the like.
std::set<std::string> special_texts(const json& config, const json& special_tokens_map) {
  std::set<std::string> texts;
  for (const json* const file : {&config, &special_tokens_map}) {
    for (const auto& [key, value] : file->items()) {
      if (key.ends_with("_token") || key.ends_with("_tokens")) add_texts(value, texts);
    }
  }
  return texts;
}

/// Sets the added tokens of a folder without `tokenizer.json`, as Hugging Face reads them:
/// `added_tokens_decoder` of `tokenizer_config.json`, else `added_tokens.json`.
void read_added_tokens(const fs::path& directory, TokenizerFiles& files) {
  const fs::path config_path = directory / "tokenizer_config.json",
                 added_path = directory / "added_tokens.json";
  const json config = read_object(config_path);
  if (const auto prefix = config.find("add_prefix_space");
      prefix != config.end() && *prefix == true) {
    throw DataError(config_path.string(), "add_prefix_space",
                    "expected false, as in GPT-2, got true");
  }
  json tokens = json::array();
  if (const auto decoder = config.find("added_tokens_decoder"); decoder != config.end()) {
    files.added_source = config_path.string() + ":added_tokens_decoder";
    for (const auto& [id, token] : decoder->items()) {
      tokens.push_back(token.is_object() ? token : json::object());
      const json number = parse_json(id);
      tokens.back()["id"] = number.is_number() ? number : json(id);
    }
  } else {
    files.added_source = added_path.string();
    const auto special = special_texts(config, read_object(directory / "special_tokens_map.json"));
    const json added = read_object(added_path);
    for (const auto& [text, id] : added.items()) {
      const bool is_special = special.contains(text);
      tokens.push_back(
          {{"content", text}, {"id", id}, {"special", is_special}, {"normalized", !is_special}});
    }
  }
  if (!tokens.empty()) files.added_tokens = json_text(tokens);
}

}  // namespace

std::optional<TokenizerFiles> find_tokenizer_files(const std::string& directory) {
  const auto json = fs::path(directory) / json_name;
  if (fs::is_regular_file(json)) return read_json_file(json.string());
  if (!first_of(directory, vocab_names) || !first_of(directory, merges_names)) return std::nullopt;
  return read_tokenizer_files(directory);
}

TokenizerFiles read_tokenizer_files(const std::string& path) {
  if (fs::is_regular_file(path)) return read_json_file(path);
  if (fs::is_regular_file(fs::path(path) / json_name)) {
    return read_json_file((fs::path(path) / json_name).string());
  }
  if (!first_of(path, vocab_names)) check_kind(path);
  const std::string vocab = expect_one_of(path, vocab_names),
                    merges = expect_one_of(path, merges_names);
  TokenizerFiles files{read_unchanged(vocab), read_unchanged(merges), "", vocab, merges, ""};
  read_added_tokens(path, files);
  return files;
}

std::optional<TokenizerFiles> tokenizer_files_of(const Model& model) {
  if (!model.tokenizer_vocab || !model.tokenizer_merges) {
    return find_tokenizer_files(fs::path(model.path).parent_path().string());
  }
  const std::string source = model.path + ":tokenizer";
  return TokenizerFiles{*model.tokenizer_vocab,
                        *model.tokenizer_merges,
                        model.tokenizer_added_tokens.value_or(""),
                        source + ":vocab",
                        source + ":merges",
                        source + ":added_tokens",
                        model.tokenizer_settings.value_or(""),
                        source + ":settings"};
}

void store_tokenizer(const TokenizerFiles& files, Model& model) {
  model.tokenizer_vocab = files.vocab_json;
  model.tokenizer_merges = files.merges;
  model.tokenizer_added_tokens.reset();
  if (!files.added_tokens.empty()) model.tokenizer_added_tokens = files.added_tokens;
  model.tokenizer_settings.reset();
  if (!files.settings.empty()) model.tokenizer_settings = files.settings;
}

}  // namespace headscope
