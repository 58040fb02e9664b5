#include "compute/port_gradient_sum.hpp"

#include "base/vector_math.hpp"
#include "compute/layer.hpp"
#include "compute/ops.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using Reader = PortGradient::Reader;

HEADSCOPE_VECTORISED float along(const float* computed, const float* constant, const float* d,
                                 Index n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) {
    sum += (static_cast<double>(computed[i]) - static_cast<double>(constant[i])) *
           static_cast<double>(d[i]);
  }
  return static_cast<float>(sum);
}

}  // namespace

PortGradientSum::PortGradientSum(const Model& model_given, const ComputeContext& context_given)
    : EdgeModel(model_given, context_given),
      constants_(config.d_qkv(), config.n_layer, arma::fill::zeros),
      scaled_(config.n_layer),
      mlp_(config.n_layer) {
  for (Index l = 0; l < config.n_layer; ++l) {
    const LayerWeights& layer = model.layers[l];
    if (!layer.b_QKV.is_empty()) constants_.col(l) = layer.b_QKV;
    if (config.norm == NormKind::layer_norm) constants_.col(l) += layer.W_QKV * layer.ln_1_bias;
  }
}

void PortGradientSum::clear(const SequenceBatch& batch) {
  n_column_ = batch.n_column();
  n_pass_ = 0;
  for (Index l = 0; l < config.n_layer; ++l) {
    scaled_[l].matrix(config.d_qkv(), n_column_).zeros();
    mlp_[l].matrix(config.d_model, n_column_).zeros();
  }
  logits_.matrix(config.d_model, n_column_).zeros();
}

void PortGradientSum::add(HeadGradient& gradient, Activations& at, const SequenceBatch& batch,
                          std::span<const float> weights) {
  if (n_pass_ == passes_.size()) passes_.emplace_back(config.n_layer);
  gradient.run(
      at, batch, weights, [](const LayerGradient&) {},
      [&](const PortGradient& port) { add_port(port, at, batch); });
  ++n_pass_;
}

void PortGradientSum::add_port(const PortGradient& port, Activations& at,
                               const SequenceBatch& batch) {
  if (port.reader == Reader::attention) {
    add_attention(port, at, batch);
  } else if (port.reader == Reader::mlp) {
    Matrix sum = mlp_[port.layer].matrix(config.d_model, n_column_);
    Layer(model, port.layer).ln_2.gradient(at.mlp_input(port.layer), port.values, sum);
  } else {
    // A column may predict several tokens.
    Matrix dnormalized = dnormalized_.matrix(config.d_model, n_column_);
    dnormalized.zeros();
    for (Index i = 0; i < batch.predictions.size(); ++i) {
      dnormalized.col(batch.predictions[i].column) += port.values.col(i);
    }
    Matrix sum = logits_.matrix(config.d_model, n_column_);
    final_norm(model).gradient(at.resid(config.n_layer), dnormalized, sum);
  }
}

void PortGradientSum::add_attention(const PortGradient& port, Activations& at,
                                    const SequenceBatch& batch) {
  const Index d_model = config.d_model, d_head = config.d_head(), n_port = graph.n_attention_port();
  const Layer layer(model, port.layer);
  Pass& pass = passes_[n_pass_][port.layer];
  Matrix standardized = pass.standardized.matrix(d_model, n_column_),
         along_ports = pass.along.matrix(n_port, n_column_),
         scaled = scaled_[port.layer].matrix(config.d_qkv(), n_column_);
  const std::vector<float> inverse_scales =
      layer.ln_1.standardize(at.resid(port.layer), standardized);
  blas::ConstView computed = port.computed;
  if (config.d_rotary() > 0) {
    Matrix turned = turned_.matrix(config.d_qkv(), n_column_);
    copy(port.computed, turned);
    layer.attention.turn_by_position(batch.sequences, Turn::back, turned, context.gradients());
    computed = turned;
  }
  const float* const constant = constants_.colptr(port.layer);
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < n_column_; ++t) {
    const float* const d = port.values.colptr(t);
    for (Index p = 0; p < n_port; ++p) {
      const Index row = p * d_head;
      along_ports(p, t) = along(computed.column(t) + row, constant + row, d + row, d_head) *
                          inverse_scales[t] / static_cast<float>(d_model);
    }
    add_scaled(d, inverse_scales[t], config.d_qkv(), scaled.colptr(t));
  }
}

void PortGradientSum::attention(Index layer, Index first, Index count, Matrix& G) {
  const Index d_model = config.d_model, d_head = config.d_head(), n_port = graph.n_attention_port();
  const Layer operations(model, layer);
  const blas::ConstView W = operations.attention.weights().W_QKV,
                        scaled = scaled_[layer].matrix(config.d_qkv(), n_column_);
#pragma omp parallel for schedule(dynamic)
  for (Index port = 0; port < n_port; ++port) {
    const blas::View of_port(G.colptr(port), d_model, count, d_model);
    blas::multiply_serial(W.rows(port * d_head, d_head), Transpose::yes,
                          scaled.cols(first, count).rows(port * d_head, d_head), Transpose::no,
                          of_port);
    operations.ln_1.gradient_at_unit_scale(of_port, of_port);
    for (Index k = 0; k < n_pass_; ++k) {
      Pass& pass = passes_[k][layer];
      const Matrix standardized = pass.standardized.matrix(d_model, n_column_),
                   along_ports = pass.along.matrix(n_port, n_column_);
      for (Index t = 0; t < count; ++t) {
        add_scaled(standardized.colptr(first + t), -along_ports(port, first + t), d_model,
                   of_port.column(t));
      }
    }
  }
}

blas::ConstView PortGradientSum::mlp(Index layer, Index first, Index count) {
  return blas::ConstView(mlp_[layer].matrix(config.d_model, n_column_)).cols(first, count);
}

blas::ConstView PortGradientSum::logits(Index first, Index count) {
  return blas::ConstView(logits_.matrix(config.d_model, n_column_)).cols(first, count);
}

std::uint64_t PortGradientSum::bytes(const ModelConfig& config, Index n_column, Index n_pass) {
  const std::uint64_t d_model = config.d_model, d_qkv = config.d_qkv(),
                      n_port = EdgeGraph(config).n_attention_port(),
                      rows = config.n_layer * (d_qkv + d_model + n_pass * (d_model + n_port)) +
                             2 * d_model + d_qkv;
  return rows * n_column * sizeof(float);
}

}  // namespace headscope
