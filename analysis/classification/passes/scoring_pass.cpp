#include "classification/passes/scoring_pass.hpp"

#include "scores/sums.hpp"

namespace headscope {
namespace {

/// By head, key x query, of the first positions.
std::vector<arma::mat> mean_first_patterns(const ModelConfig& config, const Statistics& earlier) {
  const Array first = earlier.total("first_pattern");
  const Array first_count = earlier.total("first_pattern_count");
  std::vector<arma::mat> means;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    for (Index head = 0; head < config.n_head; ++head) {
      arma::mat mean(n_variability_position, n_variability_position, arma::fill::zeros);
      for (Index q = 0; q < n_variability_position; ++q) {
        for (Index k = 0; k <= q; ++k) {
          if (first_count(q) > 0) mean(k, q) = first(layer, head, q, k) / first_count(q);
        }
      }
      means.push_back(std::move(mean));
    }
  }
  return means;
}

}  // namespace

ScoringPass::ScoringPass(const HeadTypeList& types, const AnalysisContext& context,
                         const LogitAttribution& attribution, const Statistics& earlier)
    : corpus_(*context.corpus),
      compute_(context.compute),
      lens_(context.model, compute_.engines().screening),
      token_counts_(earlier.total("token_count").values),
      mean_first_(mean_first_patterns(context.model.config, earlier)),
      input_{types,         context.model, attribution,           lens_,
             token_counts_, mean_first_,   context.settings.seed, corpus_.n_document()} {}

std::unique_ptr<PieceObserver> ScoringPass::begin_piece(const Piece& piece,
                                                        DocumentStatistics& statistics) {
  count_earlier_pieces(piece);
  return std::make_unique<PieceScores>(input_, piece, counts_, statistics);
}

void ScoringPass::count_earlier_pieces(const Piece& piece) {
  if (piece.index > 0 && counted_document_ == piece.document) return;
  counted_document_ = piece.document;
  counts_.clear();
  if (piece.index == 0 || piece.document % 2 == 0) return;
  Forward forward(input_.model, compute_);
  for (std::uint64_t index = 0; index < piece.index; ++index) {
    const Piece earlier = corpus_.piece(piece.document, index);
    const WordStructure words = word_structure(earlier);
    const PieceCases cases(words, piece.document, input_.n_head_total(), counts_);
    arma::mat attention;
    LayerFunction counter(
        [&](const LayerView& view) {
          for (Index head = 0; head < view.pattern.n_slices; ++head) {
            word_attention(view.pattern.slice(head), words, attention);
            cases.count_hits(largest_earlier_words(attention, words), words,
                             view.layer * view.pattern.n_slices + head);
          }
        },
        true);
    forward.run(earlier.tokens, {&counter});
  }
}

std::uint64_t ScoringPass::bytes(const RunShape& run, std::size_t n_type) {
  return PieceScores::bytes(run, n_type) +
         LogitLens::bytes(run.config, run.n_token, run.n_thread, run.settings.engines.screening);
}

}  // namespace headscope
