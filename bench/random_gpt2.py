"""A model of a GPT-2's shape with random weights, long documents from the stories of data/, and the cost of a program, for benchmarks."""

import dataclasses
import os
import pathlib
import sys
import time

import h5py
import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
GPT2_VOCABULARY = 50257
QUERY_KEY_SCALE = 4  # with larger queries and keys attention has something to explain


@dataclasses.dataclass(frozen=True)
class Shape:
    n_layer: int
    n_head: int
    d_model: int


SHAPES = {"small": Shape(12, 12, 768), "medium": Shape(24, 16, 1024), "large": Shape(36, 20, 1280), "xl": Shape(48, 25, 1600)}


def write_model(path, shape, n_ctx=1024, n_vocab=None):
    """The shape with `n_vocab` entries and no tokenizer; without a number with the shipped tokenizer and its vocabulary."""
    rng = np.random.default_rng(0)
    normal = lambda *size, scale=0.02: rng.normal(0, scale, size).astype(np.float32)
    d_model = shape.d_model
    with h5py.File(DATA / "default-model.h5") as shipped, h5py.File(path, "w") as file:
        for name, value in shipped.attrs.items():
            file.attrs[name] = value
        if n_vocab is None:
            n_vocab = int(shipped.attrs["vocab_size"])
            shipped.copy("tokenizer", file)
        file.attrs.update({"n_layer": shape.n_layer, "n_head": shape.n_head, "n_embd": d_model, "n_positions": n_ctx, "vocab_size": n_vocab})
        file["wte.weight"], file["wpe.weight"] = normal(n_vocab, d_model), normal(n_ctx, d_model)
        norms = ["ln_f"] + [f"h.{i}.ln_{j}" for i in range(shape.n_layer) for j in (1, 2)]
        for norm in norms:
            file[norm + ".weight"], file[norm + ".bias"] = np.ones(d_model, np.float32), np.zeros(d_model, np.float32)
        for i in range(shape.n_layer):
            attention = normal(d_model, 3 * d_model)
            attention[:, :2 * d_model] *= QUERY_KEY_SCALE
            matrices = {"attn.c_attn": attention, "attn.c_proj": normal(d_model, d_model), "mlp.c_fc": normal(d_model, 4 * d_model),
                        "mlp.c_proj": normal(4 * d_model, d_model)}
            for name, matrix in matrices.items():
                file[f"h.{i}.{name}.weight"], file[f"h.{i}.{name}.bias"] = matrix, np.zeros(matrix.shape[1], np.float32)


def write_corpus(path, n_joined=8):
    """Every n_joined stories one document; eight are about 1,024 tokens."""
    n_story = 0
    with open(DATA / "stories.conllu", encoding="utf-8") as stories, open(path, "w", encoding="utf-8") as joined:
        for line in stories:
            if line.startswith("# newdoc"):
                n_story += 1
                if n_story % n_joined != 1:
                    continue
            joined.write(line)


@dataclasses.dataclass(frozen=True)
class Cost:
    wall: float  # seconds
    processor: float  # seconds
    peak: float  # MiB


def cost_of(arguments):
    """Of a program whose output is not wanted."""
    start = time.monotonic()
    no_output = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    _, status, used = os.wait4(os.posix_spawnp(arguments[0], arguments, os.environ, file_actions=no_output), 0)
    if status != 0:
        sys.exit(f"{arguments[0]} failed")
    return Cost(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
