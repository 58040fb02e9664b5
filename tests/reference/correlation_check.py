"""Recompute the results of `headscope run --analyses correlation` from the definitions, in float64 NumPy, and compare.

    python3 correlation_check.py results.h5 model.h5 corpus.h5 n_bootstrap js_queries

Stacks the outputs of all tokens and multiplies them as in the definitions; the program adds up products instead. Exits 1 if a
number differs by more than its tolerance.
"""

import math
import sys

import h5py
import numpy as np

from plain_gpt2 import (FAILURES, CounterRandom, Pass, compare, interval, read_documents, read_model,
                        report_failures, spread_sample, without_each)

# The program's cosines and shares come from float32 activations.
TOLERANCE = 1e-6


def cosine(u, v):
    return (u * v).sum() / math.sqrt((u * u).sum() * (v * v).sum())


def matrix(values, function):
    return np.array([[function(u, v) for v in values] for u in values])


def linear_cka(x, y):
    """Kornblith et al. 2019; x and y are token x feature."""
    x, y = x - x.mean(0), y - y.mean(0)
    return np.linalg.norm(y.T @ x)**2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))


def divergence(p, q):
    m = (p + q) / 2
    return sum(0.5 * (x[x > 0] * np.log(x[x > 0] / m[x > 0])).sum() for x in (p, q))


def subset(n, count, random):
    """A subset of 0 .. n-1 by Floyd's algorithm, with the program's draws."""
    chosen = set()
    for j in range(n - count, n):
        drawn = random.below(j + 1, j)
        chosen.add(j if drawn in chosen else drawn)
    return chosen


def mean_abs(values):
    return np.abs(values[~np.eye(len(values), dtype=bool)]).mean()


def stress(points, distances):
    return ((np.linalg.norm(points[:, None] - points[None], axis=-1) - distances)**2).sum() / 2


def check_scaling(points, distances):
    """Check that the points are a local minimum of the stress, beat classical scaling and follow the sign convention."""
    n = len(distances)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    classical = vectors[:, -2:] * np.sqrt(values[-2:])
    reached = stress(points, distances)
    if not reached < stress(classical, distances):
        FAILURES.append("mds: no better than classical scaling")
    for i in range(n):
        for step in 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
            moved = points.copy()
            moved[i] += step
            if stress(moved, distances) < reached:
                FAILURES.append(f"mds: unit {i} lies better {step} away")
    for axis in points.T:
        if axis[np.abs(axis).argmax()] <= 0:
            FAILURES.append("mds: the largest coordinate of an axis is negative")


def main(results_path, model_path, corpus_path, n_bootstrap, js_queries):
    results = h5py.File(results_path)
    group, seed = results["correlation"], int(results.attrs["seed"])
    model = read_model(model_path)
    n_layer, n_head = model["n_layer"], model["n_head"]
    documents = read_documents(corpus_path, model["n_ctx"])
    pieces = [(number, index) for number, document in enumerate(documents) for index in range(len(document))]
    passes = {(number, index): Pass(model, documents[number][index]) for number, index in pieces
              if len(documents[number][index]) > 1}

    def outputs(name, layer, head):
        """One array per piece, token x feature, without position 0."""
        return [getattr(clean, name)[layer][head][1:] for clean in passes.values()]

    def stacked(name, layer):
        return [np.concatenate(outputs(name, layer, head)) for head in range(n_head)]

    def token_mean(u, v):
        return np.mean([cosine(a, b) for a, b in zip(u, v)])

    spaces = ("z", "head_output")
    layers = range(n_layer)
    cosines = np.array([[matrix(stacked(space, layer), cosine) for layer in layers] for space in spaces])
    compare("cosine", cosines, group["cosine"][()], TOLERANCE)
    compare("cosine_token", [[matrix(stacked(space, layer), token_mean) for layer in layers] for space in spaces],
            group["cosine_token"][()], TOLERANCE)
    compare("cosine_all", matrix([u for layer in layers for u in stacked("head_output", layer)], cosine),
            group["cosine_all"][()], TOLERANCE)
    compare("cka", [matrix(stacked("z", layer), linear_cka) for layer in layers], group["cka"][()], TOLERANCE)

    def overlap(layer):
        rows = [np.concatenate([clean.pattern[layer][head][1:].ravel() for clean in passes.values()]) for head in range(n_head)]
        return matrix(rows, np.dot).mean() / sum(len(clean.tokens) - 1 for clean in passes.values())

    compare("disagreement", [[-matrix(stacked("v", layer), cosine).mean() for layer in layers],
                             [-overlap(layer) for layer in layers], [-cosines[0, layer].mean() for layer in layers]],
            group["disagreement"][()], TOLERANCE)
    shares = []
    for layer in layers:
        heads = stacked("head_output", layer)
        total = sum(heads)
        shares.append([(u * total).sum() / (total * total).sum() for u in heads])
    compare("output_share", shares, group["output_share"][()], TOLERANCE)

    def weighted_outputs(of_document, space, layer):
        """Of each head, stacked, documents counted so often."""
        weights = [of_document[number] for number, _ in passes]
        parts = [outputs(space, layer, head) for head in range(n_head)]
        return [np.concatenate([math.sqrt(w) * part for w, part in zip(weights, head) if w]) for head in parts]

    def output_overlap(of_document):
        """Share of the absolute inner products of heads' outputs that is between different heads."""
        products = [np.abs(matrix(weighted_outputs(of_document, spaces[1], layer), lambda u, v: (u * v).sum())) for layer in layers]
        return np.mean([1 - np.trace(each) / each.sum() for each in products])

    once = [1] * len(documents)
    compare("output_overlap", output_overlap(once), group["output_overlap"][()], TOLERANCE)

    observed = [[mean_abs(values) for values in space] for space in cosines]
    compare("mean_abs_cosine", observed, group["mean_abs_cosine"][()], TOLERANCE)
    def weighted(of_document):
        """mean |cosine| by space and layer, documents counted so often."""
        return [[mean_abs(matrix(weighted_outputs(of_document, space, layer), cosine)) for layer in layers] for space in spaces]

    left_out = np.array([weighted(times) for times in without_each(len(documents))])
    # Kept in float32, for each of at most 128 parts.
    influences = group["mean_abs_cosine_influences"][()]
    compare("mean_abs_cosine_influences", (len(documents) - 1) * (observed - left_out), influences[:len(documents)], TOLERANCE)
    compare("parts without a document", np.isnan(influences[len(documents):]).all(), True, 0)
    low, high = interval(left_out, observed, int(n_bootstrap), seed, 0, 1)
    compare("mean_abs_cosine_ci_low", low, group["mean_abs_cosine_ci_low"][()], TOLERANCE)
    compare("mean_abs_cosine_ci_high", high, group["mean_abs_cosine_ci_high"][()], TOLERANCE)
    claims = results["claims"]
    over_layers = np.mean(np.array(left_out)[:, 1], axis=1)
    effect = np.mean([mean_abs(each) for each in cosines[1]])
    overlaps = np.array([output_overlap(weights) for weights in without_each(len(documents))])
    expected = {6: [effect, *interval(over_layers, effect, int(n_bootstrap), seed, 0, 1)],
                10: [output_overlap(once), *interval(overlaps, output_overlap(once), int(n_bootstrap), seed, 0, 1)]}
    for at, number in enumerate(claims["number"][()]):
        if number in expected and b"untrained" not in claims["effect_name"][at]:
            compare(f"claim {number}", expected[number], [claims[name][at] for name in ("effect", "ci_low", "ci_high")], TOLERANCE)

    each, left = divmod(int(js_queries), len(pieces))
    with_one_more = {pieces[i] for i in spread_sample(len(pieces), left, CounterRandom(seed, 1))}
    distances, count = 0, 0
    for (number, index), clean in passes.items():
        n_query = len(clean.tokens) - 1
        drawn = min(n_query, each + ((number, index) in with_one_more))
        of_document = CounterRandom(CounterRandom(seed, 2).value(number))
        for query in subset(n_query, drawn, CounterRandom(of_document.value(index))):
            attention = [pattern[query + 1, :query + 2] for layer in clean.pattern for pattern in layer]
            between = matrix(attention, lambda p, q: math.sqrt(max(divergence(p, q), 0)))
            distances = distances + between * n_query / drawn
            count += n_query / drawn
    compare("js_distance", distances / count, group["js_distance"][()], TOLERANCE)
    check_scaling(group["mds"][()], group["js_distance"][()])
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
