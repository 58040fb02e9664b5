#pragma once

#include <span>
#include <vector>

#include "headscope/ablation.hpp"

namespace headscope {

/// What a variant of HeadAblation changes in the clean pass: z of some heads, or the stream itself.
struct VariantChange {
  StartPoint start;  ///< where the stream first differs
  const HeadVariant* variant = nullptr;
  const HeadMask* mask = nullptr;
  blas::ConstView difference = {};  ///< added at the start; if there is neither variant nor mask

  /// Start points in the order of the forward pass.
  static Index place_of(StartPoint start) {
    return 2 * start.layer + (start.sublayer == StartPoint::Sublayer::mlp ? 1 : 0);
  }
  Index place() const { return place_of(start); }

  bool replaces_heads() const { return variant != nullptr || mask != nullptr; }
  bool replaces(Index layer, Index head) const;
};

/// Changes by variants, which must outlive them.
/// @throws ShapeError if a layer, head, mask or replacement does not fit the model or the number of
/// tokens; gives both.
std::vector<VariantChange> changes_of(std::span<const HeadVariant> variants,
                                      const ModelConfig& config, Index n_token);
std::vector<VariantChange> changes_of(std::span<const StreamVariant> variants,
                                      const ModelConfig& config, Index n_token);
std::vector<VariantChange> changes_of(std::span<const HeadMask> masks, const ModelConfig& config);

/// Rows of a layer's z.
struct ZRows {
  Index first = 0, count = 0;
  auto operator<=>(const ZRows&) const = default;
};

/// Rows of the first to the last head that a change replaces in the layer where it starts. None
/// for a mask that keeps all heads: it starts after the last layer.
ZRows replaced_rows(const VariantChange& change, const ModelConfig& config);

/// dz = replacement - clean z in the rows of the heads replaced in a layer.
/// @param rows  of z that dz holds, with all such heads.
void replace_heads(const VariantChange& change, Index layer, const ModelConfig& config,
                   const Matrix& clean_z, ZRows rows, blas::View dz);

/// The order in which changes are computed: by their start, and among those with one start by
/// replaced rows, so that they share products. Numbers of `changes`.
std::vector<std::size_t> order_of(std::span<const VariantChange> changes,
                                  const ModelConfig& config);

}  // namespace headscope
