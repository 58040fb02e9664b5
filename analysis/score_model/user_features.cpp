#include "score_model/user_features.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/fields.hpp"
#include "base/json_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"
#include "files/read_file.hpp"
#include "scores/pattern.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// One line of a file of features.
class FeatureLine {
 public:
  FeatureLine(const std::string& path, std::size_t number) : path_(path), number_(number) {}

  UserFeature feature(const std::string& text) const {
    const json fields = parse_json(text);
    if (fields.is_discarded()) refuse("", "a JSON object", json_fault(text));
    if (!fields.is_object()) refuse("", "a JSON object", "other text");
    UserFeature feature;
    feature.file = path_;
    feature.line = number_;
    for (const auto& [key, value] : fields.items()) set(key, value, feature);
    if (feature.name.empty()) refuse("name", "a text", "none");
    if (feature.relation.empty() != feature.direction.empty()) {
      refuse(feature.relation.empty() ? "relation" : "direction", "both relation and direction",
             feature.relation.empty() ? "direction alone" : "relation alone");
    }
    if (fields.size() == 1) refuse("name", "a condition besides the name", "none");
    return feature;
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& expected,
                           const std::string& got) const {
    throw DataError(path_, std::to_string(number_),
                    (key.empty() ? "" : "key " + fields::quoted(key) + ": ") + "expected " +
                        expected + ", got " + got);
  }

 private:
  void set(const std::string& key, const json& value, UserFeature& feature) const {
    if (key == "name") {
      feature.name = text_of(key, value);
    } else if (key == "query" || key == "key") {
      (key == "query" ? feature.query : feature.key) = condition(key, value);
    } else if (key == "offset") {
      feature.offset = offsets(value);
    } else if (key == "same_sentence" || key == "earlier_copy") {
      if (!value.is_boolean() || !value.get<bool>()) refuse(key, "true", shown(value));
      (key == "same_sentence" ? feature.same_sentence : feature.earlier_copy) = true;
    } else if (key == "relation") {
      feature.relation = relation(key, value);
    } else if (key == "direction") {
      feature.direction = text_of(key, value);
      if (feature.direction != "to_head" && feature.direction != "to_dependent") {
        refuse(key, "to_head or to_dependent", shown(value));
      }
    } else {
      refuse(key,
             "one of name, query, key, offset, same_sentence, relation, direction, earlier_copy",
             "another key");
    }
  }

  TokenCondition condition(const std::string& key, const json& value) const {
    if (!value.is_object()) refuse(key, "an object", shown(value));
    if (value.empty()) refuse(key, "a condition", "none");
    TokenCondition condition;
    for (const auto& [name, text] : value.items()) {
      const std::string place = key + "." + name;
      if (name == "form") {
        condition.form = pattern(place, text_of(place, text));
      } else if (name == "upos") {
        condition.upos = part_of_speech(place, text);
      } else if (name == "relation") {
        condition.relation = relation(place, text);
      } else if (name == "token") {
        condition.token = text_of(place, text);
      } else {
        refuse(place, "one of form, upos, relation, token", "another key");
      }
    }
    return condition;
  }

  std::shared_ptr<const UnicodePattern> pattern(const std::string& place,
                                                const std::string& text) const {
    try {
      return std::make_shared<const UnicodePattern>(text);
    } catch (const std::logic_error&) {
      refuse(place, "a regular expression", fields::quoted(text));
    }
  }

  std::string part_of_speech(const std::string& place, const json& value) const {
    std::string upos = text_of(place, value);
    if (std::ranges::find(universal_parts, upos) == universal_parts.end()) {
      refuse(place, "one of " + joined(universal_parts, ", "), shown(value));
    }
    return upos;
  }

  std::string relation(const std::string& place, const json& value) const {
    std::string relation = text_of(place, value);
    if (relation.find(':') != std::string::npos) {
      refuse(place, "a relation without subtype, which a corpus is read without", shown(value));
    }
    return relation;
  }

  std::pair<Index, Index> offsets(const json& value) const {
    const auto is_offset = [](const json& offset) { return offset.is_number_unsigned(); };
    if (!value.is_array() || value.size() != 2 || !is_offset(value[0]) || !is_offset(value[1]) ||
        value[0] > value[1]) {
      refuse("offset", "[least, most], two whole numbers >= 0", shown(value));
    }
    return {value[0].get<Index>(), value[1].get<Index>()};
  }

  std::string text_of(const std::string& key, const json& value) const {
    if (!value.is_string() || value.get<std::string>().empty()) {
      refuse(key, "a text", shown(value));
    }
    return value.get<std::string>();
  }

  static std::string shown(const json& value) { return json_text(value); }

  const std::string& path_;
  std::size_t number_;
};

bool holds_of(const TokenCondition& condition, const Piece& piece, Index token, Index place) {
  if (!condition.token.empty() &&
      (piece.token_text.empty() || piece.token_text[token] != condition.token)) {
    return false;
  }
  const bool of_word = condition.form || !condition.upos.empty() || !condition.relation.empty();
  if (!of_word) return true;
  if (place == no_position) return false;
  const Word& word = piece.words[place];
  if (!condition.upos.empty() && word.upos != condition.upos) return false;
  if (!condition.relation.empty() && word.relation != condition.relation) return false;
  if (!condition.form) return true;
  if (utf8::valid_prefix(word.form) < word.form.size()) return false;
  return UnicodePattern::Search(*condition.form, word.form).next(0).has_value();
}

}  // namespace

std::vector<UserFeature> read_user_features(const std::string& path) {
  std::ifstream file = open_to_read(path);
  std::vector<UserFeature> features;
  std::set<std::string> names;
  std::string text;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const FeatureLine line(path, number);
    if (features.size() == most_user_features) {
      line.refuse("", "at most " + count_text(most_user_features, "feature"), "more");
    }
    features.push_back(line.feature(text));
    if (!names.insert(features.back().name).second) {
      line.refuse("name", "another name than an earlier feature's",
                  fields::quoted(features.back().name));
    }
  }
  check_was_read(file, path);
  if (features.empty())
    throw DataError(path, "", "expected features, a line of JSON each, got none");
  return features;
}

PairTest::PairTest(const UserFeature& feature, const Piece& piece,
                   const std::vector<Index>& word_of)
    : feature_(&feature), piece_(&piece), word_of_(&word_of) {
  try {
    for (Index token = 0; token < piece.tokens.size(); ++token) {
      is_query_.push_back(holds_of(feature.query, piece, token, word_of[token]));
      is_key_.push_back(holds_of(feature.key, piece, token, word_of[token]));
    }
  } catch (const std::runtime_error& error) {
    throw DataError(
        feature.file, std::to_string(feature.line),
        "feature " + fields::quoted(feature.name) +
            ": expected a regular expression that can be matched with all words, got \"" +
            error.what() + "\"");
  }
}

bool PairTest::holds(Index query, Index key) const {
  if (!is_query_[query] || !is_key_[key]) return false;
  const Index offset = query - key;
  if (feature_->offset && (offset < feature_->offset->first || offset > feature_->offset->second)) {
    return false;
  }
  if (feature_->earlier_copy && (offset == 0 || piece_->tokens[query] != piece_->tokens[key])) {
    return false;
  }
  if (!feature_->same_sentence && feature_->relation.empty()) return true;
  const Index later = (*word_of_)[query], earlier = (*word_of_)[key];
  if (later == no_position || earlier == no_position) return false;
  const Word &of_query = piece_->words[later], &of_key = piece_->words[earlier];
  if (feature_->same_sentence && of_query.sentence != of_key.sentence) return false;
  if (feature_->relation.empty()) return true;
  const bool to_head = feature_->direction == "to_head";
  const Word& dependent = to_head ? of_query : of_key;
  return later != earlier && dependent.relation == feature_->relation &&
         dependent.head == (to_head ? earlier : later);
}

}  // namespace headscope
