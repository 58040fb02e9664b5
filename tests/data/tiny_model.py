"""The tiny GPT-2 of every model file and reference here: its weights, its
documents, and every step of Hugging Face's forward pass.

All weights are float32, so a double-precision reference and a float32 loader
start from the same numbers. None is zero or one, layer-norm weights and biases
included, and attention is far from uniform.
"""

import numpy
import torch
from transformers import GPT2Config, GPT2LMHeadModel

SEED = 20240607
SHAPE = dict(n_layer=2, n_head=3, n_embd=18, n_positions=32, vocab_size=61)


def config(**changes):
    return GPT2Config(**{**SHAPE, "bos_token_id": 60, "eos_token_id": 60,
                         "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, **changes})


def random_weights():
    """All tensors by state-dict name, lm_head.weight and lm_head.bias included."""
    generator = numpy.random.default_rng(SEED)
    weights = {}
    for name, shape in [(n, p.shape) for n, p in GPT2LMHeadModel(config()).named_parameters()] + [
            ("lm_head.weight", (SHAPE["vocab_size"], SHAPE["n_embd"])),
            ("lm_head.bias", (SHAPE["vocab_size"],))]:
        values = generator.standard_normal(tuple(shape))
        if ".ln_" in name:
            values = 0.3 * values + (1.0 if name.endswith("weight") else 0.0)
        else:
            values *= 0.2 if name.endswith("bias") else 0.5 if ".wte" in name else 0.25
        weights[name] = torch.tensor(values, dtype=torch.float32)
    return weights


def model(dtype=torch.float32, **changes):
    """Hugging Face's GPT2LMHeadModel holding `random_weights`.

    `changes` go into the config; tie_word_embeddings=False adds lm_head.weight.
    """
    weights = random_weights()
    result = GPT2LMHeadModel._from_config(config(**changes), attn_implementation="eager")
    if result.config.tie_word_embeddings:
        weights["lm_head.weight"] = weights["transformer.wte.weight"]
    del weights["lm_head.bias"]  # Hugging Face's GPT-2 has none
    result.load_state_dict(weights)
    return result.to(dtype).eval()


PRUNED_HEADS = {0: [1], 1: [0, 2]}


def pruned_model(dtype=torch.float32):
    """`model` after Hugging Face's prune_heads, which removes rows and columns."""
    result = model()
    result.prune_heads(PRUNED_HEADS)  # makes float32 layers
    return result.to(dtype)


def documents(lengths, seed):
    """Random token ids, one array per length."""
    generator = numpy.random.default_rng(seed)
    return [torch.tensor(generator.integers(0, SHAPE["vocab_size"], n)) for n in lengths]


def split_heads(x):
    """[token, n_head * d_head] -> [head, token, d_head]."""
    return x.reshape(x.shape[0], SHAPE["n_head"], -1).transpose(0, 1)


def token_losses(logits, tokens):
    """Negative log likelihood in nats of tokens 1..T-1, predicted from positions 0..T-2."""
    return torch.nn.functional.cross_entropy(logits[:-1], tokens[1:], reduction="none")


@torch.no_grad()
def ladder(gpt2, tokens):
    """All values that Hugging Face computes for one document, by name; per-layer values stacked over layers.

    Values come from Hugging Face's modules, except `scores`, `z` and `head_output`, which the modules do
    not return; these are computed here and checked against the values computed from them.
    """
    seen = {}

    def watch(module, name, of_input=False):
        def hook(_, inputs, output):
            value = inputs[0] if of_input else output
            value = value[0] if isinstance(value, tuple) else value
            seen.setdefault(name, []).append(value[0].clone())
        return module.register_forward_hook(hook)

    body = gpt2.transformer
    hooks = [watch(body.ln_f, "resid_final", of_input=True), watch(body.ln_f, "ln_f")]
    for block in body.h:
        hooks += [watch(block.ln_1, "resid_pre", of_input=True), watch(block.ln_1, "ln_1"),
                  watch(block.attn.c_attn, "qkv"), watch(block.attn.c_proj, "z", of_input=True),
                  watch(block.attn.c_proj, "attention_output"),
                  watch(block.ln_2, "resid_mid", of_input=True), watch(block.ln_2, "ln_2"),
                  watch(block.mlp.act, "mlp_pre", of_input=True), watch(block.mlp.act, "mlp_post"),
                  watch(block.mlp, "mlp_output")]
    output = gpt2(tokens[None], output_attentions=True)
    for hook in hooks:
        hook.remove()

    result = {name: torch.stack(values) for name, values in seen.items() if name not in ("qkv", "z")}
    result["ln_f"], result["resid_final"] = result["ln_f"][0], result["resid_final"][0]
    for index, name in enumerate("qkv"):
        result[name] = torch.stack([split_heads(x.chunk(3, dim=-1)[index]) for x in seen["qkv"]])
    result["pattern"] = torch.stack([a[0] for a in output.attentions])
    result["z"] = torch.stack([split_heads(x) for x in seen["z"]])
    result["logits"] = output.logits[0]

    future = torch.ones(len(tokens), len(tokens), dtype=torch.bool).triu(1)
    scores = result["q"] @ result["k"].transpose(-1, -2) / result["q"].shape[-1] ** 0.5
    if gpt2.config.scale_attn_by_inverse_layer_idx:
        scores /= torch.arange(1, len(scores) + 1)[:, None, None, None]
    result["scores"] = scores.masked_fill(future, -torch.inf)
    W_O = torch.stack([b.attn.c_proj.weight.reshape(SHAPE["n_head"], -1, SHAPE["n_embd"]) for b in body.h])
    b_O = torch.stack([b.attn.c_proj.bias for b in body.h])
    result["head_output"] = result["z"] @ W_O

    torch.testing.assert_close(result["scores"].softmax(-1), result["pattern"])
    torch.testing.assert_close(result["pattern"] @ result["v"], result["z"])
    torch.testing.assert_close(result["head_output"].sum(1) + b_O[:, None], result["attention_output"])
    return result
