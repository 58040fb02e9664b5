#include "compute/self_attention.hpp"

#include "compute/attention_gradient.hpp"
#include "compute/causal_attention.hpp"
#include "compute/difference.hpp"
#include "compute/ops.hpp"

namespace headscope {

using blas::Transpose;

void Attention::project(blas::ConstView x, Sequences sequences, blas::View qkv,
                        const Products& products) const {
  products.multiply(weights_->W_QKV, Transpose::no, x, qkv);
  add_bias(qkv, weights_->b_QKV);
  turn_by_position(sequences, Turn::forward, qkv, products);
}

void Attention::mix(const Matrix& qkv, Sequences sequences, Index n_copy, blas::View z,
                    const Products& products, Cube* pattern) const {
  causal_attention(qkv, config_->n_head, config_->score_scale(layer_), sequences, n_copy, z,
                   products, pattern);
}

void Attention::write(blas::ConstView z, blas::View output, const Products& products) const {
  products.multiply(weights_->W_O, Transpose::no, z, output);
  add_bias(output, weights_->b_O);
}

void Attention::turn_by_position(Sequences sequences, Turn direction, blas::View qkv,
                                 const Products& products) const {
  turn(*config_, sequences, direction, qkv.rows(0, config_->d_z() + config_->d_kv()),
       products.scratch());
}

void Attention::add_projection(Index first, blas::ConstView x, Sequences sequences, blas::View rows,
                               const Products& products) const {
  const blas::ConstView W = blas::ConstView(weights_->W_QKV).rows(first, rows.n_row);
  const bool turns = config_->d_rotary() > 0 && first < config_->d_z() + config_->d_kv();
  if (!turns) {
    products.multiply(W, Transpose::no, x, rows, true);
    return;
  }
  Matrix change(rows.n_row, rows.n_col, arma::fill::none);
  products.multiply(W, Transpose::no, x, change);
  turn(*config_, sequences, Turn::forward, change, products.scratch());
  add(rows, change, rows);
}

void Attention::gradient(const Matrix& qkv, Sequences sequences, blas::ConstView dz,
                         blas::View dqkv, blas::View dx, const Products& products) const {
  causal_attention_gradient(qkv, config_->n_head, config_->score_scale(layer_), sequences, dz, dqkv,
                            products);
  turn_by_position(sequences, Turn::back, dqkv, products);
  products.multiply(weights_->W_QKV, Transpose::yes, dqkv, dx);
}

void Attention::z_gradient(blas::ConstView doutput, blas::View dz, const Products& products) const {
  products.multiply(weights_->W_O, Transpose::yes, doutput, dz);
}

void AttentionDifference::set(const Norm& norm, const Attention& attention,
                              Attention::Sequences sequences, blas::ConstView clean,
                              const DifferenceProducts& products) {
  const ModelConfig& config = *attention.config_;
  norm_ = norm;
  attention_ = attention;
  mixing_ = products.attention;
  sequences_ = sequences;
  clean_ = clean;
  W_QKV_.set(attention.weights().W_QKV, Transpose::no, products.differences);
  W_O_.set(attention.weights().W_O, Transpose::no, products.differences);
  Matrix normalized = clean_normalized_.matrix(config.d_model, clean.n_col);
  Matrix qkv = clean_qkv_.matrix(config.d_qkv(), clean.n_col);
  norm.apply(clean, normalized);
  attention.project(normalized, sequences, qkv, products.passes);
}

void AttentionDifference::mix(blas::ConstView D, blas::ConstView clean_z, blas::View dz) {
  const ModelConfig& config = *attention_->config_;
  Matrix normalized = normalized_.matrix(config.d_model, D.n_col);
  Matrix qkv = qkv_.matrix(config.d_qkv(), D.n_col);
  norm_->difference(clean_, D, normalized);
  W_QKV_.multiply(normalized, qkv);
  attention_->turn_by_position(sequences_, Turn::forward, qkv, *mixing_);
  add_clean(clean_qkv_.matrix(config.d_qkv(), clean_.n_col), 1, qkv);
  attention_->mix(qkv, sequences_, D.n_col / clean_.n_col, dz, *mixing_);
  add_clean(clean_z, -1, dz);
}

void AttentionDifference::write(blas::ConstView dz, blas::View output) const {
  W_O_.multiply(dz, output, true);
}

std::uint64_t AttentionDifference::bytes(const ModelConfig& config, Index n_clean, Index n_column,
                                         Engine differences) {
  const std::uint64_t rows = config.d_model + config.d_qkv();
  return rows * (n_clean + n_column) * sizeof(float) +
         packed_bytes(config.d_model, config.d_qkv(), differences) +
         packed_bytes(config.d_z(), config.d_model, differences);
}

}  // namespace headscope
