#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "classification/explained/places.hpp"
#include "headscope/results.hpp"
#include "scores/semantic.hpp"

/// Places of the corpus where heads of a type are seen at work.
namespace headscope {

inline constexpr Index most_example_tokens = 160;

/// Tokens of a document from which examples are chosen.
inline Index n_example_token(Index n_token) {
  return std::min(n_token, most_example_tokens);
}

/// A query whose largest weight should be on one of the targets. Positions are tokens; words count
/// as their first token.
struct ExampleCase {
  Index query = 0;
  std::vector<Index> targets = {};  ///< empty where they differ between heads
  Index word = no_position;         ///< the query's word if weights between words count
  std::string choice = {};          ///< `nsubj → head`, of types whose heads differ by it
  bool includes_sink = false;       ///< position 0 is a key too
  Index type = no_position;         ///< along the list of types; no_position: any type's
};

/// What the cases of a document are read from.
struct ExampleSource {
  const PlaceSource& piece;
  const TokenSimilarity& similarity;

  Index n_token() const { return n_example_token(piece.tokens.size()); }
};

/// The keys from position 1 to the query that a predicate takes.
template <typename Takes>
std::vector<Index> keys_where(Index query, const Takes& takes) {
  std::vector<Index> keys;
  for (Index key = 1; key <= query; ++key) {
    if (takes(key)) keys.push_back(key);
  }
  return keys;
}

/// A case at each query from 2 on for which `targets` gives some.
std::vector<ExampleCase> token_cases(const ExampleSource& source,
                                     const std::function<std::vector<Index>(Index query)>& targets);

/// Adds the case of a word that should attend to one of the earlier words, unless the word begins
/// after the tokens that examples are chosen from.
void add_word_case(const ExampleSource& source, Index word, const std::vector<Index>& earlier,
                   const std::string& choice, std::vector<ExampleCase>& cases);

/// One document as examples need it.
struct ExampleDocument {
  std::vector<std::string> token_text;
  std::vector<Index> sentence;     ///< of each token; no_position where it is unknown
  std::vector<Index> token_class;  ///< of each token, along word_classes
  std::vector<ExampleCase> cases;
};

/// A head of a type, for which examples are chosen from a document.
struct SeenHead {
  const ResultsGroup& group;  ///< classification's, with types
  Index head_index;
  const ExampleDocument& document;
  /// The key whose predicted token's logit the head lowers most at a query
  /// (CopyEffects::lowered_key); no_position if there is none.
  std::function<Index(Index query)> lowered_key;
};

/// How examples of a type are found.
struct TypeExamples {
  /// The type's cases in a document; none: every query, without targets.
  std::function<std::vector<ExampleCase>(const ExampleSource&)> cases = nullptr;
  /// What a head seeks in a case; none: the case's targets.
  std::function<std::vector<Index>(const ExampleCase&, const SeenHead&)> targets = nullptr;
  /// The choice of the cases that show a head; none: the type's cases have no choice.
  std::function<std::string(const ResultsGroup&, Index head_index)> choice = nullptr;
  /// A token that the text shows beside the target; none: no other.
  std::function<Index(Index target)> also_shown = nullptr;
};

}  // namespace headscope
