#include "headscope/model.hpp"
#include "model/architecture/architecture.hpp"

namespace headscope {

/// Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
const Architecture& gpt2() {
  using enum Axis;
  using enum Component;
  using enum Presence;
  using C = ModelConfig;
  using L = LayerWeights;
  static const Architecture architecture{
      .title = "GPT-2",
      .fields = {{"n_layer", &C::n_layer, true},
                 {"n_head", &C::n_head, true},
                 {"n_embd", &C::d_model, true},
                 {"n_inner", &C::d_mlp},
                 {"n_positions", &C::n_ctx, true},
                 {"n_ctx", &C::n_ctx},
                 {"vocab_size", &C::d_vocab, true},
                 {"layer_norm_epsilon", &C::layer_norm_epsilon},
                 {"activation_function", &C::activation},
                 {"tie_word_embeddings", &C::tied_unembedding},
                 {"scale_attn_weights", &C::scale_by_width},
                 {"scale_attn_by_inverse_layer_idx", &C::scale_by_inverse_layer}},
      .tensors =
          {
              {"wte.weight", {d_vocab, d_model}, {token_embedding}, complete, &Model::W_E},
              {"wpe.weight", {n_ctx, d_model}, {position_embedding}, required, &Model::W_P},
              {"h.{i}.ln_1.weight", {d_model}, {layer_norm}, required, &L::ln_1_gain},
              {"h.{i}.ln_1.bias", {d_model}, {layer_norm}, required, &L::ln_1_bias},
              {"h.{i}.attn.c_attn.weight",
               {d_model, d_qkv},
               {attention_q, attention_k, attention_v},
               required,
               &L::W_QKV},
              {"h.{i}.attn.c_attn.bias", {d_qkv}, {attention_bias}, required, &L::b_QKV},
              {"h.{i}.attn.c_proj.weight", {d_z, d_model}, {attention_o}, required, &L::W_O},
              {"h.{i}.attn.c_proj.bias", {d_model}, {attention_bias}, required, &L::b_O},
              {"h.{i}.ln_2.weight", {d_model}, {layer_norm}, complete, &L::ln_2_gain},
              {"h.{i}.ln_2.bias", {d_model}, {layer_norm}, complete, &L::ln_2_bias},
              {"h.{i}.mlp.c_fc.weight", {d_model, d_mlp}, {mlp}, complete, &L::W_in},
              {"h.{i}.mlp.c_fc.bias", {d_mlp}, {mlp}, complete, &L::b_in},
              {"h.{i}.mlp.c_proj.weight", {d_mlp, d_model}, {mlp}, complete, &L::W_out},
              {"h.{i}.mlp.c_proj.bias", {d_model}, {mlp}, complete, &L::b_out},
              {"ln_f.weight", {d_model}, {layer_norm}, complete, &Model::ln_f_gain},
              {"ln_f.bias", {d_model}, {layer_norm}, complete, &Model::ln_f_bias},
              {"lm_head.weight", {d_vocab, d_model}, {lm_head}, optional, &Model::W_U},
              {"lm_head.bias", {d_vocab}, {lm_head}, optional, &Model::b_U},
          },
      .buffers = {".attn.bias", ".attn.masked_bias"},
      .linear = false,
      .scaled_residual = true,
  };
  return architecture;
}

}  // namespace headscope
