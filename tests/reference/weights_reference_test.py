"""Recompute the groups `parameters` and `circuits` from a model's weights by the plain formulas in
NumPy, and compare them with the command line's results.

    weights_reference_test.py HEADSCOPE_BINARY

Needs Debian's python3-numpy and python3-h5py. Makes small random models, runs
`headscope run --analyses parameters,circuits` on each and exits 1 at the first dataset that is
missing or differs.
"""

import pathlib
import sys
import tempfile

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import children  # noqa: E402

# Composition uses float32 products, whose errors of 6e-8 add up to 2e-7; everything else is double on both sides.
RELATIVE = 1e-6
SEED = 7
N_NULL = 20


# The random numbers that headscope/random.hpp defines.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(stream, count):
    with np.errstate(over="ignore"):
        key = mix(mix(np.uint64(SEED) + GOLDEN) + np.uint64(stream) + GOLDEN)
        return mix(key + np.arange(count, dtype=np.uint64) + GOLDEN)


def uniform(stream, count):
    return (random_bits(stream, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(stream, rows, columns):
    """rows x columns, filled column by column."""
    u = uniform(stream, rows * columns + 1)
    n_pair = (rows * columns + 1) // 2
    radius = np.sqrt(-2 * np.log(1 - u[0 : 2 * n_pair : 2]))
    angle = 2 * np.pi * u[1 : 2 * n_pair : 2]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return pairs.reshape(-1)[: rows * columns].reshape(columns, rows).T


def permutation(stream, n):
    bits = random_bits(stream, n + 1)
    order = list(range(n))
    for i in range(n, 1, -1):
        j = int(bits[i]) * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


class Model:
    """Weights input x output, as in the file."""

    def __init__(self, path, n_layer, n_head, d_model, n_ctx, d_vocab, complete, seed):
        self.path, self.complete = path, complete
        self.n_layer, self.n_head, self.d_model = n_layer, n_head, d_model
        self.d_head, self.n_ctx, self.d_vocab = d_model // n_head, n_ctx, d_vocab
        rng = np.random.default_rng(seed)
        d = d_model
        self.tensors = {"wpe.weight": rng.normal(0, 1, (n_ctx, d))}
        if complete:
            self.tensors["wte.weight"] = rng.normal(0, 1, (d_vocab, d))
        for i in range(n_layer):
            h = f"h.{i}."
            self.tensors[h + "ln_1.weight"] = rng.uniform(0.3, 2, d)
            self.tensors[h + "ln_1.bias"] = rng.normal(0, 0.3, d)
            # A low-rank term and a diagonal make the heads differ.
            low = rng.normal(0, 1, (d, 3)) @ rng.normal(0, 1, (3, 3 * d))
            diagonal = np.tile(np.diag(rng.normal(0, 2, d)), 3)
            self.tensors[h + "attn.c_attn.weight"] = (
                0.3 * low + 0.2 * diagonal + rng.normal(0, 0.2, (d, 3 * d))
            )
            self.tensors[h + "attn.c_attn.bias"] = rng.normal(0, 0.3, 3 * d)
            self.tensors[h + "attn.c_proj.weight"] = rng.normal(0.1, 0.3, (d, d)) + 0.4 * np.eye(d)
            self.tensors[h + "attn.c_proj.bias"] = rng.normal(0, 0.3, d)
            self.tensors[h + "ln_2.weight"] = rng.uniform(0.3, 2, d)
            self.tensors[h + "ln_2.bias"] = rng.normal(0, 0.3, d)
            if complete:
                self.tensors[h + "mlp.c_fc.weight"] = rng.normal(0, 0.2, (d, 4 * d))
                self.tensors[h + "mlp.c_fc.bias"] = rng.normal(0, 0.2, 4 * d)
                self.tensors[h + "mlp.c_proj.weight"] = rng.normal(0, 0.2, (4 * d, d))
                self.tensors[h + "mlp.c_proj.bias"] = rng.normal(0, 0.2, d)
        self.tensors["ln_f.weight"] = rng.uniform(0.3, 2, d)
        self.tensors["ln_f.bias"] = rng.normal(0, 0.3, d)
        self.tensors = {name: t.astype(np.float32) for name, t in self.tensors.items()}
        with h5py.File(path, "w") as file:
            for name, tensor in self.tensors.items():
                file[name] = tensor
            file.attrs.update(
                n_layer=n_layer, n_head=n_head, n_embd=d, n_positions=n_ctx, vocab_size=d_vocab,
                layer_norm_epsilon=1e-5, activation_function="gelu_new",
            )

    def layer(self, i, name):
        return self.tensors[f"h.{i}.{name}"].astype(np.float64)

    def projections(self, i):
        """W_Q, W_K, W_V, W_O, each input x output."""
        return [*np.split(self.layer(i, "attn.c_attn.weight"), 3, axis=1),
                self.layer(i, "attn.c_proj.weight")]


def parameters(model):
    d, h, n_layer = model.d_model, model.n_head, model.n_layer
    result = {}

    mlp = n_layer * (8 * d * d + 5 * d)
    count = [model.d_vocab * d, model.n_ctx * d] + 4 * [n_layer * d * d]
    count += [n_layer * 4 * d, mlp, (4 * n_layer + 2) * d, 0]
    result["count"] = np.array(count + [sum(count)])
    held = list(count)
    if not model.complete:
        held[0] = held[7] = 0
    result["count_held"] = np.array(held + [sum(held)])
    if result["count_held"][-1] != sum(t.size for t in model.tensors.values()):
        sys.exit("the reference counts parameters wrongly")

    shapes = [(768, 12), (1024, 16), (1280, 20), (1600, 25), (12288, 96), (4096, 32), (32, 1),
              (32, 4), (d, h)]
    weights, biases = [], []
    for row, (width, heads) in enumerate(shapes):
        w_o = 0 if row in (6, 7) else 1
        square = width * width
        weights.append([(3 + w_o) * square, (3 + w_o) * square, 3 * square / heads + w_o * square,
                        (3 + w_o) * square / heads])
        biases.append((3 + w_o) * width)
    result["architecture_parameters"] = np.array(weights)
    result["architecture_biases"] = np.array(biases)
    result["d_model"] = np.array([s[0] for s in shapes])
    result["n_head"] = np.array([s[1] for s in shapes])
    result["d_head"] = result["d_model"] / result["n_head"]

    T = 2.0 ** np.arange(4, 14)
    macs = np.empty((4, 5, T.size))
    for s, (heads, inputs, output) in enumerate(
            [(h, 1, 1), (1, 1, 1), (h, 1 / h, 1), (h, 1 / h, 1 / h)]):
        macs[s] = [3 * T * d * d * inputs, T * T * d, T * T * d, T * d * d * output, heads * T * T]
    result["macs"] = macs

    def diagonal_share(W):
        squares = (W**2).reshape(h, d // h, h, d // h).sum(axis=(1, 3))
        return np.trace(squares) / squares.sum()

    energy = np.empty((4, n_layer))
    null = np.empty((4, n_layer, N_NULL))
    for i in range(n_layer):
        for p, W in enumerate(model.projections(i)):
            energy[p, i] = diagonal_share(W)
            for r in range(N_NULL):
                null[p, i, r] = diagonal_share(W[permutation((p * n_layer + i) * N_NULL + r, d)])
    result["block_energy"] = energy
    result["block_energy_null_mean"] = null.mean(axis=-1)
    result["block_energy_null_std"] = null.std(axis=-1, ddof=1)
    result["block_energy_z"] = (energy - null.mean(axis=-1)) / null.std(axis=-1, ddof=1)
    result["block_energy_p"] = (1 + (null >= energy[..., None]).sum(axis=-1)) / (1 + N_NULL)
    return result


def rank90(singular):
    return 1 + np.searchsorted(np.cumsum(singular**2), 0.9 * np.sum(singular**2))


def composition_score(OV, X):
    return np.linalg.norm(OV @ X) / (np.linalg.norm(OV) * np.linalg.norm(X))


def circuits(model, fold):
    d, H, n_layer, d_head = model.d_model, model.n_head, model.n_layer, model.d_head
    result = {}
    heads = []  # per unit: W_Q, W_K, W_V (d x d_head), W_O (d_head x d)
    joint = []
    for i in range(n_layer):
        Q, K, V, O = model.projections(i)
        if fold:
            gain = model.layer(i, "ln_1.weight")[:, None]
            Q, K, V = [gain * W - (gain * W).mean(axis=0) for W in (Q, K, V)]
            O = O - O.mean(axis=1, keepdims=True)
        joint.append(rank90(np.linalg.svd(Q @ K.T, compute_uv=False)))
        for part in (np.arange(h * d_head, (h + 1) * d_head) for h in range(H)):
            heads.append((Q[:, part], K[:, part], V[:, part], O[part]))
    result["qk_rank90_joint"] = np.array(joint)

    copying, rank = [], []
    for Q, K, V, O in heads:
        eigenvalues = np.linalg.eigvals(V @ O)
        copying.append(eigenvalues.sum().real / np.abs(eigenvalues).sum())
        rank.append(rank90(np.linalg.svd(Q @ K.T, compute_uv=False)))
    result["ov_copying"] = np.array(copying).reshape(n_layer, H)
    if model.complete:
        # All eigenvalues of the circuit from token to token, vocabulary x vocabulary.
        E = model.tensors["wte.weight"].astype(np.float64)
        U = E.T.copy()
        if fold:
            U *= model.tensors["ln_f.weight"].astype(np.float64)[:, None]
            U -= U.mean(axis=0)
            E = E - E.mean(axis=1, keepdims=True)
        full = [np.linalg.eigvals(E @ V @ O @ U) for _, _, V, O in heads]
        result["ov_copying_full"] = np.array([e.sum().real / np.abs(e).sum() for e in full]).reshape(n_layer, H)
    result["qk_rank90"] = np.array(rank).reshape(n_layer, H)

    def basis(W):
        left, singular, _ = np.linalg.svd(W, full_matrices=False)
        return left[:, singular > singular[0] * 2.0**-23]

    overlap = np.empty((4, n_layer, H, H))
    angle = np.empty_like(overlap)
    for p in range(4):
        for i in range(n_layer):
            bases = [basis(heads[i * H + h][p] if p < 3 else heads[i * H + h][3].T)
                     for h in range(H)]
            for a in range(H):
                for b in range(H):
                    cosines = np.linalg.svd(bases[a].T @ bases[b], compute_uv=False)
                    overlap[p, i, a, b] = np.sum(cosines**2) / cosines.size
                    angle[p, i, a, b] = 0 if a == b else np.degrees(
                        np.arccos(min(1, cosines[0])))
    result["subspace_overlap"] = overlap
    result["principal_angle_min"] = angle

    n_unit = n_layer * H
    score = np.full((3, n_unit, n_unit), np.nan)
    for a in range(n_unit):
        for b in range((a // H + 1) * H, n_unit):
            OV = heads[a][2] @ heads[a][3]
            QK = heads[b][0] @ heads[b][1].T
            for kind, X in enumerate((QK, QK.T, heads[b][2] @ heads[b][3])):
                score[kind, a, b] = composition_score(OV, X)
    result["composition"] = score

    null = np.empty((N_NULL, 3))
    for r in range(N_NULL):
        Q, K, V, O = [normal(4 * r + p, d, 2 * d_head) for p in range(4)]
        OV = V[:, :d_head] @ O[:, :d_head].T
        QK = Q[:, d_head:] @ K[:, d_head:].T
        X = (QK, QK.T, V[:, d_head:] @ O[:, d_head:].T)
        null[r] = [composition_score(OV, x) for x in X]
    result["composition_null"] = null.mean(axis=0)
    result["composition_null_std"] = null.std(axis=0, ddof=1)

    random_overlap = []
    for r in range(N_NULL):
        pair = normal(2**32 + r, d, 2 * d_head)
        if fold:
            pair = pair - pair.mean(axis=0)
        product = np.linalg.qr(pair[:, :d_head])[0].T @ np.linalg.qr(pair[:, d_head:])[0]
        random_overlap.append(np.sum(product**2) / d_head)
    result["subspace_overlap_null_mean"] = np.mean(random_overlap)
    result["subspace_overlap_null_std"] = np.std(random_overlap, ddof=1)

    share = np.zeros((n_layer, H, 9))
    sink = np.zeros((n_layer, H))
    T = min(128, model.n_ctx)
    wpe = model.tensors["wpe.weight"][:T].astype(np.float64)
    normed = (wpe - wpe.mean(axis=1, keepdims=True)) / np.sqrt(
        wpe.var(axis=1, keepdims=True) + 1e-5)
    for i in range(n_layer):
        X = normed * model.layer(i, "ln_1.weight") + model.layer(i, "ln_1.bias")
        Y = X @ model.layer(i, "attn.c_attn.weight") + model.layer(i, "attn.c_attn.bias")
        for h in range(H):
            part = slice(h * d_head, (h + 1) * d_head)
            scores = Y[:, :d][:, part] @ Y[:, d : 2 * d][:, part].T / np.sqrt(d_head)
            for q in range(2, T):
                weights = np.exp(scores[q, : q + 1] - scores[q, : q + 1].max())
                weights /= weights.sum()
                for offset in range(min(9, q + 1)):
                    share[i, h, offset] += weights[q - offset] / (T - 2)
                sink[i, h] += weights[0] / (T - 2)
    result["position_only_share"] = share
    result["position_only_sink"] = sink
    return result


DIMENSIONS = {
    "count": ["component"],
    "architecture_parameters": ["architecture", "scheme"],
    "macs": ["scheme", "term", "n_token"],
    "block_energy": ["projection", "layer"],
    "ov_copying": ["layer", "head"],
    "ov_copying_full": ["layer", "head"],
    "subspace_overlap": ["projection", "layer", "head_i", "head_j"],
    "principal_angle_min": ["projection", "layer", "head_i", "head_j"],
    "qk_rank90": ["layer", "head"],
    "qk_rank90_joint": ["layer"],
    "composition": ["kind", "unit_from", "unit_to"],
    "composition_null": ["kind"],
    "position_only_share": ["layer", "head", "offset"],
    "position_only_sink": ["layer", "head"],
}


def compare(group, name, expected):
    if name not in group:
        sys.exit(f"{group.name}/{name}: missing")
    dataset = group[name]
    got = np.asarray(dataset[()], dtype=np.float64)
    if got.shape != np.shape(expected):
        sys.exit(f"{group.name}/{name}: expected shape {np.shape(expected)}, got {got.shape}")
    dimensions = [axis[0].name.split("/")[-1] for axis in dataset.dims]
    if dimensions != DIMENSIONS.get(name, dimensions):
        sys.exit(f"{group.name}/{name}: expected {DIMENSIONS[name]}, got {dimensions}")
    for attribute in ("long_name", "units", "references"):
        if not dataset.attrs.get(attribute):
            sys.exit(f"{group.name}/{name}: no {attribute}")
    if not np.array_equal(np.isnan(got), np.isnan(expected)):
        sys.exit(f"{group.name}/{name}: values are missing in other places")
    # Means near zero (z-scores, copying) may lose digits to cancellation: absolute floor.
    worst = np.nanmax(np.abs(got - expected) / (RELATIVE * np.abs(expected) + 1e-9), initial=0)
    if not worst <= 1:
        sys.exit(f"{group.name}/{name}: differs by {worst:.3g} times the tolerance")


def check(binary, model, output, fold):
    command = [binary, "run", "--model", str(model.path), "--analyses", "parameters,circuits",
               "--output", str(output), "--seed", str(SEED), "--nulls", str(N_NULL), "--quiet",
               "--figures", "svg"]
    children.run(command + ([] if fold else ["--no-fold"]), check=True)
    n = 0
    with h5py.File(output / "results.h5") as results:
        for group, expected in (("parameters", parameters(model)),
                                ("circuits", circuits(model, fold))):
            for name, values in expected.items():
                compare(results[group], name, values)
                n += 1
    print(f"{n} datasets agree: {model.path.name}, {'folded' if fold else 'raw'}")


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        small = Model(folder / "small.h5", 3, 3, 24, 20, 11, False, 1)
        wide = Model(folder / "wide.h5", 2, 4, 32, 150, 50, True, 2)
        check(binary, small, folder / "small", True)
        check(binary, small, folder / "small_raw", False)
        check(binary, wide, folder / "wide", True)
        check(binary, wide, folder / "wide_raw", False)


main()
