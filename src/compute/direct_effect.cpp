#include "headscope/direct_effect.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "compute/layer.hpp"
#include "headscope/error.hpp"

namespace headscope {

LogitAttribution::LogitAttribution(const Model& model) : model_(model) {
  check_complete(model);
  const Matrix& W_U = model.unembedding();
  arma::vec sum(W_U.n_rows, arma::fill::zeros);
  for (Index token = 0; token < W_U.n_cols; ++token) {
    sum += arma::conv_to<arma::vec>::from(W_U.col(token));
  }
  mean_unembedding_ = arma::conv_to<Vector>::from(sum / static_cast<double>(W_U.n_cols));
  if (!model.b_U.is_empty()) mean_bias_ = arma::mean(arma::conv_to<arma::vec>::from(model.b_U));
}

Index LogitAttribution::checked(TokenId token) const {
  const auto id = static_cast<Index>(token);
  if (token >= 0 && id < model_.config.d_vocab) return id;
  throw ShapeError("token id: expected 0 to " + std::to_string(model_.config.d_vocab - 1) +
                   ", got " + std::to_string(token));
}

LogitDirections LogitAttribution::differences(std::span<const TokenId> a,
                                              std::span<const TokenId> b) const {
  check_count("tokens of the second side", a.size(), b.size());
  const Matrix& W_U = model_.unembedding();
  Matrix unembedded(W_U.n_rows, a.size());
  std::vector<double> bias(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Index first = checked(a[i]), second = checked(b[i]);
    unembedded.col(i) = W_U.col(first) - W_U.col(second);
    if (!model_.b_U.is_empty())
      bias[i] = static_cast<double>(model_.b_U(first)) - model_.b_U(second);
  }
  return directions(unembedded, std::move(bias));
}

LogitDirections LogitAttribution::next_tokens(std::span<const TokenId> tokens) const {
  const auto next = tokens.subspan(std::min<std::size_t>(1, tokens.size()));
  const Matrix& W_U = model_.unembedding();
  Matrix unembedded(W_U.n_rows, next.size());
  std::vector<double> bias(next.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    const Index target = checked(next[i]);
    unembedded.col(i) = W_U.col(target) - mean_unembedding_;
    if (!model_.b_U.is_empty()) bias[i] = model_.b_U(target) - mean_bias_;
  }
  return directions(unembedded, std::move(bias));
}

LogitDirections LogitAttribution::directions(const Matrix& unembedded,
                                             std::vector<double> bias) const {
  const Norm norm = final_norm(model_);
  LogitDirections made{Matrix(unembedded.n_rows, unembedded.n_cols), std::move(bias)};
  for (Index i = 0; i < unembedded.n_cols; ++i) {
    const arma::vec u = arma::conv_to<arma::vec>::from(unembedded.col(i));
    made.directions.col(i) = arma::conv_to<Vector>::from(norm.direction(u));
    made.constant[i] += norm.constant(u);
  }
  return made;
}

std::vector<double> final_scales(const Model& model, blas::ConstView resid_final) {
  return final_norm(model).scales(resid_final);
}

std::vector<double> direct_effects(blas::ConstView written, blas::ConstView directions) {
  check_count("rows of the directions", written.n_row, directions.n_row);
  check_count("columns of the directions", written.n_col, directions.n_col);
  std::vector<double> effects(written.n_col);
  for (Index t = 0; t < written.n_col; ++t) {
    const float* const first = written.column(t);
    effects[t] =
        std::inner_product(first, first + written.n_row, directions.column(t), 0.0, std::plus<>(),
                           [](double value, double direction) { return value * direction; });
  }
  return effects;
}

arma::mat head_direct_effects(const Matrix& W_O, blas::ConstView z, blas::ConstView directions,
                              Index n_head) {
  check_count("rows of z", W_O.n_cols, z.n_row);
  check_count("rows of the directions", W_O.n_rows, directions.n_row);
  check_count("columns of the directions", z.n_col, directions.n_col);
  const Index d_head = z.n_row / n_head;
  Matrix seen(z.n_row, z.n_col);  // the directions in the heads' own spaces
  blas::multiply(W_O, blas::Transpose::yes, directions, blas::Transpose::no, seen);
  arma::mat effects(n_head, z.n_col);
  for (Index head = 0; head < n_head; ++head) {
    const auto of_head = [&](blas::ConstView values) { return values.rows(head * d_head, d_head); };
    const std::vector<double> by_token = direct_effects(of_head(z), of_head(seen));
    for (Index t = 0; t < z.n_col; ++t) effects(head, t) = by_token[t];
  }
  return effects;
}

}  // namespace headscope
