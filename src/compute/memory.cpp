#include "headscope/memory.hpp"

#include <algorithm>

#include "compute/attention_gradient.hpp"
#include "compute/causal_attention.hpp"
#include "compute/layer.hpp"
#include "compute/loss_difference.hpp"
#include "compute/product/weight_product.hpp"
#include "compute/sampled_loss.hpp"
#include "compute/token_loss.hpp"
#include "headscope/ablation.hpp"
#include "headscope/parameters.hpp"

namespace headscope {
namespace {

std::uint64_t floats(std::uint64_t count) {
  return count * sizeof(float);
}

// Columns of the residual stream processed at once for stacked sequences.
Index stacked_columns(Index at_once, Index n_token) {
  return std::max<Index>(1, at_once / std::max<Index>(1, n_token)) * n_token;
}

// The largest weights, made ready for an engine, and the threads' work space.
std::uint64_t widest_product_bytes(const ModelConfig& config, int n_thread, Engine engine) {
  const Index widest = std::max({3 * config.d_model, config.d_mlp, vocabulary_chunk});
  return WeightProduct::bytes(config.d_model, widest, engine) +
         static_cast<std::uint64_t>(n_thread) * WeightProduct::thread_bytes(engine);
}

}  // namespace

std::uint64_t model_bytes(const ModelConfig& config) {
  ModelConfig in_memory = config;
  in_memory.pruned_heads.clear();
  return floats(parameter_counts(in_memory).total());
}

std::uint64_t forward_bytes(const ModelConfig& config, Index n_token, bool with_patterns) {
  // resid_pre, resid_mid, resid_post, both normalized streams, z and the attention output; queries,
  // keys and values; hidden units.
  const std::uint64_t columns = 7 * config.d_model + 3 * config.d_model + config.d_mlp;
  return floats(columns * n_token + (with_patterns ? config.n_head * n_token * n_token : 0));
}

std::uint64_t loss_bytes(const ModelConfig& config, Index n_token, int n_thread) {
  return floats(config.d_model * n_token) +
         static_cast<std::uint64_t>(n_thread) * token_loss_thread_bytes(n_token);
}

std::uint64_t pass_product_bytes(const ModelConfig& config, Index n_token, int n_thread,
                                 Engine engine) {
  if (!is_packed(engine)) return 0;
  return widest_product_bytes(config, n_thread, engine) +
         token_loss_product_bytes(config.d_model, n_token, n_thread, engine) +
         static_cast<std::uint64_t>(n_thread) *
             attention_thread_bytes(config.d_head(), n_token, engine);
}

std::uint64_t ablation_bytes(const ModelConfig& config, Index n_token, int n_thread, Engine engine,
                             const VocabularySample& sample) {
  const std::uint64_t d_model = config.d_model;
  const Index n_stacked = stacked_columns(HeadAblation::columns_at_once, n_token);
  // Kept for each layer: three matrices like the stream. Of one layer: the clean normalized stream,
  // queries, keys, values and hidden units before and after the activation.
  const std::uint64_t clean = (3 * config.n_layer + 1) * d_model + 4 * d_model + 2 * config.d_mlp;
  // Of some variants in one layer: normalized stream, queries, keys, values, z and hidden units.
  const std::uint64_t variants = 5 * d_model + config.d_mlp;
  const std::uint64_t of_sample =
      sample.is_whole()
          ? 0
          : VocabularyDraw::bytes(d_model, config.d_vocab, n_token,
                                  n_stacked / std::max<Index>(1, n_token), n_thread, sample);
  return floats(d_model * n_stacked) + floats(clean * n_token) +
         floats(variants * stacked_columns(Forward::columns_at_once, n_token)) +
         loss_bytes(config, n_token, n_thread) +
         loss_difference_bytes(d_model, n_token, n_stacked, n_thread, engine) + of_sample +
         WeightProduct::bytes(config.d_model, 4 * config.d_model + 2 * config.d_mlp, engine) +
         widest_product_bytes(config, n_thread, engine);
}

std::uint64_t gradient_bytes(const ModelConfig& config, Index n_token, int n_thread,
                             Engine engine) {
  // Gradients of the residual stream and z; the normalized stream, queries, keys, values and hidden
  // units, each with its gradient; each thread's sum over the unembedding.
  const std::uint64_t columns = 10 * config.d_model + 2 * config.d_mlp +
                                static_cast<std::uint64_t>(n_thread) * config.d_model;
  return loss_bytes(config, n_token, n_thread) + floats(columns * n_token) +
         static_cast<std::uint64_t>(n_thread) *
             attention_gradient_thread_bytes(config.d_head(), n_token, engine);
}

}  // namespace headscope
