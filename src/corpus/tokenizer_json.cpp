#include "corpus/tokenizer_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "corpus/byte_alphabet.hpp"
#include "corpus/tokenizer_settings.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// A merge as a line of `merges.txt`.
std::string merge_line(const json& merge, const std::string& source) {
  std::string line;
  if (merge.is_string()) {
    line = merge.get<std::string>();
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
             merge[1].is_string()) {
    line = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  // Anything else would be read as another merge, or as none, from a line of merges.txt.
  if (line.empty() || line.find_first_of("\r\n") != std::string::npos ||
      std::ranges::count(line, ' ') != 1 || line.starts_with("#version")) {
    throw DataError(source, "model.merges",
                    "expected pairs of tokens without white space, got " + json_text(merge));
  }
  return line + '\n';
}

bool has_every_byte(const json& vocabulary) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!vocabulary.contains(byte_alphabet::encode(static_cast<unsigned char>(byte)))) return false;
  }
  return true;
}

}  // namespace

TokenizerFiles parse_tokenizer_json(std::string_view text, const std::string& source) {
  const json all = parse_json(text, source);
  if (!all.is_object()) throw DataError(source, "", "expected a JSON object");
  const json& model = json_at(all, "model");
  if (!model.is_object()) throw DataError(source, "model", "expected BPE, got none");
  TokenizerFiles files;
  json settings = json::object();
  for (const char* const part : {"normalizer", "pre_tokenizer", "post_processor"}) {
    if (const json& given = json_at(all, part); !given.is_null()) settings[part] = given;
  }
  for (const auto& [key, value] : model.items()) {
    if (key != "vocab" && key != "merges") settings["model"][key] = value;
  }
  files.settings_source = source;
  files.settings = json_text(settings);
  if (TokenizerSettings::parse(files.settings, source).is_default() &&
      has_every_byte(json_at(model, "vocab"))) {
    files.settings.clear();
  }
  const json& merges = json_at(model, "merges");
  if (!merges.is_array()) throw DataError(source, "model.merges", "expected a list of merges");
  for (const json& merge : merges) files.merges += merge_line(merge, source);
  files.vocab_json = json_text(json_at(model, "vocab"));
  const json& added = json_at(all, "added_tokens");
  if (!added.is_null() && !added.empty()) files.added_tokens = json_text(added);
  files.vocab_source = source + ":model.vocab";
  files.merges_source = source + ":model.merges";
  files.added_source = source + ":added_tokens";
  return files;
}

}  // namespace headscope
