"""architectures/ and architectures_golden.h5: tiny random models of every architecture as Hugging Face writes them, and its
own results in double precision.

Sizes are such that a transposed, repeated or swapped axis changes a shape or a result; weights are float32 but for two
models, and the reference starts from the rounded ones. Softmax and RMSNorm, which Hugging Face computes in float32
whatever the model's type, are computed in double precision here.
"""

import contextlib
import json
import pathlib
import shutil

import numpy
import torch
from transformers import AutoModelForCausalLM, GPTNeoXConfig, LlamaConfig, MistralConfig, Qwen2Config

import golden_file

SEED = 20261125
FOLDER = pathlib.Path(__file__).parent / "architectures"
LENGTHS = [2, 9, 20]
VOCABULARY = 53
SHAPE = dict(num_hidden_layers=2, hidden_size=24, vocab_size=VOCABULARY, max_position_embeddings=64, bos_token_id=0,
             eos_token_id=0)
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
MODELS = {
    "pythia": GPTNeoXConfig(**SHAPE, num_attention_heads=3, intermediate_size=28, hidden_act="gelu",
                            rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5)),
    "neox_in_turn": GPTNeoXConfig(**SHAPE, num_attention_heads=2, intermediate_size=20, use_parallel_residual=False,
                                  attention_bias=False, tie_word_embeddings=True,
                                  rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "llama": LlamaConfig(**SHAPE, num_attention_heads=6, num_key_value_heads=2, head_dim=8, intermediate_size=28,
                         rope_parameters=LLAMA3),
    "llama_biased": LlamaConfig(**SHAPE, num_attention_heads=4, num_key_value_heads=4, intermediate_size=12,
                                attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                                rope_parameters=dict(rope_type="linear", rope_theta=1000.0, factor=4.0)),
    "mistral": MistralConfig(**SHAPE, num_attention_heads=4, num_key_value_heads=1, head_dim=10, intermediate_size=20,
                             sliding_window=None),
    "qwen2": Qwen2Config(**SHAPE, num_attention_heads=6, num_key_value_heads=3, intermediate_size=16,
                         tie_word_embeddings=True),
}
STORED_AS = {"mistral": torch.bfloat16, "qwen2": torch.float16}
# Configs before transformers 5 have these fields in place of rope_parameters.
OLDER = {
    "neox_in_turn": {"rope_parameters": None, "rotary_pct": 0.5, "rotary_emb_base": 10000},
    "llama_biased": {"rope_parameters": None, "rope_theta": 1000.0, "rope_scaling": {"type": "linear", "factor": 4.0}},
}


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    compute_in_double()
    documents = [torch.tensor(numpy.random.default_rng([SEED, n]).integers(0, VOCABULARY, n)) for n in LENGTHS]
    with golden_file.create("architectures_golden.h5", SEED, "tiny models of every architecture in float64") as file:
        for index, (name, config) in enumerate(MODELS.items()):
            model = random_model(config, index)
            model.to(STORED_AS.get(name, torch.float32)).save_pretrained(FOLDER / name)
            (FOLDER / name / "generation_config.json").unlink(missing_ok=True)
            rewrite_config(FOLDER / name / "config.json", OLDER.get(name, {}))
            # Not `model`: a model changed to 16 bits keeps rotation rates of 16 bits.
            stored = AutoModelForCausalLM.from_pretrained(FOLDER / name, dtype=torch.float64, attn_implementation="eager")
            put_results(file.create_group(name), stored.eval(), documents)


def compute_in_double():
    softmax = torch.nn.functional.softmax
    torch.nn.functional.softmax = lambda x, dim, dtype=None: softmax(x, dim)
    from transformers.models.llama.modeling_llama import LlamaRMSNorm
    from transformers.models.mistral.modeling_mistral import MistralRMSNorm
    from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm
    for norm in (LlamaRMSNorm, MistralRMSNorm, Qwen2RMSNorm):
        norm.forward = lambda self, x: self.weight * x / (x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon).sqrt()


def random_model(config, index):
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    generator = numpy.random.default_rng([SEED, 0, index])
    for name, parameter in model.named_parameters():
        values = generator.standard_normal(tuple(parameter.shape))
        if "norm" in name:
            values = 0.3 * values + (1.0 if name.endswith("weight") else 0.0)
        else:
            values *= 0.2 if name.endswith("bias") else 0.5 if "embed" in name else 0.3
        parameter.data = torch.tensor(values, dtype=torch.float32)
    model.tie_weights()
    return model


def rewrite_config(path, older):
    config = json.loads(path.read_text()) | older
    path.write_text(json.dumps({name: value for name, value in config.items() if value is not None}, indent=1) + "\n")


def parts(model):
    """Layers' attention and output projection, and the final norm."""
    if hasattr(model, "gpt_neox"):
        return [(layer.attention, layer.attention.dense) for layer in model.gpt_neox.layers], model.gpt_neox.final_layer_norm
    return [(layer.self_attn, layer.self_attn.o_proj) for layer in model.model.layers], model.model.norm


def run(model, tokens, edit=None):
    """Logits, and each layer's z [token, head, d_head] and its pattern; edit(layer, z) may change z."""
    n_head = model.config.num_attention_heads
    zs, patterns = [], []

    def before_output(layer):
        def hook(_, inputs):
            z = inputs[0]
            if edit is not None:
                z = edit(layer, z.reshape(len(tokens), n_head, -1).clone()).reshape(z.shape)
            zs.append(z)
            return (z,)
        return hook

    with contextlib.ExitStack() as hooks:
        for layer, (attention, output) in enumerate(parts(model)[0]):
            hooks.callback(output.register_forward_pre_hook(before_output(layer)).remove)
            hooks.callback(attention.register_forward_hook(lambda *call: patterns.append(call[2][1][0])).remove)
        final = []
        norm = parts(model)[1]
        hooks.callback(norm.register_forward_pre_hook(lambda _, inputs: final.append(inputs[0][0])).remove)
        logits = model(tokens[None]).logits[0]
    return logits, zs, patterns, final[0]


def losses(logits, tokens):
    return torch.nn.functional.cross_entropy(logits[:-1], tokens[1:], reduction="none")


def put_results(group, model, documents):
    n_layer, n_head = model.config.num_hidden_layers, model.config.num_attention_heads
    by_head = lambda z, tokens: z.reshape(len(tokens), n_head, -1)
    all_z = [[] for _ in range(n_layer)]
    for index, tokens in enumerate(documents):
        logits, zs, patterns, final = run(model, tokens)
        nll = losses(logits, tokens)
        gradients = torch.autograd.grad(nll.mean(), zs)
        document = group.create_group(f"documents/{index}")
        golden_file.put(document, "tokens", tokens)
        golden_file.put(document, "nll", nll)
        golden_file.put(document, "pattern", torch.stack(patterns))
        golden_file.put(document, "z", torch.stack([z[0] for z in zs]))
        golden_file.put(document, "grad_z", torch.stack([g[0] for g in gradients]))
        golden_file.put(document, "direct_effect", direct_effects(model, zs, final, tokens))
        for layer, z in enumerate(zs):
            all_z[layer].append(by_head(z.detach(), tokens))
    mean_z = torch.stack([torch.cat(z).mean(0) for z in all_z])  # [layer, head, d_head]
    golden_file.put(group, "mean_z", mean_z)
    with torch.no_grad():
        for name, value in (("zero", torch.zeros_like(mean_z)), ("mean", mean_z)):
            golden_file.put(group, f"loss_{name}", torch.tensor(
                [[[losses(run(model, tokens, replaced(layer, head, value))[0], tokens).mean().item()
                   for tokens in documents] for head in range(n_head)] for layer in range(n_layer)],
                dtype=torch.float64))


def replaced(layer, head, value):
    def edit(at, z):
        if at == layer:
            z[:, head] = value[layer, head]
        return z
    return edit


@torch.no_grad()
def direct_effects(model, zs, final, tokens):
    """Next token's logit minus the vocabulary's mean logit, by head: [layer, head, token]."""
    layers, norm = parts(model)
    n_head = model.config.num_attention_heads
    centred = isinstance(norm, torch.nn.LayerNorm)
    epsilon = norm.eps if centred else norm.variance_epsilon
    centre = (lambda x: x - x.mean(-1, keepdim=True)) if centred else (lambda x: x)
    scale = (centre(final).pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
    result = []
    for (_, output), z in zip(layers, zs):
        d_head = z.shape[-1] // n_head
        for head in range(n_head):
            alone = torch.zeros_like(z)
            alone[..., head * d_head:(head + 1) * d_head] = z[..., head * d_head:(head + 1) * d_head]
            written = alone[0] @ output.weight.T
            logits = (norm.weight * centre(written) / scale) @ model.get_output_embeddings().weight.T
            result.append(logits[:-1].gather(1, tokens[1:, None])[:, 0] - logits[:-1].mean(-1))
    return torch.stack(result).reshape(len(zs), n_head, -1)


if __name__ == "__main__":
    main()
