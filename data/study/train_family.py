"""Train one small GPT-2 of the study: d_model 128, 4 layers, context 128, any number of heads, on rows of stories.

    python3 train_family.py --stories stories.npy --n-head 8 --seed 0 --rate 4e-3 --steps 3000 --output models/h8-s0

The seed decides the first weights and the order of the stories, both the same for every number of heads. AdamW in float32, gradient
clipped at norm 1. Writes --output/PERCENT.h5 (the model after this share of the training) and --output/record.h5: `loss` and
`gradient_norm` (step; before clipping) and `head_distance` (percent). A killed training goes on from --output/checkpoint.pt.

On a processor, attention, GELU and cross-entropy are those of kernels.cpp, which is compiled here; elsewhere PyTorch's.

Needs PyTorch (2.13), numpy and h5py, and a C++ compiler.
"""

import argparse
import ctypes
import functools
import hashlib
import math
import os
import pathlib
import platform
import subprocess
import tempfile
import time

import h5py
import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = {"n_layer": 4, "n_embd": 128, "n_positions": 128, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}
WARM_UP, WARM_UP_STEPS, DECAY, CLIP = 0.05, 60, 0.01, 1.0  # warm-up: share of the steps, and at least so many


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


def make_heads_equal(weights, n_head, noise, seed):
    """Gives every head of a layer the first head's W_Q, W_K, W_V and W_O, plus normal noise of `noise` standard deviations of the matrix."""
    generator = torch.Generator().manual_seed(1_000_000 + seed)
    for i in range(CONFIG["n_layer"]):
        c_attn, c_proj = weights[f"h.{i}.attn.c_attn.weight"], weights[f"h.{i}.attn.c_proj.weight"]
        d = c_proj.shape[0]
        by_head = c_attn.view(d, 3, n_head, -1)
        by_head[:] = by_head[:, :, :1].clone()
        rows = c_proj.view(n_head, -1, d)
        rows[:] = rows[:1].clone()
        if noise:
            for matrix in (c_attn, c_proj):
                matrix += noise * matrix.std() * torch.randn(matrix.shape, generator=generator)


def head_distance(weights, n_head):
    """How far the heads of a layer lie apart in W_Q, W_K, W_V and W_O: √(Σ|w_h − mean of w|² / Σ|w_h|²). 0: equal; √(1 − 1/h): unrelated."""
    apart = total = 0.0
    for i in range(CONFIG["n_layer"]):
        c_attn, c_proj = (weights[f"h.{i}.attn.{name}.weight"].detach().cpu().double() for name in ("c_attn", "c_proj"))
        d = len(c_proj)
        w = torch.cat([c_attn.reshape(d, 3, n_head, -1).permute(2, 0, 1, 3).reshape(n_head, -1), c_proj.reshape(n_head, -1)], dim=1)
        apart += float(((w - w.mean(dim=0)) ** 2).sum())
        total += float((w**2).sum())
    return math.sqrt(apart / total)


def heads_are_equal(weights, n_head):
    """Whether the heads of every layer are equal in every bit."""
    for i in range(CONFIG["n_layer"]):
        c_attn, c_proj = weights[f"h.{i}.attn.c_attn.weight"], weights[f"h.{i}.attn.c_proj.weight"]
        by_head, rows = c_attn.view(len(c_proj), 3, n_head, -1), c_proj.view(n_head, -1, len(c_proj))
        if not (torch.equal(by_head, by_head[:, :, :1].expand_as(by_head)) and torch.equal(rows, rows[:1].expand_as(rows))):
            return False
    return True


@functools.cache
def kernels():
    """kernels.cpp, compiled for this processor once per user and kept among the temporary files."""
    source = HERE / "kernels.cpp"
    described = pathlib.Path("/proc/cpuinfo")
    processor = {line for line in described.read_text(encoding="utf-8").split("\n") if line.startswith(("model name", "flags"))} if described.exists() else set()
    digest = hashlib.sha256(source.read_bytes() + repr((platform.machine(), sorted(processor))).encode()).hexdigest()
    library = pathlib.Path(tempfile.gettempdir()) / f"headscope-study-{os.getuid()}-{digest[:16]}.so"
    if not library.exists():
        partial = library.with_suffix(f".{os.getpid()}")
        subprocess.run(["c++", "-O3", "-march=native", "-shared", "-fPIC", "-o", partial, source], check=True)
        os.replace(partial, library)
    loaded = ctypes.CDLL(str(library))
    loaded.cross_entropy.restype = ctypes.c_double
    return loaded


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class Attention(torch.autograd.Function):
    """z [row, position, feature] of qkv [row, position, 3 * feature]."""

    @staticmethod
    def forward(context, qkv, n_head):
        rows, length, width = qkv.shape
        z, largest, total = qkv.new_empty(rows, length, width // 3), qkv.new_empty(rows, n_head, length), qkv.new_empty(rows, n_head, length)
        context.shape = rows, length, n_head, width // 3 // n_head
        kernels().attention(pointer(qkv), *context.shape, pointer(z), pointer(largest), pointer(total))
        context.save_for_backward(qkv, z, largest, total)
        return z

    @staticmethod
    def backward(context, gradient):
        qkv, z, largest, total = context.saved_tensors
        gradient, output = gradient.contiguous(), torch.empty_like(qkv)
        kernels().attention_gradient(pointer(qkv), pointer(z), pointer(gradient), pointer(largest), pointer(total), *context.shape, pointer(output))
        return output, None


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        output = torch.empty_like(x)
        kernels().gelu(pointer(x), ctypes.c_int64(x.numel()), pointer(output))
        return output

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        gradient, output = gradient.contiguous(), torch.empty_like(x)
        kernels().gelu_gradient(pointer(x), pointer(gradient), ctypes.c_int64(x.numel()), pointer(output))
        return output


class Prediction(torch.autograd.Function):
    """Mean cross-entropy of x [token, feature] @ embedding.T, nats. The gradients are made on the way, a chunk of tokens at a time."""

    CHUNK = 256

    @staticmethod
    def forward(context, x, embedding, targets):
        dx, de, loss = torch.empty_like(x), torch.zeros_like(embedding), 0.0
        for at in range(0, len(x), Prediction.CHUNK):
            part, wanted = x[at : at + Prediction.CHUNK], targets[at : at + Prediction.CHUNK]
            logits = part @ embedding.t()
            loss += kernels().cross_entropy(pointer(logits), pointer(wanted), len(part), len(embedding), ctypes.c_float(1 / len(x)))
            torch.mm(logits, embedding, out=dx[at : at + Prediction.CHUNK])
            de.addmm_(logits.t(), part)
        context.save_for_backward(dx, de)
        return x.new_tensor(loss / len(x))

    @staticmethod
    def backward(context, gradient):
        dx, de = context.saved_tensors
        return dx * gradient, de * gradient, None


class Plain:
    """What the kernels compute, by PyTorch's own functions."""

    @staticmethod
    def attention(qkv, n_head):
        rows, length, width = qkv.shape
        q, k, v = qkv.view(rows, length, 3, n_head, -1).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(rows, length, width // 3)

    @staticmethod
    def gelu(x):
        return F.gelu(x, approximate="tanh")

    @staticmethod
    def prediction(x, embedding, targets):
        return F.cross_entropy(x @ embedding.t(), targets)


class Fast:
    """The same by kernels.cpp."""

    attention, gelu, prediction = Attention.apply, Gelu.apply, Prediction.apply


def loss_of(weights, n_head, tokens, targets, functions=None, kept=None):
    """Mean loss of the targets, nats. tokens, targets [row, position]; kept [layer, feature of z]: factors 0 or 1, or None for all 1."""
    functions = functions or (Fast if tokens.device.type == "cpu" else Plain)
    rows, length = tokens.shape
    d = CONFIG["n_embd"]

    def norm(x, name):
        return F.layer_norm(x, (d,), weights[name + ".weight"], weights[name + ".bias"], CONFIG["layer_norm_epsilon"])

    def linear(x, name):
        return torch.addmm(weights[name + ".bias"], x, weights[name + ".weight"])

    x = (F.embedding(tokens, weights["wte.weight"]) + weights["wpe.weight"][:length]).flatten(0, 1)
    for i in range(CONFIG["n_layer"]):
        qkv = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn")
        z = functions.attention(qkv.view(rows, length, 3 * d), n_head).reshape(rows * length, d)
        x = x + linear(z if kept is None else z * kept[i], f"h.{i}.attn.c_proj")
        hidden = functions.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"))
        x = x + linear(hidden, f"h.{i}.mlp.c_proj")
    return functions.prediction(norm(x, "ln_f"), weights["wte.weight"], targets.flatten())


def documents_of(path):
    """Token ids of the documents of a file of tokens with <|endoftext|> before each; that token is left in."""
    tokens = np.load(path).astype(np.int64)
    return np.split(tokens, np.flatnonzero(tokens == tokens[0])[1:])


def document_loss(weights, n_head, documents, kept=None, batch=16):
    """Loss per predicted token of the documents (arrays of tokens with <|endoftext|> before them), nats."""
    class Summed(Fast):
        @staticmethod
        def prediction(x, embedding, targets):
            return F.cross_entropy(x @ embedding.t(), targets, reduction="sum", ignore_index=-1)

    total = 0.0
    with torch.no_grad():
        for at in range(0, len(documents), batch):
            part = documents[at : at + batch]
            tokens = np.full((len(part), CONFIG["n_positions"]), part[0][0])
            targets = np.full_like(tokens, -1)
            for row, document in enumerate(part):
                tokens[row, : len(document)], targets[row, : len(document) - 1] = document, document[1:]
            total += loss_of(weights, n_head, torch.from_numpy(tokens), torch.from_numpy(targets), Summed, kept).item()
    return total / sum(len(document) - 1 for document in documents)


class Stories:
    """Rows of the stories' beginnings, in an order that depends on the seed; every story once before any comes again."""

    def __init__(self, path, seed, rows):
        self.tokens = np.load(path)
        self.end_of_text = int(self.tokens[0])
        starts = np.flatnonzero(self.tokens == self.end_of_text)
        self.starts = starts[starts + CONFIG["n_positions"] < len(self.tokens)]
        self.seed, self.rows = seed, rows

    @functools.lru_cache(maxsize=2)
    def order(self, turn):
        return np.random.default_rng([self.seed, turn]).permutation(self.starts)

    def batch(self, step, device):
        """tokens, targets [row, position] of a step, each row beginning with <|endoftext|>."""
        first = [self.order(at // len(self.starts))[at % len(self.starts)] for at in range(step * self.rows, (step + 1) * self.rows)]
        drawn = torch.from_numpy(self.tokens[np.array(first)[:, None] + np.arange(CONFIG["n_positions"] + 1)].astype(np.int64))
        return drawn[:, :-1].contiguous().to(device), drawn[:, 1:].contiguous().to(device)


def warm_up(steps):
    return max(round(WARM_UP * steps), WARM_UP_STEPS)


def rate(step, steps):
    """Learning rate as a share of its peak: up in a line, then down to nothing along a cosine."""
    warm = warm_up(steps)
    if step < warm:
        return (step + 1) / warm
    return 0.5 + 0.5 * math.cos(math.pi * (step - warm) / max(1, steps - warm))


def read_weights(path):
    with h5py.File(path) as file:
        return {name: torch.from_numpy(value[()]) for name, value in file.items() if isinstance(value, h5py.Dataset)}


def write_model(path, weights, n_head, tokenizer, attributes):
    """Float32, with Hugging Face's names and the tokenizer inside."""
    with h5py.File(path.with_suffix(".partial"), "w") as file:
        vocab_size = len(weights["wte.weight"])
        file.attrs.update(CONFIG | {"n_head": n_head, "vocab_size": vocab_size} | attributes)
        for name, value in weights.items():
            file[name] = value.detach().cpu().numpy()
        for name, source in (("vocab", "vocab.json"), ("merges", "merges.txt")):
            text = (tokenizer / source).read_text(encoding="utf-8")
            file.create_dataset(f"tokenizer/{name}", data=text, dtype=h5py.string_dtype("utf-8"))
    os.replace(path.with_suffix(".partial"), path)


class Optimizer:
    """AdamW with the gradient clipped; `step` returns the gradient's norm before clipping."""

    def __init__(self, weights, peak):
        self.weights, self.peak = weights, peak
        self.adam = torch.optim.AdamW(weights.values(), peak, betas=(0.9, 0.95), weight_decay=DECAY, fused=True)

    def step(self, loss, share_of_peak):
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(self.weights.values()), CLIP).item()
        for group in self.adam.param_groups:
            group["lr"] = self.peak * share_of_peak
        self.adam.step()
        self.adam.zero_grad()
        return norm


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stories", type=pathlib.Path, required=True, help="token ids of the stories, <|endoftext|> before each")
    parser.add_argument("--tokenizer", type=pathlib.Path, default=HERE.parent / "tokenizer")
    parser.add_argument("--n-head", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True, help="seed of the first weights and of the order of the stories")
    parser.add_argument("--equal-heads", type=float, metavar="NOISE", help="all heads of a layer start equal, plus noise of so many standard deviations")
    parser.add_argument("--rate", type=float, required=True, help="peak of the learning rate")
    parser.add_argument("--steps", type=int, required=True, help=f"of --rows rows of {CONFIG['n_positions']} tokens")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--save-at", type=int, nargs="+", default=[100], help="percents of the training")
    parser.add_argument("--save-every", type=int, default=100, help="steps between checkpoints")
    parser.add_argument("--device", default="cpu", help="PyTorch's name of the device that trains")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder to write")
    parser.add_argument("--documents", type=pathlib.Path, nargs="*", default=[], metavar="NAME.npy",
                        help="documents whose loss at the end is recorded as the attribute NAME_loss")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    stories = Stories(arguments.stories, arguments.seed, arguments.rows)
    weights = initial_weights(stories.end_of_text + 1, arguments.seed)
    if arguments.equal_heads is not None:
        make_heads_equal(weights, arguments.n_head, arguments.equal_heads, arguments.seed)
    weights = {name: value.to(arguments.device).requires_grad_() for name, value in weights.items()}
    optimizer = Optimizer(weights, arguments.rate)
    record = {"loss": np.zeros(arguments.steps), "gradient_norm": np.zeros(arguments.steps), "head_distance": np.zeros(101)}
    step, spent = 0, 0.0
    arguments.output.mkdir(parents=True, exist_ok=True)
    checkpoint = arguments.output / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=False)
        with torch.no_grad():
            for name, value in weights.items():
                value.copy_(saved["weights"][name])
        optimizer.adam.load_state_dict(saved["optimizer"])
        step, spent, record = saved["step"], saved["spent"], saved["record"]

    started = time.process_time() - spent
    measured_at = {}
    for percent in range(101):
        measured_at.setdefault(round(percent * arguments.steps / 100), []).append(percent)
    while True:
        spent = time.process_time() - started
        for percent in measured_at.get(step, []):
            record["head_distance"][percent] = head_distance(weights, arguments.n_head)
            if percent in arguments.save_at:
                write_model(arguments.output / f"{percent:03d}.h5", weights, arguments.n_head, arguments.tokenizer, {
                    "training_steps": step, "training_tokens": step * arguments.rows * CONFIG["n_positions"], "training_seed": arguments.seed})
        if step == arguments.steps:
            break
        if step % arguments.save_every == 0 and step:
            print(f"{arguments.output.name}  step {step}  loss {record['loss'][max(0, step - 100):step].mean():.4f}  {spent:.0f} s", flush=True)
            torch.save({"weights": weights, "optimizer": optimizer.adam.state_dict(), "step": step, "spent": spent, "record": record},
                       checkpoint.with_suffix(".partial"))
            os.replace(checkpoint.with_suffix(".partial"), checkpoint)
        loss = loss_of(weights, arguments.n_head, *stories.batch(step, arguments.device))
        record["gradient_norm"][step] = optimizer.step(loss, rate(step, arguments.steps))
        record["loss"][step] = loss.item()
        step += 1

    on_processor = {name: value.detach().cpu() for name, value in weights.items()}
    losses = {path.stem + "_loss": document_loss(on_processor, arguments.n_head, documents_of(path)) for path in arguments.documents}
    with h5py.File(arguments.output / "record.partial", "w") as file:
        for name, value in record.items():
            file[name] = value
        file.attrs.update({"n_head": arguments.n_head, "seed": arguments.seed, "peak_rate": arguments.rate, "steps": step,
                           "tokens": step * arguments.rows * CONFIG["n_positions"], "seconds": spent, "pytorch_version": str(torch.__version__), "device": arguments.device,
                           "warm_up": warm_up(arguments.steps),
                           "heads_equal": int(arguments.n_head > 1 and heads_are_equal(on_processor, arguments.n_head)), **losses})
    os.replace(arguments.output / "record.partial", arguments.output / "record.h5")
    checkpoint.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
