"""Shared by the *_check.py scripts: GPT-2 in float64 NumPy as in its paper, the program's random draws, and a comparison.

Only the random generator follows the program; it is implemented here a second time.
"""

import functools
import math

import h5py
import numpy as np

FAILURES = []
MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


# ---- the program's random numbers -----------------------------------------------------------------------------------


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class CounterRandom:
    def __init__(self, seed, stream=0):
        self.key = mix((mix((seed + GAMMA) & MASK) + stream + GAMMA) & MASK)

    def value(self, counter):
        return mix((self.key + counter + GAMMA) & MASK)

    def uniform(self, counter):
        return (self.value(counter) >> 11) * 2.0**-53

    def below(self, n, counter):
        return (self.value(counter) * n) >> 64


def random_permutation(n, random):
    order = list(range(n))
    for i in range(n, 1, -1):
        j = random.below(i, i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def spread_sample(n, count, random):
    """One of each of `count` equal parts of 0 .. n-1, with the program's draws."""
    parts = [(i * n // count, (i + 1) * n // count) for i in range(count)]
    return [begin + random.below(end - begin, i) for i, (begin, end) in enumerate(parts)]


def t_upper_tail(t, freedom):
    """P(T >= t) of Student's t, its density integrated by Simpson's rule with x = tan(u)."""
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    u = np.linspace(math.atan(t), math.pi / 2, 20001)[:-1]
    logs = -0.5 * (freedom + 1) * np.log1p(np.tan(u) ** 2 / freedom) - 2 * np.log(np.cos(u))
    values = np.append(np.exp(logs), 0.0 if freedom > 1 else freedom)
    weights = np.full(len(values), 2.0)
    weights[1::2] = 4
    weights[[0, -1]] = 1
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    return float(scale * (values @ weights) * (u[1] - u[0]) / 3)


@functools.cache
def part_counts(n, n_resample, seed):
    """How often each of n parts is among n draws: [resample, part]."""
    counts = np.zeros((n_resample, n))
    for resample in range(n_resample):
        random = CounterRandom(seed, resample)
        for i in range(n):
            counts[resample, random.below(n, i)] += 1
    return counts


def studentised_half_width(value, influences, n_resample, seed):
    """t * se of the symmetric studentised interval (Hall 1988): se by the jackknife, t from resamples of its pseudo-values.
    `influences` are n - 1 times what the statistic loses without each of n parts; NaN where there is no interval, or t is above 10."""
    n = len(influences)
    away = influences - influences.mean()
    if np.isnan(away).any() or np.abs(away).max() <= 1e-13 * n * abs(value):
        return away.sum() * 0.0
    counts = part_counts(n, n_resample, seed)
    means, squares = counts @ away / n, counts @ away**2 / n
    variances = squares - means**2
    differ = variances > 1e-13 * squares  # beyond rounding
    sizes = np.full(n_resample, np.inf)
    sizes[differ] = np.abs(means[differ]) / np.sqrt(variances[differ] / (n - 1))
    t = np.quantile(sizes, 0.95) if np.sort(sizes)[math.ceil(0.95 * (len(sizes) - 1))] < np.inf else np.nan
    return (t if t <= 10 else np.nan) * math.sqrt((away**2).sum() / (n * (n - 1)))


def without_each(n_document):
    """Weights that leave out one document: [left out, document]."""
    return 1.0 - np.eye(n_document)


def interval(left_out, value, n_resample, seed, least=-np.inf, most=np.inf):
    """(low, high): the 95 % intervals of value[...] from left_out[document, ...], within the possible values."""
    value = np.asarray(value, float)
    influences = ((len(left_out) - 1) * (value - np.asarray(left_out, float))).reshape(len(left_out), -1)
    widths = [studentised_half_width(one, influences[:, i], n_resample, seed) for i, one in enumerate(value.ravel())]
    widths = np.array(widths).reshape(value.shape)
    return np.clip(value - widths, least, most), np.clip(value + widths, least, most)


def read_documents(path, n_ctx):
    """The documents of a token-id corpus, each a list of its pieces of at most n_ctx tokens."""
    with h5py.File(path) as file:
        offsets = file["offsets"][()]
        documents = [file["tokens"][begin:end].tolist() for begin, end in zip(offsets, offsets[1:])]
    return [[tokens[i:i + n_ctx] for i in range(0, len(tokens), n_ctx)] for tokens in documents]


# ---- the model ------------------------------------------------------------------------------------------------------


def read_model(path):
    """A flat HDF5 model: float64 arrays by Hugging Face name, and its sizes."""
    with h5py.File(path) as file:
        model = {name: file[name][()].astype(np.float64) for name in file if isinstance(file[name], h5py.Dataset)}
        model.update(n_layer=int(file.attrs["n_layer"]), n_head=int(file.attrs["n_head"]),
                     n_ctx=int(file.attrs["n_positions"]), epsilon=float(file.attrs["layer_norm_epsilon"]))
    return model


def layer_norm(model, x, name):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + model["epsilon"]) * model[name + ".weight"] + model[name + ".bias"]


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))  # x**3 takes 40 times as long


class Pass:
    """One document's forward pass: lists over layers of `v`, `z` [head, token, d_head], `pattern` [head, query, key] and
    `head_output` [head, token, d_model] and `mlp_output` [token, d_model]; `embedding` and `resid`, the first and the last
    residual stream, and `logits` [token, vocabulary]."""

    def __init__(self, model, tokens, edit=lambda layer, z: z, attend=lambda layer, pattern: pattern):
        """`attend(layer, pattern)` returns the pattern that mixes the values, `edit(layer, z)` the z that enters the layer's output
        projection."""
        T, n_head = len(tokens), model["n_head"]
        self.tokens, self.v, self.z, self.pattern, self.head_output = np.asarray(tokens), [], [], [], []
        self.mlp_output = []
        x = self.embedding = model["wte.weight"][tokens] + model["wpe.weight"][:T]
        for layer in range(model["n_layer"]):
            name = f"h.{layer}."
            qkv = layer_norm(model, x, name + "ln_1") @ model[name + "attn.c_attn.weight"] + model[name + "attn.c_attn.bias"]
            q, k, v = (part.reshape(T, n_head, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, axis=1))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
            scores[:, np.triu(np.ones((T, T), bool), 1)] = -np.inf
            pattern = np.exp(scores - scores.max(-1, keepdims=True))
            pattern /= pattern.sum(-1, keepdims=True)
            pattern = attend(layer, pattern)
            z = edit(layer, pattern @ v)
            head_output = z @ model[name + "attn.c_proj.weight"].reshape(n_head, z.shape[-1], -1)
            for values, value in ((self.v, v), (self.z, z), (self.pattern, pattern), (self.head_output, head_output)):
                values.append(value)
            x = x + head_output.sum(0) + model[name + "attn.c_proj.bias"]
            hidden = layer_norm(model, x, name + "ln_2") @ model[name + "mlp.c_fc.weight"] + model[name + "mlp.c_fc.bias"]
            self.mlp_output.append(gelu_new(hidden) @ model[name + "mlp.c_proj.weight"] + model[name + "mlp.c_proj.bias"])
            x = x + self.mlp_output[-1]
        self.model, self.resid = model, x

    @functools.cached_property
    def logits(self):
        return layer_norm(self.model, self.resid, "ln_f") @ self.model["wte.weight"].T

    def loss(self):
        """Negative log likelihood in nats of tokens 1 .. T-1, summed."""
        logits = self.logits[:-1]
        log_sum = np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1)) + logits.max(-1)
        return (log_sum - logits[np.arange(len(logits)), self.tokens[1:]]).sum()

    def n_correct(self):
        return (self.logits[:-1].argmax(-1) == self.tokens[1:]).sum()


# ---- comparing ------------------------------------------------------------------------------------------------------


TOLERANCE = 1e-6  # of sums in double of what the program computes in float32, whose errors of 6e-8 add up at random


def compare(name, expected, got, tolerance=None, finite=0):
    """Record a failure if values differ by more than `tolerance`, or TOLERANCE, times the larger of 1 and the expected size, or if fewer
    than `finite` expected values are finite: then nearly nothing is compared."""
    tolerance = tolerance or TOLERANCE
    expected, got = np.asarray(expected, float), np.asarray(got, float)
    if expected.shape != got.shape:
        FAILURES.append(f"{name}: expected shape {expected.shape}, got {got.shape}")
        return
    if np.isfinite(expected).sum() < finite:
        FAILURES.append(f"{name}: expected at least {finite} finite values, got {np.isfinite(expected).sum()}")
    same_missing = (np.isnan(expected) == np.isnan(got)).all()
    scale = np.maximum(1, np.nan_to_num(np.abs(expected)))
    difference = np.nanmax(np.abs(expected - got) / scale) if expected.size and not np.isnan(expected).all() else 0.0
    print(f"{name:40s} {expected.size:6d} values, largest difference {difference:.2e}")
    if not same_missing or not difference <= tolerance:
        FAILURES.append(f"{name}: differs by {difference:.3e}" + ("" if same_missing else ", and not missing in the same places"))


def report_failures():
    """Print the failures; returns the exit status."""
    for failure in FAILURES:
        print("FAILED", failure)
    return 1 if FAILURES else 0
