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
      n_step_(n_step) {}

IntegratedEdges::~IntegratedEdges() = default;

void IntegratedEdges::run(Forward& forward, Activations& clean, const SequenceBatch& batch,
                          std::span<const float> weights, const Matrix& replacement,
                          const Vector& mean_token, std::span<const Index> group_ends,
                          const Observer& observe) {
  std::vector<std::vector<float>> first_order, integrated;
  gradient_.run(clean, batch, weights, replacement, group_ends,
                [&](Index, std::span<const float> effects) {
                  first_order.emplace_back(effects.begin(), effects.end());
                });
  integrated = first_order;
  for (Index step = 1; step < n_step_; ++step) {
    const float share = static_cast<float>(step) / static_cast<float>(n_step_);
    LayerObserver* const observers[] = {scaled_.get()};
    forward.run(batch, observers, {.embeddings = [&](Matrix& embeddings) {
                  scale_tokens(model_, batch, mean_token, share, embeddings);
                }});
    gradient_.run(
        clean, batch, weights, replacement, group_ends,
        [&](Index group, std::span<const float> effects) {
          for (Index edge = 0; edge < effects.size(); ++edge) {
            integrated[group][edge] += effects[edge];
          }
        },
        scaled_.get());
  }
  for (Index group = 0; group < group_ends.size(); ++group) {
    for (float& effect : integrated[group]) effect /= static_cast<float>(n_step_);
    observe(group, first_order[group], integrated[group]);
  }
}

std::uint64_t IntegratedEdges::bytes(const ModelConfig& config, Index n_column, Index n_group,
                                     int n_thread, const Engines& engines) {
  return EdgeGradient::bytes(config, n_column, n_thread, engines) +
         Activations::bytes(config, n_column) +
         std::uint64_t{2} * n_group * EdgeGraph(config).n_edge() * sizeof(float);
}

}  // namespace headscope
