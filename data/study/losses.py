"""Loss on documents, as they are and under noise (claim 16).

Noise replaces 10 % of the input tokens by tokens drawn evenly from those of the training stories. What is predicted stays the true
text. Headscope scores a replaced token as a target too, so the forward pass is that of ../gpt2.py; without noise both must agree.
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gpt2 import forward, log_probabilities, read_model  # noqa: E402

SHARE, SEED = 0.1, 0


def replaced(document, draw, index, choices):
    """The document with 10 % of its tokens replaced; draw 0 replaces none."""
    rng = np.random.default_rng([SEED, draw, index])
    tokens = np.array(document)
    chosen = rng.random(len(tokens)) < (SHARE if draw else 0)
    tokens[chosen] = rng.choice(choices, chosen.sum())
    return tokens


def documents_of(path):
    """Token ids of the documents of a file of tokens with <|endoftext|> before each; without that token."""
    tokens = np.load(path)
    return [document[1:] for document in np.split(tokens, np.flatnonzero(tokens == tokens[0])[1:])]


def losses_under_noise(path, documents, choices, draws):
    """Loss per token (nats) of the model at `path`: [without noise, draw 1 … draws]."""
    model = read_model(path)
    sums = np.zeros(draws + 1)
    for draw in range(draws + 1):
        for i, document in enumerate(documents):
            read = np.concatenate([[model.tokenizer.end_of_text], replaced(document, draw, i, choices)[:-1]])
            sums[draw] -= log_probabilities(forward(model, read)[0])[np.arange(len(document)), document].sum()
    return sums / sum(len(document) for document in documents)
