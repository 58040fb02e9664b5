#include "compute/variant_change.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headscope/error.hpp"

namespace headscope {
namespace {

/// The first layer with a masked head; n_layer if all heads are kept.
Index first_masked_layer(const HeadMask& mask) {
  for (Index layer = 0; layer < mask.n_cols; ++layer) {
    if (mask.col(layer).min() == 0) return layer;
  }
  return mask.n_cols;
}

}  // namespace

bool VariantChange::replaces(Index layer, Index head) const {
  if (mask != nullptr) return (*mask)(head, layer) == 0;
  return variant != nullptr && layer == variant->layer &&
         std::ranges::find(variant->heads, head) != variant->heads.end();
}

std::vector<VariantChange> changes_of(std::span<const HeadVariant> variants,
                                      const ModelConfig& config, Index n_token) {
  std::vector<VariantChange> changes;
  for (const HeadVariant& variant : variants) {
    check_below("ablated layer", config.n_layer, variant.layer);
    for (const Index head : variant.heads) check_below("ablated head", config.n_head, head);
    if (variant.z.data != nullptr) {
      check_count("rows of the replacement z", config.d_z(), variant.z.n_row);
      check_count("columns of the replacement z", n_token, variant.z.n_col);
    }
    changes.push_back({{variant.layer, StartPoint::Sublayer::mlp}, &variant});
  }
  return changes;
}

std::vector<VariantChange> changes_of(std::span<const StreamVariant> variants,
                                      const ModelConfig& config, Index n_token) {
  std::vector<VariantChange> changes;
  for (const StreamVariant& variant : variants) {
    const bool in_layer = variant.start.sublayer == StartPoint::Sublayer::mlp;
    check_below("layer of a change of the stream", config.n_layer + (in_layer ? 0 : 1),
                variant.start.layer);
    check_count("rows of a change of the stream", config.d_model, variant.difference.n_row);
    check_count("columns of a change of the stream", n_token, variant.difference.n_col);
    changes.push_back({variant.start, nullptr, nullptr, variant.difference});
  }
  return changes;
}

std::vector<VariantChange> changes_of(std::span<const HeadMask> masks, const ModelConfig& config) {
  std::vector<VariantChange> changes;
  for (const HeadMask& mask : masks) {
    check_count("rows of a head mask", config.n_head, mask.n_rows);
    check_count("columns of a head mask", config.n_layer, mask.n_cols);
    changes.push_back({{first_masked_layer(mask), StartPoint::Sublayer::mlp}, nullptr, &mask});
  }
  return changes;
}

ZRows replaced_rows(const VariantChange& change, const ModelConfig& config) {
  if (!change.replaces_heads() || change.start.layer == config.n_layer) return {};
  Index first = config.n_head, end = 0;
  for (Index head = 0; head < config.n_head; ++head) {
    if (!change.replaces(change.start.layer, head)) continue;
    first = std::min(first, head);
    end = head + 1;
  }
  if (end == 0) return {};
  return {first * config.d_head(), (end - first) * config.d_head()};
}

void replace_heads(const VariantChange& change, Index layer, const ModelConfig& config,
                   const Matrix& clean_z, ZRows rows, blas::View dz) {
  const blas::ConstView by = change.variant == nullptr ? blas::ConstView() : change.variant->z;
  const Index d_head = config.d_head();
  for (Index head = 0; head < config.n_head; ++head) {
    if (!change.replaces(layer, head)) continue;
    for (Index t = 0; t < dz.n_col; ++t) {
      for (Index i = head * d_head; i < (head + 1) * d_head; ++i) {
        const float replacement = by.data == nullptr ? 0.0F : by.data[t * by.stride + i];
        dz.data[t * dz.stride + i - rows.first] = replacement - clean_z(i, t);
      }
    }
  }
}

std::vector<std::size_t> order_of(std::span<const VariantChange> changes,
                                  const ModelConfig& config) {
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(changes[i].place(), replaced_rows(changes[i], config));
  });
  return order;
}

}  // namespace headscope
