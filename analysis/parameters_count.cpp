#include "parameters_count.hpp"

#include <numeric>

namespace headscope {
namespace {

enum Component {
  token_embedding,
  position_embedding,
  attention_q,
  attention_k,
  attention_v,
  attention_o,
  attention_bias,
  mlp,
  layer_norm,
  lm_head,
  total
};

ParameterCounts with_total(ParameterCounts counts) {
  counts[total] = std::accumulate(counts.begin(), counts.begin() + total, 0.0);
  return counts;
}

}  // namespace

ParameterCounts described_parameters(const ModelConfig& config) {
  const auto n_layer = static_cast<double>(config.n_layer);
  const auto d_model = static_cast<double>(config.d_model);
  const auto d_mlp = static_cast<double>(config.d_mlp);
  const auto d_vocab = static_cast<double>(config.d_vocab);
  ParameterCounts counts{};
  counts[token_embedding] = d_vocab * d_model;
  counts[position_embedding] = static_cast<double>(config.n_ctx) * d_model;
  for (const Component projection : {attention_q, attention_k, attention_v, attention_o}) {
    counts[projection] = n_layer * d_model * d_model;
  }
  counts[attention_bias] = n_layer * 4 * d_model;
  counts[mlp] = n_layer * (2 * d_model * d_mlp + d_mlp + d_model);
  counts[layer_norm] = (n_layer * 4 + 2) * d_model;
  if (!config.tied_unembedding) counts[lm_head] = d_vocab * d_model;
  return with_total(counts);
}

ParameterCounts held_parameters(const Model& model) {
  ParameterCounts counts{};
  const auto add = [&](Component component, const auto& tensor) {
    counts[component] += static_cast<double>(tensor.n_elem);
  };
  add(token_embedding, model.W_E);
  add(position_embedding, model.W_P);
  for (const LayerWeights& layer : model.layers) {
    const double projection = static_cast<double>(layer.W_QKV.n_elem) / 3;
    for (const Component input : {attention_q, attention_k, attention_v}) {
      counts[input] += projection;
    }
    add(attention_o, layer.W_O);
    add(attention_bias, layer.b_QKV);
    add(attention_bias, layer.b_O);
    for (const auto* tensor : {&layer.W_in, &layer.W_out}) add(mlp, *tensor);
    for (const auto* tensor : {&layer.b_in, &layer.b_out}) add(mlp, *tensor);
    for (const auto* tensor :
         {&layer.ln_1_gain, &layer.ln_1_bias, &layer.ln_2_gain, &layer.ln_2_bias}) {
      add(layer_norm, *tensor);
    }
  }
  add(layer_norm, model.ln_f_gain);
  add(layer_norm, model.ln_f_bias);
  add(lm_head, model.W_U);
  add(lm_head, model.b_U);
  return with_total(counts);
}

}  // namespace headscope
