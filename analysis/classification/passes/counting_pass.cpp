#include "classification/passes/counting_pass.hpp"

#include "scores/pattern.hpp"
#include "scores/tokens.hpp"

namespace headscope {

std::unique_ptr<PieceObserver> CountingPass::begin_piece(const Piece& piece,
                                                         DocumentStatistics& statistics) {
  count_tokens(piece, statistics.sum("token_count", {config_.d_vocab}));
  add_first_patterns(piece, statistics);
  return nullptr;
}

void CountingPass::add_first_patterns(const Piece& piece, DocumentStatistics& statistics) {
  const Index n_first = std::min<Index>(piece.tokens.size(), n_variability_position);
  Array& first_count = statistics.sum("first_pattern_count", {n_variability_position});
  for (Index q = 0; q < n_first; ++q) ++first_count(q);
  // Variability is measured from their mean pattern.
  Array& sum = statistics.sum("first_pattern", {config_.n_layer, config_.n_head,
                                                n_variability_position, n_variability_position});
  LayerFunction observer(
      [&](const LayerView& view) {
        for (Index h = 0; h < view.pattern.n_slices; ++h) {
          for (Index q = 0; q < view.n_token; ++q) {
            for (Index k = 0; k <= q; ++k) sum(view.layer, h, q, k) += view.pattern(k, q, h);
          }
        }
      },
      true);
  forward_.run(std::span(piece.tokens).first(n_first), {&observer});
}

std::uint64_t CountingPass::bytes(const ModelConfig& config) {
  const std::uint64_t pattern = n_variability_position * n_variability_position;
  return Statistics::sum_bytes *
         (config.d_vocab + n_variability_position + config.n_layer * config.n_head * pattern);
}

}  // namespace headscope
