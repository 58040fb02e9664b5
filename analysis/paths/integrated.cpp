#include "paths/integrated.hpp"

#include "compute/activations.hpp"
#include "headscope/edges.hpp"

namespace headscope {
namespace {

/// Moves token embeddings after position 0 towards their mean, of which a share is left.
void scale_tokens(const Model& model, const SequenceBatch& batch, const Vector& mean, float share,
                  Matrix& embeddings) {
  for (const SequenceBatch::Sequence& sequence : batch.sequences) {
    const Index first = sequence.prefix_count == 0 ? 1 : 0;
    for (Index t = first; t < sequence.count; ++t) {
      const Index column = sequence.first + t;
      embeddings.col(column) +=
          (share - 1) * (model.W_E.col(static_cast<Index>(batch.tokens[column])) - mean);
    }
  }
}

}  // namespace

IntegratedEdges::IntegratedEdges(const Model& model, const ComputeContext& context, Index n_step)
    : model_(model),
      gradient_(model, context),
      scaled_(std::make_unique<Activations>(model.config)),
      n_step_(n_step) {
  scaled_->keep_projections(true);
}

IntegratedEdges::~IntegratedEdges() = default;

void IntegratedEdges::run(Forward& forward, Activations& clean, const SequenceBatch& batch,
                          std::span<const float> weights, const Matrix& replacement,
                          const Vector& mean_token, std::span<const Index> group_ends,
                          const EdgeGradient::Observer& observe) {
  const auto run_scaled = [&](Index pass) -> Activations& {
    const float share = static_cast<float>(pass + 1) / static_cast<float>(n_step_);
    forward.run(batch, {scaled_.get()}, {.embeddings = [&](Matrix& embeddings) {
                  scale_tokens(model_, batch, mean_token, share, embeddings);
                }});
    return *scaled_;
  };
  gradient_.run(clean, batch, weights, replacement, group_ends, observe, {n_step_ - 1, run_scaled});
}

std::uint64_t IntegratedEdges::bytes(const ModelConfig& config, Index n_column, Index n_step,
                                     int n_thread, const Engines& engines) {
  const std::uint64_t projections = config.n_layer * (config.d_qkv() + config.d_in());
  return EdgeGradient::bytes(config, n_column, n_step, n_thread, engines) +
         Activations::bytes(config, n_column) + projections * n_column * sizeof(float);
}

}  // namespace headscope
