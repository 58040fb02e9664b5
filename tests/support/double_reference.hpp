#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "headscope/model.hpp"
#include "support/tolerance.hpp"

/// A slow and simple GPT-2 in double precision, to check the fast code against.
namespace headscope::test {

inline arma::mat widen(const Matrix& values) {
  return arma::conv_to<arma::mat>::from(values);
}
inline arma::vec widen(const Vector& values) {
  return arma::conv_to<arma::vec>::from(values);
}

/// Largest absolute difference divided by the largest absolute reference value.
inline double relative_error(const Matrix& values, const arma::mat& reference) {
  if (values.n_rows != reference.n_rows || values.n_cols != reference.n_cols) return INFINITY;
  return arma::abs(widen(values) - reference).max() / arma::abs(reference).max();
}
inline double relative_error(const Matrix& values, const Matrix& reference) {
  return relative_error(values, widen(reference));
}

inline bool same_values(const Matrix& a, const Matrix& b) {
  return arma::size(a) == arma::size(b) && std::equal(a.begin(), a.end(), b.begin());
}

inline arma::mat reference_layer_norm(const arma::mat& X, const Vector& gain, const Vector& bias,
                                      double epsilon) {
  arma::mat Y = X;
  for (Index t = 0; t < X.n_cols; ++t) {
    const double mean = arma::mean(X.col(t)), variance = arma::var(X.col(t), 1);
    Y.col(t) = (X.col(t) - mean) / std::sqrt(variance + epsilon) % widen(gain) + widen(bias);
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

struct ReferenceRun {
  std::vector<arma::mat> resid_pre, resid_mid, z;  ///< one per layer
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
  arma::mat resid(c.d_model, tokens.size());
  for (Index t = 0; t < tokens.size(); ++t) {
    resid.col(t) = arma::conv_to<arma::vec>::from(model.W_E.col(static_cast<Index>(tokens[t]))) +
                   arma::conv_to<arma::vec>::from(model.W_P.col(t));
  }
  for (Index l = 0; l < c.n_layer; ++l) {
    const LayerWeights& w = model.layers[l];
    run.resid_pre.push_back(resid);
    arma::mat qkv = widen(w.W_QKV) *
                    reference_layer_norm(resid, w.ln_1_gain, w.ln_1_bias, c.layer_norm_epsilon);
    qkv.each_col() += widen(w.b_QKV);
    arma::mat z(c.d_model, tokens.size());
    const Index d = c.d_model, d_head = c.d_head();
    for (Index h = 0; h < c.n_head; ++h) {
      const auto rows = [&](Index part) {
        return arma::mat(qkv.rows(part * d + h * d_head, part * d + (h + 1) * d_head - 1));
      };
      z.rows(h * d_head, (h + 1) * d_head - 1) = reference_attention(
          rows(0), rows(1), rows(2), c.score_scale(l), [](Index q, Index k) { return k <= q; });
    }
    change_z(l, z);
    run.z.push_back(z);
    resid += widen(w.W_O) * z;
    resid.each_col() += widen(w.b_O);
    run.resid_mid.push_back(resid);
    arma::mat hidden =
        widen(w.W_in) * reference_layer_norm(resid, w.ln_2_gain, w.ln_2_bias, c.layer_norm_epsilon);
    hidden.each_col() += widen(w.b_in);
    hidden.transform([&](double x) { return reference_activation(x, c.activation); });
    resid += widen(w.W_out) * hidden;
    resid.each_col() += widen(w.b_out);
  }
  run.resid_final = resid;
  run.logits = widen(model.unembedding()).t() *
               reference_layer_norm(resid, model.ln_f_gain, model.ln_f_bias, c.layer_norm_epsilon);
  if (!model.b_U.is_empty()) run.logits.each_col() += widen(model.b_U);
  for (Index t = 0; t + 1 < tokens.size(); ++t) {
    const double largest = run.logits.col(t).max();
    run.nll.push_back(std::log(arma::accu(arma::exp(run.logits.col(t) - largest))) + largest -
                      run.logits(static_cast<Index>(tokens[t + 1]), t));
  }
  return run;
}

}  // namespace headscope::test
