#include "headscope/model.hpp"
#include "model/architecture/architecture.hpp"

namespace headscope {

/// GPT-NeoX and Pythia: Biderman et al. 2023, "Pythia: A Suite for Analyzing Large Language
/// Models".
const Architecture& gpt_neox() {
  using enum Axis;
  using enum Component;
  using enum Presence;
  using C = ModelConfig;
  using L = LayerWeights;
  static const Architecture architecture{
      .title = "GPT-NeoX",
      .defaults = {.architecture = "gpt_neox",
                   .activation = Activation::gelu,
                   .tied_unembedding = false,
                   .positions = PositionKind::rotary,
                   .rotary = {.share = 0.25},
                   .parallel_residual = true},
      .fields = common_fields_and({{"layer_norm_eps", &C::layer_norm_epsilon},
                                   {"use_parallel_residual", &C::parallel_residual},
                                   {"rotary_pct", &Rotary::share},
                                   {"rotary_emb_base", &Rotary::theta}}),
      .tensors = with_layer_prefix(
          "gpt_neox.layers.{i}.",
          {{"gpt_neox.embed_in.weight",
            {d_vocab, d_model},
            {token_embedding},
            complete,
            &Model::W_E},
           {"input_layernorm.weight", {d_model}, {layer_norm}, required, &L::ln_1_gain},
           {"input_layernorm.bias", {d_model}, {layer_norm}, required, &L::ln_1_bias},
           {"attention.query_key_value.weight",
            {d_qkv_by_head, d_model},
            {attention_q, attention_k, attention_v},
            required,
            &L::W_QKV},
           {"attention.query_key_value.bias",
            {d_qkv_by_head},
            {attention_bias},
            required,
            &L::b_QKV,
            &C::qkv_bias},
           {"attention.dense.weight", {d_model, d_z}, {attention_o}, required, &L::W_O},
           {"attention.dense.bias",
            {d_model},
            {attention_bias},
            required,
            &L::b_O,
            &C::output_bias},
           {"post_attention_layernorm.weight", {d_model}, {layer_norm}, complete, &L::ln_2_gain},
           {"post_attention_layernorm.bias", {d_model}, {layer_norm}, complete, &L::ln_2_bias},
           {"mlp.dense_h_to_4h.weight", {d_mlp, d_model}, {mlp}, complete, &L::W_in},
           {"mlp.dense_h_to_4h.bias", {d_mlp}, {mlp}, complete, &L::b_in},
           {"mlp.dense_4h_to_h.weight", {d_model, d_mlp}, {mlp}, complete, &L::W_out},
           {"mlp.dense_4h_to_h.bias", {d_model}, {mlp}, complete, &L::b_out},
           {"gpt_neox.final_layer_norm.weight",
            {d_model},
            {layer_norm},
            complete,
            &Model::ln_f_gain},
           {"gpt_neox.final_layer_norm.bias", {d_model}, {layer_norm}, complete, &Model::ln_f_bias},
           {"embed_out.weight", {d_vocab, d_model}, {lm_head}, optional, &Model::W_U},
           {"embed_out.bias", {d_vocab}, {lm_head}, optional, &Model::b_U}}),
      .buffers = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
  };
  return architecture;
}

}  // namespace headscope
