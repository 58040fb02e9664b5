#!/usr/bin/python3
"""What models of the attention of all heads cost at GPT-2 small's shape.

    bench/score_cost.py HEADSCOPE_BINARY [--threads N] [--queries N]

A model of GPT-2 small's shape with random weights, queries and keys enlarged so that attention has something to explain, reads the
stories of data/, joined to documents of about 1,024 tokens. The time is that of a whole run of score_model without effects: features,
forward passes, and the fits of all steps and families of 144 heads; as wall time and as processor time, which other work on the machine
changes less. Compare with "zero ablation of all heads" in README.md, of one document of 1,024 tokens.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import h5py
import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
N_LAYER, N_HEAD, D_MODEL, N_CTX = 12, 12, 768, 1024
QUERY_KEY_SCALE = 4
STORIES = 8  # in a document


def write_model(path):
    rng = np.random.default_rng(0)
    normal = lambda *size, scale=0.02: rng.normal(0, scale, size).astype(np.float32)
    with h5py.File(DATA / "default-model.h5") as shipped, h5py.File(path, "w") as file:
        for name, value in shipped.attrs.items():
            file.attrs[name] = value
        n_vocab = int(shipped.attrs["vocab_size"])
        file.attrs.update({"n_layer": N_LAYER, "n_head": N_HEAD, "n_embd": D_MODEL, "n_positions": N_CTX})
        shipped.copy("tokenizer", file)
        file["wte.weight"], file["wpe.weight"] = normal(n_vocab, D_MODEL), normal(N_CTX, D_MODEL)
        norms = ["ln_f"] + [f"h.{i}.ln_{j}" for i in range(N_LAYER) for j in (1, 2)]
        for norm in norms:
            file[norm + ".weight"], file[norm + ".bias"] = np.ones(D_MODEL, np.float32), np.zeros(D_MODEL, np.float32)
        for i in range(N_LAYER):
            attention = normal(D_MODEL, 3 * D_MODEL)
            attention[:, :2 * D_MODEL] *= QUERY_KEY_SCALE
            matrices = {"attn.c_attn": attention, "attn.c_proj": normal(D_MODEL, D_MODEL), "mlp.c_fc": normal(D_MODEL, 4 * D_MODEL),
                        "mlp.c_proj": normal(4 * D_MODEL, D_MODEL)}
            for name, matrix in matrices.items():
                file[f"h.{i}.{name}.weight"], file[f"h.{i}.{name}.bias"] = matrix, np.zeros(matrix.shape[1], np.float32)


def write_corpus(path):
    """Every STORIES stories one document."""
    n_story = 0
    with open(DATA / "stories.conllu", encoding="utf-8") as stories, open(path, "w", encoding="utf-8") as joined:
        for line in stories:
            if line.startswith("# newdoc"):
                n_story += 1
                if n_story % STORIES != 1:
                    continue
            joined.write(line)


def timed(arguments):
    """Wall and processor seconds of a program."""
    start = time.monotonic()
    _, status, used = os.wait4(os.spawnvp(os.P_NOWAIT, arguments[0], arguments), 0)
    if status != 0:
        sys.exit(f"{arguments[0]} failed")
    return time.monotonic() - start, used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--queries", default="4000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, corpus = os.path.join(folder, "model.h5"), os.path.join(folder, "corpus.conllu")
        write_model(model)
        write_corpus(corpus)
        wall, processor = timed([options.program, "run", "--model", model, "--corpus", corpus, "--threads", options.threads, "--bootstrap", "0",
                                 "--quiet", "--analyses", "score_model", "--score-queries", options.queries, "--score-effect-documents", "0",
                                 "--output", os.path.join(folder, "out")])
        print(f"score_model, all fits: {wall:.1f} s, {processor:.1f} s of processor time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
