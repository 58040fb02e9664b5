"""GPT-2 in numpy: read a flat HDF5 model with its tokenizer, encode text, run it. Used by the scripts and tests here.

Arrays are [token, feature]; weights [in, out]; patterns [head, query, key].
"""

import functools
import json
import re

import h5py
import numpy as np

# GPT-2's splitting rule; Python's re has no Unicode classes, so letters are word characters that are no digit and no "_".
_PIECES = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\w\s]|_)+|\s+(?!\S)|\s+")


def _byte_symbols():
    """byte -> the printable character that stands for it in vocab.json."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


BYTE_SYMBOL = _byte_symbols()
SYMBOL_BYTE = {symbol: byte for byte, symbol in BYTE_SYMBOL.items()}


class Tokenizer:
    """Byte-level BPE from the texts of vocab.json and merges.txt."""

    def __init__(self, vocab, merges):
        self.ids = json.loads(vocab)
        self.tokens = {number: token for token, number in self.ids.items()}
        pairs = [tuple(line.split(" ")) for line in merges.split("\n") if line and not line.startswith("#version")]
        self.rank = {pair: i for i, pair in enumerate(pairs)}
        self.end_of_text = self.ids["<|endoftext|>"]
        self._piece = functools.lru_cache(maxsize=100_000)(self._encode_piece)

    def _encode_piece(self, piece):
        parts = [BYTE_SYMBOL[byte] for byte in piece.encode("utf-8")]
        while len(parts) > 1:
            rank, i = min((self.rank.get(pair, len(self.rank)), i) for i, pair in enumerate(zip(parts, parts[1:])))
            if rank == len(self.rank):
                break
            pair = parts[i], parts[i + 1]
            merged, j = [], 0
            while j < len(parts):
                if tuple(parts[j : j + 2]) == pair:
                    merged.append(parts[j] + parts[j + 1])
                    j += 2
                else:
                    merged.append(parts[j])
                    j += 1
            parts = merged
        return tuple(self.ids[part] for part in parts)

    def encode(self, text):
        return [number for piece in _PIECES.findall(text) for number in self._piece(piece)]

    def bytes_of(self, number):
        return bytes(SYMBOL_BYTE[symbol] for symbol in self.tokens[number]) if number != self.end_of_text else b""


class Model:
    """`weights` by Hugging Face name, float32; `config` the root attributes; `tokenizer` or None."""

    def __init__(self, config, weights, tokenizer=None):
        self.config, self.weights, self.tokenizer = config, weights, tokenizer
        self.n_layer, self.n_head = int(config["n_layer"]), int(config["n_head"])


def read_model(path):
    with h5py.File(path, "r") as file:
        weights = {name: item[()].astype(np.float32) for name, item in file.items() if isinstance(item, h5py.Dataset)}
        tokenizer = Tokenizer(*(file[f"tokenizer/{name}"][()].decode("utf-8") for name in ("vocab", "merges")))
        return Model(dict(file.attrs), weights, tokenizer)


def layer_norm(x, weight, bias, epsilon):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon) * weight + bias


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * (x * x * x))))  # x**3 takes 40 times as long


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def forward(model, tokens):
    """(logits [token, vocab], patterns: one [head, query, key] per layer) of a sequence of token ids."""
    w, epsilon = model.weights, model.config["layer_norm_epsilon"]
    length, heads = len(tokens), model.n_head
    x = w["wte.weight"][tokens] + w["wpe.weight"][:length]
    future = np.triu(np.ones((length, length), dtype=bool), 1)
    patterns = []
    for i in range(model.n_layer):
        normed = layer_norm(x, w[f"h.{i}.ln_1.weight"], w[f"h.{i}.ln_1.bias"], epsilon)
        qkv = normed @ w[f"h.{i}.attn.c_attn.weight"] + w[f"h.{i}.attn.c_attn.bias"]
        q, k, v = (part.reshape(length, heads, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, axis=-1))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]).astype(np.float32)
        pattern = softmax(np.where(future, -np.inf, scores))
        patterns.append(pattern)
        z = (pattern @ v).transpose(1, 0, 2).reshape(length, -1)
        x = x + z @ w[f"h.{i}.attn.c_proj.weight"] + w[f"h.{i}.attn.c_proj.bias"]
        normed = layer_norm(x, w[f"h.{i}.ln_2.weight"], w[f"h.{i}.ln_2.bias"], epsilon)
        hidden = gelu_new(normed @ w[f"h.{i}.mlp.c_fc.weight"] + w[f"h.{i}.mlp.c_fc.bias"])
        x = x + hidden @ w[f"h.{i}.mlp.c_proj.weight"] + w[f"h.{i}.mlp.c_proj.bias"]
    return layer_norm(x, w["ln_f.weight"], w["ln_f.bias"], epsilon) @ w["wte.weight"].T, patterns


def log_probabilities(logits):
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
