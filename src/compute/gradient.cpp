#include "headscope/gradient.hpp"

#include <algorithm>
#include <vector>

#include "compute/attention_gradient.hpp"
#include "compute/buffer.hpp"
#include "compute/layer.hpp"
#include "compute/ops_gradient.hpp"
#include "compute/token_loss.hpp"
#include "headscope/forward.hpp"

namespace headscope {
namespace {

using blas::Transpose;

// What the backward pass needs of each layer and cannot cheaply recompute.
class Activations : public LayerObserver {
 public:
  explicit Activations(Index n_layer) : resid_pre_(n_layer), resid_mid_(n_layer), z_(n_layer) {}

  void observe_layer(const LayerView& view) override {
    keep(view.resid_pre, resid_pre_[view.layer]);
    keep(view.resid_mid, resid_mid_[view.layer]);
    keep(view.z, z_[view.layer]);
    n_token_ = view.n_token;
  }

  Matrix resid_pre(Index layer) { return stored(resid_pre_[layer]); }
  Matrix resid_mid(Index layer) { return stored(resid_mid_[layer]); }
  Matrix z(Index layer) { return stored(z_[layer]); }

 private:
  void keep(const Matrix& values, Buffer& buffer) {
    d_model_ = values.n_rows;
    Matrix copy = buffer.matrix(values.n_rows, values.n_cols);
    std::copy(values.begin(), values.end(), copy.begin());
  }
  Matrix stored(Buffer& buffer) { return buffer.matrix(d_model_, n_token_); }

  std::vector<Buffer> resid_pre_, resid_mid_, z_;
  Index d_model_ = 0, n_token_ = 0;
};

}  // namespace

struct HeadGradient::Workspace {
  explicit Workspace(const Model& model) : forward(model), activations(model.config.n_layer) {}

  Forward forward;
  Activations activations;
  Buffer dresid, dz, normalized, dnormalized, qkv, dqkv, hidden, dhidden;

  // Sets dresid to the gradient of the mean loss with respect to the stream after the last layer.
  TokenLoss start(const Model& model, const Matrix& resid_final, std::span<const TokenId> targets,
                  Matrix& d) {
    d.zeros();
    if (targets.empty()) return {};
    const Index n_predicted = targets.size();
    const blas::ConstView resid = blas::ConstView(resid_final).cols(0, n_predicted);
    Matrix ln = normalized.matrix(resid.n_row, n_predicted);
    Matrix dln = dnormalized.matrix(resid.n_row, n_predicted);
    layer_norm(resid, model.ln_f_gain, model.ln_f_bias, model.config.layer_norm_epsilon, ln);
    TokenLoss loss = token_loss_with_gradient(ln, model.unembedding(), model.b_U, targets, dln);
    dln /= static_cast<float>(n_predicted);
    add_layer_norm_gradient(resid, model.ln_f_gain, model.config.layer_norm_epsilon, dln,
                            blas::View(d).cols(0, n_predicted));
    return loss;
  }

  // Backpropagates the residual stream's gradient through the layer's MLP.
  void through_mlp(const ModelConfig& config, const LayerWeights& layer, const Matrix& resid_mid,
                   Matrix& d) {
    Matrix ln = normalized.matrix(d.n_rows, d.n_cols);
    Matrix pre = hidden.matrix(config.d_mlp, d.n_cols);
    Matrix dpre = dhidden.matrix(config.d_mlp, d.n_cols);
    layer_norm(resid_mid, layer.ln_2_gain, layer.ln_2_bias, config.layer_norm_epsilon, ln);
    blas::multiply(layer.W_in, ln, pre);
    blas::multiply(layer.W_out, Transpose::yes, d, Transpose::no, dpre);
    activation_gradient(pre, layer.b_in, config.activation, dpre, dpre);
    Matrix dln = dnormalized.matrix(d.n_rows, d.n_cols);
    blas::multiply(layer.W_in, Transpose::yes, dpre, Transpose::no, dln);
    add_layer_norm_gradient(resid_mid, layer.ln_2_gain, config.layer_norm_epsilon, dln, d);
  }

  // Backpropagates the residual stream's gradient through the layer's attention.
  void through_attention(const Model& model, Index index, const Matrix& resid_pre,
                         const Matrix& dmixed, Matrix& d) {
    const ModelConfig& config = model.config;
    const LayerWeights& layer = model.layers[index];
    Matrix ln = normalized.matrix(d.n_rows, d.n_cols);
    Matrix projected = qkv.matrix(3 * d.n_rows, d.n_cols);
    Matrix dprojected = dqkv.matrix(3 * d.n_rows, d.n_cols);
    project_qkv(config, layer, resid_pre, ln, projected);
    causal_attention_gradient(projected, config.n_head, config.score_scale(index), dmixed,
                              dprojected);
    Matrix dln = dnormalized.matrix(d.n_rows, d.n_cols);
    blas::multiply(layer.W_QKV, Transpose::yes, dprojected, Transpose::no, dln);
    add_layer_norm_gradient(resid_pre, layer.ln_1_gain, config.layer_norm_epsilon, dln, d);
  }
};

HeadGradient::HeadGradient(const Model& model)
    : model_(model), workspace_(std::make_unique<Workspace>(model)) {}

HeadGradient::~HeadGradient() = default;

TokenLoss HeadGradient::run(std::span<const TokenId> tokens, const LayerGradientObserver& observe) {
  const ModelConfig& config = model_.config;
  Workspace& w = *workspace_;
  LayerObserver* const observers[] = {&w.activations};
  const Matrix& resid_final = w.forward.run(tokens, observers);
  Matrix dresid = w.dresid.matrix(config.d_model, tokens.size());
  Matrix dz = w.dz.matrix(config.d_model, tokens.size());
  TokenLoss loss = w.start(model_, resid_final, tokens.subspan(1), dresid);

  for (Index l = config.n_layer; l-- > 0;) {
    const LayerWeights& layer = model_.layers[l];
    w.through_mlp(config, layer, w.activations.resid_mid(l), dresid);
    blas::multiply(layer.W_O, Transpose::yes, dresid, Transpose::no, dz);
    observe({l, w.activations.z(l), dz});
    if (l > 0) w.through_attention(model_, l, w.activations.resid_pre(l), dz, dresid);
  }
  return loss;
}

}  // namespace headscope
