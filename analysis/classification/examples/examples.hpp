#pragma once

#include <optional>
#include <vector>

#include "classification/types/head_type.hpp"
#include "headscope/analysis.hpp"

/// Sentences of the corpus in which a head does what its type says, and one in which it does not.
///
/// Of the first odd documents with text, the tokens, the places where a type can be seen (cases)
/// and each head's most attended token there are kept as records. Examples are chosen from these
/// records once the types are known.
namespace headscope {

inline constexpr std::uint64_t n_example_document = 12;
inline constexpr std::size_t most_found = 3, most_missed = 1;  ///< examples of a head's type

bool is_example_document(std::uint64_t document);

/// The sentence of each token; no_position before the first word.
std::vector<Index> token_sentences(const Piece& piece);

/// All cases within the first most_example_tokens tokens.
std::vector<ExampleCase> example_cases(const HeadTypeList& types, const ExampleSource& source);

/// The token a head attends to most in a case; no_position if there is none.
/// @param pattern       of the head.
/// @param largest_key   by token, from largest_keys.
/// @param largest_word  by word, from largest_earlier_words; empty without words.
Index attended_token(const ExampleCase& example, const Matrix& pattern,
                     const std::vector<Index>& largest_key, const std::vector<Index>& largest_word,
                     const WordStructure& words);

/// Bytes of the records of all documents that examples come from.
/// @param n_type  types that examples are shown of: at most one case of each at a token.
std::uint64_t example_bytes(const RunShape& run, std::size_t n_type);

/// Keeps a document's text and cases.
void keep_example(const ExampleDocument& example, DocumentStatistics& statistics);

/// A position as records hold it: -1 for no_position.
inline double recorded_position(Index position) {
  return position == no_position ? -1 : static_cast<double>(position);
}

/// Record of attended_token by layer, head and case; -1 for no_position.
inline constexpr const char* example_attended = "example_attended";

/// Record by layer, head and token of the key whose predicted token's logit the head lowers most
/// (CopyEffects::lowered_key); -1 for no_position.
inline constexpr const char* example_lowered = "example_lowered";

/// The group `classification/examples`: for each head and each of its types up to most_found cases
/// it finds and most_missed that it misses, never two of one sentence.
/// Nothing if there are none.
/// @param group  classification's, with types.
std::optional<ResultsGroup> examples_group(const HeadTypeList& types, const Statistics& statistics,
                                           const ResultsGroup& group);

}  // namespace headscope
