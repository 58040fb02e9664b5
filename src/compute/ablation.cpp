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

/// The sum of |changes| over the predictions: the rounding errors of a change are relative to it,
/// also where changes cancel.
double size_of_change(const TokenLoss& loss, const TokenLoss& clean) {
  double size = 0;
  for (std::size_t t = 0; t < clean.nll.size(); ++t) size += std::abs(loss.nll[t] - clean.nll[t]);
  return size;
}

/// By variant, whether its size is above `multiple` times the median of the variants that replace
/// as many heads.
std::vector<bool> above_typical(const std::vector<double>& sizes,
                                std::span<const HeadVariant> variants, double multiple) {
  std::map<std::size_t, std::vector<double>> by_heads;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    by_heads[variants[i].heads.size()].push_back(sizes[i]);
  }
  std::map<std::size_t, double> most;
  for (const auto& [n_head, of_variants] : by_heads) {
    most[n_head] = multiple * arma::median(arma::vec(of_variants));
  }
  std::vector<bool> above;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    above.push_back(sizes[i] > most[variants[i].heads.size()]);
  }
  return above;
}

DifferenceProducts exact_products(const ComputeContext& context) {
  return {context.passes(), context.passes(), context.passes(), context.passes()};
}

// Where differences are less exact than forward passes, so may the attention of their streams be.
// Logits that are less exact than differences need a guard.
DifferenceProducts products_of(const ComputeContext& context) {
  const Engines& engines = context.engines();
  return {context.differences(), context.passes(),
          engines.differences == engines.passes ? context.passes() : context.gradients(),
          context.logits(), engines.logits != engines.differences};
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

std::optional<ProjectionMemory> HeadAblation::projection_memory(Index layer, Index n_token) {
  return workspace_->clean.projection_memory(layer, n_token);
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
  const DifferenceMethod fast{products_of(context_), !precision_.sample.is_whole()},
      exact{exact_products(context_)};
  if (std::isinf(precision_.exact_above)) return pass.losses(batch, clean, changes, fast);

  std::vector<TokenLoss> losses(changes.size());
  const auto compute = [&](const std::vector<bool>& chosen, const DifferenceMethod& method) {
    std::vector<VariantChange> of_chosen;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (chosen[i]) of_chosen.push_back(changes[i]);
    }
    std::vector<TokenLoss> found = pass.losses(batch, clean, of_chosen, method);
    for (std::size_t i = 0, n_found = 0; i < changes.size(); ++i) {
      if (chosen[i]) losses[i] = std::move(found[n_found++]);
    }
  };
  // A large first step in the stream mostly leads to a large change of the losses: such variants
  // are not computed twice.
  const std::vector<bool> is_exact =
      above_typical(pass.first_moves(changes, context_.passes()), variants, precision_.exact_above);
  std::vector<bool> is_fast = is_exact;
  is_fast.flip();
  compute(is_exact, exact);
  compute(is_fast, fast);
  std::vector<double> sizes;
  for (const TokenLoss& loss : losses) sizes.push_back(size_of_change(loss, clean));
  std::vector<bool> is_missed = above_typical(sizes, variants, precision_.exact_above);
  for (std::size_t i = 0; i < is_missed.size(); ++i) is_missed[i] = is_missed[i] && is_fast[i];
  compute(is_missed, exact);
  return losses;
}

bool HeadAblation::is_approximate() const {
  return context_.engines().differences != context_.engines().passes ||
         !precision_.sample.is_whole();
}

std::vector<TokenLoss> HeadAblation::float32_losses(const SequenceBatch& batch,
                                                    std::span<const HeadVariant> variants) {
  const TokenLoss& clean = clean_loss(batch);
  return workspace_->pass.losses(
      batch, clean, changes_of(variants, model_.config, batch.n_column()),
      {{context_.float32(), context_.passes(), context_.passes(), context_.float32()}});
}

std::vector<TokenLoss> HeadAblation::losses(const SequenceBatch& batch,
                                            std::span<const StreamVariant> variants) {
  const TokenLoss& clean = clean_loss(batch);
  return workspace_->pass.losses(
      batch, clean, changes_of(variants, model_.config, batch.n_column()), {products_of(context_)});
}

std::vector<TokenLoss> HeadAblation::masked_losses(const SequenceBatch& batch,
                                                   std::span<const HeadMask> masks) {
  const TokenLoss& clean = clean_loss(batch);
  return workspace_->pass.losses(batch, clean, changes_of(masks, model_.config),
                                 {products_of(context_)});
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
