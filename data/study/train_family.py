"""Train one small GPT-2 of the study: d_model 128, 4 layers, any number of heads, on rows of 64 tokens of stories.

    python3 train_family.py --stories stories.npy --n-head 8 --seed 0 --steps 500 --output models/h8-s0

Every model sees the same rows in the same order and starts from the same weights as the others of its seed, whatever the
number of heads. AdamW, without clipping; matrix products in bfloat16, weights, gradients and attention in float32. Writes
--output/PERCENT.h5 (the model after this share of the training) and --output/record.h5: `loss` and `gradient_norm` (step). A killed
training goes on from --output/checkpoint.pt.

Needs PyTorch (2.13), numpy and h5py.
"""

import argparse
import math
import os
import pathlib
import time

import h5py
import numpy as np
import torch
import torch.nn.functional as F

CONFIG = {"n_layer": 4, "n_embd": 128, "n_positions": 64, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}
PEAK_RATE, WARM_UP, DECAY = 3e-3, 0.05, 0.01
DATA_SEED = 0


def initial_weights(vocab_size, seed):
    """GPT-2's initialisation by Hugging Face's names; matrices are [in, out]."""
    d, layers = CONFIG["n_embd"], CONFIG["n_layer"]
    generator = torch.Generator().manual_seed(seed)
    residual = 0.02 / math.sqrt(2 * layers)
    weights = {}

    def add(name, *shape, scale=0.02):
        weights[name] = torch.randn(shape, generator=generator) * scale

    def add_linear(name, width_in, width_out, scale=0.02):
        add(name + ".weight", width_in, width_out, scale=scale)
        weights[name + ".bias"] = torch.zeros(width_out)

    def add_norm(name):
        weights[name + ".weight"], weights[name + ".bias"] = torch.ones(d), torch.zeros(d)

    add("wte.weight", vocab_size, d)
    add("wpe.weight", CONFIG["n_positions"], d)
    for i in range(layers):
        add_norm(f"h.{i}.ln_1")
        add_linear(f"h.{i}.attn.c_attn", d, 3 * d)
        add_linear(f"h.{i}.attn.c_proj", d, d, residual)
        add_norm(f"h.{i}.ln_2")
        add_linear(f"h.{i}.mlp.c_fc", d, 4 * d)
        add_linear(f"h.{i}.mlp.c_proj", 4 * d, d, residual)
    add_norm("ln_f")
    return weights


def make_heads_equal(weights, n_head):
    """Gives every head of a layer the first head's W_Q, W_K, W_V and W_O."""
    for i in range(CONFIG["n_layer"]):
        c_attn, c_proj = weights[f"h.{i}.attn.c_attn.weight"], weights[f"h.{i}.attn.c_proj.weight"]
        d = c_proj.shape[0]
        by_head = c_attn.view(d, 3, n_head, -1)
        by_head[:] = by_head[:, :, :1].clone()
        rows = c_proj.view(n_head, -1, d)
        rows[:] = rows[:1].clone()


def loss_of(weights, n_head, tokens, targets):
    """Mean loss of the targets, nats. tokens, targets [row, position]. Attention (much faster so) and the loss are float32, the rest bfloat16."""
    w = {name: value.bfloat16() for name, value in weights.items()}
    rows, length = tokens.shape
    d = CONFIG["n_embd"]

    def norm(x, name):
        return F.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"], CONFIG["layer_norm_epsilon"])

    def linear(x, name):
        return torch.addmm(w[name + ".bias"], x, w[name + ".weight"])

    x = (F.embedding(tokens, w["wte.weight"]) + w["wpe.weight"][:length]).flatten(0, 1)
    for i in range(CONFIG["n_layer"]):
        qkv = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").view(rows, length, 3, n_head, -1)
        z = F.scaled_dot_product_attention(*qkv.permute(2, 0, 3, 1, 4).float(), is_causal=True)
        x = x + linear(z.bfloat16().transpose(1, 2).reshape(rows * length, d), f"h.{i}.attn.c_proj")
        hidden = F.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + linear(hidden, f"h.{i}.mlp.c_proj")
    logits = norm(x, "ln_f") @ w["wte.weight"].t()
    return F.cross_entropy(logits.float(), targets.flatten())


def batch(stories, starts, step, rows):
    """Rows that begin with a story's <|endoftext|>: tokens, targets [row, position]. Depends on the step alone."""
    rng = np.random.default_rng([DATA_SEED, step])
    first = starts[rng.integers(len(starts), size=rows)]
    drawn = torch.from_numpy(stories[first[:, None] + np.arange(CONFIG["n_positions"] + 1)].astype(np.int64))
    return drawn[:, :-1], drawn[:, 1:]


def rate(progress):
    """Learning rate as a share of its peak: up in a line, then down to nothing along a cosine."""
    if progress < WARM_UP:
        return progress / WARM_UP
    return 0.5 + 0.5 * math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP))


def write_model(path, weights, n_head, tokenizer, attributes):
    """Float32, with Hugging Face's names and the tokenizer inside."""
    with h5py.File(path.with_suffix(".partial"), "w") as file:
        vocab_size = len(weights["wte.weight"])
        file.attrs.update(CONFIG | {"n_head": n_head, "vocab_size": vocab_size} | attributes)
        for name, value in weights.items():
            file[name] = value.detach().numpy()
        for name, source in (("vocab", "vocab.json"), ("merges", "merges.txt")):
            text = (tokenizer / source).read_text(encoding="utf-8")
            file.create_dataset(f"tokenizer/{name}", data=text, dtype=h5py.string_dtype("utf-8"))
    os.replace(path.with_suffix(".partial"), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stories", type=pathlib.Path, required=True, help="token ids of the stories, <|endoftext|> before each")
    parser.add_argument("--tokenizer", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "tokenizer")
    parser.add_argument("--n-head", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True, help="seed of the first weights")
    parser.add_argument("--equal-heads", action="store_true", help="all heads of a layer start equal")
    parser.add_argument("--steps", type=int, required=True, help="of --rows rows")
    parser.add_argument("--rows", type=int, default=8, help="rows of 64 tokens in a step")
    parser.add_argument("--save-at", type=int, nargs="+", default=[100], help="percents of the training")
    parser.add_argument("--save-every", type=int, default=100, help="steps between checkpoints")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    stories = np.load(arguments.stories)
    end_of_text = int(stories[0])
    starts = np.flatnonzero(stories == end_of_text)
    starts = starts[starts + CONFIG["n_positions"] < len(stories)]

    weights = initial_weights(end_of_text + 1, arguments.seed)
    if arguments.equal_heads:
        make_heads_equal(weights, arguments.n_head)
    for value in weights.values():
        value.requires_grad_()
    optimizer = torch.optim.AdamW(weights.values(), PEAK_RATE, betas=(0.9, 0.95), weight_decay=DECAY, fused=True)
    record = {"loss": np.zeros(arguments.steps), "gradient_norm": np.zeros(arguments.steps)}
    step, spent = 0, 0.0
    arguments.output.mkdir(parents=True, exist_ok=True)
    checkpoint = arguments.output / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=False)
        with torch.no_grad():
            for name, value in weights.items():
                value.copy_(saved["weights"][name])
        optimizer.load_state_dict(saved["optimizer"])
        step, spent, record = saved["step"], saved["spent"], saved["record"]

    started = time.process_time() - spent
    save_at = {round(percent * arguments.steps / 100): percent for percent in arguments.save_at}
    while True:
        spent = time.process_time() - started
        if step in save_at:
            write_model(arguments.output / f"{save_at[step]:03d}.h5", weights, arguments.n_head, arguments.tokenizer, {
                "training_steps": step, "training_tokens": step * arguments.rows * CONFIG["n_positions"], "training_seed": arguments.seed,
                "equal_heads": int(arguments.equal_heads)})
        if step == arguments.steps:
            break
        if step % arguments.save_every == 0 and step:
            print(f"step {step}  loss {record['loss'][step - 100:step].mean():.4f}  {spent:.0f} s", flush=True)
            torch.save({"weights": weights, "optimizer": optimizer.state_dict(), "step": step, "spent": spent, "record": record},
                       checkpoint.with_suffix(".partial"))
            os.replace(checkpoint.with_suffix(".partial"), checkpoint)
        for group in optimizer.param_groups:
            group["lr"] = PEAK_RATE * rate(step / arguments.steps)
        loss = loss_of(weights, arguments.n_head, *batch(stories, starts, step, arguments.rows))
        loss.backward()
        record["loss"][step] = loss.item()
        record["gradient_norm"][step] = torch.nn.utils.get_total_norm([value.grad for value in weights.values()]).item()
        optimizer.step()
        optimizer.zero_grad()
        step += 1

    with h5py.File(arguments.output / "record.partial", "w") as file:
        for name, value in record.items():
            file[name] = value
        file.attrs.update({"n_head": arguments.n_head, "seed": arguments.seed, "equal_heads": int(arguments.equal_heads), "steps": step,
                           "tokens": step * arguments.rows * CONFIG["n_positions"], "seconds": spent, "pytorch_version": str(torch.__version__)})
    os.replace(arguments.output / "record.partial", arguments.output / "record.h5")
    checkpoint.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
