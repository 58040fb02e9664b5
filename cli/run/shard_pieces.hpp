#pragma once

#include "run/corpus_run.hpp"

namespace headscope {

/// Goes through one shard of a pass in order: the pieces of its documents, or its batches
/// of pairs. Shard k of N has the items k - 1, k - 1 + N, k - 1 + 2 N ..., with all their pieces.
class ShardPieces {
 public:
  ShardPieces(CorpusRun& corpus_run, int pass, std::uint64_t shard, std::uint64_t n_shard)
      : corpus_run_(&corpus_run), pass_(pass), step_(n_shard), item_(shard - 1) {}

  /// Items of the shard.
  std::uint64_t n_item() const {
    const std::uint64_t n = corpus_run_->n_item(pass_), first = item_ % step_;
    return first < n ? 1 + (n - 1 - first) / step_ : 0;
  }
  /// Items of the shard before the present one.
  std::uint64_t n_item_before() const { return item_ / step_; }

  bool at_end() const { return item_ >= corpus_run_->n_item(pass_); }
  std::uint64_t item() const { return item_; }
  /// Of the piece, as CorpusRun::cost.
  double cost() const { return corpus_run_->cost(pass_, item_); }
  /// Runs the piece of the pass, which must have begun. @return its number of tokens.
  std::uint64_t run() { return corpus_run_->run_piece(item_, piece_); }

  /// Goes on to the next piece; true if that ends an item.
  bool advance() {
    if (++piece_ < corpus_run_->n_piece(pass_, item_)) return false;
    piece_ = 0;
    item_ += step_;
    return true;
  }

 private:
  CorpusRun* corpus_run_;
  int pass_;
  std::uint64_t step_;
  std::uint64_t item_;
  std::uint64_t piece_ = 0;
};

}  // namespace headscope
