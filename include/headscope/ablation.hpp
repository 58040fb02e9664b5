#pragma once

#include <memory>
#include <span>
#include <vector>

#include "headscope/forward.hpp"
#include "headscope/precision.hpp"

namespace headscope {

class Activations;

/// One way of changing a layer: the z of some heads is replaced.
struct HeadVariant {
  Index layer = 0;
  std::vector<Index> heads;  ///< heads of the layer whose z is replaced
  blas::ConstView z = {};    ///< d_model x n_token; its rows of `heads` replace z; no data means
                             ///< zero; with stride 0, one column stands for all tokens
};

/// Another way: something is added to the residual stream.
struct StreamVariant {
  StartPoint start;            ///< where; {n_layer, attention}: after the last layer
  blas::ConstView difference;  ///< d_model x n_token, added
};

/// Exact losses of a document or pack with heads replaced.
///
/// Watches its clean forward pass and keeps its activations. A variant then carries only
/// the difference of its residual stream from the clean one: with replaced heads it starts as
///
///   delta = sum over h of W_O[h] (z'_h - z_h)
///
/// after its layer's attention, each product computes W delta, each nonlinear step
/// f(clean + delta) - f(clean), and the loss differs by
///
///   log(sum over v of p_v exp(d_v)) - d_target,   d = W_U (ln_f(clean + delta) - ln_f(clean)),
///
/// p being the clean probabilities. Rounding errors are then relative to the difference instead of
/// the stream. Variants run side by side as a wide stack; the losses equal those of a forward pass
/// with the heads replaced, up to rounding. Source: Michel et al. 2019, "Are Sixteen Heads Really
/// Better than One?" (zero ablation).
class HeadAblation : public LayerObserver {
 public:
  /// @param precision  its `passes` is the engine of the forward pass that is watched; its sample
  ///                   and `exact_above` are of `losses` alone.
  /// @throws ShapeError if the model is attention-only.
  explicit HeadAblation(const Model& model, const AblationPrecision& precision = {});
  ~HeadAblation() override;

  /// Keeps the layer. All layers of one forward pass, in order, make its document or pack that of
  /// the functions below.
  void observe_layer(const LayerView& view) override;

  /// The losses with all heads.
  /// @param pack  the one observed.
  /// @throws ShapeError if its columns are not as many as those observed.
  const TokenLoss& clean_loss(const Pack& pack);

  /// @param variants  of any layers; those of one layer, or of layers close together, share work.
  /// @return          one per variant: losses of the pack's predictions, in their order. A typical
  ///                  change, beyond a multiple of which losses are computed again, is the median
  ///                  over the variants that replace as many heads.
  /// @throws ShapeError if a layer, head or replacement does not fit the model; gives both.
  /// Memory: at most `columns_at_once` columns of the residual stream, in addition to three
  /// matrices as large as the pack's stream for each layer.
  std::vector<TokenLoss> losses(const Pack& pack, std::span<const HeadVariant> variants);

  /// The same with something added to the residual stream.
  std::vector<TokenLoss> losses(const Pack& pack, std::span<const StreamVariant> variants);

  /// The same for a document.
  std::vector<TokenLoss> losses(std::span<const TokenId> tokens,
                                std::span<const HeadVariant> variants) {
    return losses(Pack::of_document(tokens), variants);
  }

  /// `losses` with differences by OpenBLAS's products over the whole vocabulary, whatever the
  /// engine and the sample: to measure their error.
  std::vector<TokenLoss> float32_losses(const Pack& pack, std::span<const HeadVariant> variants);

  /// Losses with heads of any layers set to zero.
  /// @param masks  one per variant, n_head x n_layer.
  std::vector<TokenLoss> masked_losses(const Pack& pack, std::span<const HeadMask> masks);

  /// What is kept of the observed forward pass, for HeadGradient.
  Activations& activations();

  static constexpr Index columns_at_once = 32768;

 private:
  struct Workspace;

  const Model& model_;
  AblationPrecision precision_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
