#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "corpus/alignment.hpp"
#include "headscope/tokenizer.hpp"

/// Cutting documents that are longer than the model's context.
namespace headscope {

/// The number of tokens of a text, or `most` + 1 if it has more. A text that is too long for `most`
/// tokens of any length is not encoded.
/// @param continues  as in Tokenizer::encode.
std::size_t count_tokens(const Tokenizer& tokenizer, std::string_view text, Index most,
                         bool continues = false);

/// Consecutive segments [first, end) that make one piece.
struct PackedSegments {
  std::size_t first = 0, end = 0;
  bool fits = true;  ///< false for a single segment that is too long by itself
};

/// Packs segments of a text into pieces in order, each taking as many as fit. A piece is the text
/// from the start of its first segment to the end of its last, tokenised by itself.
///
/// @param segments    in order; the text between two of them is dropped where a piece ends.
/// @param max_tokens  of a piece, at least 1.
std::vector<PackedSegments> pack(const Tokenizer& tokenizer, std::string_view text,
                                 const std::vector<ByteSpan>& segments, Index max_tokens);

/// Length in bytes of a long prefix of the text with at most `max_tokens` tokens. It ends between
/// characters, unless a single character has more tokens. At least 1 unless the text is empty.
std::size_t longest_beginning(const Tokenizer& tokenizer, std::string_view text, Index max_tokens);

/// Pieces of a text.
struct CutText {
  std::vector<ByteSpan> pieces;
  Index most_tokens = 0;  ///< of a piece; with several pieces, what a piece may have
};

/// Cuts plain text into pieces of at most `max_tokens` tokens; one piece when all of it fits.
///
/// Cuts fall between sentences: after a character that ends sentences (Unicode's Sentence_Terminal,
/// or an ellipsis), closing quotes and brackets, and white space, which is dropped; after an
/// ideographic full stop no space is needed. A sentence that is too long by itself is cut at white
/// space, and a word that is too long where a token and a character both end.
CutText cut_text(const Tokenizer& tokenizer, std::string_view text, Index max_tokens);

}  // namespace headscope
