#include "score_model/joint.hpp"

#include <algorithm>

#include "mean_z.hpp"

namespace headscope {
namespace {

constexpr std::size_t n_replaced_share = joint_shares.size() - 1;
constexpr auto joint_step = static_cast<std::size_t>(ScoreStep::full);

/// A document so many times, as sequences of their own.
SequenceBatch copies(const TokenIds& tokens, std::size_t count) {
  const SequenceBatch one(tokens);
  SequenceBatch batch;
  for (std::size_t i = 0; i < count; ++i) {
    const Index first = batch.n_column();
    batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end());
    batch.sequences.push_back({.first = first, .count = tokens.size()});
    for (const SequenceBatch::Prediction& prediction : one.predictions) {
      batch.predictions.push_back({first + prediction.column, prediction.target});
    }
  }
  return batch;
}

}  // namespace

std::vector<Index> joint_order(const Statistics& statistics, const ModelConfig& config) {
  std::vector<double> loss;  // by head
  const BootstrapCounts observed(n_document_block, 1);
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const Array total = statistics.total(score_loss_name(layer)).weighted_sum(observed);
    for (Index head = 0; head < config.n_head; ++head) loss.push_back(total(head, joint_step));
  }
  std::vector<Index> order = config.heads_left();
  std::ranges::stable_sort(order, {}, [&](Index head_index) { return loss[head_index]; });
  return order;
}

JointReplacement::JointReplacement(const ScoreContext& context, const ScoreFits& fits,
                                   const Statistics& earlier)
    : context_(context),
      config_(context.model.config),
      fits_(fits),
      forward_(context.model, context.compute),
      mean_z_(mean_z(earlier, score_z_name)) {
  const std::vector<Index> order = joint_order(earlier, config_);
  n_ordered_ = order.size();
  place_.assign(config_.n_layer * config_.n_head, no_position);
  for (Index i = 0; i < n_ordered_; ++i) place_[order[i]] = i;
}

bool JointReplacement::replaces(std::size_t share, Index layer, Index head) const {
  const auto count = static_cast<Index>(joint_shares[share] * static_cast<double>(n_ordered_));
  return place_[layer * config_.n_head + head] < count;
}

void JointReplacement::replace_by_models(PieceModels& models, Index layer, const Matrix& qkv,
                                         Matrix& z) const {
  models.next_layer();
  const Index d_head = config_.d_head(), n_token = z.n_cols / n_replaced_share;
  const blas::ConstView projections = qkv;
  std::vector<float> lexical;
  for (Index first = 0; first < config_.n_head; first += n_logit_lane) {
    const Index n_lane = std::min<Index>(n_logit_lane, config_.n_head - first);
    models.lexical(first, lexical);
    const auto replace_query = [&](std::size_t i, const double* attention) {
      const Index query = models.sample().queries[i].query;
      for (Index lane = 0; lane < n_lane; ++lane) {
        const Index head = first + lane;
        const blas::ConstView values = projections.rows(config_.v_row(head), d_head);
        for (std::size_t share = 1; share < joint_shares.size(); ++share) {
          if (!replaces(share, layer, head)) continue;
          const Index begin = (share - 1) * n_token;
          mix_values(values.cols(begin, n_token), attention + lane, query + 1,
                     z.colptr(begin + query) + head * d_head);
        }
      }
    };
    models.attend(fits_, joint_step, first, lexical, replace_query);
  }
}

void JointReplacement::replace_by_means(Index layer, Matrix& z) const {
  const Index d_head = config_.d_head(), n_token = z.n_cols / n_replaced_share;
  for (Index column = 0; column < z.n_cols; ++column) {
    for (Index head = 0; head < config_.n_head; ++head) {
      if (!replaces(1 + column / n_token, layer, head)) continue;
      std::copy_n(mean_z_[layer].memptr() + head * d_head, d_head,
                  z.colptr(column) + head * d_head);
    }
  }
}

std::vector<double> JointReplacement::losses(const Piece& piece, const ForwardChange& change) {
  const SequenceBatch batch = copies(piece.tokens, n_replaced_share);
  const TokenLoss loss = forward_.loss(forward_.run(batch, {}, change), batch);
  const std::size_t n_predicted = piece.tokens.size() - 1;
  std::vector<double> sums;
  for (std::size_t i = 0; i < n_replaced_share; ++i) {
    const auto begin = loss.nll.begin() + static_cast<std::ptrdiff_t>(i * n_predicted);
    sums.push_back(
        std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(n_predicted), double{0}));
  }
  return sums;
}

void JointReplacement::add_losses(const Piece& piece, std::size_t block,
                                  DocumentStatistics& statistics) {
  statistics.sum(joint_tokens_name, {n_document_block})(block) +=
      static_cast<double>(piece.tokens.size() - 1);
  Array& sums =
      statistics.sum(joint_loss_name, {n_document_block, n_joint_replacement, joint_shares.size()});
  const double clean = forward_.loss(forward_.run(piece.tokens), piece.tokens).sum();
  PieceModels models(context_, piece, queries_of(piece, context_.features), block);
  ForwardChange by_models, by_means;
  by_models.z = [&](Index layer, const Matrix& qkv, Matrix& z) {
    replace_by_models(models, layer, qkv, z);
  };
  by_means.z = [&](Index layer, const Matrix& /*qkv*/, Matrix& z) { replace_by_means(layer, z); };
  for (const auto& [replacement, change] :
       {std::pair{joint_score_model, &by_models}, {joint_mean, &by_means}}) {
    const std::vector<double> of_shares = losses(piece, *change);
    sums(block, replacement, std::size_t{0}) += clean;
    for (std::size_t i = 0; i < of_shares.size(); ++i) {
      sums(block, replacement, i + 1) += of_shares[i];
    }
  }
}

std::uint64_t JointReplacement::bytes(const ModelConfig& config, Index n_token, int n_thread) {
  const Index n_column = n_replaced_share * n_token;
  return Forward::bytes(config, n_column, false) + Forward::loss_bytes(config, n_column, n_thread) +
         PieceModels::bytes(config, n_token) +
         n_document_block * n_joint_replacement * joint_shares.size() * Statistics::sum_bytes;
}

}  // namespace headscope
