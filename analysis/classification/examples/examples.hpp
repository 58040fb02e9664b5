#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "classification/types/types.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "scores/semantic.hpp"
#include "scores/words.hpp"

/// Sentences of the corpus in which a head does what its type says, and one in which it does not.
///
/// Of the first odd documents with text, the tokens, the places where a type can be seen (cases)
/// and each head's most attended token there are kept as records. Examples are chosen from these
/// records once the types are known.
namespace headscope {

inline constexpr std::uint64_t n_example_document = 12;
inline constexpr Index most_example_tokens = 160;
inline constexpr std::size_t most_found = 3, most_missed = 1;  ///< examples of a head's type

bool is_example_document(std::uint64_t document);

/// A place where a head of a type is seen at work: the query's largest weight should be on one of
/// the targets. Positions are tokens; words count as their first token.
struct ExampleCase {
  HeadType type = HeadType::positional;
  std::string relation;  ///< `nsubj → head` for syntactic cases
  Index query = 0;
  /// Empty for positional cases, one a query, which also serve types whose targets differ between
  /// heads: the head's offset decides, the distance, or lowered_keys.
  std::vector<Index> targets;
  Index word = no_position;  ///< the query's word if weights between words count
};

/// One document as examples need it.
struct ExampleDocument {
  std::vector<std::string> token_text;
  std::vector<Index> sentence;  ///< of each token; no_position where it is unknown
  std::vector<ExampleCase> cases;
};

/// What the cases of a document are read from.
struct ExampleSource {
  const TokenIds& tokens;
  const std::vector<unsigned char>& is_punctuation;
  const std::vector<std::vector<Index>>& copies;
  const std::vector<std::optional<TokenId>>& rarest;
  const WordStructure& words;
  const TokenSimilarity& similarity;
};

/// The sentence of each token; no_position before the first word.
std::vector<Index> token_sentences(const Piece& piece);

/// All cases within the first most_example_tokens tokens.
std::vector<ExampleCase> example_cases(const ExampleSource& source);

/// The token a head attends to most in a case; no_position if there is none. The sink counts in
/// cases of sink heads alone.
/// @param pattern       of the head.
/// @param largest_key   by token, from largest_keys.
/// @param largest_word  by word, from largest_earlier_words; empty without words.
Index attended_token(const ExampleCase& example, const Matrix& pattern,
                     const std::vector<Index>& largest_key, const std::vector<Index>& largest_word,
                     const WordStructure& words);

/// Keeps a document's text and cases.
void keep_example(const ExampleDocument& example, DocumentStatistics& statistics);

/// Record of attended_token by layer, head and case; -1 for no_position.
inline constexpr const char* example_attended = "example_attended";

/// Record by layer, head and token of the key whose predicted token's logit the head lowers most
/// (CopyEffects::lowered_key); -1 for no_position.
inline constexpr const char* example_lowered = "example_lowered";

/// Tokens of a document from which examples are chosen.
inline Index n_example_token(Index n_token) {
  return std::min(n_token, most_example_tokens);
}

/// The group `classification/examples`: for each head and each of its types up to most_found cases
/// it finds and most_missed that it misses, each of another sentence where there are enough.
/// Nothing if there are none.
/// @param group  classification's, with types.
std::optional<ResultsGroup> examples_group(const Statistics& statistics, const ResultsGroup& group);

}  // namespace headscope
