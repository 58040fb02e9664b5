#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headscope/corpus.hpp"

/// Features that a user describes: what a head might attend by, tested beside the built-in ones.
namespace headscope {

class UnicodePattern;

/// Universal parts of speech.
inline constexpr std::array<const char*, 17> universal_parts{
    "ADJ",  "ADP",  "ADV",   "AUX",   "CCONJ", "DET", "INTJ", "NOUN", "NUM",
    "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"};

/// Conditions on the token of a query or key; empty ones hold for every token. A token outside all
/// words fails every condition on its word.
struct TokenCondition {
  std::shared_ptr<const UnicodePattern> form;  ///< matches somewhere in the word's form
  std::string upos, relation;                  ///< of the word; the relation without subtype
  std::string token;                           ///< the token's text, a leading blank included
};

/// A feature that is 1 where all its conditions hold, else 0.
struct UserFeature {
  std::string name;
  std::string file;      ///< that describes it
  std::size_t line = 0;  ///< in that file, from 1
  TokenCondition query, key;
  std::optional<std::pair<Index, Index>> offset;  ///< least and most of query - key
  bool same_sentence = false;
  bool earlier_copy = false;  ///< the key is an earlier copy of the query's token
  /// Of the arc between the words, without subtype: `to_head` (the key's word is the head) or
  /// `to_dependent`.
  std::string relation, direction;
};

/// Largest number of user features: the marks of a pair of tokens can be counted in a byte.
inline constexpr std::size_t most_user_features = 200;

/// Reads features from a file of JSON, a line each:
/// `{"name": "quotation", "key": {"form": "^[\"“]$"}, "offset": [1, 40]}`.
/// @throws DataError naming file, line and key: `features.jsonl:2: expected …, got …`.
std::vector<UserFeature> read_user_features(const std::string& path);

/// A user's feature on one piece: its conditions on each token are tested once.
class PairTest {
 public:
  /// @param word_of  by token, the number of its word; no_position outside words.
  /// @throws DataError naming file, line and feature if a form takes too many steps to match.
  PairTest(const UserFeature& feature, const Piece& piece, const std::vector<Index>& word_of);
  /// @param query, key  1 <= key <= query.
  bool holds(Index query, Index key) const;

 private:
  const UserFeature* feature_;
  const Piece* piece_;
  const std::vector<Index>* word_of_;
  std::vector<bool> is_query_, is_key_;
};

}  // namespace headscope
