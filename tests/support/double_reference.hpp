#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "headscope/model.hpp"
#include "support/tolerance.hpp"

/// Slow and simple models of every architecture in double precision, to check the fast code
/// against.
namespace headscope::test {

inline arma::mat widen(const Matrix& values) {
  return arma::conv_to<arma::mat>::from(values);
}
inline arma::vec widen(const Vector& values) {
  return arma::conv_to<arma::vec>::from(values);
}

/// Largest absolute value; infinite if one is not finite. Armadillo's max passes over NaN.
template <typename Number>
double largest_size(const arma::Mat<Number>& values) {
  if (!values.is_finite()) return INFINITY;
  return static_cast<double>(arma::abs(values).max());
}

/// Largest absolute difference divided by the largest absolute reference value; infinite if a value
/// is not finite.
inline double relative_error(const Matrix& values, const arma::mat& reference) {
  if (values.n_rows != reference.n_rows || values.n_cols != reference.n_cols) return INFINITY;
  if (!reference.is_finite()) return INFINITY;
  return largest_size(arma::mat(widen(values) - reference)) / largest_size(reference);
}
inline double relative_error(const Matrix& values, const Matrix& reference) {
  return relative_error(values, widen(reference));
}

/// Mean of losses.
inline double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline bool same_values(const Matrix& a, const Matrix& b) {
  return arma::size(a) == arma::size(b) && std::equal(a.begin(), a.end(), b.begin());
}

/// LayerNorm or RMSNorm, as the config says. @param bias  of RMSNorm not read.
inline arma::mat reference_norm(const ModelConfig& config, const arma::mat& X, const Vector& gain,
                                const Vector& bias) {
  const bool centred = config.norm == NormKind::layer_norm;
  arma::mat Y = X;
  for (Index t = 0; t < X.n_cols; ++t) {
    const arma::vec x = X.col(t) - (centred ? arma::mean(X.col(t)) : 0.0);
    Y.col(t) = x / std::sqrt(arma::mean(x % x) + config.layer_norm_epsilon) % widen(gain);
    if (centred) Y.col(t) += widen(bias);
  }
  return Y;
}

inline double reference_activation(double x, Activation activation) {
  if (activation == Activation::relu) return x > 0 ? x : 0;
  if (activation == Activation::silu) return x / (1 + std::exp(-x));
  if (activation == Activation::quick_gelu) return x / (1 + std::exp(-1.702 * x));
  if (activation == Activation::gelu) return x / 2 * std::erfc(-x / std::sqrt(2.0));
  // x (1 + tanh u) / 2, without the cancellation of 1 + tanh u.
  return x / (1 + std::exp(-2 * std::sqrt(2 / arma::datum::pi) * (x + 0.044715 * x * x * x)));
}

/// One head's attention; `allowed(query, key)` is the mask.
inline arma::mat reference_attention(const arma::mat& Q, const arma::mat& K, const arma::mat& V,
                                     double scale, const std::function<bool(Index, Index)>& allowed,
                                     arma::mat* pattern = nullptr) {
  arma::mat A(K.n_cols, Q.n_cols, arma::fill::zeros);
  for (Index q = 0; q < Q.n_cols; ++q) {
    double sum = 0;
    for (Index k = 0; k < K.n_cols; ++k) {
      if (!allowed(q, k)) continue;
      A(k, q) = std::exp(arma::dot(Q.col(q), K.col(k)) * scale);
      sum += A(k, q);
    }
    if (sum > 0) A.col(q) /= sum;
  }
  if (pattern != nullptr) *pattern = A;
  return V * A;
}

/// Queries, keys or values of one head: d_head x n, turned by positions 0 .. n - 1 if it turns.
/// @param row  of W_QKV, the head's first. @param X  after the norm.
inline arma::mat reference_projection(const ModelConfig& config, const LayerWeights& weights,
                                      Index row, const arma::mat& X, bool turns) {
  const Index last = row + config.d_head() - 1;
  arma::mat values = widen(Matrix(weights.W_QKV.rows(row, last))) * X;
  if (config.qkv_bias) values.each_col() += widen(Vector(weights.b_QKV.subvec(row, last)));
  const std::vector<double> rates = config.rotary_rates();
  if (!turns) return values;
  for (Index t = 0; t < X.n_cols; ++t) {
    for (Index i = 0; i < rates.size(); ++i) {
      const double angle = static_cast<double>(t) * rates[i];
      const double a = values(i, t), b = values(i + rates.size(), t);
      values(i, t) = a * std::cos(angle) - b * std::sin(angle);
      values(i + rates.size(), t) = b * std::cos(angle) + a * std::sin(angle);
    }
  }
  return values;
}

/// z of one head. @param Q_X, K_X, V_X  what queries, keys and values are computed from.
inline arma::mat reference_head(const ModelConfig& config, const LayerWeights& weights, Index layer,
                                Index head, const arma::mat& Q_X, const arma::mat& K_X,
                                const arma::mat& V_X, arma::mat* pattern = nullptr) {
  return reference_attention(
      reference_projection(config, weights, config.q_row(head), Q_X, true),
      reference_projection(config, weights, config.k_row(head), K_X, true),
      reference_projection(config, weights, config.v_row(head), V_X, false),
      config.score_scale(layer), [](Index q, Index k) { return k <= q; }, pattern);
}

/// The MLP's output without b_out. @param X  after the norm.
inline arma::mat reference_mlp(const ModelConfig& config, const LayerWeights& weights,
                               const arma::mat& X) {
  arma::mat pre = widen(weights.W_in) * X;
  if (config.mlp_bias) pre.each_col() += widen(weights.b_in);
  arma::mat hidden = pre.head_rows(config.d_mlp);
  hidden.transform([&](double x) { return reference_activation(x, config.activation); });
  if (config.gated_mlp) hidden %= pre.tail_rows(config.d_mlp);
  return widen(weights.W_out) * hidden;
}

inline arma::mat reference_embedding(const Model& model, std::span<const TokenId> tokens) {
  arma::mat resid(model.config.d_model, tokens.size());
  for (Index t = 0; t < tokens.size(); ++t) {
    resid.col(t) = widen(Vector(model.W_E.col(static_cast<Index>(tokens[t]))));
    if (!model.W_P.is_empty()) resid.col(t) += widen(Vector(model.W_P.col(t)));
  }
  return resid;
}

/// Logits of the residual stream after the last layer.
inline arma::mat reference_logits(const Model& model, const arma::mat& resid) {
  arma::mat logits = widen(model.unembedding()).t() *
                     reference_norm(model.config, resid, model.ln_f_gain, model.ln_f_bias);
  if (!model.b_U.is_empty()) logits.each_col() += widen(model.b_U);
  return logits;
}

/// Negative log likelihoods of tokens 1 .. T-1.
inline std::vector<double> reference_nll(const arma::mat& logits, std::span<const TokenId> tokens) {
  std::vector<double> nll;
  for (Index t = 0; t + 1 < tokens.size(); ++t) {
    const double largest = logits.col(t).max();
    nll.push_back(std::log(arma::accu(arma::exp(logits.col(t) - largest))) + largest -
                  logits(static_cast<Index>(tokens[t + 1]), t));
  }
  return nll;
}

inline void add_bias_if_any(const Vector& bias, arma::mat& X) {
  if (!bias.is_empty()) X.each_col() += widen(bias);
}

struct ReferenceRun {
  std::vector<arma::mat> resid_pre, resid_mid, z;  ///< one per layer
  std::vector<arma::cube> pattern;                 ///< key x query x head, one per layer
  arma::mat resid_final;
  arma::mat logits;
  std::vector<double> nll;
};

/// @param change_z  called with each layer and its z before z is used; may change z.
inline ReferenceRun reference_run(
    const Model& model, std::span<const TokenId> tokens,
    const std::function<void(Index, arma::mat&)>& change_z = [](Index, arma::mat&) {}) {
  const ModelConfig& c = model.config;
  ReferenceRun run;
  arma::mat resid = reference_embedding(model, tokens);
  for (Index l = 0; l < c.n_layer; ++l) {
    const LayerWeights& w = model.layers[l];
    run.resid_pre.push_back(resid);
    const arma::mat X = reference_norm(c, resid, w.ln_1_gain, w.ln_1_bias);
    const arma::mat read = resid;
    arma::mat z(c.d_z(), tokens.size()), pattern;
    run.pattern.emplace_back(tokens.size(), tokens.size(), c.n_head);
    for (Index h = 0; h < c.n_head; ++h) {
      z.rows(c.q_row(h), c.q_row(h) + c.d_head() - 1) =
          reference_head(c, w, l, h, X, X, X, &pattern);
      run.pattern.back().slice(h) = pattern;
    }
    change_z(l, z);
    run.z.push_back(z);
    resid += widen(w.W_O) * z;
    add_bias_if_any(w.b_O, resid);
    run.resid_mid.push_back(resid);
    resid += reference_mlp(
        c, w, reference_norm(c, c.parallel_residual ? read : resid, w.ln_2_gain, w.ln_2_bias));
    add_bias_if_any(w.b_out, resid);
  }
  run.resid_final = resid;
  run.logits = reference_logits(model, resid);
  run.nll = reference_nll(run.logits, tokens);
  return run;
}

}  // namespace headscope::test
