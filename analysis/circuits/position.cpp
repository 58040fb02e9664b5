#include "circuits/position.hpp"

#include <algorithm>

namespace headscope {
namespace {

constexpr Index first_query = 2;

arma::vec as_double(const Vector& v) {
  return arma::conv_to<arma::vec>::from(v);
}

arma::mat normalized_positions(const Model& model, const LayerWeights& layer, Index n_position) {
  arma::mat X = arma::conv_to<arma::mat>::from(model.W_P.head_cols(n_position));
  X.each_row() -= arma::mean(X, 0);
  X.each_row() /= arma::sqrt(arma::mean(arma::square(X), 0) + model.config.layer_norm_epsilon);
  X.each_col() %= as_double(layer.ln_1_gain);
  X.each_col() += as_double(layer.ln_1_bias);
  return X;
}

/// Softmax of one query's scores over keys 0 .. query, in place.
void softmax_in_double(arma::subview_col<double> scores) {
  scores = arma::exp(scores - scores.max());
  scores /= arma::accu(scores);
}

}  // namespace

Index n_position_used(const Model& model) {
  return std::min<Index>(128, model.W_P.n_cols);
}

PositionOnlyAttention position_only_attention(const Model& model, Index layer_index) {
  const LayerWeights& layer = model.layers[layer_index];
  const Index n_head = model.config.n_head;
  const Index d_head = model.config.d_head();
  const Index n_row = model.config.v_row(0);  // of queries and keys
  const Index n_position = n_position_used(model);
  PositionOnlyAttention result{arma::mat(n_head, n_position_offset), arma::vec(n_head)};
  if (n_position <= first_query) {
    result.share.fill(arma::datum::nan);
    result.sink.fill(arma::datum::nan);
    return result;
  }

  const arma::mat X = normalized_positions(model, layer, n_position);
  arma::mat QK = arma::conv_to<arma::mat>::from(layer.W_QKV.head_rows(n_row)) * X;
  QK.each_col() += as_double(layer.b_QKV.head(n_row));

  for (Index h = 0; h < n_head; ++h) {
    const arma::mat Q = QK.rows(h * d_head, (h + 1) * d_head - 1);
    const arma::mat K = QK.rows(model.config.k_row(h), model.config.k_row(h) + d_head - 1);
    arma::mat pattern = K.t() * Q * model.config.score_scale(layer_index);
    for (Index query = first_query; query < n_position; ++query) {
      softmax_in_double(pattern.col(query).subvec(0, query));
      for (Index offset = 0; offset < std::min(n_position_offset, query + 1); ++offset) {
        result.share(h, offset) += pattern(query - offset, query);
      }
      result.sink(h) += pattern(0, query);
    }
  }
  const auto n_query = static_cast<double>(n_position - first_query);
  result.share /= n_query;
  result.sink /= n_query;
  return result;
}

}  // namespace headscope
