#include "classification/tests/copy_effect.hpp"

#include <algorithm>
#include <set>

#include "classification/types/types.hpp"
#include "headscope/ops.hpp"
#include "headscope/statistics.hpp"
#include "parallel.hpp"

namespace headscope {
namespace {

constexpr Index lens_chunk = 1024;  // tokens of the vocabulary

/// Keeps the largest of the logits that it is shown, in the order of their ids.
class LargestLogits {
 public:
  explicit LargestLogits(Index count) : count_(count) { largest_.reserve(count + 1); }

  void add(float logit, TokenId token) {
    if (largest_.size() == count_ && !(logit > largest_.back().first)) return;
    const auto place = std::ranges::upper_bound(largest_, logit, std::ranges::greater(),
                                                &std::pair<float, TokenId>::first);
    largest_.insert(place, {logit, token});
    if (largest_.size() > count_) largest_.pop_back();
  }

  TokenIds tokens() const {
    TokenIds ids;
    for (const auto& [logit, token] : largest_) ids.push_back(token);
    return ids;
  }

 private:
  Index count_;
  std::vector<std::pair<float, TokenId>> largest_;
};

}  // namespace

std::vector<TokenIds> logit_lens(const Model& model, const Matrix& resid, Index count) {
  const Matrix& W_U = model.unembedding();
  Matrix normalized(resid.n_rows, resid.n_cols);
  layer_norm(resid, model.ln_f_gain, model.ln_f_bias, model.config.layer_norm_epsilon, normalized);
  std::vector<LargestLogits> largest(resid.n_cols, LargestLogits(count));
  Matrix logits(std::min(lens_chunk, W_U.n_cols), resid.n_cols);
  for (Index first = 0; first < W_U.n_cols; first += lens_chunk) {
    const Index n = std::min(lens_chunk, W_U.n_cols - first);
    blas::multiply(blas::ConstView(W_U).cols(first, n), blas::Transpose::yes, normalized,
                   blas::Transpose::no, blas::View(logits).rows(0, n));
    parallel_for(resid.n_cols, [&](std::size_t t) {
      const float* const column = logits.colptr(t);
      for (Index i = 0; i < n; ++i) {
        const float bias = model.b_U.is_empty() ? 0 : model.b_U(first + i);
        largest[t].add(column[i] + bias, static_cast<TokenId>(first + i));
      }
    });
  }
  std::vector<TokenIds> tokens;
  tokens.reserve(largest.size());
  for (const LargestLogits& of_token : largest) tokens.push_back(of_token.tokens());
  return tokens;
}

CopyEffects::CopyEffects(const Model& model, const LogitAttribution& attribution,
                         const TokenIds& tokens)
    : model_(model), tokens_(tokens), directions_(attribution.next_tokens(tokens).directions) {
  arma::vec mean(directions_.n_rows, arma::fill::zeros);
  std::set<TokenId> types;
  for (Index k = 1; k < tokens.size(); ++k) {
    if (!types.insert(tokens[k]).second) continue;
    mean += arma::conv_to<arma::vec>::from(directions_.col(k - 1));
  }
  mean_direction_ = arma::conv_to<Vector>::from(mean / std::max<double>(1, types.size()));
}

void CopyEffects::observe_layer(const LayerView& view) {
  const Index n_head = model_.config.n_head, d_model = model_.config.d_model;
  unscaled_.emplace_back(n_kind, view.n_token, n_head, arma::fill::zeros);
  lowered_keys_.emplace_back(view.n_token, n_head).fill(no_position);
  if (view.n_token < 3) return;
  const Matrix& W_O = model_.layers[view.layer].W_O;
  const blas::ConstView values =
      blas::ConstView(view.qkv).rows(2 * d_model, d_model).cols(1, view.n_token - 1);
  const arma::mat of_token = head_direct_effects(W_O, values, directions_, n_head);
  const arma::mat of_types = head_direct_effects(
      W_O, values, Matrix(arma::repmat(mean_direction_, 1, view.n_token - 1)), n_head);
  // 1 where a query's model, before this layer, predicts the token at a key.
  arma::Mat<unsigned char> is_predicted(view.n_token, view.n_token, arma::fill::zeros);
  const std::vector<TokenIds> predicted = logit_lens(model_, view.resid_pre, n_predicted_token);
  for (Index q = 2; q < view.n_token; ++q) {
    for (Index k = 1; k <= q; ++k) {
      is_predicted(k, q) = std::ranges::count(predicted[q], tokens_[k]) > 0 ? 1 : 0;
    }
  }
  arma::cube& unscaled = unscaled_.back();
  arma::Mat<Index>& lowered_keys = lowered_keys_.back();
  parallel_for(n_head, [&](std::size_t head) {
    const Matrix& pattern = view.pattern.slice(head);
    for (Index q = 2; q < view.n_token; ++q) {
      double* const sums = &unscaled(0, q, head);
      double lowest = 0;
      for (Index k = 1; k <= q; ++k) {
        const double weight = pattern(k, q);
        const double effect = weight * of_token(head, k - 1);
        const double null = weight * of_types(head, k - 1);
        sums[copy] += effect;
        sums[copy_null] += null;
        if (is_predicted(k, q) == 0) continue;
        sums[suppression] += effect;
        sums[suppression_null] += null;
        if (effect < lowest) {
          lowest = effect;
          lowered_keys(q, head) = k;
        }
      }
    }
  });
}

std::array<Ratio, CopyEffects::n_kind> CopyEffects::effects(
    Index layer, Index head, const std::vector<double>& scales) const {
  std::array<Ratio, n_kind> result{};
  const arma::cube& unscaled = unscaled_[layer];
  for (Index q = 2; q < unscaled.n_cols; ++q) {
    for (std::size_t kind = 0; kind < n_kind; ++kind) {
      result[kind] += {unscaled(kind, q, head) / scales[q], 1};
    }
  }
  return result;
}

std::uint64_t CopyEffects::memory(const ModelConfig& config, Index n_token) {
  const std::uint64_t d_model = config.d_model, n = n_token;
  // Directions, the values' images of both and the repeated mean; the lens; predicted tokens;
  // effects of tokens and types; the sums and lowered keys of all layers.
  return sizeof(float) * n * (4 * d_model + d_model + lens_chunk) + n * n +
         sizeof(double) * n * config.n_head * (2 + n_kind * config.n_layer) +
         sizeof(Index) * n * config.n_head * config.n_layer;
}

EffectTest test_effect(const Statistics& statistics, const std::string& effect,
                       const std::string& null) {
  const Array sums = statistics.total(effect), weights = statistics.total(weight_name(effect)),
              nulls = statistics.total(null);
  const Index n_head_total = sums.size() / n_block;
  EffectTest test;
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    double n_used = 0, difference = 0, weight = 0;
    for (Index block = 0; block < n_block; ++block) {
      const Index i = block * n_head_total + head_index;
      if (!(weights.values[i] > 0)) continue;
      ++n_used;
      difference += sums.values[i] - nulls.values[i];
      weight += weights.values[i];
    }
    // Each block's value, its error of the ratio linearised: their mean is the ratio itself.
    double total = 0, squares = 0;
    for (Index block = 0; block < n_block; ++block) {
      const Index i = block * n_head_total + head_index;
      if (!(weights.values[i] > 0)) continue;
      const double ratio = difference / weight;
      const double error = sums.values[i] - nulls.values[i] - ratio * weights.values[i];
      const double value = ratio + error * n_used / weight;
      total += value;
      squares += value * value;
    }
    test.p.push_back(paired_t_p(n_used, total, squares));
  }
  test.q = benjamini_hochberg(test.p);
  return test;
}

void add_effect_tests(const Statistics& statistics, ResultsGroup& group) {
  for (const auto& [effect, null] :
       {std::pair{HeadScore::copy_effect, HeadScore::copy_effect_null},
        {HeadScore::suppression_effect, HeadScore::suppression_effect_null}}) {
    const std::string name = score_info(effect).name;
    const EffectTest test = test_effect(statistics, name, score_info(null).name);
    const Shape& shape = group.variable(name).values.shape;
    group.add(Variable::real(name + "_p", {"layer", "head"}, Array(shape, test.p),
                             "Two-sided p-value of " + name + " - " + score_info(null).name +
                                 ": t over documents, or over blocks of them beyond " +
                                 std::to_string(n_document_block),
                             "probability", own_definition));
    group.add(Variable::real(name + "_q", {"layer", "head"}, Array(shape, test.q),
                             name + "_p adjusted over all heads", "probability",
                             "Benjamini & Hochberg 1995"));
  }
}

}  // namespace headscope
