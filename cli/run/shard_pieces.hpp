#pragma once

#include <cstdint>

#include "headscope/corpus.hpp"

namespace headscope {

/// Goes through the pieces of one shard's documents in order. Shard k of N has the documents k - 1,
/// k - 1 + N, k - 1 + 2 N ..., with all their pieces.
class ShardPieces {
 public:
  ShardPieces(const Corpus& corpus, std::uint64_t shard, std::uint64_t n_shard)
      : corpus_(&corpus), step_(n_shard), document_(shard - 1) {}

  /// Documents of the shard.
  std::uint64_t n_document() const {
    const std::uint64_t n = corpus_->n_document(), first = document_ % step_;
    return first < n ? 1 + (n - 1 - first) / step_ : 0;
  }
  /// Documents of the shard before the present one.
  std::uint64_t n_document_before() const { return document_ / step_; }

  bool at_end() const { return document_ >= corpus_->n_document(); }
  std::uint64_t document() const { return document_; }
  Piece read() const { return corpus_->piece(document_, piece_); }

  /// Goes on to the next piece; true if that ends a document.
  bool advance() {
    if (++piece_ < corpus_->n_piece(document_)) return false;
    piece_ = 0;
    document_ += step_;
    return true;
  }

 private:
  const Corpus* corpus_;
  std::uint64_t step_;
  std::uint64_t document_;
  std::uint64_t piece_ = 0;
};

}  // namespace headscope
