#include "headscope/ablation.hpp"

#include <algorithm>

#include "headscope/error.hpp"

namespace headscope {
namespace {

Index variants_at_once(Index n_token) {
  return std::max<Index>(1, HeadAblation::columns_at_once / std::max<Index>(1, n_token));
}

void check_variant(const HeadVariant& variant, const LayerView& view, Index n_head) {
  for (const Index head : variant.heads) {
    if (head < n_head) continue;
    throw ShapeError("ablated head: expected below " + std::to_string(n_head) + ", got " +
                     std::to_string(head));
  }
  if (variant.z == nullptr) return;
  check_count("rows of the replacement z", view.z.n_rows, variant.z->n_rows);
  check_count("columns of the replacement z", view.z.n_cols, variant.z->n_cols);
}

/// The first columns of a buffer that never shrinks: fresh pages cost more than the products they
/// hold.
blas::View grown(Matrix& buffer, Index n_row, Index n_col) {
  if (buffer.n_rows != n_row || buffer.n_cols < n_col) buffer.set_size(n_row, n_col);
  return blas::View(buffer).cols(0, n_col);
}

}  // namespace

HeadAblation::HeadAblation(const Model& model) : forward_(model) {}

std::vector<TokenLoss> HeadAblation::losses(const LayerView& view, std::span<const TokenId> tokens,
                                            std::span<const HeadVariant> variants) {
  return losses(view, Pack::of_document(tokens), variants);
}

std::vector<TokenLoss> HeadAblation::losses(const LayerView& view, const Pack& pack,
                                            std::span<const HeadVariant> variants) {
  const ModelConfig& config = forward_.model().config;
  const Index n_token = view.n_token, d_head = config.d_head();
  check_count("tokens of the ablated document", n_token, pack.n_column());
  const LayerWeights& layer = forward_.model().layers[view.layer];

  std::vector<TokenLoss> losses;
  for (std::size_t first = 0; first < variants.size(); first += variants_at_once(n_token)) {
    const auto group = variants.subspan(
        first, std::min<std::size_t>(variants_at_once(n_token), variants.size() - first));
    const Index n_column = n_token * group.size();
    const blas::View stack = grown(stack_, config.d_model, n_column);
    for (std::size_t v = 0; v < group.size(); ++v) {
      const HeadVariant& variant = group[v];
      check_variant(variant, view, config.n_head);
      const blas::View stream = stack.cols(v * n_token, n_token);
      std::copy(view.resid_mid.begin(), view.resid_mid.end(), stream.data);
      for (const Index head : variant.heads) {
        const blas::ConstView W_O = blas::ConstView(layer.W_O).cols(head * d_head, d_head);
        const blas::ConstView z = blas::ConstView(view.z).rows(head * d_head, d_head);
        blas::multiply(W_O, blas::Transpose::no, z, blas::Transpose::no, stream, -1, 1);
        if (variant.z == nullptr) continue;
        const blas::ConstView replacement = blas::ConstView(*variant.z).rows(head * d_head, d_head);
        blas::multiply(W_O, blas::Transpose::no, replacement, blas::Transpose::no, stream, 1, 1);
      }
    }
    Matrix stacked(stack.data, config.d_model, n_column, false, true);
    forward_.run_from({view.layer, StartPoint::Sublayer::mlp}, stacked, pack, group.size());
    for (TokenLoss& loss : forward_.loss(stacked, pack, group.size()))
      losses.push_back(std::move(loss));
  }
  return losses;
}

std::vector<TokenLoss> HeadAblation::masked_losses(const LayerView& view,
                                                   std::span<const TokenId> tokens,
                                                   std::span<const HeadMask> masks) {
  const Index n_token = view.n_token;
  check_count("tokens of the pruned document", n_token, tokens.size());
  std::vector<TokenLoss> losses;
  for (std::size_t first = 0; first < masks.size(); first += variants_at_once(n_token)) {
    const auto group = masks.subspan(
        first, std::min<std::size_t>(variants_at_once(n_token), masks.size() - first));
    const Index n_column = n_token * group.size();
    const blas::View stack = grown(stack_, view.resid_pre.n_rows, n_column);
    for (std::size_t v = 0; v < group.size(); ++v) {
      std::copy(view.resid_pre.begin(), view.resid_pre.end(),
                stack.cols(v * n_token, n_token).data);
    }
    Matrix stacked(stack.data, view.resid_pre.n_rows, n_column, false, true);
    forward_.run_from({view.layer, StartPoint::Sublayer::attention}, stacked, group.size(), group);
    for (TokenLoss& loss : forward_.loss(stacked, tokens, group.size()))
      losses.push_back(std::move(loss));
  }
  return losses;
}

}  // namespace headscope
