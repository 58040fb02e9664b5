#include "headscope/gradient.hpp"

#include <algorithm>
#include <vector>

#include "base/vector_math.hpp"
#include "compute/activations.hpp"
#include "compute/attention_gradient.hpp"
#include "compute/buffer.hpp"
#include "compute/divisor.hpp"
#include "compute/layer.hpp"
#include "compute/ops_gradient.hpp"
#include "compute/sequence_batch.hpp"
#include "compute/token_loss.hpp"
#include "headscope/error.hpp"
#include "headscope/forward.hpp"

namespace headscope {
namespace {

using blas::Transpose;

HEADSCOPE_VECTORISED double dot(const float* a, const float* b, Index n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

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
  explicit Workspace(ComputeContext given) : context(std::move(given)) {}

  ComputeContext context;
  Buffer dresid, dz, normalized, dnormalized, qkv, dqkv, hidden, dhidden;
  PortGradientObserver ports = {};

  void show(Index layer, PortGradient::Reader reader, const Matrix& values) const {
    if (ports) ports({layer, reader, values});
  }

  // d = the gradient of the weighted losses with respect to the stream after the last layer.
  TokenLoss start(const Model& model, const Matrix& resid_final, const SequenceBatch& batch,
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
    show(model.config.n_layer, PortGradient::Reader::logits, dln);
    for_each_run(batch.predictions, [&](Index first, Index column, Index count) {
      add_layer_norm_gradient(blas::ConstView(resid_final).cols(column, count), model.ln_f_gain,
                              model.config.layer_norm_epsilon,
                              blas::ConstView(dln).cols(first, count),
                              blas::View(d).cols(column, count));
    });
    return loss;
  }

  /// The hidden units before bias and activation.
  Matrix mlp_pre(const Model& model, Index index, Activations& clean) {
    if (clean.has_projections()) return clean.mlp_pre(index);
    const Matrix resid_mid = clean.resid_mid(index);
    Matrix ln = normalized.matrix(resid_mid.n_rows, resid_mid.n_cols);
    Matrix pre = hidden.matrix(model.config.d_mlp, resid_mid.n_cols);
    project_mlp(model.config, model.layers[index], resid_mid, ln, pre, context.gradients());
    return pre;
  }

  Matrix projected_qkv(const Model& model, Index index, Activations& clean) {
    if (clean.has_projections()) return clean.qkv(index);
    const Matrix resid = clean.resid(index);
    Matrix ln = normalized.matrix(resid.n_rows, resid.n_cols);
    Matrix projected = qkv.matrix(3 * resid.n_rows, resid.n_cols);
    project_qkv(model.config, model.layers[index], resid, ln, projected, context.gradients());
    return projected;
  }

  // Backpropagates the residual stream's gradient through the layer's MLP.
  void through_mlp(const Model& model, Index index, Activations& clean, Matrix& d) {
    const ModelConfig& config = model.config;
    const LayerWeights& layer = model.layers[index];
    const Matrix resid_mid = clean.resid_mid(index), pre = mlp_pre(model, index, clean);
    Matrix dpre = dhidden.matrix(config.d_mlp, d.n_cols);
    const Products products = context.gradients();
    products.multiply(layer.W_out, Transpose::yes, d, dpre);
    activation_gradient(pre, layer.b_in, config.activation, dpre, dpre);
    Matrix dln = dnormalized.matrix(d.n_rows, d.n_cols);
    products.multiply(layer.W_in, Transpose::yes, dpre, dln);
    show(index, PortGradient::Reader::mlp, dln);
    add_layer_norm_gradient(resid_mid, layer.ln_2_gain, config.layer_norm_epsilon, dln, d);
  }

  // Backpropagates the residual stream's gradient through the layer's attention.
  void through_attention(const Model& model, Index index,
                         std::span<const SequenceBatch::Sequence> sequences, Activations& clean,
                         const Matrix& dmixed, Matrix& d) {
    const ModelConfig& config = model.config;
    const LayerWeights& layer = model.layers[index];
    const Matrix resid_pre = clean.resid(index), projected = projected_qkv(model, index, clean);
    Matrix dprojected = dqkv.matrix(3 * d.n_rows, d.n_cols);
    const Products products = context.gradients();
    causal_attention_gradient(projected, config.n_head, config.score_scale(index), sequences,
                              dmixed, dprojected, products);
    show(index, PortGradient::Reader::attention, dprojected);
    Matrix dln = dnormalized.matrix(d.n_rows, d.n_cols);
    products.multiply(layer.W_QKV, Transpose::yes, dprojected, dln);
    add_layer_norm_gradient(resid_pre, layer.ln_1_gain, config.layer_norm_epsilon, dln, d);
  }
};

HeadGradient::HeadGradient(const Model& model, ComputeContext context)
    : model_(model), workspace_(std::make_unique<Workspace>(std::move(context))) {
  check_complete(model);
}

HeadGradient::~HeadGradient() = default;

TokenLoss HeadGradient::run(Activations& clean, std::span<const TokenId> tokens,
                            const LayerGradientObserver& observe) {
  const SequenceBatch batch = SequenceBatch::of_document(tokens);
  const auto n_predicted = static_cast<float>(batch.predictions.size());
  return run(clean, batch, std::vector<float>(batch.predictions.size(), 1 / n_predicted), observe);
}

TokenLoss HeadGradient::run(Activations& clean, const SequenceBatch& batch,
                            std::span<const float> weights, const LayerGradientObserver& observe,
                            const PortGradientObserver& ports) {
  check_count("weights of the predictions", batch.predictions.size(), weights.size());
  check_count("columns of the differentiated batch", clean.n_token(), batch.n_column());
  const ModelConfig& config = model_.config;
  Workspace& w = *workspace_;
  w.ports = ports;
  Matrix dresid = w.dresid.matrix(config.d_model, batch.n_column());
  Matrix dz = w.dz.matrix(config.d_model, batch.n_column());
  TokenLoss loss = w.start(model_, clean.resid(config.n_layer), batch, weights, dresid);

  for (Index l = config.n_layer; l-- > 0;) {
    const LayerWeights& layer = model_.layers[l];
    w.through_mlp(model_, l, clean, dresid);
    w.context.gradients().multiply(layer.W_O, Transpose::yes, dresid, dz);
    observe({l, clean.z(l), dz});
    if (l == 0 && !ports) continue;
    w.through_attention(model_, l, batch.sequences, clean, dz, dresid);
  }
  return loss;
}

std::uint64_t HeadGradient::bytes(const ModelConfig& config, Index n_token, int n_thread,
                                  const Engines& engines) {
  // Gradients of the residual stream and z; the normalized stream, queries, keys, values and hidden
  // units, each with its gradient; each thread's sum over the unembedding.
  const std::uint64_t rows = 10 * config.d_model + 2 * config.d_mlp +
                             static_cast<std::uint64_t>(n_thread) * config.d_model;
  return Forward::loss_bytes(config, n_token, n_thread) + rows * n_token * sizeof(float) +
         static_cast<std::uint64_t>(n_thread) *
             attention_gradient_thread_bytes(config.d_head(), n_token, engines.gradients);
}

}  // namespace headscope
