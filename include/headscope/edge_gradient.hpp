#pragma once

#include <functional>
#include <memory>
#include <span>

#include "headscope/compute_context.hpp"
#include "headscope/edges.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

class Activations;

/// The first-order effect of every edge, from one backward pass:
///
///   effect of the edge u -> r = sum over t of (replacement_u - u_t) . g_rt
///
/// g_r is the gradient of L with respect to what port r reads from the residual stream, through the
/// port's LayerNorm, all other ports left as they are. Over the ports that read u the effects add
/// up to the first-order effect of replacing u everywhere. Keeps its buffers between calls. The
/// model must outlive it and be complete.
///
/// Source: Syed et al. 2023, "Attribution Patching Outperforms Automated Circuit Discovery".
class EdgeGradient {
 public:
  /// @throws ShapeError if the model is attention-only.
  explicit EdgeGradient(const Model& model, ComputeContext context = {});
  ~EdgeGradient();

  /// Called for each group of columns, in order, with two effects of all edges (EdgeGraph::edge):
  /// by the gradients at the clean activations, and by the mean of the gradients over all passes,
  /// the clean one among them.
  using Observer = std::function<void(Index group, std::span<const float> first_order,
                                      std::span<const float> mean)>;
  /// More passes over a batch. Activations of a pass need to be valid only until the next call.
  struct OtherPasses {
    Index count;
    std::function<Activations&(Index pass)> activations;
  };

  /// @param clean        HeadAblation::activations() of the batch; holds the nodes' outputs u.
  /// @param weights      one per prediction: the factor of its negative log likelihood in L.
  /// @param replacement  what each node's output is replaced by, as in CircuitForward::run.
  /// @param group_ends   one past each group's last column, ascending; the last is n_column.
  ///                     Effects are summed over the columns of a group.
  /// @throws ShapeError if counts differ.
  void run(Activations& clean, const SequenceBatch& batch, std::span<const float> weights,
           const Matrix& replacement, std::span<const Index> group_ends, const Observer& observe,
           const OtherPasses& other_passes = {});

  /// Columns whose nodes' outputs are held at once, unless a model has very many nodes.
  static constexpr Index columns_at_once = 128;

  /// Upper bound on the bytes that it keeps, HeadGradient's included. @param n_pass  all of them.
  static std::uint64_t bytes(const ModelConfig& config, Index n_column, Index n_pass, int n_thread,
                             const Engines& engines);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
