#pragma once

#include <vector>

#include "classification/examples/examples.hpp"
#include "classification/passes/piece_cases.hpp"
#include "classification/tests/copy_effect.hpp"
#include "headscope/analysis.hpp"
#include "scores/semantic.hpp"
#include "scores/sums.hpp"

namespace headscope {

inline constexpr std::size_t n_semantic_permutation = 20;

/// A piece's contribution to a sum and to its denominators.
struct RatioSum {
  Array* numerator;
  Array* denominator;

  template <typename... I>
  void add(const Ratio& ratio, I... index) const {
    (*numerator)(index...) += ratio.numerator;
    (*denominator)(index...) += ratio.denominator;
  }
};

/// A piece's contribution to all sums over heads.
struct HeadSums {
  std::vector<RatioSum> scores;  ///< by HeadScore
  RatioSum offsets, offset_mass, word_classes, semantic_null, sentence_sink, sentence_entropy;
  std::vector<Array*> arc_hits;  ///< per scored arc, the hits of its relation
  Array* attended = nullptr;     ///< layer, head, case; null if examples are not chosen from it

  const RatioSum& of(HeadScore score) const { return scores[static_cast<std::size_t>(score)]; }
};

/// What scores need besides the piece; the same for all pieces.
struct ScoringInput {
  const HeadTypeList& types;
  const Model& model;
  const LogitAttribution& attribution;
  const LogitLens& lens;
  const std::vector<double>& token_counts;  ///< by token id, of the corpus
  const std::vector<arma::mat>&
      mean_first;  ///< by head: mean pattern of the first positions, key x query
  std::uint64_t seed;
  std::uint64_t n_document;  ///< of the corpus

  Index n_head_total() const { return model.config.n_layer * model.config.n_head; }
};

/// Scores every head on one piece.
class PieceScores : public PieceObserver {
 public:
  /// @param counts  of the document's earlier pieces.
  PieceScores(const ScoringInput& input, const Piece& piece, DocumentCounts& counts,
              DocumentStatistics& statistics);

  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override;
  void end(const PieceEnd& end) override;
  /// Bytes that it and the statistics hold. @param n_type  types that examples are shown of.
  static std::uint64_t bytes(const RunShape& run, std::size_t n_type);

 private:
  void add_baselines();
  void add_arcs();
  void add_references();
  void add_example();
  void add_lowered_keys() const;
  HeadSums head_sums() const;
  void observe_head(const LayerView& view, Index head, arma::mat& word_buffer,
                    const HeadSums& sums) const;
  /// Each word's most attended earlier word.
  std::vector<Index> observe_words(const Matrix& pattern, Index layer, Index head,
                                   arma::mat& word_buffer, const HeadSums& sums) const;
  void observe_sentences(const Matrix& pattern, const std::vector<double>& entropy, Index layer,
                         Index head, const HeadSums& sums) const;

  const ScoringInput& input_;
  const ModelConfig& config_;
  const Piece& piece_;
  DocumentStatistics& statistics_;
  DocumentCounts& counts_;
  const PlaceSource traits_;
  Index block_;
  PieceCases cases_;
  TokenSimilarity similarity_;
  CopyEffects copy_effects_;
  std::vector<ExampleCase> example_cases_;  // empty if examples are not chosen from the piece
};

}  // namespace headscope
