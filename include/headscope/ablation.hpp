#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "headscope/forward.hpp"
#include "headscope/precision.hpp"

namespace headscope {

class Activations;

/// A place in the residual stream.
struct StartPoint {
  enum class Sublayer { attention, mlp };
  Index layer = 0;
  Sublayer sublayer = Sublayer::attention;  ///< the sublayer that reads the stream there
};

/// The heads that take part: n_head x n_layer, 0 where the head's z is set to zero.
using HeadMask = arma::Mat<unsigned char>;

/// A change of one layer: the z of some heads is replaced.
struct HeadVariant {
  Index layer = 0;
  std::vector<Index> heads;  ///< the heads of the layer whose z is replaced
  blas::ConstView z = {};    ///< d_z x n_token; its rows of `heads` replace z; no data means
                             ///< zero; with stride 0, one column stands for all tokens
};

/// A change of the residual stream: a difference is added to it.
struct StreamVariant {
  StartPoint start;            ///< {n_layer, attention} is after the last layer
  blas::ConstView difference;  ///< d_model x n_token
};

/// Exact losses of a document or batch with heads replaced.
///
/// HeadAblation observes the clean forward pass of a document or batch and keeps its activations. A
/// variant is then computed as the difference delta of its residual stream from the clean stream.
/// With replaced heads, the difference after the attention of their layer is
///
///   delta = sum over h of W_O[h] (z'_h - z_h).
///
/// After that layer a product with weights W computes W delta, a nonlinear step f computes
/// f(clean + delta) - f(clean), and the loss differs by
///
///   log(sum over v of p_v exp(d_v)) - d_target,   d = W_U (ln_f(clean + delta) - ln_f(clean)),
///
/// where p are the clean probabilities. Rounding errors are relative to the difference, not to the
/// stream. Variants are computed side by side; their losses equal those of a forward pass with the
/// heads replaced, up to rounding. Source: Michel et al. 2019, "Are Sixteen Heads Really Better
/// than One?" (zero ablation).
class HeadAblation : public LayerObserver {
 public:
  /// @param context    that of the observed forward pass.
  /// @param precision  of `losses` of HeadVariants; others use all the vocabulary.
  /// @throws ShapeError if the model is attention-only.
  explicit HeadAblation(const Model& model, ComputeContext context = {},
                        const AblationPrecision& precision = {});
  ~HeadAblation() override;

  /// Keeps the layer. Observe all layers of one pass in order: the functions below work on its
  /// document or batch.
  void observe_layer(const LayerView& view) override;
  std::optional<ProjectionMemory> projection_memory(Index layer, Index n_token) override;

  /// Sets whether later forward passes leave every layer's queries, keys, values and hidden units
  /// for HeadGradient. False, as at first, frees their memory.
  /// Memory: n_layer (d_qkv + d_in) n_token floats, d_in the MLP's hidden units, twice as many with
  /// a gate.
  void keep_projections(bool keep);
  /// The losses with all heads.
  /// @param batch  the one observed.
  /// @throws ShapeError if its columns are not as many as those observed.
  const TokenLoss& clean_loss(const SequenceBatch& batch);

  /// @param variants  of any layers; those of one layer, or of layers close together, share work.
  /// @return          one per variant: losses of the batch's predictions, in their order. A variant
  ///                  is computed exactly if it changes the losses, or the stream where it starts,
  ///                  by more than AblationPrecision::exact_above times the median over the
  ///                  variants that replace as many heads.
  /// @throws ShapeError if a layer, head or replacement does not fit the model; gives both.
  /// Memory: `bytes`. Variants run together while their streams have at most `columns_at_once`
  /// columns.
  std::vector<TokenLoss> losses(const SequenceBatch& batch, std::span<const HeadVariant> variants);

  /// The same with something added to the residual stream.
  std::vector<TokenLoss> losses(const SequenceBatch& batch,
                                std::span<const StreamVariant> variants);

  /// Whether `losses` approximates: by a faster engine for differences or by a sample of the
  /// vocabulary.
  bool is_approximate() const;
  /// The same losses with differences and their logits multiplied by OpenBLAS and all entries of
  /// the vocabulary; Engines::passes multiplies the rest. Their difference from `losses` is the
  /// error of `losses`.
  std::vector<TokenLoss> float32_losses(const SequenceBatch& batch,
                                        std::span<const HeadVariant> variants);

  /// Losses with heads of any layers set to zero.
  /// @param masks  one per variant, n_head x n_layer.
  std::vector<TokenLoss> masked_losses(const SequenceBatch& batch, std::span<const HeadMask> masks);

  /// What is kept of the observed forward pass, for HeadGradient.
  Activations& activations();

  /// Upper bound on the bytes that it keeps, what it keeps in the context included.
  /// @param with_projections  whether projections are kept for documents that are not ablated.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token, int n_thread,
                             const Engines& engines, const VocabularySample& sample = {},
                             bool with_projections = false);

  static constexpr Index columns_at_once = 49152;

 private:
  struct Workspace;

  const Model& model_;
  ComputeContext context_;
  AblationPrecision precision_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
