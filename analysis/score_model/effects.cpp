#include "score_model/effects.hpp"

#include <algorithm>
#include <cmath>

#include "headscope/random.hpp"
#include "mean_z.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

/// First stream of the documents that heads run on.
constexpr std::uint64_t effect_stream = (std::uint64_t{3} << 60) - 4;

/// For each head of a layer the head before it, of those that the model has not lost.
std::vector<std::optional<Index>> heads_before(const ModelConfig& config, Index layer) {
  std::vector<std::optional<Index>> before(config.n_head);
  const std::vector<Index> left = config.heads_left_in(layer);
  if (left.size() < 2) return before;
  before[left.front()] = left.back();
  for (std::size_t i = 1; i < left.size(); ++i) before[left[i]] = left[i - 1];
  return before;
}

}  // namespace

EffectDocuments::EffectDocuments(std::uint64_t n_document, std::uint64_t n_wanted,
                                 std::uint64_t seed) {
  const std::uint64_t n_odd = n_document / 2;
  const auto sample = [&](std::uint64_t of, std::uint64_t count, std::uint64_t stream) {
    return spread_sample(of, std::min(of, count), CounterRandom(seed, effect_stream + stream));
  };
  for (const Index chosen : sample(n_odd, n_wanted, 0)) single.insert(2 * chosen + 1);
  std::vector<std::uint64_t> rest;
  for (std::uint64_t d = 1; d < n_document; d += 2) {
    if (!single.contains(d)) rest.push_back(d);
  }
  for (const Index chosen : sample(rest.size(), n_wanted, 1)) joint.insert(rest[chosen]);
}

std::string score_loss_name(Index layer) {
  return "score_loss." + std::to_string(layer);
}

ScoreEffects::ScoreEffects(const ScoreContext& context, const ScoreFits& fits,
                           const Statistics& earlier, const AblationPrecision& precision)
    : context_(context),
      fits_(fits),
      ablation_(context.model, context.compute, precision),
      mean_z_(mean_z(earlier, score_z_name)) {
  for (Index layer = 0; layer < context.model.config.n_layer; ++layer) {
    controlled_.push_back(heads_before(context.model.config, layer));
  }
}

class ScoreEffects::Losses : public PieceObserver {
 public:
  Losses(ScoreEffects& effects, const Piece& piece, std::size_t block,
         DocumentStatistics& statistics)
      : effects_(effects),
        config_(effects.context_.model.config),
        tokens_(piece.tokens),
        block_(block),
        statistics_(statistics),
        models_(effects.context_, piece, queries_of(piece, effects.context_.features), block) {
    if (piece.index > 0 || piece.token_text.empty()) return;
    surprise_ = &statistics.record(score_surprise_name, {config_.n_layer, config_.n_head, 3});
    statistics.texts(score_text_name) = piece.token_text;
  }

  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override {
    effects_.ablation_.observe_layer(view);
    replaced_.emplace_back(score_mean, view.z);
    surprises_.assign(models_.sample().queries.size() * config_.n_head, {});
    models_.next_layer();
    for (Index first = 0; first < config_.n_head; first += n_logit_lane) replace(view, first);
    if (surprise_ == nullptr) return;
    for (Index head = 0; head < config_.n_head; ++head) {
      ScoreSurprise most;
      for (std::size_t i = 0; i < models_.sample().queries.size(); ++i) {
        const ScoreSurprise& surprise = surprises_[i * config_.n_head + head];
        if (surprise.divergence > most.divergence) most = surprise;
      }
      (*surprise_)(view.layer, head, Index{0}) = most.query;
      (*surprise_)(view.layer, head, Index{1}) = most.key;
      (*surprise_)(view.layer, head, Index{2}) = most.divergence;
    }
  }

  void end(const PieceEnd& /*end*/) override {
    const TokenLoss clean = effects_.ablation_.clean_loss(tokens_);
    statistics_.sum(score_effect_tokens, {n_document_block})(block_) +=
        static_cast<double>(clean.nll.size());
    statistics_.sum(score_clean_name, {n_document_block})(block_) += clean.sum();
    for (Index layer = 0; layer < config_.n_layer; ++layer) {
      std::vector<HeadVariant> variants;
      std::vector<std::pair<Index, std::size_t>> places;  // head and kind
      for (Index head = 0; head < config_.n_head; ++head) {
        for (std::size_t kind = 0; kind < n_score_loss; ++kind) {
          if (kind < n_score_step && !has_model(effects_.fits_, kind, layer, head)) continue;
          // A head that has a control is also the control of a head.
          if (kind == score_control && !effects_.controlled_[layer][head]) continue;
          HeadVariant variant{layer, {head}};
          const Vector& mean = effects_.mean_z_[layer];
          variant.z = kind == score_mean
                          ? blas::ConstView(mean.memptr(), mean.n_elem, tokens_.size(), 0)
                          : blas::ConstView(replaced_[layer][kind]);
          variants.push_back(std::move(variant));
          places.emplace_back(head, kind);
        }
      }
      const std::vector<TokenLoss> losses = effects_.ablation_.losses(tokens_, variants);
      Array& sums =
          statistics_.sum(score_loss_name(layer), {n_document_block, config_.n_head, n_score_loss});
      for (std::size_t i = 0; i < losses.size(); ++i) {
        sums(block_, places[i].first, places[i].second) += losses[i].sum();
      }
    }
  }

 private:
  /// Replaces up to eight heads.
  void replace(const LayerView& view, Index first) {
    std::vector<float> lexical;
    models_.lexical(first, lexical);
    for (std::size_t step = 0; step < n_score_step; ++step) {
      models_.attend(effects_.fits_, step, first, lexical,
                     [&](std::size_t i, const double* attention) {
                       replace_query(view, first, step, i, attention);
                     });
    }
  }

  void replace_query(const LayerView& view, Index first, std::size_t step, std::size_t i,
                     const double* attention) {
    const Index query = models_.sample().queries[i].query, d_head = config_.d_head(),
                n_head = config_.n_head;
    const Index n_lane = std::min<Index>(n_logit_lane, n_head - first);
    const blas::ConstView projections = view.qkv;
    std::vector<Matrix>& replaced = replaced_[view.layer];
    for (Index l = 0; l < n_lane; ++l) {
      const Index head = first + l;
      if (!has_model(effects_.fits_, step, view.layer, head)) continue;
      mix_values(projections.rows(config_.v_row(head), d_head), attention + l, query + 1,
                 replaced[step].colptr(query) + head * d_head);
      if (step != static_cast<std::size_t>(ScoreStep::full)) continue;
      if (surprise_ != nullptr) {
        find_surprise(view.pattern.slice(head), query, attention + l,
                      surprises_[i * n_head + head]);
      }
      const std::optional<Index> controlled = effects_.controlled_[view.layer][head];
      if (!controlled) continue;
      const auto sink = static_cast<float>(view.pattern(0, query, *controlled));
      const double beyond = std::max(1 - attention[l], 1e-12);
      const auto scale = static_cast<float>((1 - sink) / beyond);
      const blas::ConstView values = projections.rows(config_.v_row(*controlled), d_head);
      float* const to = replaced[score_control].colptr(query) + *controlled * d_head;
      mix_values(values.cols(1, query), attention + n_logit_lane + l, query, to);
      for (Index d = 0; d < d_head; ++d) to[d] = scale * to[d] + sink * values.data[d];
    }
  }

  void find_surprise(const Matrix& pattern, Index query, const double* attention,
                     ScoreSurprise& surprise) const {
    const float* const weights = pattern.colptr(query);
    double divergence = 0;
    Index most = 0;
    for (Index key = 0; key <= query; ++key) {
      const double weight = weights[key];
      if (weight > 0) divergence += weight * std::log(weight / attention[key * n_logit_lane]);
      if (weights[key] >= weights[most]) most = key;
    }
    surprise = {static_cast<double>(query), static_cast<double>(most), divergence};
  }

  ScoreEffects& effects_;
  const ModelConfig& config_;
  const TokenIds& tokens_;
  std::size_t block_;
  DocumentStatistics& statistics_;
  PieceModels models_;
  std::vector<std::vector<Matrix>> replaced_;  // layer, kind: z of all heads
  std::vector<ScoreSurprise> surprises_;       // by query and head of a layer
  Array* surprise_ = nullptr;                  // of a document's first piece
};

std::unique_ptr<PieceObserver> ScoreEffects::add_losses(const Piece& piece, std::size_t block,
                                                        DocumentStatistics& statistics) {
  return std::make_unique<Losses>(*this, piece, block, statistics);
}

std::uint64_t ScoreEffects::bytes(const ModelConfig& config, Index n_token, int n_thread,
                                  const Engines& engines) {
  const std::uint64_t n = n_token;
  return HeadAblation::bytes(config, n_token, n_thread, engines) +
         score_mean * config.n_layer * config.d_z() * n * sizeof(float) +
         PieceModels::bytes(config, n_token) +
         n_document_block * config.n_layer * config.n_head * n_score_loss * Statistics::sum_bytes +
         n * config.n_head * sizeof(ScoreSurprise);
}

}  // namespace headscope
