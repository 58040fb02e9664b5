#include "corpus/tokenizer_settings.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_text.hpp"
#include "corpus/split_pattern.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// The `type` of a part, or what it is instead.
std::string type_of(const json& part) {
  if (part.is_null()) return "none";
  const json& type = json_at(part, "type");
  return type.is_string() ? type.get<std::string>() : "a part without type";
}

/// One reading of settings.
class SettingsReader {
 public:
  explicit SettingsReader(const std::string& source) : source_(source) {}

  TokenizerSettings read(const json& all) {
    read_model(json_at(all, "model"));
    for_each_part(json_at(all, "normalizer"), "normalizer", "normalizers",
                  [&](const json& part) { read_normalizer(part); });
    settings_.splits.clear();
    settings_.byte_level = false;
    for_each_part(json_at(all, "pre_tokenizer"), "pre_tokenizer", "pretokenizers",
                  [&](const json& part) { read_pre_tokenizer(part); });
    check_kind();
    for_each_part(json_at(all, "post_processor"), "post_processor", "processors",
                  [&](const json& part) { read_post_processor(part); });
    return std::move(settings_);
  }

 private:
  [[noreturn]] void refuse(const std::string& part, const std::string& expected,
                           const std::string& got) const {
    throw DataError(source_, part, "expected " + expected + ", got " + got);
  }

  /// A field, or a default where it is absent or null.
  template <typename Value>
  Value field(const json& part, const std::string& name, const char* key, Value missing) const {
    const json& value = json_at(part, key);
    if (value.is_null()) return missing;
    if constexpr (std::is_same_v<Value, bool>) {
      if (!value.is_boolean()) refuse(name + "." + key, "true or false", json_text(value));
    } else {
      if (!value.is_string()) refuse(name + "." + key, "text", json_text(value));
    }
    return value.template get<Value>();
  }

  /// The part itself, or those of a Sequence.
  template <typename Read>
  void for_each_part(const json& part, const std::string& name, const char* list_key, Read read) {
    if (part.is_null()) return;
    if (type_of(part) != "Sequence") return read(part);
    const json& list = json_at(part, list_key);
    if (!list.is_array()) refuse(name + "." + list_key, "a list", json_text(list));
    for (const json& one : list) for_each_part(one, name, list_key, read);
  }

  void read_model(const json& model) {
    // Files of early versions lack the model's type.
    if (const std::string type = type_of(model);
        json_at(model, "type").is_string() && type != "BPE") {
      refuse("model", "BPE", type);
    }
    for (const char* const key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const auto text = field<std::string>(model, "model", key, "");
      if (!text.empty()) refuse(std::string("model.") + key, "none", json_text(text));
    }
    if (const json& dropout = json_at(model, "dropout"); !dropout.is_null() && dropout != 0) {
      refuse("model.dropout", "0", json_text(dropout));
    }
    settings_.ignore_merges = field(model, "model", "ignore_merges", false);
    settings_.drops_bytes = field<std::string>(model, "model", "unk_token", "").empty();
    byte_fallback_ = field(model, "model", "byte_fallback", false);
  }

  void read_normalizer(const json& part) {
    const std::string type = type_of(part);
    if (type == "NFC") return settings_.normalizer.compose();
    if (type == "Prepend") {
      return settings_.normalizer.prepend(
          {.text = field<std::string>(part, "normalizer", "prepend", "")});
    }
    if (type != "Replace") refuse("normalizer", "NFC, Prepend or Replace", type);
    const json &pattern = json_at(part, "pattern"), &from = json_at(pattern, "String");
    if (from != " ") refuse("normalizer.pattern", "the String \" \"", json_text(pattern));
    settings_.normalizer.mark_spaces(field<std::string>(part, "normalizer", "content", ""));
  }

  void read_pre_tokenizer(const json& part) {
    const std::string name = "pre_tokenizer", type = type_of(part);
    if (settings_.byte_level || !settings_.marking.is_empty()) {
      refuse(name, "nothing after ByteLevel or Metaspace", type);
    }
    if (type == "ByteLevel") {
      if (field(part, name, "add_prefix_space", true)) {
        refuse(name + ".add_prefix_space", "false", "true");
      }
      settings_.byte_level = true;
      if (field(part, name, "use_regex", true)) settings_.splits.emplace_back();
    } else if (type == "Digits") {
      const bool apart = field(part, name, "individual_digits", false);
      add_split(apart ? "\\p{N}" : "\\p{N}+");
    } else if (type == "Split") {
      read_split(part);
    } else if (type == "Metaspace") {
      read_metaspace(part);
    } else {
      refuse(name, "ByteLevel, Digits, Split or Metaspace", type);
    }
  }

  void add_split(const std::string& pattern, bool keeps_matches = true, bool keeps_gaps = true) {
    settings_.splits.push_back(
        {std::make_shared<const UnicodePattern>(pattern), keeps_matches, keeps_gaps});
  }

  void read_split(const json& part) {
    const std::string name = "pre_tokenizer";
    const auto behavior = field<std::string>(part, name, "behavior", "");
    const bool invert = field(part, name, "invert", false), removes = behavior == "Removed";
    if (!removes && behavior != "Isolated") {
      refuse(name + ".behavior", "Isolated or Removed", json_text(json_at(part, "behavior")));
    }
    const json &pattern = json_at(part, "pattern"), &regex = json_at(pattern, "Regex");
    if (!regex.is_string()) refuse(name + ".pattern", "a Regex", json_text(pattern));
    try {
      add_split(pcre2_pattern(regex.get_ref<const std::string&>()), !removes || invert,
                !removes || !invert);
    } catch (const std::logic_error& error) {
      refuse(name + ".pattern", "constructs of known meaning", error.what());
    }
  }

  void read_metaspace(const json& part) {
    const std::string name = "pre_tokenizer";
    if (!settings_.splits.empty()) refuse(name, "Metaspace by itself", "others before it");
    const std::string mark = "\u2581";
    if (const auto given = field(part, name, "replacement", mark); given != mark) {
      refuse(name + ".replacement", "\"" + mark + "\"", json_text(given));
    }
    const bool prefix = field(part, name, "add_prefix_space", true);
    const auto scheme =
        field<std::string>(part, name, "prepend_scheme", prefix ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      refuse(name + ".prepend_scheme", "always, first or never", json_text(scheme));
    }
    settings_.marking.mark_spaces(mark);
    if (scheme != "never") {
      settings_.marking.prepend({mark, true, scheme == "first"});
    }
    if (!field(part, name, "split", true)) return;
    const std::string one = "[" + mark + "]";
    add_split(one + "?[^" + mark + "]+|" + one);
  }

  /// What vocabulary the parts leave to be read.
  void check_kind() const {
    const std::string mark = settings_.space_mark();
    if (settings_.byte_level) {
      if (!mark.empty() || settings_.normalizer.prepends()) {
        refuse("normalizer", "none or NFC before ByteLevel", "Prepend or Replace");
      }
    } else if (!byte_fallback_) {
      refuse("pre_tokenizer", "ByteLevel, or model.byte_fallback true", "neither");
    } else if (mark.empty()) {
      refuse("pre_tokenizer", "ByteLevel, or a mark for spaces", "neither");
    } else if (settings_.marking.is_empty() && !settings_.splits.empty()) {
      refuse("pre_tokenizer", "none or Metaspace with model.byte_fallback", "Split or Digits");
    }
  }

  void read_post_processor(const json& part) {
    const std::string name = "post_processor", type = type_of(part);
    if (type == "ByteLevel") return;
    if (type != "TemplateProcessing") refuse(name, "TemplateProcessing or ByteLevel", type);
    const json& single = json_at(part, "single");
    const std::size_t n = single.is_array() ? single.size() : 0;
    const bool ends_in_text = n > 0 && json_at(single.back(), "Sequence").is_object();
    const json& token = n == 2 ? json_at(json_at(single.front(), "SpecialToken"), "id") : single;
    if (!ends_in_text || n > 2 || (n == 2 && !token.is_string())) {
      refuse(name + ".single", "the text alone or after one token", json_text(single));
    }
    if (n == 2) settings_.prepended = token.get<std::string>();
  }

  const std::string& source_;
  TokenizerSettings settings_;
  bool byte_fallback_ = false;
};

}  // namespace

const json& json_at(const json& parent, const char* key) {
  static const json nothing;
  if (!parent.is_object()) return nothing;
  const auto found = parent.find(key);
  return found == parent.end() ? nothing : *found;
}

bool TokenizerSettings::is_default() const {
  return normalizer.is_empty() && marking.is_empty() && splits.size() == 1 && !splits[0].pattern &&
         byte_level && !ignore_merges && !prepended;
}

std::string TokenizerSettings::space_mark() const {
  const std::string mark = marking.space_mark();
  return mark.empty() ? normalizer.space_mark() : mark;
}

TokenizerSettings TokenizerSettings::parse(std::string_view text, const std::string& source) {
  if (text.empty()) return {};
  const json all = parse_json(text, source);
  if (!all.is_object()) throw DataError(source, "", "expected a JSON object");
  return SettingsReader(source).read(all);
}

}  // namespace headscope
