#include "score_model/features.hpp"

#include <algorithm>
#include <set>

#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"
#include "scores/tokens.hpp"

namespace headscope {
namespace {

constexpr std::array<const char*, n_numeric_feature> numeric_names{
    "log_distance", "distance", "log_frequency", "similarity", "similarity_before"};

/// Whether a token begins, after a blank, with a capital.
bool begins_with_capital(const std::string& token) {
  static const UnicodePattern capital(R"(^ ?\p{Lu})");
  const std::string text = token.substr(0, utf8::valid_prefix(token));
  return UnicodePattern::Search(capital, text).next(0).has_value();
}

}  // namespace

const char* feature_family_name(FeatureFamily family) {
  constexpr std::array<const char*, n_feature_family> names{
      "sink",   "position",    "segment",    "repetition", "word_class",
      "syntax", "coreference", "similarity", "lexical",    "user"};
  return names[static_cast<std::size_t>(family)];
}

std::string syntax_feature_name(const std::string& relation, ArcDirection direction) {
  return relation + (direction == ArcDirection::dependent_to_head ? "_to_head" : "_to_dependent");
}

void FeatureList::add(FeatureFamily family, const std::string& name) {
  places_[name] = static_cast<std::uint16_t>(names_.size());
  names_.push_back(name);
  families_.push_back(family);
}

FeatureList::FeatureList(const CorpusTraits& traits, const std::vector<UserFeature>& user_features)
    : user_(user_features) {
  using enum FeatureFamily;
  add(sink, "sink");
  for (std::size_t offset = 0; offset < n_feature_offset; ++offset) {
    add(position, "offset_" + std::to_string(offset));
  }
  add(position, "log_distance");
  add(position, "distance");
  if (traits.has_words) {
    for (const char* name :
         {"same_sentence", "same_word", "begins_word", "first_of_sentence", "last_of_sentence"}) {
      add(segment, name);
    }
  }
  if (traits.has_text) add(segment, "latest_punctuation");
  for (const char* name :
       {"same_token", "after_copy", "after_copy_latest", "after_copy_2", "before_copy"}) {
    add(repetition, name);
  }
  if (traits.has_words) {
    for (const char* part : universal_parts) add(word_class, std::string("upos_") + part);
  }
  if (traits.has_text) add(word_class, "capital");
  add(word_class, "log_frequency");
  for (const auto& [relation, direction] : traits.relations) {
    add(syntax, syntax_feature_name(relation, direction));
  }
  if (traits.has_dependencies) add(syntax, "sibling");
  if (traits.has_coreference) {
    add(coreference, "same_entity");
    add(coreference, "latest_mention");
  }
  add(similarity, "similarity");
  add(similarity, "similarity_before");
  add(lexical, "lexical");
  for (const UserFeature& feature : user_) add(FeatureFamily::user, "user_" + feature.name);
}

bool FeatureList::has(FeatureFamily family) const {
  return std::ranges::find(families_, family) != families_.end();
}

std::uint16_t FeatureList::place_of(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? no_feature : found->second;
}

std::uint16_t FeatureList::numeric(NumericFeature feature) const {
  return place_of(numeric_names[static_cast<std::size_t>(feature)]);
}

PieceMarks::PieceMarks(const Piece& piece, const FeatureList& features)
    : piece_(piece),
      features_(features),
      word_of_(piece.tokens.size(), no_position),
      key_marks_(piece.tokens.size()),
      latest_punctuation_(piece.tokens.size(), no_position),
      copies_(earlier_copies(piece.tokens)),
      pairs_(piece.words.size()),
      latest_mention_(piece.words.size(), no_position),
      offset_0_(features.place_of("offset_0")),
      same_sentence_(features.place_of("same_sentence")),
      same_word_(features.place_of("same_word")),
      same_token_(features.place_of("same_token")),
      after_copy_(features.place_of("after_copy")),
      after_copy_latest_(features.place_of("after_copy_latest")),
      after_copy_2_(features.place_of("after_copy_2")),
      before_copy_(features.place_of("before_copy")),
      latest_punctuation_feature_(features.place_of("latest_punctuation")),
      latest_mention_feature_(features.place_of("latest_mention")) {
  for (Index word = piece.words.size(); word-- > 0;) {
    for (const Index token : piece.words[word].tokens) word_of_[token] = word;
  }
  if (!word_of_.empty()) word_of_[0] = no_position;
  mark_word_classes();
  mark_keys();
  add_syntax();
  add_coreference();
  for (const UserFeature& feature : features.user())
    user_tests_.emplace_back(feature, piece, word_of_);
}

void PieceMarks::mark_word_classes() {
  const std::uint16_t begins_word = features_.place_of("begins_word");
  std::map<Index, std::pair<Index, Index>> ends;  // of each sentence
  for (Index token = 1; token < word_of_.size(); ++token) {
    const Index word = word_of_[token];
    if (word == no_position) continue;
    if (word_of_[token - 1] != word) key_marks_[token].push_back(begins_word);
    const std::uint16_t upos = features_.place_of("upos_" + piece_.words[word].upos);
    if (upos != no_feature) key_marks_[token].push_back(upos);
    auto& [first, last] = ends.try_emplace(piece_.words[word].sentence, token, token).first->second;
    last = token;
  }
  for (const auto& [sentence, tokens] : ends) {
    key_marks_[tokens.first].push_back(features_.place_of("first_of_sentence"));
    key_marks_[tokens.second].push_back(features_.place_of("last_of_sentence"));
  }
}

void PieceMarks::mark_keys() {
  const std::uint16_t capital = features_.place_of("capital");
  const std::vector<unsigned char> is_punctuation = punctuation_tokens(piece_);
  for (Index token = 1; token < word_of_.size(); ++token) {
    if (!piece_.token_text.empty() && begins_with_capital(piece_.token_text[token])) {
      key_marks_[token].push_back(capital);
    }
    const bool punctuation = !is_punctuation.empty() && is_punctuation[token] != 0;
    latest_punctuation_[token] = punctuation ? token : latest_punctuation_[token - 1];
  }
}

void PieceMarks::add_syntax() {
  if (!piece_.has_dependencies) return;
  const std::uint16_t sibling = features_.place_of("sibling");
  std::map<Index, std::vector<Index>> dependents;  // of each head
  for (Index word = 0; word < piece_.words.size(); ++word) {
    const Word& dependent = piece_.words[word];
    if (!dependent.head || *dependent.head == word) continue;
    const Index head = *dependent.head;
    const ArcDirection direction =
        word > head ? ArcDirection::dependent_to_head : ArcDirection::head_to_dependent;
    const std::uint16_t feature =
        features_.place_of(syntax_feature_name(dependent.relation, direction));
    if (feature != no_feature)
      pairs_[std::max(word, head)].push_back({std::min(word, head), feature});
    for (const Index earlier : dependents[head]) pairs_[word].push_back({earlier, sibling});
    dependents[head].push_back(word);
  }
}

void PieceMarks::add_coreference() {
  const std::uint16_t same_entity = features_.place_of("same_entity");
  if (!piece_.has_coreference || same_entity == no_feature) return;
  std::map<std::string, std::set<Index>> words_of;
  for (const Mention& mention : piece_.mentions) {
    words_of[mention.entity].insert(mention.words.begin(), mention.words.end());
  }
  std::vector<std::set<Index>> earlier_of(piece_.words.size());
  for (const auto& [entity, words] : words_of) {
    for (const Index later : words) {
      earlier_of[later].insert(words.begin(), words.lower_bound(later));
    }
  }
  std::vector<Index> last_token(piece_.words.size(), no_position);
  for (Index token = 1; token < word_of_.size(); ++token) {
    if (word_of_[token] != no_position) last_token[word_of_[token]] = token;
  }
  for (Index later = 0; later < earlier_of.size(); ++later) {
    for (const Index earlier : earlier_of[later]) {
      pairs_[later].push_back({earlier, same_entity});
      if (last_token[earlier] != no_position) latest_mention_[later] = last_token[earlier];
    }
  }
}

void PieceMarks::mark_repetition(Index query, std::vector<KeyMark>& marked) const {
  const std::vector<Index>& copies = copies_[query];
  for (const Index copy : copies) {
    marked.emplace_back(copy, same_token_);
    marked.emplace_back(copy + 1, after_copy_);
    if (copy >= 2 && query >= 2 && piece_.tokens[copy - 1] == piece_.tokens[query - 1]) {
      marked.emplace_back(copy + 1, after_copy_2_);
    }
    if (copy >= 2) marked.emplace_back(copy - 1, before_copy_);
  }
  if (!copies.empty()) marked.emplace_back(copies.back() + 1, after_copy_latest_);
}

void PieceMarks::mark_words(Index query, std::vector<KeyMark>& marked) const {
  const Index word = word_of_[query];
  if (word == no_position) return;
  const Index sentence = piece_.words[word].sentence;
  for (Index key = 1; key <= query; ++key) {
    if (word_of_[key] == no_position) continue;
    if (piece_.words[word_of_[key]].sentence == sentence) marked.emplace_back(key, same_sentence_);
    if (word_of_[key] == word) marked.emplace_back(key, same_word_);
  }
  for (const auto& [earlier, feature] : pairs_[word]) {
    for (const Index key : piece_.words[earlier].tokens) {
      if (key >= 1 && key <= query && word_of_[key] == earlier) marked.emplace_back(key, feature);
    }
  }
  if (latest_mention_[word] != no_position && latest_mention_[word] <= query) {
    marked.emplace_back(latest_mention_[word], latest_mention_feature_);
  }
}

void PieceMarks::add_query(Index query, std::vector<std::uint32_t>& mark_ends,
                           std::vector<std::uint16_t>& marks) const {
  std::vector<KeyMark> marked;
  for (Index offset = 0; offset < n_feature_offset && offset < query; ++offset) {
    marked.emplace_back(query - offset, static_cast<std::uint16_t>(offset_0_ + offset));
  }
  mark_repetition(query, marked);
  mark_words(query, marked);
  if (latest_punctuation_[query] != no_position && latest_punctuation_feature_ != no_feature) {
    marked.emplace_back(latest_punctuation_[query], latest_punctuation_feature_);
  }
  for (std::size_t i = 0; i < user_tests_.size(); ++i) {
    const auto feature = static_cast<std::uint16_t>(features_.size() - user_tests_.size() + i);
    for (Index key = 1; key <= query; ++key) {
      if (user_tests_[i].holds(query, key)) marked.emplace_back(key, feature);
    }
  }
  std::ranges::sort(marked);
  const auto repeated = std::ranges::unique(marked);
  marked.erase(repeated.begin(), repeated.end());
  auto next = marked.begin();
  for (Index key = 1; key <= query; ++key) {
    const std::size_t first = marks.size();
    for (const std::uint16_t mark : key_marks_[key]) {
      if (mark != no_feature) marks.push_back(mark);
    }
    for (; next != marked.end() && next->first == key; ++next) {
      if (next->second != no_feature) marks.push_back(next->second);
    }
    std::sort(marks.begin() + static_cast<std::ptrdiff_t>(first), marks.end());
    mark_ends.push_back(static_cast<std::uint32_t>(marks.size()));
  }
}

}  // namespace headscope
