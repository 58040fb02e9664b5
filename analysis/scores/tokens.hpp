#pragma once

#include <optional>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/corpus.hpp"
#include "scores/pattern.hpp"

/// Scores of one head from its attention pattern and the tokens. Patterns as in
/// scores/pattern.hpp.
namespace headscope {

/// Counts a piece's tokens. @param counts  by token id, of the vocabulary.
/// @throws ShapeError naming the document if an id is outside the vocabulary.
void count_tokens(const Piece& piece, Array& counts);

/// 1 for each token that is only punctuation: at least one character of Unicode category P, and
/// otherwise only white space. A character split over several tokens counts for each of them; bytes
/// that are not UTF-8 are not punctuation. Empty if the piece has no text.
std::vector<unsigned char> punctuation_tokens(const Piece& piece);

/// Share of the sink-excluded mass that lies on the marked tokens.
Ratio delimiter_share(const Matrix& pattern, const std::vector<unsigned char>& is_punctuation);

/// The marked tokens' share of the keys 1 .. q, over all queries q >= 2.
Ratio delimiter_baseline(const std::vector<unsigned char>& is_punctuation);

/// For each query the earlier positions >= 1 with the same token.
std::vector<std::vector<Index>> earlier_copies(const TokenIds& tokens);

/// Mean attention to earlier copies of the query's token, over queries q >= 2 that have one;
/// probability.
Ratio duplicate_token_mass(const Matrix& pattern, const std::vector<std::vector<Index>>& copies);

/// Mean attention to the tokens that followed earlier copies of the query's token, over queries
/// q >= 2 that have a copy before q - 1; probability.
/// Source: Olsson et al. 2022.
Ratio after_copies_mass(const Matrix& pattern, const std::vector<std::vector<Index>>& copies);

/// For each query the token of keys 1 .. q that is rarest in the corpus; nullopt if two different
/// tokens tie, and for q < 2.
/// @param counts  how often each token of the vocabulary occurs in the corpus.
std::vector<std::optional<TokenId>> rarest_tokens(const TokenIds& tokens,
                                                  const std::vector<double>& counts);

/// Share of queries whose largest weight is on the rarest token; queries without one are left out.
/// @param largest  from largest_keys.
Ratio rare_token_share(const std::vector<Index>& largest, const TokenIds& tokens,
                       const std::vector<std::optional<TokenId>>& rarest);

}  // namespace headscope
