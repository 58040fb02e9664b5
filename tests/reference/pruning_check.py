"""Recompute the results of `headscope run --analyses pruning` from the definitions, in float64 NumPy, and compare.

    python3 pruning_check.py results.h5 model.h5 corpus.h5 n_bootstrap

Every loss comes from a whole forward pass with the heads' z replaced, and every gradient from central differences of that loss;
the program instead restarts in the middle of the model and uses a backward pass. Exits 1 if a number differs by more than its
tolerance.
"""

import itertools
import sys

import h5py
import numpy as np

from plain_gpt2 import (CounterRandom, Pass, compare, document_weights, interval, random_permutation, read_model,
                        report_failures)

# For mean losses of about 5 nats: the program's float32 against float64.
LOSS_TOLERANCE = 2e-6


def read_documents(path):
    with h5py.File(path) as file:
        offsets = file["offsets"][()]
        return [file["tokens"][begin:end].tolist() for begin, end in zip(offsets, offsets[1:])]


def donor_z(passes, document, seed):
    """z from drawn other documents at the same positions; the document's own where no other is as long. A list over layers."""
    z = [own.copy() for own in passes[document].z]
    others = [other for other in passes if other != document]
    order = random_permutation(len(others), CounterRandom(CounterRandom(seed, document).value(0)))
    filled, length = 0, len(passes[document].tokens)
    for other in (others[i] for i in order):
        reach = min(length, len(passes[other].tokens))
        for layer in range(len(z)) if reach > filled else ():
            z[layer][:, filled:reach] = passes[other].z[layer][:, filled:reach]
        filled = max(filled, reach)
    return z


def replaced(unit, new_z):
    """The edit that replaces the z of one head."""
    def edit(layer, z):
        if layer != unit[0]:
            return z
        z = z.copy()
        z[unit[1]] = new_z
        return z
    return edit


def without(units):
    """The edit that sets heads to zero."""
    def edit(layer, z):
        z = z.copy()
        z[[head for at, head in units if at == layer]] = 0
        return z
    return edit


def importance(model, tokens, z, unit):
    """Sum over tokens of |z.g|, |sum of z.g| and -(sum of z.g), g the gradient of the document's mean loss by the head's z."""
    products = []
    for t in range(len(tokens)):
        def loss(factor):
            scaled = z[unit[0]][unit[1]].copy()
            scaled[t] *= factor
            return Pass(model, tokens, replaced(unit, scaled)).loss() / (len(tokens) - 1)
        # The step balances truncation (third derivative) against rounding in double: 1e-9 of a product.
        products.append((loss(1 + 1e-4) - loss(1 - 1e-4)) / 2e-4)
    products = np.array(products)
    return np.abs(products).sum(), abs(products.sum()), -products.sum()


def ranks(values):
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def prunable_share(curve, baseline, tolerance):
    """The largest share, in the better order, up to which every removal keeps the loss within the tolerance."""
    return max(sum(1 for _ in itertools.takewhile(lambda loss: loss <= (1 + tolerance) * baseline, order[1:])) / 10 for order in curve)


def main(results_path, model_path, corpus_path, n_bootstrap):
    results = h5py.File(results_path)
    group, seed = results["pruning"], int(results.attrs["seed"])
    model = read_model(model_path)
    shape = (model["n_layer"], model["n_head"])
    units = list(np.ndindex(shape))
    passes = {number: Pass(model, tokens) for number, tokens in enumerate(read_documents(corpus_path)) if len(tokens) > 1}
    n = np.array([len(clean.tokens) - 1 for clean in passes.values()])
    baseline = np.array([clean.loss() for clean in passes.values()])
    weights = document_weights(len(passes), int(n_bootstrap), seed)

    def mean(losses):
        """Mean over predicted tokens; axis 0 is documents."""
        return np.tensordot(np.ones(len(n)), losses, 1) / n.sum()

    def resampled(losses):
        return np.tensordot(weights, losses, 1) / (weights @ n).reshape((-1,) + (1,) * (losses.ndim - 1))

    mean_z = [np.concatenate([clean.z[layer][:, 1:] for clean in passes.values()], axis=1).mean(axis=1, keepdims=True)
              for layer in range(shape[0])]
    ablated = np.empty((len(passes), 3) + shape)
    all_but_one = np.empty((len(passes),) + shape)
    for d, (number, clean) in enumerate(passes.items()):
        donor = donor_z(passes, number, seed)
        for unit in units:
            new = (0, mean_z[unit[0]][unit[1]], donor[unit[0]][unit[1]])
            ablated[(d, slice(None)) + unit] = [Pass(model, clean.tokens, replaced(unit, z)).loss() for z in new]
            others = [(unit[0], head) for head in range(shape[1]) if head != unit[1]]
            all_but_one[(d,) + unit] = Pass(model, clean.tokens, without(others)).loss()
    increase = mean(ablated - baseline[:, None, None, None])
    compare("loss_baseline", mean(baseline), group["loss_baseline"][()], LOSS_TOLERANCE)
    compare("loss_increase", increase, group["loss_increase"][()], LOSS_TOLERANCE)
    low, high = interval(resampled(ablated - baseline[:, None, None, None]))
    compare("loss_increase_ci_low", low, group["loss_increase_ci_low"][()], LOSS_TOLERANCE)
    compare("loss_increase_ci_high", high, group["loss_increase_ci_high"][()], LOSS_TOLERANCE)
    compare("loss_all_but_one", mean(all_but_one), group["loss_all_but_one"][()], LOSS_TOLERANCE)

    scores = np.array([[importance(model, clean.tokens, clean.z, unit) for unit in units] for clean in passes.values()])
    scores = scores.mean(axis=0).T.reshape((3,) + shape)
    normalized = scores / np.linalg.norm(scores, axis=2, keepdims=True)
    compare("importance", scores, group["importance"][()], LOSS_TOLERANCE)
    compare("importance_normalized", normalized, group["importance_normalized"][()], LOSS_TOLERANCE)
    rho = np.corrcoef(ranks(scores[2].ravel()), ranks(increase[0].ravel()))[0, 1]
    compare("first_order_correlation", rho, group["first_order_correlation"][()])

    orders = [np.argsort(increase[0].ravel(), kind="stable"), np.argsort(normalized[1].ravel(), kind="stable")]
    orders += [random_permutation(len(units), CounterRandom(CounterRandom(seed).value(i))) for i in range(5)]
    losses, correct = np.empty((2, len(passes), 7, 11))
    for d, clean in enumerate(passes.values()):
        for o, order in enumerate(orders):
            for step in range(11):
                pruned = Pass(model, clean.tokens, without([units[i] for i in order[:int(step / 10 * len(units) + 1e-9)]]))
                losses[d, o, step], correct[d, o, step] = pruned.loss(), pruned.n_correct()
    curve, accuracy = mean(losses), mean(correct)
    compare("curve", [curve[0], curve[1], curve[2:].mean(axis=0)], group["curve"][()], LOSS_TOLERANCE)
    compare("curve_random_std", curve[2:].std(axis=0, ddof=1), group["curve_random_std"][()], LOSS_TOLERANCE)
    compare("curve_accuracy", [accuracy[0], accuracy[1], accuracy[2:].mean(axis=0)], group["curve_accuracy"][()])

    claims = results["claims"]
    texts = [name.decode() if isinstance(name, bytes) else name for name in claims["effect_name"][()]]
    for tolerance, name in ((0.01, "1 %"), (0.05, "5 %")):
        at, = (i for i, text in enumerate(texts) if f"within {name} " in text)
        shares = [prunable_share(draw[:2], base, tolerance) for draw, base in zip(resampled(losses), resampled(baseline))]
        effect = prunable_share(curve[:2], mean(baseline), tolerance)
        found = [claims[column][at] for column in ("effect", "ci_low", "ci_high")]
        compare(f"claim: prunable within {name}", [effect, *interval(np.array(shares))], found)
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
