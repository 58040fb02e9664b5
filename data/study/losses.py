#!/usr/bin/python3
"""Loss of every model on the held-out stories, document by document, as they are and under noise (claims 12, 13 and 16).

Noise replaces 10 % of the input tokens by tokens drawn evenly from those of the training stories. What is predicted stays the true
text. Headscope scores a replaced token as a target too, so the forward pass is that of ../gpt2.py; without noise both must agree.
"""

import concurrent.futures
import itertools
import os
import pathlib
import sys

import h5py
import numpy as np

import family

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gpt2 import forward, log_probabilities, read_model  # noqa: E402

SHARE, DRAWS, SEED = 0.1, 1, 0


def held_out_texts(work):
    texts, sentences = [], []
    for line in [*(work / "held_out.conllu").read_text(encoding="utf-8").split("\n"), "# newdoc"]:
        if line.startswith("# newdoc") and sentences:
            texts.append(" ".join(sentences))
            sentences = []
        elif line.startswith("# text = "):
            sentences.append(line[len("# text = "):])
    return texts


def replaced(document, draw, index, choices):
    """The document with 10 % of its tokens replaced; draw 0 replaces none."""
    rng = np.random.default_rng([SEED, draw, index])
    tokens = np.array(document)
    chosen = rng.random(len(tokens)) < (SHARE if draw else 0)
    tokens[chosen] = rng.choice(choices, chosen.sum())
    return tokens


def write_losses(output, path, texts, choices, draws):
    """Writes `loss` (draw, document), summed over a document's tokens, and `n_target` (document)."""
    if output.exists():
        return
    model = read_model(path)
    documents = [model.tokenizer.encode(text) for text in texts]
    loss = np.zeros((draws + 1, len(documents)))
    for draw, (i, document) in itertools.product(range(draws + 1), enumerate(documents)):
        read = np.concatenate([[model.tokenizer.end_of_text], replaced(document, draw, i, choices)[:-1]])
        loss[draw, i] = -log_probabilities(forward(model, read)[0])[np.arange(len(document)), document].sum()
    with h5py.File(output.with_suffix(".partial"), "w") as file:
        file["loss"], file["n_target"] = loss, [len(document) for document in documents]
    os.replace(output.with_suffix(".partial"), output)


def measure(work, paths, draws, jobs):
    """Losses of the models at `paths` (by name), in WORK/losses/NAME.h5, with this many draws of noise."""
    stories = np.load(work / "stories.npy")
    choices = np.setdiff1d(stories, stories[:1])
    texts = held_out_texts(work)
    (work / "losses").mkdir(exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for future in [pool.submit(write_losses, work / "losses" / f"{name}.h5", path, texts, choices, draws) for name, path in paths.items()]:
            future.result()


def measure_all(work, jobs):
    measure(work, {model.name: family.model_file(work, model.name) for model in family.every_model()}, 0, jobs)
    pruned = {family.pruned_name(seed, kept): family.pruned_file(work, seed, kept) for seed in family.SEEDS for kept in family.KEPT}
    measure(work, {name: path for name, path in pruned.items() if path.exists()}, DRAWS, jobs)
