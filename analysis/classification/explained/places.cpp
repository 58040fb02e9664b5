#include "classification/explained/places.hpp"

#include <algorithm>

#include "classification/tests/relations.hpp"
#include "scores/tokens.hpp"

namespace headscope {
namespace {

/// A place of one key a query; no_position where there is none.
using KeyOf = std::function<Index(const PlaceSource&, Index query)>;

Place one_key(const std::string& type, const std::string& text, KeyOf key_of) {
  return {type, text, [key_of = std::move(key_of)](const PlaceSource& source) {
            PlaceKeys keys(source.tokens.size());
            for (Index query = 0; query < keys.size(); ++query) {
              const Index key = key_of(source, query);
              if (key != no_position) keys[query] = {key};
            }
            return keys;
          }};
}

/// The last key from 1 to the query that is sought.
template <typename Sought>
Index last_key(Index query, Sought is_sought) {
  for (Index key = query; key >= 1; --key) {
    if (is_sought(key)) return key;
  }
  return no_position;
}

/// The tokens of an earlier word that are not after the query, for all tokens of the later.
void add_word_pair(const WordStructure& words, Index later, Index earlier, PlaceKeys& keys) {
  for (const Index query : words.tokens[later]) {
    keys[query].clear();
    std::ranges::copy_if(words.tokens[earlier], std::back_inserter(keys[query]),
                         [&](Index key) { return key <= query; });
  }
}

}  // namespace

PlaceSource place_source(const Piece& piece, const std::vector<double>& token_counts) {
  return {piece.tokens, punctuation_tokens(piece), earlier_copies(piece.tokens),
          rarest_tokens(piece.tokens, token_counts), word_structure(piece)};
}

Place token_before(Index offset) {
  if (offset == 0) {
    return one_key("current_token", "the token itself",
                   [](const PlaceSource&, Index query) { return query; });
  }
  return one_key(
      "positional",
      offset == 1 ? "the previous token" : "the token " + std::to_string(offset) + " before",
      [offset](const PlaceSource&, Index query) {
        return query > offset ? query - offset : no_position;
      });
}

Place word_before(Index offset) {
  return {"positional",
          offset == 1 ? "the word before" : "the word " + std::to_string(offset) + " before",
          [offset](const PlaceSource& source) {
            PlaceKeys keys(source.tokens.size());
            for (Index later = offset; later < source.words.tokens.size(); ++later) {
              add_word_pair(source.words, later, later - offset, keys);
            }
            return keys;
          }};
}

Place nearest_punctuation() {
  return one_key("delimiter", "the nearest punctuation",
                 [](const PlaceSource& source, Index query) {
                   return last_key(query, [&](Index key) {
                     return !source.is_punctuation.empty() && source.is_punctuation[key] != 0;
                   });
                 });
}

Place nearest_of_class(Index word_class) {
  return one_key("word_class", std::string("the nearest of ") + word_classes[word_class].words,
                 [word_class](const PlaceSource& source, Index query) {
                   return last_key(query, [&](Index key) {
                     return !source.words.token_class.empty() &&
                            source.words.token_class[key] == word_class;
                   });
                 });
}

Place nearest_word_before(Index word_class) {
  return {"word_class", std::string("the nearest earlier of ") + word_classes[word_class].words,
          [word_class](const PlaceSource& source) {
            PlaceKeys keys(source.tokens.size());
            Index nearest = no_position;
            for (Index word = 0; word < source.words.word_class.size(); ++word) {
              if (nearest != no_position) add_word_pair(source.words, word, nearest, keys);
              if (source.words.word_class[word] == word_class) nearest = word;
            }
            return keys;
          }};
}

Place arc_end(const std::string& relation, ArcDirection direction) {
  return {"syntactic", "the other end of " + arc_text(relation, direction),
          [relation, direction](const PlaceSource& source) {
            PlaceKeys keys(source.tokens.size());
            for (const Arc& arc : source.words.arcs) {
              if (arc.relation != relation || arc.direction != direction) continue;
              add_word_pair(source.words, arc.later, arc.earlier, keys);
            }
            return keys;
          }};
}

Place nearest_antecedent() {
  return {"coreference", "the nearest antecedent", [](const PlaceSource& source) {
            PlaceKeys keys(source.tokens.size());
            for (const CoreferenceQuery& reference : source.words.references) {
              add_word_pair(source.words, reference.word, reference.antecedents.back(), keys);
            }
            return keys;
          }};
}

Place last_copy() {
  return one_key("duplicate", "the last copy", [](const PlaceSource& source, Index query) {
    return source.copies[query].empty() ? no_position : source.copies[query].back();
  });
}

Place after_last_copy() {
  return one_key("induction", "the token after the last copy",
                 [](const PlaceSource& source, Index query) {
                   const std::vector<Index>& copies = source.copies[query];
                   const auto copy = std::find_if(copies.rbegin(), copies.rend(),
                                                  [&](Index place) { return place + 1 < query; });
                   return copy == copies.rend() ? no_position : *copy + 1;
                 });
}

Place rarest_token() {
  return one_key("rare", "the rarest token", [](const PlaceSource& source, Index query) {
    return last_key(query, [&](Index key) { return source.rarest[query] == source.tokens[key]; });
  });
}

Place first_position() {
  return one_key("sink", "the first position", [](const PlaceSource&, Index) { return Index{0}; });
}

void fill_place(const PlaceKeys& keys, const std::vector<double>& row, double sink,
                Matrix& pattern) {
  pattern.zeros();
  for (Index query = 0; query < keys.size(); ++query) {
    float* const weights = pattern.colptr(query);
    for (const Index key : keys[query])
      weights[key] = 1.0F / static_cast<float>(keys[query].size());
    if (!keys[query].empty()) continue;
    double sum = 0;
    for (Index distance = 0; distance < query; ++distance) sum += row[distance];
    const double scale = sum > 0 ? (1 - sink) / sum : 0;
    weights[0] = sum > 0 ? static_cast<float>(sink) : 1;
    for (Index distance = 0; distance < query; ++distance) {
      weights[query - distance] = static_cast<float>(scale * row[distance]);
    }
  }
}

}  // namespace headscope
