"""tasks_golden.h5: margins of minimal pairs by Hugging Face, each side run by itself, with heads masked one by one.

The pairs of the first part are lines 1, 71, 141 ... of data/tasks.jsonl, two after two a task of its own, on the default
model. The second part needs ../shared (see README.md): only numbers of BLiMP's pairs are kept, not their text.
"""

import contextlib
import json
from pathlib import Path

import h5py
import numpy
import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel

import golden_file

PROJECT = Path(__file__).resolve().parents[2]
SHARED = PROJECT.parent / "shared/data"
STEP = 70
BLIMP = ["anaphor_gender_agreement", "regular_plural_subject_verb_agreement_1"]


def read_model(path):
    """A flat HDF5 file as Hugging Face's model, in float64."""
    with h5py.File(path) as file:
        names = ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size", "layer_norm_epsilon", "activation_function")
        config = GPT2Config(**{name: getattr(file.attrs[name], "item", lambda name=name: file.attrs[name])() for name in names})
        config._attn_implementation = "eager"
        model = GPT2LMHeadModel(config)
        weights = {f"transformer.{name}": torch.tensor(file[name][()]).double() for name in file if isinstance(file[name], h5py.Dataset)}
    missing = model.double().load_state_dict(weights, strict=False).missing_keys
    assert all(name.endswith(("attn.bias", "masked_bias")) or name == "lm_head.weight" for name in missing), missing
    model.tie_weights()
    return model.eval()


def read_pairs(lines, tokenizer):
    """[(good, bad)] token ids of both sides, with <|endoftext|>."""
    end = tokenizer.token_to_id("<|endoftext|>")
    encode = lambda text: tokenizer.encode(text).ids
    pairs = []
    for pair in map(json.loads, lines):
        if "prefix" in pair:
            begin = [end] + encode(pair["prefix"])
            pairs.append([begin + encode(pair[side]) for side in ("good", "bad")])
        else:
            pairs.append([[end] + encode(pair[f"sentence_{side}"]) for side in ("good", "bad")])
    return pairs


def n_shared(good, bad):
    return next((i for i, (a, b) in enumerate(zip(good, bad)) if a != b), min(len(good), len(bad)))


def log_probability(model, tokens, edit=None, keep_z=None):
    """Of all tokens after the first. `edit(layer, z)` changes z [token, head, d_head]; `keep_z` collects it."""
    shape = (len(tokens), model.config.n_head, -1)

    def hook(layer):
        def change(_, inputs):
            z = inputs[0]
            if edit is not None:
                z = edit(layer, z.reshape(shape).clone()).reshape(z.shape)
            if keep_z is not None:
                keep_z.append(z)
            return (z,)
        return change

    with contextlib.ExitStack() as hooks:
        for layer, block in enumerate(model.transformer.h):
            hooks.callback(block.attn.c_proj.register_forward_pre_hook(hook(layer)).remove)
        logits = model(torch.tensor(tokens)[None]).logits[0]
    return logits.log_softmax(-1)[:-1].gather(1, torch.tensor(tokens)[1:, None]).sum()


def margin(model, pair, edit=None):
    return log_probability(model, pair[0], edit) - log_probability(model, pair[1], edit)


def replaced(layer_head, value):
    def edit(layer, z):
        if layer == layer_head[0]:
            z[:, layer_head[1]] = value
        return z
    return edit


def first_order(model, pair):
    """-sum over tokens of z . d margin / d z, [layer, head]: z of both sides, each by itself."""
    total = torch.zeros(model.config.n_layer, model.config.n_head, dtype=torch.float64)
    for sign, tokens in ((1, pair[0]), (-1, pair[1])):
        z = []
        grads = torch.autograd.grad(sign * log_probability(model, tokens, keep_z=z), z)
        for layer, (values, grad) in enumerate(zip(z, grads)):
            total[layer] -= (values * grad)[0].reshape(len(tokens), model.config.n_head, -1).sum((0, 2)).detach()
    return total


@torch.no_grad()
def direct_effect(model, pair):
    """[layer, head] parts of logit(good) - logit(bad) at the first token that differs. Checks that all parts add up."""
    shared = n_shared(*pair)
    tokens = torch.tensor(pair[0][:shared])
    transformer, z, mlp, embedded = model.transformer, [], [], []
    with contextlib.ExitStack() as hooks:
        hooks.callback(transformer.drop.register_forward_hook(lambda _, __, out: embedded.append(out[0, -1])).remove)
        for block in transformer.h:
            hooks.callback(block.attn.c_proj.register_forward_pre_hook(lambda _, inputs: z.append(inputs[0][0, -1])).remove)
            hooks.callback(block.mlp.register_forward_hook(lambda _, __, out: mlp.append(out[0, -1])).remove)
        resid = []
        hooks.callback(transformer.ln_f.register_forward_pre_hook(lambda _, inputs: resid.append(inputs[0][0, -1])).remove)
        logits = model(tokens[None]).logits[0, -1]
    good, bad = pair[0][shared], pair[1][shared]
    norm = transformer.ln_f
    u = norm.weight * (model.lm_head.weight[good] - model.lm_head.weight[bad])
    direction = (u - u.mean()) / torch.sqrt(resid[0].var(unbiased=False) + norm.eps)
    n_head = model.config.n_head
    parts, others = [], embedded[0] @ direction
    for layer, block in enumerate(transformer.h):
        by_head = z[layer].reshape(n_head, 1, -1) @ block.attn.c_proj.weight.reshape(n_head, -1, len(direction))
        parts.append(by_head[:, 0] @ direction)
        others = others + (block.attn.c_proj.bias + mlp[layer]) @ direction
    parts = torch.stack(parts)
    constant = norm.bias @ (model.lm_head.weight[good] - model.lm_head.weight[bad])
    assert torch.allclose(parts.sum() + others + constant, logits[good] - logits[bad])  # float64 rounds to far less than the default of 1e-5
    return parts


def put_default_model(file):
    model = read_model(PROJECT / "data/default-model.h5")
    tokenizer = ByteLevelBPETokenizer(str(PROJECT / "data/tokenizer/vocab.json"), str(PROJECT / "data/tokenizer/merges.txt"))
    lines = (PROJECT / "data/tasks.jsonl").read_text(encoding="utf-8").splitlines()[::STEP]
    pairs = read_pairs(lines, tokenizer)
    n_layer, n_head = model.config.n_layer, model.config.n_head
    tasks = [pairs[i:i + 2] for i in range(0, len(pairs), 2)]
    margins = numpy.zeros((len(tasks), 2))
    change = numpy.zeros((2, len(tasks), n_layer, n_head))
    for number, task in enumerate(tasks):
        with torch.no_grad():
            margins[number] = [margin(model, pair) for pair in task]
            z = []
            for tokens in (tokens for pair in task for tokens in pair):
                log_probability(model, tokens, keep_z=z)
            by_layer = [torch.cat([values[0, 1:] for values in z[layer::n_layer]]) for layer in range(n_layer)]
            mean_z = torch.stack([values.mean(0).reshape(n_head, -1) for values in by_layer])
            for layer in range(n_layer):
                for head in range(n_head):
                    for which, value in enumerate((0.0, mean_z[layer, head])):
                        ablated = [margin(model, pair, replaced((layer, head), value)) for pair in task]
                        change[which, number, layer, head] = numpy.mean(ablated) - margins[number].mean()
    golden_file.put(file, "default/margin", margins)
    golden_file.put(file, "default/margin_change", change)
    golden_file.put(file, "default/first_order", torch.stack([sum(first_order(model, pair) for pair in task) / 2 for task in tasks]))
    golden_file.put(file, "default/direct_effect", torch.stack([sum(direct_effect(model, pair) for pair in task) / 2 for task in tasks]))


@torch.no_grad()
def put_blimp(file):
    model = read_model(SHARED / "models/english-mini.h5")
    folder = SHARED / "models/english-mini-tokenizer"
    tokenizer = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    for name in BLIMP:
        lines = (SHARED / f"blimp/{name}.jsonl").read_text(encoding="utf-8").splitlines()
        margins = [margin(model, pair) for pair in read_pairs(lines, tokenizer) if pair[0] != pair[1]]
        golden_file.put(file, f"blimp/{name}", numpy.array(margins))


def main():
    with golden_file.create("tasks_golden.h5", 0, "margins of minimal pairs, whole and with heads masked, in float64") as file:
        put_default_model(file)
        put_blimp(file)


if __name__ == "__main__":
    main()
