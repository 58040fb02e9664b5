#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headscope/types.hpp"
#include "scores/words.hpp"

/// Places that a head may look at: what its attention is if it does exactly what a type says.
namespace headscope {

/// The tokens and annotation of a piece.
struct PlaceSource {
  const TokenIds& tokens;
  std::vector<unsigned char> is_punctuation;
  std::vector<std::vector<Index>> copies;
  std::vector<std::optional<TokenId>> rarest;
  WordStructure words;
};
/// @param token_counts  by token id, of the corpus.
PlaceSource place_source(const Piece& piece, const std::vector<double>& token_counts);

/// The keys that share all attention of each query; empty where the place does not exist.
using PlaceKeys = std::vector<std::vector<Index>>;

struct Place {
  std::string type;  ///< the name of the type whose heads look there
  std::string text;  ///< `the previous token`, as in `with attention on exactly …`
  std::function<PlaceKeys(const PlaceSource&)> keys;
};

/// The token `offset` before the query, position 0 left out; offset 0: the query.
Place token_before(Index offset);
/// The tokens of the word `offset` before the query's.
Place word_before(Index offset);
/// The nearest token of punctuation at or before the query.
Place nearest_punctuation();
/// The nearest token at or before the query that belongs to a word of the class.
Place nearest_of_class(Index word_class);
/// The tokens of the nearest word of the class before the query's word.
Place nearest_word_before(Index word_class);
/// For tokens of the arc's later word: the tokens of its earlier word.
Place arc_end(const std::string& relation, ArcDirection direction);
/// For tokens of a later mention's head word: the tokens of the nearest antecedent's head word.
Place nearest_antecedent();
/// The last earlier copy of the query.
Place last_copy();
/// The token after the query's last copy before position query - 1.
Place after_last_copy();
/// The latest occurrence of the rarest token so far.
Place rarest_token();
Place first_position();

/// Fills the attention of a head that looks at a place.
/// @param row      mean attention by distance 0, 1, …, sink excluded; any scale, at least n_token.
/// @param sink     mean attention to position 0.
/// @param pattern  n_token x n_token, key x query, overwritten: where the place does not exist,
///                 `sink` at position 0 and the rest as `row` has it.
void fill_place(const PlaceKeys& keys, const std::vector<double>& row, double sink,
                Matrix& pattern);

}  // namespace headscope
