#pragma once

#include <span>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

/// Token sequences of unequal length side by side as the columns of one matrix, without padding.
/// Sequences that begin alike may share the columns of their common beginning.
///
/// Each column belongs to one segment. A segment continues its stem: a run of earlier columns that
/// begins a sequence, at position 0. Queries of a segment attend to the whole stem and, causally,
/// to the segment itself. A segment without a stem begins a sequence.
struct Pack {
  struct Segment {
    Index first = 0, count = 0;            ///< the segment's own columns
    Index stem_first = 0, stem_count = 0;  ///< the stem's columns; the segment's first column is
                                           ///< at position stem_count
  };
  /// A token to be predicted from a column. A column may predict any number of tokens.
  struct Prediction {
    Index column = 0;
    TokenId target = 0;
  };

  TokenIds tokens;                ///< of each column
  std::vector<Segment> segments;  ///< in the order of their columns, covering all of them
  std::vector<Prediction> predictions;

  Index n_column() const { return tokens.size(); }

  /// One document: one segment, each token predicting the next.
  static Pack of_document(std::span<const TokenId> tokens);

  /// Adds two sequences that begin with the same `n_shared` tokens, which get one column each; then
  /// come the other columns of `a`, then those of `b`. Predicts the tokens of `a` from n_shared on,
  /// then those of `b`.
  /// @param with_last  false: the last token of a sequence, which predicts nothing, gets no column
  ///                   unless it is shared.
  /// @throws ShapeError unless 1 <= n_shared <= the number of tokens of either.
  void add_pair(std::span<const TokenId> a, std::span<const TokenId> b, Index n_shared,
                bool with_last);
};

}  // namespace headscope
