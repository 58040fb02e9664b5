#include "headscope/model.hpp"
#include "model/architecture/architecture.hpp"

namespace headscope {

/// Llama, and SmolLM2 and TinyLlama, which are built like it: Touvron et al. 2023, "LLaMA: Open and
/// Efficient Foundation Language Models".
const Architecture& llama() {
  using enum Axis;
  using enum Component;
  using enum Presence;
  using C = ModelConfig;
  using L = LayerWeights;
  static const Architecture architecture{
      .title = "Llama",
      .defaults = {.architecture = "llama",
                   .layer_norm_epsilon = 1e-6,
                   .activation = Activation::silu,
                   .tied_unembedding = false,
                   .norm = NormKind::rms_norm,
                   .positions = PositionKind::rotary,
                   .gated_mlp = true,
                   .qkv_bias = false,
                   .output_bias = false,
                   .mlp_bias = false},
      .fields = common_fields_and({{"num_key_value_heads", &C::n_kv_head},
                                   {"head_dim", &C::head_width},
                                   {"rms_norm_eps", &C::layer_norm_epsilon},
                                   {"mlp_bias", &C::mlp_bias},
                                   {"rope_theta", &Rotary::theta},
                                   {"partial_rotary_factor", &Rotary::share}}),
      .tensors = with_layer_prefix(
          "model.layers.{i}.",
          {{"model.embed_tokens.weight",
            {d_vocab, d_model},
            {token_embedding},
            complete,
            &Model::W_E},
           {"input_layernorm.weight", {d_model}, {layer_norm}, required, &L::ln_1_gain},
           {"self_attn.q_proj.weight", {d_q, d_model}, {attention_q}, required, &L::W_QKV},
           {"self_attn.k_proj.weight", {d_k, d_model}, {attention_k}, required, &L::W_QKV},
           {"self_attn.v_proj.weight", {d_v, d_model}, {attention_v}, required, &L::W_QKV},
           {"self_attn.q_proj.bias", {d_q}, {attention_bias}, required, &L::b_QKV, &C::qkv_bias},
           {"self_attn.k_proj.bias", {d_k}, {attention_bias}, required, &L::b_QKV, &C::qkv_bias},
           {"self_attn.v_proj.bias", {d_v}, {attention_bias}, required, &L::b_QKV, &C::qkv_bias},
           {"self_attn.o_proj.weight", {d_model, d_z}, {attention_o}, required, &L::W_O},
           {"self_attn.o_proj.bias",
            {d_model},
            {attention_bias},
            required,
            &L::b_O,
            &C::output_bias},
           {"post_attention_layernorm.weight", {d_model}, {layer_norm}, complete, &L::ln_2_gain},
           {"mlp.gate_proj.weight", {d_gate, d_model}, {mlp}, complete, &L::W_in},
           {"mlp.up_proj.weight", {d_up, d_model}, {mlp}, complete, &L::W_in},
           {"mlp.gate_proj.bias", {d_gate}, {mlp}, complete, &L::b_in, &C::mlp_bias},
           {"mlp.up_proj.bias", {d_up}, {mlp}, complete, &L::b_in, &C::mlp_bias},
           {"mlp.down_proj.weight", {d_model, d_mlp}, {mlp}, complete, &L::W_out},
           {"mlp.down_proj.bias", {d_model}, {mlp}, complete, &L::b_out, &C::mlp_bias},
           {"model.norm.weight", {d_model}, {layer_norm}, complete, &Model::ln_f_gain},
           {"lm_head.weight", {d_vocab, d_model}, {lm_head}, optional, &Model::W_U},
           {"lm_head.bias", {d_vocab}, {lm_head}, optional, &Model::b_U}}),
      .buffers = {".rotary_emb.inv_freq"},
  };
  return architecture;
}

}  // namespace headscope
