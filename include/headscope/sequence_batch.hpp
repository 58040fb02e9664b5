#pragma once

#include <span>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

/// Token sequences of any lengths as the columns of one matrix, without padding.
///
/// The tokens at the beginning of a sequence may be shared with an earlier sequence of the batch:
/// the prefix. Columns hold the prefix once, as the first columns of the earlier sequence. The
/// other sequence has columns only for the tokens after the prefix; those attend to the prefix and,
/// causally, to each other.
struct SequenceBatch {
  /// The tokens of a sequence after its prefix.
  struct Sequence {
    Index first = 0, count = 0;                ///< the columns of these tokens
    Index prefix_first = 0, prefix_count = 0;  ///< the columns of the prefix; no prefix if none.
                                               ///< Column `first` is at position prefix_count
  };
  /// A token to be predicted from a column. A column may predict any number of tokens.
  struct Prediction {
    Index column = 0;
    TokenId target = 0;
  };

  TokenIds tokens;                  ///< of each column
  std::vector<Sequence> sequences;  ///< in the order of their columns, covering all of them
  std::vector<Prediction> predictions;

  SequenceBatch() = default;
  /// A document as a batch of one sequence, each token predicting the next.
  SequenceBatch(std::span<const TokenId> document);  // NOLINT(google-explicit-constructor)
  SequenceBatch(const TokenIds& document)            // NOLINT(google-explicit-constructor)
      : SequenceBatch(std::span(document)) {}

  Index n_column() const { return tokens.size(); }

  /// Adds two sequences that begin with the same `n_shared` tokens: first all columns of `a`, then
  /// the columns of `b` after the shared prefix. Predicts the tokens of `a` from n_shared on, then
  /// those of `b`.
  /// @param with_last  false: the last token of a sequence, which predicts nothing, gets no column
  ///                   unless it is shared.
  /// @throws ShapeError unless 1 <= n_shared <= the number of tokens of either sequence.
  void add_pair(std::span<const TokenId> a, std::span<const TokenId> b, Index n_shared,
                bool with_last);
};

/// The position of each column, in the order of the columns.
std::vector<Index> positions_of(std::span<const SequenceBatch::Sequence> sequences);

}  // namespace headscope
