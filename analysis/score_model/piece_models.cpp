#include "score_model/piece_models.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headscope {
namespace {

/// A step's coefficients of up to eight heads; 0 where a head has no model.
LaneValues coefficients_of(const ScoreFits& fits, std::size_t step, Index layer, Index first,
                           Index n_lane) {
  const std::size_t n_feature = fits.theta.shape[3];
  LaneValues theta(n_feature * n_logit_lane, 0);
  for (std::size_t f = 0; f < n_feature; ++f) {
    for (Index l = 0; l < n_lane; ++l) {
      const double value = fits.theta(step, layer, first + l, f);
      theta[f * n_logit_lane + l] = std::isnan(value) ? 0 : value;
    }
  }
  return theta;
}

}  // namespace

PieceQueries queries_of(const Piece& piece, const FeatureList& features) {
  std::vector<Index> queries(n_query_of(piece.tokens.size()));
  std::iota(queries.begin(), queries.end(), Index{2});
  return {piece, features, std::move(queries)};
}

PieceModels::PieceModels(const ScoreContext& context, const Piece& piece,
                         const PieceQueries& queries, std::size_t block)
    : context_(context) {
  sample_.add(queries, block, context.traits);
  numbers_.add(queries.tokens);
  numbers_.complete();
  std::optional<TokenId> first;
  if (piece.has_bos) first = piece.tokens.front();
  stream_ =
      std::make_unique<LexicalStream>(context.model, first, numbers_.tokens(), context.compute);
}

void PieceModels::next_layer() {
  of_layer_ = stream_->next();
  ++n_layer_done_;
}

void PieceModels::lexical(Index first, std::vector<float>& scores) const {
  lexical_scores(context_.model.config, n_layer_done_ - 1, of_layer_, numbers_, sample_, first,
                 scores);
}

void PieceModels::attend(const ScoreFits& fits, std::size_t step, Index first,
                         const std::vector<float>& scores, const TakeAttention& take) const {
  const Index n_lane = std::min<Index>(n_logit_lane, context_.model.config.n_head - first);
  for_each_attention({&sample_, &context_.features, scores.data(), {}},
                     coefficients_of(fits, step, n_layer_done_ - 1, first, n_lane), take);
}

std::uint64_t PieceModels::bytes(const ModelConfig& config, Index n_token) {
  const std::uint64_t n_pair = static_cast<std::uint64_t>(n_token) * n_token / 2;
  return n_pair * (n_numeric_feature + n_logit_lane + 4) * sizeof(float) +
         LexicalStream::bytes(config, n_token);
}

bool has_model(const ScoreFits& fits, std::size_t step, Index layer, Index head) {
  return !std::isnan(fits.theta(step, layer, head, std::size_t{0}));
}

void mix_values(blas::ConstView values, const double* weights, Index n_key, float* to) {
  std::fill_n(to, values.n_row, 0.0F);
  for (Index key = 0; key < n_key; ++key) {
    const auto weight = static_cast<float>(weights[key * n_logit_lane]);
    const float* const value = values.data + key * values.stride;
    for (Index i = 0; i < values.n_row; ++i) to[i] += weight * value[i];
  }
}

}  // namespace headscope
