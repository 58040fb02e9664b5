"""Write a GPT-2 whose heads attend where the file says they do; nothing is trained.

    python3 make_planted_model.py --tokenizer tokenizer --output planted-model.h5

The residual stream is cut into slots: the token's code (signs), the position's code (cosines and sines, so that a shift is a
rotation), the code of the token before (written by the previous-token head of layer 0), and flags. LayerNorm's epsilon is so
large that it divides every position by the same number, and one dimension that holds nothing undoes its centring: a head reads
only what it is meant to, and no other head takes part by the length of the stream. Roles, in the root attribute `planted_heads` as JSON {"L0H0": role}:

  previous_token  the position before, read off the rotation
  self            the query's own position
  punctuation     tokens that are only punctuation, nearer ones more; position 0 where there is none yet
  induction       the successor of an earlier copy of the query token, of near copies more; position 0 where there is
                  none. Writes that successor's code, so that the model predicts repeated text
  sink            position 0; the trace that is left goes to near positions
  random          small random queries and keys, with a slight lean to near positions
"""

import argparse
import json
import pathlib
import unicodedata

import h5py
import numpy as np

from gpt2 import SYMBOL_BYTE

N_LAYER, N_HEAD, D_MODEL, N_CTX = 2, 4, 256, 256
D_HEAD = D_MODEL // N_HEAD
CODE = 56
TOKEN, POSITION, PREVIOUS = slice(0, CODE), slice(CODE, 2 * CODE), slice(2 * CODE, 3 * CODE)
PUNCTUATION, OTHER, FIRST, LATER, RAMP_COS, RAMP_SIN, EMPTY = range(3 * CODE, 3 * CODE + 7)
SCRATCH = slice(3 * CODE + 8, D_MODEL)
MATCHED = np.arange(CODE)  # the head's dimensions that compare codes; the ones after carry flags and the lean
LEAN = slice(CODE, CODE + 2)
FLAG = CODE + 2
LAYER_NORM_DIVISOR = 2.0**20  # exact in float32, where the variance vanishes beside its square

ROLES = [["previous_token", "self", "punctuation", "random"], ["induction", "sink", "self", "random"]]


def is_punctuation(token):
    """Whether a vocabulary entry is, but for spaces, only punctuation (Unicode categories P*)."""
    try:
        text = bytes(SYMBOL_BYTE[symbol] for symbol in token).decode("utf-8").strip(" ")
    except (KeyError, UnicodeDecodeError):
        return False
    return bool(text) and all(unicodedata.category(character).startswith("P") for character in text)


def token_codes(count, rng):
    """Distinct sign vectors of length CODE, half of each sign."""
    codes, seen = [], set()
    while len(codes) < count:
        code = rng.permutation(np.repeat([1.0, -1.0], CODE // 2))
        if code.tobytes() not in seen:
            seen.add(code.tobytes())
            codes.append(code)
    return np.array(codes)


def frequencies(rng):
    """The set, of many random ones, whose position codes at different positions are least alike."""
    offsets = np.arange(1, N_CTX)[:, None]
    trials = [np.sort(rng.uniform(0.2, np.pi, CODE // 2)) for _ in range(400)]
    return min(trials, key=lambda trial: np.cos(offsets * trial).sum(axis=1).max())


def position_code(positions, frequency):
    angle = np.asarray(positions)[:, None] * frequency
    return np.sqrt(2) * np.concatenate([np.cos(angle), np.sin(angle)], axis=1)


def rotation(frequency, shift):
    """Matrix R, position_code(t) R = position_code(t + shift)."""
    half = CODE // 2
    cos, sin = np.diag(np.cos(shift * frequency)), np.diag(np.sin(shift * frequency))
    result = np.zeros((CODE, CODE))
    result[:half, :half], result[:half, half:] = cos, sin
    result[half:, :half], result[half:, half:] = -sin, cos
    return result


class Head:
    """W_Q, W_K, W_V [D_MODEL, D_HEAD], their biases, and W_O [D_HEAD, D_MODEL], for the residual stream as it is."""

    def __init__(self, rng):
        self.W_Q, self.W_K, self.W_V = (np.zeros((D_MODEL, D_HEAD)) for _ in range(3))
        self.b_Q, self.b_K, self.b_V = (np.zeros(D_HEAD) for _ in range(3))
        self.W_O = np.zeros((D_HEAD, D_MODEL))
        self.rng = rng

    def signs(self, *shape):
        return self.rng.choice([-1.0, 1.0], shape)

    def write_little(self):
        """A small random contribution to dimensions that no planted head reads."""
        self.W_V[: 2 * CODE] = 0.02 * self.signs(2 * CODE, D_HEAD)
        self.W_O[:, SCRATCH] = 0.02 * self.signs(D_HEAD, D_MODEL - SCRATCH.start)

    def lean_to_near(self, strength):
        """Adds strength · cos(distance · pi / n_ctx) to the score: more for nearer keys."""
        for i, ramp in enumerate((RAMP_COS, RAMP_SIN)):
            self.W_Q[ramp, LEAN.start + i] = strength
            self.W_K[ramp, LEAN.start + i] = 1.0

    def favour(self, dimension, strength):
        """Adds strength to the score of keys that have this flag, whatever the query."""
        self.b_Q[FLAG] = 1.0
        self.W_K[dimension, FLAG] = strength

    def compare(self, query_slot, key_slot, strength, query_map=None):
        """Adds strength · (query code mapped by query_map) · key code to the score."""
        self.W_Q[query_slot, :CODE] = strength * (np.eye(CODE) if query_map is None else query_map)
        self.W_K[key_slot, :CODE] = np.eye(CODE)


def planted_head(role, layer, rng, frequency, end_of_text_code):
    head = Head(rng)
    if role == "previous_token":
        head.compare(POSITION, POSITION, 0.2, rotation(frequency, -1))
        head.W_V[TOKEN, :CODE] = np.eye(CODE)
        head.W_V[FIRST, :CODE] = -end_of_text_code  # <|endoftext|> is nobody's predecessor
        head.W_O[:CODE, PREVIOUS] = np.eye(CODE)
    elif role == "self":
        head.compare(POSITION, POSITION, 0.8)
        if layer == N_LAYER - 1:  # take the query token's own code out, so that what is left predicts the next
            head.W_V[TOKEN, :CODE] = np.eye(CODE)
            head.W_O[:CODE, TOKEN] = -np.eye(CODE)
        else:
            head.write_little()
    elif role == "punctuation":
        head.favour(PUNCTUATION, 60.0)
        head.W_K[FIRST, FLAG] = 30.0
        head.lean_to_near(10.0)
        head.write_little()
    elif role == "induction":
        head.compare(TOKEN, PREVIOUS, 0.4)
        head.favour(FIRST, 15.0)
        head.lean_to_near(3.0)
        head.W_V[TOKEN, :CODE] = np.eye(CODE)
        head.W_V[FIRST, :CODE] = -end_of_text_code
        head.W_O[:CODE, TOKEN] = np.eye(CODE)
    elif role == "sink":
        head.favour(FIRST, 50.0)
        head.lean_to_near(24.0)
        head.write_little()
    elif role == "random":
        head.W_Q[: 2 * CODE] = 0.025 * head.signs(2 * CODE, D_HEAD)
        head.W_K[: 2 * CODE] = 0.025 * head.signs(2 * CODE, D_HEAD)
        head.lean_to_near(1.0)
        head.write_little()
    return head


def folded(W, b, gamma, beta):
    """W and b for the output of LayerNorm: undoes its centring, gamma and beta."""
    W[EMPTY] -= W.sum(axis=0)
    W = W / gamma[:, None]
    return W, b - beta @ W


def build(vocabulary, seed):
    """The model's tensors by Hugging Face name."""
    rng = np.random.default_rng(seed)
    n_vocab = len(vocabulary)
    codes = token_codes(n_vocab, rng)
    end_of_text_code = codes[vocabulary["<|endoftext|>"]]
    frequency = frequencies(rng)

    wte = np.zeros((n_vocab, D_MODEL))
    wte[:, TOKEN] = codes
    punctuation = np.array([is_punctuation(token) for token in sorted(vocabulary, key=vocabulary.get)])
    wte[:, PUNCTUATION], wte[:, OTHER] = punctuation, ~punctuation
    wpe = np.zeros((N_CTX, D_MODEL))
    wpe[:, POSITION] = position_code(np.arange(N_CTX), frequency)
    wpe[0, FIRST], wpe[1:, LATER] = 1, 1
    wpe[:, RAMP_COS], wpe[:, RAMP_SIN] = np.cos(np.pi * np.arange(N_CTX) / N_CTX), np.sin(np.pi * np.arange(N_CTX) / N_CTX)

    tensors = {"wte.weight": wte, "wpe.weight": wpe}
    for layer, roles in enumerate(ROLES):
        gamma = rng.choice([0.5, 1.0, 2.0], D_MODEL)
        beta = rng.choice([-0.25, 0.0, 0.25], D_MODEL)
        heads = [planted_head(role, layer, rng, frequency, end_of_text_code) for role in roles]
        parts = []
        for kind in "QKV":
            scale = D_HEAD**0.25 if kind != "V" else 1.0
            W = np.concatenate([getattr(head, f"W_{kind}") for head in heads], axis=1)
            b = np.concatenate([getattr(head, f"b_{kind}") for head in heads])
            parts.append(folded(scale * W, scale * b, gamma, beta))
        prefix = f"h.{layer}."
        tensors |= {
            prefix + "ln_1.weight": LAYER_NORM_DIVISOR * gamma, prefix + "ln_1.bias": beta,
            prefix + "attn.c_attn.weight": np.concatenate([W for W, _ in parts], axis=1),
            prefix + "attn.c_attn.bias": np.concatenate([b for _, b in parts]),
            prefix + "attn.c_proj.weight": np.concatenate([head.W_O for head in heads], axis=0),
            prefix + "attn.c_proj.bias": np.zeros(D_MODEL),
            prefix + "ln_2.weight": np.ones(D_MODEL), prefix + "ln_2.bias": np.zeros(D_MODEL),
            prefix + "mlp.c_fc.weight": np.zeros((D_MODEL, 4 * D_MODEL)), prefix + "mlp.c_fc.bias": np.zeros(4 * D_MODEL),
            prefix + "mlp.c_proj.weight": np.zeros((4 * D_MODEL, D_MODEL)), prefix + "mlp.c_proj.bias": np.zeros(D_MODEL),
        }
    # Only the token slot decides the logits; a third of its natural size keeps them moderate.
    final = np.zeros(D_MODEL)
    final[TOKEN] = 0.3 * LAYER_NORM_DIVISOR
    return tensors | {"ln_f.weight": final, "ln_f.bias": np.zeros(D_MODEL)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True, help="folder with vocab.json and merges.txt")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()

    vocab = (arguments.tokenizer / "vocab.json").read_text(encoding="utf-8")
    tensors = build(json.loads(vocab), arguments.seed)
    with h5py.File(arguments.output, "w") as file:
        file.attrs.update({
            "n_layer": N_LAYER, "n_head": N_HEAD, "n_embd": D_MODEL, "n_positions": N_CTX, "vocab_size": len(tensors["wte.weight"]),
            "layer_norm_epsilon": LAYER_NORM_DIVISOR**2, "activation_function": "gelu_new", "seed": arguments.seed,
            "planted_heads": json.dumps({f"L{i}H{j}": role for i, roles in enumerate(ROLES) for j, role in enumerate(roles)}),
        })
        for name, value in tensors.items():
            file.create_dataset(name, data=value.astype(np.float32), compression="gzip", compression_opts=9, shuffle=True)
        text = h5py.string_dtype("utf-8")
        group = file.create_group("tokenizer")
        group.create_dataset("vocab", data=vocab, dtype=text)
        group.create_dataset("merges", data=(arguments.tokenizer / "merges.txt").read_text(encoding="utf-8"), dtype=text)


if __name__ == "__main__":
    main()
