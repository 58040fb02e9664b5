#pragma once

#include <span>
#include <vector>

#include "headscope/forward.hpp"

namespace headscope {

/// One way of changing a layer: the z of some heads is replaced.
struct HeadVariant {
  std::vector<Index> heads;   ///< heads of the layer whose z is replaced
  const Matrix* z = nullptr;  ///< d_model x n_token; its rows of `heads` replace z; null means zero
};

/// Exact losses of a document with heads of one layer replaced.
///
/// Replacing z_h by z'_h changes the stream after that layer's attention by W_O[h] (z'_h - z_h),
/// and nothing before it:
///
///   resid_mid' = resid_mid + sum over h of W_O[h] (z'_h - z_h)
///
/// so the clean pass's stream is reused up to there and only the rest is recomputed. All variants
/// of a layer run side by side as one wide stack. The losses equal those of a full forward pass
/// with the heads replaced, up to rounding. Source: Michel et al. 2019, "Are Sixteen Heads Really
/// Better than One?" (zero ablation).
class HeadAblation {
 public:
  /// @throws ShapeError if the model is attention-only.
  explicit HeadAblation(const Model& model);

  /// @param view      the layer as the clean pass saw it.
  /// @param tokens    the document, view.n_token of them.
  /// @return          one loss per variant, in order.
  /// @throws ShapeError if a head or a replacement does not fit the layer; gives both.
  /// Memory: at most `columns_at_once` columns of the residual stream, in addition to the forward
  /// pass.
  std::vector<TokenLoss> losses(const LayerView& view, std::span<const TokenId> tokens,
                                std::span<const HeadVariant> variants);

  /// The same for a pack: losses of its predictions, in their order.
  std::vector<TokenLoss> losses(const LayerView& view, const Pack& pack,
                                std::span<const HeadVariant> variants);

  /// Losses with heads of layers `view.layer` and later set to zero. Reuses the residual stream
  /// that enters `view.layer`.
  /// @param masks  one per variant, n_head x n_layer; heads of earlier layers must all be kept.
  std::vector<TokenLoss> masked_losses(const LayerView& view, std::span<const TokenId> tokens,
                                       std::span<const HeadMask> masks);

  static constexpr Index columns_at_once = 8192;

 private:
  Forward forward_;
  Matrix stack_;
};

}  // namespace headscope
