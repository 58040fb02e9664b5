#pragma once

#include <optional>
#include <vector>

#include "classification/types/head_type.hpp"
#include "scores/pattern.hpp"
#include "scores/tokens.hpp"
#include "scores/words.hpp"

namespace headscope {

/// A piece's tokens and annotation as scores and prototypes need them; the same for all heads.
struct PieceTraits {
  const TokenIds& tokens;
  std::vector<unsigned char> is_punctuation;
  std::vector<std::vector<Index>> copies;
  std::vector<std::optional<TokenId>> rarest;
  WordStructure words;

  PieceTraits(const Piece& piece, const std::vector<double>& token_counts)
      : tokens(piece.tokens),
        is_punctuation(punctuation_tokens(piece)),
        copies(earlier_copies(piece.tokens)),
        rarest(rarest_tokens(piece.tokens, token_counts)),
        words(word_structure(piece)) {}

  PlaceSource source() const { return {tokens, is_punctuation, copies, rarest, words}; }
};

}  // namespace headscope
