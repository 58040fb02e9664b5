#include <array>
#include <filesystem>

#include "corpus/tokenizer_json.hpp"
#include "files/file_version.hpp"
#include "files/read_file.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

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
                    std::string("expected GPT-2's byte-level BPE (tokenizer.json, or vocab.json "
                                "and merges.txt), got ") +
                        name + " of " + kind);
  }
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
  return {read_unchanged(vocab), read_unchanged(merges), "", vocab, merges, ""};
}

std::optional<TokenizerFiles> tokenizer_files_of(const Model& model) {
  if (!model.tokenizer_vocab || !model.tokenizer_merges) {
    return find_tokenizer_files(fs::path(model.path).parent_path().string());
  }
  const std::string source = model.path + ":tokenizer";
  return TokenizerFiles{
      *model.tokenizer_vocab, *model.tokenizer_merges, model.tokenizer_added_tokens.value_or(""),
      source + ":vocab",      source + ":merges",      source + ":added_tokens"};
}

void store_tokenizer(const TokenizerFiles& files, Model& model) {
  model.tokenizer_vocab = files.vocab_json;
  model.tokenizer_merges = files.merges;
  model.tokenizer_added_tokens.reset();
  if (!files.added_tokens.empty()) model.tokenizer_added_tokens = files.added_tokens;
}

}  // namespace headscope
