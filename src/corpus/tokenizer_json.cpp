#include "corpus/tokenizer_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// The value of a key; null if it is absent or the parent is no object.
const json& at(const json& parent, const char* key) {
  static const json nothing;
  if (!parent.is_object()) return nothing;
  const auto found = parent.find(key);
  return found == parent.end() ? nothing : *found;
}

/// The `type` of a part, or what it is instead.
std::string type_of(const json& part) {
  if (part.is_null()) return "none";
  const json& type = at(part, "type");
  return type.is_string() ? type.get<std::string>() : "a part without type";
}

/// A part's field, and the only value that leaves encoding as GPT-2's.
struct Expected {
  const char* field;
  json value;
  json when_absent;
};

void check_fields(const json& part, const std::string& name, const std::vector<Expected>& all,
                  const std::string& source) {
  for (const Expected& expected : all) {
    const json& given = at(part, expected.field);
    const json& value = given.is_null() ? expected.when_absent : given;
    if (value == expected.value) continue;
    throw DataError(
        source, name + "." + expected.field,
        "expected " + json_text(expected.value) + ", as in GPT-2, got " + json_text(value));
  }
}

void check_type(const json& part, const char* name, const std::string& expected,
                const std::string& source) {
  if (const std::string type = type_of(part); type != expected) {
    throw DataError(source, name, "expected " + expected + ", as in GPT-2, got " + type);
  }
}

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
      std::count(line.begin(), line.end(), ' ') != 1 || line.starts_with("#version")) {
    throw DataError(source, "model.merges",
                    "expected pairs of tokens without white space, got " + json_text(merge));
  }
  return line + '\n';
}

}  // namespace

TokenizerFiles parse_tokenizer_json(std::string_view text, const std::string& source) {
  const json all = parse_json(text);
  if (!all.is_object()) throw DataError(source, "", "expected a JSON object");
  const json& model = at(all, "model");
  // Files of early versions lack the model's type.
  if (!at(model, "type").is_null() || at(model, "merges").is_null()) {
    check_type(model, "model", "BPE", source);
  }
  check_type(at(all, "normalizer"), "normalizer", "none", source);
  const json& pre_tokenizer = at(all, "pre_tokenizer");
  check_type(pre_tokenizer, "pre_tokenizer", "ByteLevel", source);
  check_fields(pre_tokenizer, "pre_tokenizer",
               {{"add_prefix_space", false, true}, {"use_regex", true, true}}, source);
  check_fields(model, "model",
               {{"dropout", 0, 0},
                {"continuing_subword_prefix", "", ""},
                {"end_of_word_suffix", "", ""},
                {"byte_fallback", false, false},
                {"ignore_merges", false, false}},
               source);
  const json& merges = at(model, "merges");
  if (!merges.is_array()) throw DataError(source, "model.merges", "expected a list of merges");
  TokenizerFiles files;
  for (const json& merge : merges) files.merges += merge_line(merge, source);
  files.vocab_json = json_text(at(model, "vocab"));
  const json& added = at(all, "added_tokens");
  if (!added.is_null() && !added.empty()) files.added_tokens = json_text(added);
  files.vocab_source = source + ":model.vocab";
  files.merges_source = source + ":model.merges";
  files.added_source = source + ":added_tokens";
  return files;
}

}  // namespace headscope
