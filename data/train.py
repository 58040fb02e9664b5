"""Train the default model: a GPT-2 of 5 layers, 8 heads, d_model 192, on stories, books and repeated sequences.

    python3 train.py --tokenizer tokenizer --stories stories.txt --books book1.txt book2.txt --steps 9000 --output default-model.h5

Every row of a batch begins with <|endoftext|>: stories back to back, a stretch of a book from the
start of a paragraph, or a random token sequence over and over (its first copy is not scored). Weight matrices
are stepped by Muon (orthogonalised momentum), everything else by Adam. The batch of a step depends on (seed, step) alone;
each worker, a process of one thread, takes its part of the rows, in bfloat16, and they average their gradients.
With --minutes the learning rate follows the clock and not the step, and --checkpoint lets a killed run go on.

Needs PyTorch (2.13), numpy, h5py and tokenizers (0.23).
"""

import argparse
import json
import math
import os
import pathlib
import platform
import tempfile
import time

import h5py
import numpy as np
import torch
import torch.distributed
import torch.multiprocessing
import torch.nn.functional as F
from tokenizers import ByteLevelBPETokenizer

CONFIG = {"n_layer": 5, "n_head": 8, "n_embd": 192, "n_positions": 192, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}
# Shares of the rows until this point of the training.
MIXTURE = [[0.6, {"stories": 0.60, "books": 0.28, "repeats": 0.12}], [1.0, {"stories": 0.58, "books": 0.36, "repeats": 0.06}]]


def waves(length, width, size=0.05):
    """Sines and cosines of the position (Vaswani et al. 2017), where the position embeddings start from."""
    angles = torch.arange(length)[:, None] / length ** (torch.arange(0, width, 2) / width)
    return size * torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class GPT2(torch.nn.Module):
    """GPT-2 with Hugging Face's parameter names; Conv1D weights are [in, out]."""

    def __init__(self, config, seed):
        super().__init__()
        self.config = config
        d, layers = config["n_embd"], config["n_layer"]
        generator = torch.Generator().manual_seed(seed)
        residual = 0.02 / math.sqrt(2 * layers)
        shapes = {"wte.weight": ([config["vocab_size"], d], 0.02), "wpe.weight": ([config["n_positions"], d], 0.02)}
        for i in range(layers):
            shapes |= {
                f"h.{i}.ln_1.weight": ([d], 1), f"h.{i}.ln_1.bias": ([d], 0),
                f"h.{i}.attn.c_attn.weight": ([d, 3 * d], 0.02), f"h.{i}.attn.c_attn.bias": ([3 * d], 0),
                f"h.{i}.attn.c_proj.weight": ([d, d], residual), f"h.{i}.attn.c_proj.bias": ([d], 0),
                f"h.{i}.ln_2.weight": ([d], 1), f"h.{i}.ln_2.bias": ([d], 0),
                f"h.{i}.mlp.c_fc.weight": ([d, 4 * d], 0.02), f"h.{i}.mlp.c_fc.bias": ([4 * d], 0),
                f"h.{i}.mlp.c_proj.weight": ([4 * d, d], residual), f"h.{i}.mlp.c_proj.bias": ([d], 0),
            }
        shapes |= {"ln_f.weight": ([d], 1), "ln_f.bias": ([d], 0)}
        self.values = torch.nn.ParameterDict()
        for name, (shape, scale) in shapes.items():
            value = torch.full(shape, float(scale)) if len(shape) == 1 else torch.randn(shape, generator=generator) * scale
            self.values[name.replace(".", "/")] = torch.nn.Parameter(value)
        self["wpe.weight"].data = waves(config["n_positions"], d)

    def __getitem__(self, name):
        return self.values[name.replace(".", "/")]

    def loss(self, tokens, targets):
        """Mean loss of the targets that are not -1; all but the loss itself in bfloat16."""
        rows, length = tokens.shape
        heads, d = self.config["n_head"], self.config["n_embd"]
        w = {name.replace("/", "."): value.bfloat16() for name, value in self.values.items()}
        future = torch.full((length, length), -torch.inf, dtype=torch.bfloat16).triu(1).expand(rows * heads, -1, -1)

        def norm(x, name):
            return F.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"], self.config["layer_norm_epsilon"])

        def linear(x, name):
            return torch.addmm(w[name + ".bias"], x, w[name + ".weight"])

        x = (F.embedding(tokens, w["wte.weight"]) + w["wpe.weight"][:length]).flatten(0, 1)
        for i in range(self.config["n_layer"]):
            qkv = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").view(rows, length, 3, heads, -1)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).reshape(3, rows * heads, length, -1)
            pattern = torch.softmax(torch.baddbmm(future, q, k.mT, alpha=q.shape[-1] ** -0.5), dim=-1)
            z = (pattern @ v).view(rows, heads, length, -1).transpose(1, 2).reshape(rows * length, d)
            x = x + linear(z, f"h.{i}.attn.c_proj")
            hidden = F.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
            x = x + linear(hidden, f"h.{i}.mlp.c_proj")
        logits = norm(x, "ln_f") @ w["wte.weight"].t()
        return F.cross_entropy(logits.float(), targets.flatten(), ignore_index=-1)


def orthogonalise(matrices, iterations=5):
    """The nearest semi-orthogonal matrices [matrix, row, column], by a quintic Newton-Schulz iteration (Jordan et al. 2024)."""
    x = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    x = (x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(iterations):
        gram = x @ x.mT
        x = 3.4445 * x + torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315) @ x
    return (x if matrices.shape[1] <= matrices.shape[2] else x.mT).float()


class Muon(torch.optim.Optimizer):
    """Nesterov momentum whose update is orthogonalised; c_attn's Q, K and V are three matrices. Equal shapes are done together."""

    def __init__(self, parameters, lr, momentum=0.95, decay=0.01):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            parts = {}
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter)
                state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                update = parameter.grad.lerp(state["momentum"], group["momentum"])
                rows, columns = update.shape
                count = 3 if columns == 3 * rows else 1
                for target, part in zip(parameter.chunk(count, dim=1), update.chunk(count, dim=1)):
                    parts.setdefault(part.shape, []).append((target, part))
            for (rows, columns), pairs in parts.items():
                scale = max(1.0, columns / rows) ** 0.5
                for (target, _), update in zip(pairs, orthogonalise(torch.stack([part for _, part in pairs]))):
                    target.mul_(1 - group["lr"] * group["decay"]).add_(update, alpha=-group["lr"] * scale)


class Rows:
    """Rows drawn from the pieces of a file that `encode` wrote, each row beginning with <|endoftext|>."""

    def __init__(self, path, end_of_text, longest):
        with np.load(path) as file:
            self.tokens, starts = file["tokens"], file["starts"]
        self.starts = starts[starts + longest < len(self.tokens)]
        self.end_of_text = end_of_text

    def draw(self, rng, length):
        start = self.starts[rng.integers(len(self.starts))]
        row = self.tokens[start : start + length].astype(np.int64)
        if row[0] != self.end_of_text:
            row = np.concatenate([[self.end_of_text], row[:-1]])
        return row[:-1], row[1:].copy()


def repeated_row(rng, end_of_text, length):
    """A random sequence again and again, in half of the rows of few different tokens, so that it takes two tokens and more to
    know the place; targets in its first copy are -1, not scored."""
    period = int(rng.integers(5, 70))
    kinds = period if rng.random() < 0.5 else int(rng.integers(3, period + 1))
    sequence = rng.choice(rng.integers(0, end_of_text, kinds), period, replace=kinds < period)
    row = np.concatenate([[end_of_text], np.tile(sequence, length // period + 1)])[:length]
    targets = row[1:].copy()
    targets[:period] = -1
    return row[:-1], targets


def story_pieces(path):
    return [story for story in path.read_text(encoding="utf-8").split("\n\n") if story]


def book_pieces(paths):
    paragraphs = [part.replace("\n", " ").strip() for path in paths for part in path.read_text(encoding="utf-8").split("\n\n")]
    return [part + "\n" for part in paragraphs if part]


def encode(tokenizer, pieces, before, path):
    """Writes the pieces' tokens, each after the tokens `before`, and where each begins, if the file is not there yet."""
    if path.exists():
        return
    parts = []
    for at in range(0, len(pieces), 1000):
        parts += [np.array([*before, *encoded.ids], dtype=np.uint16) for encoded in tokenizer.encode_batch(pieces[at : at + 1000])]
    lengths = np.array([len(part) for part in parts])
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, tokens=np.concatenate(parts), starts=np.cumsum(lengths) - lengths)
    os.replace(partial, path)


def batch(sources, progress, seed, step, rows, end_of_text, length):
    rng = np.random.default_rng([seed, step])
    shares = next(shares for until, shares in MIXTURE if progress < until)
    drawn = []
    for _ in range(rows):
        kind = rng.choice(list(shares), p=list(shares.values()))
        drawn.append(repeated_row(rng, end_of_text, length) if kind == "repeats" else sources[kind].draw(rng, length))
    return tuple(torch.from_numpy(np.stack(part)) for part in zip(*drawn))


def rate(progress):
    """Learning rate as a share of its peak: a short warm-up, level, then down to nothing over the last half."""
    return min(1.0, progress / 0.01 + 0.02, max(0.0, (1 - progress) / 0.5))


def write_model(path, model, tokenizer_folder, provenance):
    with h5py.File(path, "w") as file:
        for name, value in model.config.items():
            file.attrs[name] = value
        for name, value in provenance.items():
            file.attrs[name] = value
        for name, value in model.values.items():
            data = value.detach().numpy().astype(np.float16)
            file.create_dataset(name.replace("/", "."), data=data, compression="gzip", compression_opts=9, shuffle=True)
        text = h5py.string_dtype("utf-8")
        group = file.create_group("tokenizer")
        group.create_dataset("vocab", data=(tokenizer_folder / "vocab.json").read_text(encoding="utf-8"), dtype=text)
        group.create_dataset("merges", data=(tokenizer_folder / "merges.txt").read_text(encoding="utf-8"), dtype=text)


def average_gradients(parameters, workers):
    flat = torch.cat([parameter.grad.flatten() for parameter in parameters])
    torch.distributed.all_reduce(flat)
    at = 0
    for parameter in parameters:
        parameter.grad.copy_(flat[at : at + parameter.numel()].view_as(parameter) / workers)
        at += parameter.numel()


def processor():
    """The processor's name and whether it multiplies matrices of bfloat16 (AMX)."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8") if pathlib.Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":")[1].strip() for line in lines.split("\n") if line.startswith("model name")]
    return (names[0] if names else platform.processor()) + (", AMX bfloat16" if "amx_bf16" in lines else "")


def train(worker, arguments, size, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=worker, world_size=arguments.workers)
    end_of_text = size - 1
    model = GPT2(CONFIG | {"vocab_size": size}, arguments.seed)
    length = CONFIG["n_positions"] + 1
    sources = {name: Rows(folder / f"{name}.npz", end_of_text, length) for name in ("stories", "books")}
    if worker == 0:
        for name, source in sources.items():
            print(f"{name}: {len(source.tokens)} tokens", flush=True)

    matrices = [value for name, value in model.values.items() if value.ndim == 2 and name.startswith("h")]
    others = [value for name, value in model.values.items() if value.ndim == 1 or not name.startswith("h")]
    optimizers = [Muon(matrices, arguments.muon_rate), torch.optim.Adam(others, arguments.adam_rate, betas=(0.9, 0.95), fused=True)]
    peaks = [arguments.muon_rate, arguments.adam_rate]
    step, trained, spent, average = 0, 0, 0.0, None
    if arguments.checkpoint and arguments.checkpoint.exists():
        saved = torch.load(arguments.checkpoint)
        model.load_state_dict(saved["model"])
        for optimizer, state in zip(optimizers, saved["optimizers"]):
            optimizer.load_state_dict(state)
        step, trained, spent, average = saved["step"], saved["trained"], saved["spent"], saved["average"]

    def save_model():
        write_model(arguments.output, model, arguments.tokenizer, {
            "training_steps": step, "training_tokens": trained, "training_loss": average,
            "training_seed": arguments.seed, "training_mixture": json.dumps(MIXTURE),
            "training_books": json.dumps(sorted(path.name for path in arguments.books)),
            "training_processor": processor(), "pytorch_version": str(torch.__version__),
        })

    started = time.monotonic() - spent
    saved_at = spent
    clock = torch.zeros(1, dtype=torch.float64)
    while True:
        clock[0] = time.monotonic() - started
        torch.distributed.broadcast(clock, 0)
        spent = clock.item()
        progress = spent / (60 * arguments.minutes) if arguments.minutes else step / arguments.steps
        if progress >= 1:
            break
        for optimizer, peak in zip(optimizers, peaks):
            for group in optimizer.param_groups:
                group["lr"] = peak * rate(progress)
        tokens, targets = batch(sources, progress, arguments.seed, step, arguments.rows, end_of_text, length)
        loss = model.loss(tokens[worker :: arguments.workers], targets[worker :: arguments.workers])
        loss.backward()
        average_gradients(list(model.values.values()), arguments.workers)
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad(set_to_none=True)
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        step, trained = step + 1, trained + tokens.numel()
        if worker == 0 and step % 50 == 0:
            print(f"step {step}  {100 * progress:.1f} %  loss {average:.3f}  {trained / 1e6:.2f} M tokens  {trained / spent:.0f} a second", flush=True)
        if worker == 0 and arguments.checkpoint and spent - saved_at > 300:
            saved_at = spent
            partial = arguments.checkpoint.with_suffix(".partial")
            states = [optimizer.state_dict() for optimizer in optimizers]
            torch.save({"model": model.state_dict(), "optimizers": states, "step": step, "trained": trained, "spent": spent,
                        "average": average}, partial)
            os.replace(partial, arguments.checkpoint)
            save_model()
    if worker == 0:
        save_model()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True, help="folder with vocab.json and merges.txt")
    parser.add_argument("--stories", type=pathlib.Path, required=True, help="plain text, a blank line between stories")
    parser.add_argument("--books", type=pathlib.Path, nargs="+", required=True, help="plain text, a blank line between paragraphs")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="model file to write (HDF5)")
    parser.add_argument("--steps", type=int, default=9000, help="steps to train for")
    parser.add_argument("--minutes", type=float, help="train for this long instead of --steps")
    parser.add_argument("--checkpoint", type=pathlib.Path, help="saved every five minutes, with the model; read at the start where it exists")
    parser.add_argument("--encoded", type=pathlib.Path, help="folder that keeps the encoded text for a run that goes on")
    parser.add_argument("--rows", type=int, default=16, help="rows of n_ctx tokens in a batch")
    parser.add_argument("--muon-rate", type=float, default=0.02)
    parser.add_argument("--adam-rate", type=float, default=0.004)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread; one per core")
    arguments = parser.parse_args()
    vocabulary, merges = str(arguments.tokenizer / "vocab.json"), str(arguments.tokenizer / "merges.txt")
    tokenizer = ByteLevelBPETokenizer(vocabulary, merges)
    size = len(json.loads(pathlib.Path(vocabulary).read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.encoded or pathlib.Path(temporary)
        encode(tokenizer, story_pieces(arguments.stories), [size - 1], folder / "stories.npz")
        encode(tokenizer, book_pieces(arguments.books), [], folder / "books.npz")
        meeting = folder / "meeting"
        meeting.unlink(missing_ok=True)
        torch.multiprocessing.spawn(train, args=(arguments, size, folder), nprocs=arguments.workers)


if __name__ == "__main__":
    main()
