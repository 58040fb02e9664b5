#include "headscope/ablation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compute/activations.hpp"
#include "compute/difference_pass.hpp"
#include "compute/layer.hpp"
#include "compute/sequence_batch.hpp"
#include "compute/token_loss.hpp"
#include "compute/variant_change.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

/// The variants that change the losses by more than `multiple` times what the median of those does
/// that replace as many heads. A change is the sum of |changes| over the predictions: its rounding
/// errors are relative to that, also where changes cancel.
std::vector<std::size_t> large_changes(const std::vector<TokenLoss>& losses, const TokenLoss& clean,
                                       std::span<const HeadVariant> variants, double multiple) {
  std::vector<double> sizes;
  std::map<std::size_t, std::vector<double>> by_heads;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    double size = 0;
    for (std::size_t t = 0; t < clean.nll.size(); ++t) {
      size += std::abs(losses[i].nll[t] - clean.nll[t]);
    }
    sizes.push_back(size);
    by_heads[variants[i].heads.size()].push_back(size);
  }
  std::map<std::size_t, double> most;
  for (const auto& [n_head, of_variants] : by_heads) {
    most[n_head] = multiple * arma::median(arma::vec(of_variants));
  }
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > most[variants[i].heads.size()]) large.push_back(i);
  }
  return large;
}

}  // namespace

struct HeadAblation::Workspace {
  Workspace(const Model& model, const VocabularySample& sample)
      : clean(model.config), pass(model, clean, sample) {}

  Activations clean;
  std::optional<TokenLoss> clean_loss;
  DifferencePass pass;
  Buffer normalized;
};

HeadAblation::HeadAblation(const Model& model, ComputeContext context,
                           const AblationPrecision& precision)
    : model_(model),
      context_(std::move(context)),
      precision_(precision),
      workspace_(std::make_unique<Workspace>(model, precision.sample)) {
  check_complete(model);
}

HeadAblation::~HeadAblation() = default;

void HeadAblation::observe_layer(const LayerView& view) {
  workspace_->clean.observe_layer(view);
  workspace_->clean_loss.reset();
  workspace_->pass.forget_batch();
}

std::optional<ProjectionMemory> HeadAblation::projection_memory(Index layer,
                                                                const ModelConfig& config,
                                                                Index n_token) {
  return workspace_->clean.projection_memory(layer, config, n_token);
}

void HeadAblation::keep_projections(bool keep) {
  workspace_->clean.keep_projections(keep);
}

Activations& HeadAblation::activations() {
  return workspace_->clean;
}

const TokenLoss& HeadAblation::clean_loss(const SequenceBatch& batch) {
  Workspace& w = *workspace_;
  check_count("layers observed", model_.config.n_layer, w.clean.n_layer());
  check_count("columns of the ablated batch", w.clean.n_token(), batch.n_column());
  check_batch(batch, model_.config);
  if (!w.clean_loss) {
    Matrix ln = w.normalized.matrix(model_.config.d_model, batch.predictions.size());
    const TokenIds targets = final_norm_of_predictions(model_, w.clean.resid(model_.config.n_layer),
                                                       batch.predictions, ln);
    w.clean_loss = token_loss(ln, model_.unembedding(), model_.b_U, targets, context_.passes());
  }
  return *w.clean_loss;
}

std::vector<TokenLoss> HeadAblation::losses(const SequenceBatch& batch,
                                            std::span<const HeadVariant> variants) {
  const TokenLoss& clean = clean_loss(batch);
  DifferencePass& pass = workspace_->pass;
  const std::vector<VariantChange> changes = changes_of(variants, model_.config, batch.n_column());
  std::vector<TokenLoss> losses =
      pass.losses(batch, clean, changes,
                  {context_.differences(), context_.passes(), !precision_.sample.is_whole()});
  if (std::isinf(precision_.exact_above)) return losses;
  const std::vector<std::size_t> large =
      large_changes(losses, clean, variants, precision_.exact_above);
  std::vector<VariantChange> again;
  for (const std::size_t i : large) again.push_back(changes[i]);
  std::vector<TokenLoss> exact =
      pass.losses(batch, clean, again, {context_.passes(), context_.passes()});
  for (std::size_t i = 0; i < large.size(); ++i) losses[large[i]] = std::move(exact[i]);
  return losses;
}

bool HeadAblation::is_approximate() const {
  return context_.engines().differences != context_.engines().passes ||
         !precision_.sample.is_whole();
}

std::vector<TokenLoss> HeadAblation::float32_losses(const SequenceBatch& batch,
                                                    std::span<const HeadVariant> variants) {
  const TokenLoss& clean = clean_loss(batch);
  return workspace_->pass.losses(batch, clean,
                                 changes_of(variants, model_.config, batch.n_column()),
                                 {context_.float32(), context_.passes()});
}

std::vector<TokenLoss> HeadAblation::losses(const SequenceBatch& batch,
                                            std::span<const StreamVariant> variants) {
  const TokenLoss& clean = clean_loss(batch);
  return workspace_->pass.losses(batch, clean,
                                 changes_of(variants, model_.config, batch.n_column()),
                                 {context_.differences(), context_.passes()});
}

std::vector<TokenLoss> HeadAblation::masked_losses(const SequenceBatch& batch,
                                                   std::span<const HeadMask> masks) {
  const TokenLoss& clean = clean_loss(batch);
  return workspace_->pass.losses(batch, clean, changes_of(masks, model_.config),
                                 {context_.differences(), context_.passes()});
}

std::uint64_t HeadAblation::bytes(const ModelConfig& config, Index n_token, int n_thread,
                                  const Engines& engines, const VocabularySample& sample,
                                  bool with_projections) {
  const std::uint64_t d_model = config.d_model;
  // The stream twice and z of each layer, the last stream, and the normalized stream of the loss.
  const std::uint64_t clean = config.n_layer * (2 * d_model + config.d_z()) + 2 * d_model;
  // Documents that are ablated have streams of variants, the others projections.
  const std::uint64_t projections =
      with_projections ? config.n_layer * (config.d_qkv() + config.d_in()) * n_token : 0;
  const std::uint64_t streams = d_model * DifferencePass::stacked_columns(n_token);
  const std::uint64_t beyond_streams = std::max(projections, streams) - streams;
  return (clean * n_token + beyond_streams) * sizeof(float) +
         Forward::loss_bytes(config, n_token, n_thread) +
         DifferencePass::bytes(config, n_token, n_thread, engines, sample);
}

}  // namespace headscope
