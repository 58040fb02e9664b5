#pragma once

#include <cstdint>
#include <vector>

#include "headscope/analysis.hpp"
#include "headscope/array.hpp"
#include "headscope/resampling.hpp"
#include "headscope/statistics.hpp"

namespace headscope {

/// Blocks of documents whose gradients were taken and whose heads were not ablated.
struct GradientBlocks {
  double n_document = 0;           ///< of all blocks
  std::vector<std::size_t> block;  ///< number; even if its documents have even numbers
  std::vector<double> baseline;    ///< nats, summed over the block's predicted tokens
  std::vector<double> n_predicted;
  std::vector<Array> first_order;  ///< n_ablation_row x layer x head, nats summed

  std::size_t size() const { return block.size(); }
};

/// The statistics, one row per ablated document in order.
struct DocumentRows {
  std::vector<std::uint64_t> document;  ///< its number in the corpus
  std::vector<double> baseline;         ///< nats, summed over the document's predicted tokens
  std::vector<double> n_predicted;
  std::vector<const Array*> ablated;      ///< n_ablation_row x layer x head, nats summed
  std::vector<const Array*> importance;   ///< n_importance_row x layer x head, of the summed loss
  std::vector<const Array*> direct_head;  ///< layer x head, logits summed
  std::vector<const Array*> direct_part;  ///< layer + n_direct_part, logits summed
  std::vector<const Array*>
      curve;  ///< 2 x order x step: nats summed, correct tokens; empty until the third pass
  std::vector<Array> first_order;  ///< n_ablation_row x layer x head, nats summed
  GradientBlocks gradient_only;

  std::size_t size() const { return baseline.size(); }
};

inline constexpr std::size_t all_but_one_row = 2;

/// @throws Error if no document has at least two tokens.
DocumentRows document_rows(const Statistics& statistics);
BootstrapCounts every_document_once(const DocumentRows& rows);
/// Whether heads were ablated on even and on odd documents.
bool has_both_parities(const DocumentRows& rows);
/// The weights, set to 0 for documents of the other parity: even documents make the orders of
/// pruning, odd ones score them. Unchanged without documents of both.
BootstrapCounts weights_of_parity(const DocumentRows& rows, BootstrapCounts weights, bool odd);
/// Element-wise weighted sum of equal-shaped rows.
Array weighted(const std::vector<const Array*>& rows, const BootstrapCounts& weights);
/// Importance, weighted mean over documents: n_importance x layer x head.
Array mean_importance(const DocumentRows& rows, const BootstrapCounts& weights);
Bootstrap bootstrap_of(const DocumentRows& rows, const AnalysisSettings& settings);

}  // namespace headscope
