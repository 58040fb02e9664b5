#include "headscope/gradient.hpp"

#include <vector>

#include "compute/activations.hpp"
#include "compute/attention_gradient.hpp"
#include "compute/buffer.hpp"
#include "compute/layer.hpp"
#include "compute/ops.hpp"
#include "compute/sequence_batch.hpp"
#include "compute/token_loss.hpp"
#include "headscope/error.hpp"
#include "headscope/forward.hpp"

namespace headscope {

arma::mat z_dot_gradient(const LayerGradient& gradient, Index n_head) {
  check_count("rows of dz", gradient.z.n_rows, gradient.dz.n_rows);
  check_count("columns of dz", gradient.z.n_cols, gradient.dz.n_cols);
  check_divisor("heads", gradient.z.n_rows, n_head);
  const Index d_head = gradient.z.n_rows / n_head;
  arma::mat products(n_head, gradient.z.n_cols, arma::fill::none);
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < products.n_cols; ++t) {
    for (Index h = 0; h < n_head; ++h) {
      products(h, t) =
          dot(gradient.z.colptr(t) + h * d_head, gradient.dz.colptr(t) + h * d_head, d_head);
    }
  }
  return products;
}

struct HeadGradient::Workspace {
  Workspace(const Model& model_given, ComputeContext context_given)
      : model(model_given), config(model.config), context(std::move(context_given)) {}

  using Sequences = Attention::Sequences;

  const Model& model;
  const ModelConfig& config;
  ComputeContext context;
  Buffer dresid, dz, normalized, dnormalized, qkv, dqkv, hidden, dhidden;
  PortGradientObserver ports = {};

  void show(Index layer, PortGradient::Reader reader, const Matrix& values,
            const Matrix& computed) const {
    if (ports) ports({layer, reader, values, computed});
  }

  // d = the gradient of the weighted losses with respect to the stream after the last layer.
  TokenLoss start(const Matrix& resid_final, const SequenceBatch& batch,
                  std::span<const float> weights, Matrix& d) {
    d.zeros();
    const Index n_predicted = batch.predictions.size();
    if (n_predicted == 0) return {};
    Matrix ln = normalized.matrix(d.n_rows, n_predicted);
    Matrix dln = dnormalized.matrix(d.n_rows, n_predicted);
    const TokenIds targets = final_norm_of_predictions(model, resid_final, batch.predictions, ln);
    TokenLoss loss = token_loss_with_gradient(ln, model.unembedding(), model.b_U, targets, dln,
                                              context.passes(), context.gradients());
    for (Index i = 0; i < n_predicted; ++i) dln.col(i) *= weights[i];
    show(config.n_layer, PortGradient::Reader::logits, dln, dln);
    const Norm norm = final_norm(model);
    for_each_run(batch.predictions, [&](Index first, Index column, Index count) {
      norm.gradient(blas::ConstView(resid_final).cols(column, count),
                    blas::ConstView(dln).cols(first, count), blas::View(d).cols(column, count));
    });
    return loss;
  }

  /// The hidden units before bias and activation.
  Matrix mlp_pre(const Layer& layer, Index l, Activations& clean) {
    if (clean.has_projections()) return clean.mlp_pre(l);
    const Matrix read = clean.mlp_input(l);
    Matrix ln = normalized.matrix(read.n_rows, read.n_cols);
    Matrix pre = hidden.matrix(config.d_in(), read.n_cols);
    layer.ln_2.apply(read, ln);
    layer.mlp.project(ln, pre, context.gradients());
    return pre;
  }

  Matrix projected_qkv(const Layer& layer, Index l, Sequences sequences, Activations& clean) {
    if (clean.has_projections()) return clean.qkv(l);
    const Matrix resid = clean.resid(l);
    Matrix ln = normalized.matrix(resid.n_rows, resid.n_cols);
    Matrix projected = qkv.matrix(config.d_qkv(), resid.n_cols);
    layer.ln_1.apply(resid, ln);
    layer.attention.project(ln, sequences, projected, context.gradients());
    return projected;
  }

  // d = the gradient of what the MLP's output is added to, from that of their sum.
  void through_mlp(const Layer& layer, Index l, Activations& clean, Matrix& d) {
    const Matrix pre = mlp_pre(layer, l, clean);
    Matrix dpre = dhidden.matrix(config.d_in(), d.n_cols);
    Matrix dln = dnormalized.matrix(d.n_rows, d.n_cols);
    layer.mlp.gradient(pre, d, dpre, dln, context.gradients());
    show(l, PortGradient::Reader::mlp, dln, dln);
    layer.ln_2.gradient(clean.mlp_input(l), dln, d);
  }

  // Adds to d what the attention passes back of dmixed, the gradient of its z.
  void through_attention(const Layer& layer, Index l, Sequences sequences, Activations& clean,
                         const Matrix& dmixed, Matrix& d) {
    const Matrix projected = projected_qkv(layer, l, sequences, clean);
    Matrix dprojected = dqkv.matrix(config.d_qkv(), d.n_cols);
    Matrix dln = dnormalized.matrix(d.n_rows, d.n_cols);
    layer.attention.gradient(projected, sequences, dmixed, dprojected, dln, context.gradients());
    show(l, PortGradient::Reader::attention, dprojected, projected);
    layer.ln_1.gradient(clean.resid(l), dln, d);
  }
};

HeadGradient::HeadGradient(const Model& model, ComputeContext context)
    : workspace_(std::make_unique<Workspace>(model, std::move(context))) {
  check_complete(model);
}

HeadGradient::~HeadGradient() = default;

TokenLoss HeadGradient::run(Activations& clean, std::span<const TokenId> tokens,
                            const LayerGradientObserver& observe) {
  const SequenceBatch batch(tokens);
  const auto n_predicted = static_cast<float>(batch.predictions.size());
  return run(clean, batch, std::vector<float>(batch.predictions.size(), 1 / n_predicted), observe);
}

TokenLoss HeadGradient::run(Activations& clean, const SequenceBatch& batch,
                            std::span<const float> weights, const LayerGradientObserver& observe,
                            const PortGradientObserver& ports) {
  check_count("weights of the predictions", batch.predictions.size(), weights.size());
  check_count("columns of the differentiated batch", clean.n_token(), batch.n_column());
  Workspace& w = *workspace_;
  const ModelConfig& config = w.config;
  w.ports = ports;
  Matrix dresid = w.dresid.matrix(config.d_model, batch.n_column());
  Matrix dz = w.dz.matrix(config.d_z(), batch.n_column());
  TokenLoss loss = w.start(clean.resid(config.n_layer), batch, weights, dresid);

  for (Index l = config.n_layer; l-- > 0;) {
    const Layer layer(w.model, l);
    // A parallel MLP does not read what the attention writes.
    if (!config.parallel_residual) w.through_mlp(layer, l, clean, dresid);
    layer.attention.z_gradient(dresid, dz, w.context.gradients());
    observe({l, clean.z(l), dz});
    if (l == 0 && !ports) continue;
    if (config.parallel_residual) w.through_mlp(layer, l, clean, dresid);
    w.through_attention(layer, l, batch.sequences, clean, dz, dresid);
  }
  return loss;
}

std::uint64_t HeadGradient::bytes(const ModelConfig& config, Index n_token, int n_thread,
                                  const Engines& engines) {
  // Gradients of the residual stream and z; the normalized stream, queries, keys, values and hidden
  // units, each with its gradient; keys' and values' gradients by head where heads share them; each
  // thread's sum over the unembedding.
  const std::uint64_t by_head = config.n_group() < config.n_head ? 2 * config.d_z() : 0;
  const std::uint64_t rows = 3 * config.d_model + config.d_z() + 2 * config.d_qkv() +
                             2 * config.d_in() + by_head + n_thread * config.d_model;
  return Forward::loss_bytes(config, n_token, n_thread) + rows * n_token * sizeof(float) +
         n_thread * attention_gradient_thread_bytes(config.d_head(), n_token, engines.gradients);
}

}  // namespace headscope
