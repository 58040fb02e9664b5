#include "classification/tests/copy_effect.hpp"

#include <algorithm>
#include <set>

#include "base/thread_errors.hpp"
#include "classification/variables.hpp"
#include "head_values.hpp"
#include "headscope/statistics.hpp"

namespace headscope {

CopyEffects::CopyEffects(const Model& model, const LogitAttribution& attribution,
                         const LogitLens& lens, const TokenIds& tokens)
    : model_(model),
      lens_(lens),
      tokens_(tokens),
      directions_(attribution.next_tokens(tokens).directions) {
  arma::vec mean(directions_.n_rows, arma::fill::zeros);
  std::set<TokenId> types;
  for (Index k = 1; k < tokens.size(); ++k) {
    if (!types.insert(tokens[k]).second) continue;
    mean += arma::conv_to<arma::vec>::from(directions_.col(k - 1));
  }
  mean_direction_ = arma::conv_to<Vector>::from(mean / std::max<double>(1, types.size()));
}

void CopyEffects::observe_layer(const LayerView& view) {
  const Index n_head = model_.config.n_head;
  unscaled_.emplace_back(n_kind, view.n_token, n_head, arma::fill::zeros);
  lowered_keys_.emplace_back(view.n_token, n_head).fill(no_position);
  if (view.n_token < 3) return;
  const Matrix& W_O = model_.layers[view.layer].W_O;
  Matrix of_groups;
  const blas::ConstView values =
      head_values(model_.config, view.qkv, of_groups).cols(1, view.n_token - 1);
  const arma::mat of_token = head_direct_effects(W_O, values, directions_, n_head);
  const arma::mat of_types = head_direct_effects(
      W_O, values, Matrix(arma::repmat(mean_direction_, 1, view.n_token - 1)), n_head);
  // 1 where a query's model, before this layer, predicts the token at a key.
  arma::Mat<unsigned char> is_predicted(view.n_token, view.n_token, arma::fill::zeros);
  const std::vector<TokenIds> predicted = lens_.most_probable(view.resid_pre, n_predicted_token);
  for (Index q = 2; q < view.n_token; ++q) {
    for (Index k = 1; k <= q; ++k) {
      is_predicted(k, q) = std::ranges::count(predicted[q], tokens_[k]) > 0 ? 1 : 0;
    }
  }
  arma::cube& unscaled = unscaled_.back();
  arma::Mat<Index>& lowered_keys = lowered_keys_.back();
  for_each_in_parallel(n_head, [&](std::size_t head) {
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

std::uint64_t CopyEffects::bytes(const ModelConfig& config, Index n_token) {
  const std::uint64_t width = std::max(config.d_model, config.d_z()), n = n_token;
  // Directions, the values' images of both and the repeated mean; predicted tokens; effects of
  // tokens and types; the sums and lowered keys of all layers.
  return sizeof(float) * n * 4 * width + n * n +
         sizeof(double) * n * config.n_head * (2 + n_kind * config.n_layer) +
         sizeof(Index) * n * config.n_head * config.n_layer;
}

EffectTest test_effect(const Statistics& statistics, const std::string& effect,
                       const std::string& null, const std::vector<Index>& pruned) {
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
    const bool is_removed = std::ranges::binary_search(pruned, head_index);
    test.p.push_back(is_removed ? arma::datum::nan : paired_t_p(n_used, total, squares));
  }
  test.q = benjamini_hochberg(test.p);
  return test;
}

void add_effect_tests(const Statistics& statistics, const std::vector<Index>& pruned,
                      ResultsGroup& group) {
  const VariableTable& variables = classification_variables();
  for (const auto& [effect, null] :
       {std::pair{HeadScore::copy_effect, HeadScore::copy_effect_null},
        {HeadScore::suppression_effect, HeadScore::suppression_effect_null}}) {
    const std::string name = score_info(effect).name;
    const EffectTest test = test_effect(statistics, name, score_info(null).name, pruned);
    group.add(variables["{effect}_p"].with("effect", name), test.p);
    group.add(variables["{effect}_q"].with("effect", name), test.q);
  }
}

}  // namespace headscope
