#pragma once

#include <optional>
#include <string>
#include <vector>

#include "classification/types/types.hpp"
#include "headscope/results.hpp"
#include "scores/words.hpp"

/// What a head would attend to if it did exactly what its type says.
namespace headscope {

/// A type's rule as a place to look at.
struct Prototype {
  HeadType type = HeadType::positional;
  Index offset = 0;           ///< of positional: in tokens, or in words if `in_words`
  bool in_words = false;      ///< positional alone
  std::string relation = {};  ///< of syntactic
  ArcDirection direction = ArcDirection::dependent_to_head;  ///< of syntactic

  bool operator==(const Prototype&) const = default;
};

/// What prototypes are read from: the tokens and annotation of a piece.
struct PrototypeSource {
  const TokenIds& tokens;
  const std::vector<unsigned char>& is_punctuation;
  const std::vector<std::vector<Index>>& copies;
  const std::vector<std::optional<TokenId>>& rarest;
  const WordStructure& words;
};

/// The keys that share all attention of each query; empty where the type says nothing.
///
/// positional: the key at the offset, position 0 included; in words: the tokens of the word at the
/// offset. current_token: the query. delimiter: the nearest punctuation. syntactic: the tokens of
/// the arc's other end, for the tokens of its later word. coreference: the tokens of the head word
/// of the nearest antecedent, for the tokens of a non-first mention's head word. duplicate: the
/// last copy. induction: the token after the last copy that is followed by a token before the
/// query. rare: the last of the rarest token. sink: position 0.
using PrototypeKeys = std::vector<std::vector<Index>>;
PrototypeKeys prototype_keys(const Prototype& prototype, const PrototypeSource& source);

/// The prototype of a head's type; nothing for types that name no place: semantic, long_range,
/// copying, suppressing.
/// @param group  classification's, with types.
std::optional<Prototype> label_prototype(const ResultsGroup& group, HeadType type,
                                         std::size_t head_index);

/// Another type's prototype, which the head is not of: the first that fits of
/// the relation's best fixed word offset (syntactic), the last copy (induction), the token after it
/// (duplicate), the query itself (positional), the previous token, the query itself, position 0.
Prototype control_prototype(const ResultsGroup& group, HeadType type, std::size_t head_index);

/// `exactly the previous token`, as in `attention replaced by …`.
std::string prototype_text(const Prototype& prototype);

/// Fills the attention of a prototype.
/// @param row      mean attention by distance 0, 1, …, sink excluded; any scale, at least n_token.
/// @param sink     mean attention to position 0.
/// @param pattern  n_token x n_token, key x query, overwritten: where the prototype says nothing,
///                 `sink` at position 0 and the rest as `row` has it.
void fill_prototype(const PrototypeKeys& keys, const std::vector<double>& row, double sink,
                    Matrix& pattern);

}  // namespace headscope
