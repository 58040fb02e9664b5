"""Recompute the results of `headscope run --analyses pruning` from the definitions, in float64 NumPy, and compare.

    python3 pruning_check.py results.h5 model.h5 corpus.h5 n_bootstrap prune_documents ablate_documents

Every loss comes from a whole forward pass with the heads' z replaced, and every gradient from central differences of that loss;
the program instead restarts in the middle of the model and uses a backward pass. Exits 1 if a number differs by more than its
tolerance.
"""

import itertools
import sys

import h5py
import numpy as np

from plain_gpt2 import (CounterRandom, Pass, compare, interval, random_permutation, read_documents,
                        read_model, report_failures, spread_sample, without_each)

# For mean losses of about 5 nats, and their differences and slopes: the program's float32 against float64.
LOSS_TOLERANCE = 2e-6
N_DONOR = 2  # --resample-donors


def donor_z(clean, passes, document, index, seed):
    """z of other documents at the same positions: [donor][layer]. The donors of a position are, of each document, the first piece in a
    seeded order that is long enough; fewer take turns, and without any the piece's own z stays."""
    others = [(number, other) for number, pieces in passes.items() if number != document for other in pieces.values()]
    order = random_permutation(len(others), CounterRandom(CounterRandom(seed, document).value(index)))
    donors = [[own.copy() for own in clean.z] for _ in range(min(N_DONOR, len({number for number, _ in others})))]
    for t in range(len(clean.tokens)):
        of_document = {}
        for number, other in (others[i] for i in order):
            if len(other.tokens) > t:
                of_document.setdefault(number, other)
        reaching = list(of_document.values())
        for k, layers in enumerate(donors if reaching else ()):
            for layer, z in enumerate(layers):
                z[:, t] = reaching[k % min(N_DONOR, len(reaching))].z[layer][:, t]
    return donors


def replaced(unit, new_z):
    """The edit that replaces the z of one head."""
    def edit(layer, z):
        if layer != unit[0]:
            return z
        z = z.copy()
        z[unit[1]] = new_z
        return z
    return edit


def first_order(model, clean, unit, new_z):
    """The increase of the piece's summed loss when the z of one head is replaced, by the slope along the replacement."""
    z = clean.z[unit[0]][unit[1]]
    def loss(share):
        return Pass(model, clean.tokens, replaced(unit, z + share * (new_z - z))).loss()
    return (loss(1e-4) - loss(-1e-4)) / 2e-4


def regression_estimate(y, x, n, other_x, other_n, weights=None, other_weights=None):
    """Mean increase by two-phase sampling, over documents [d, ...] with n tokens, weighted by `weights`; Cochran 1977, 12.6."""
    weights = np.ones(len(n)) if weights is None else weights
    other_weights = np.ones(len(other_n)) if other_weights is None else other_weights
    tokens = (weights * n).reshape((-1,) + (1,) * (y.ndim - 1))
    per_x, per_y = (values / n.reshape((-1,) + (1,) * (y.ndim - 1)) for values in (x, y))
    mean_x, mean_y = ((tokens * values).sum(0) / tokens.sum() for values in (per_x, per_y))
    slope = (tokens * (per_x - mean_x) * (per_y - mean_y)).sum(0) / (tokens * (per_x - mean_x) ** 2).sum(0)
    whole = np.tensordot(weights, x, 1) + np.tensordot(other_weights, other_x, 1)
    whole_n = weights @ n + other_weights @ other_n
    return mean_y + slope * (whole / whole_n - mean_x)


def regression_given(y, x, n, mean_x_of_all):
    """The regression estimate from documents [d, ...], given the mean of x over all documents per predicted token."""
    tokens = n.reshape((-1,) + (1,) * (y.ndim - 1))
    mean_x, mean_y = x.sum(0) / n.sum(), y.sum(0) / n.sum()
    slope = ((x - mean_x * tokens) * (y - mean_y * tokens) / tokens).sum(0) / ((x - mean_x * tokens) ** 2 / tokens).sum(0)
    return mean_y + slope * (mean_x_of_all - mean_x)


def without(units):
    """The edit that sets heads to zero."""
    def edit(layer, z):
        z = z.copy()
        z[[head for at, head in units if at == layer]] = 0
        return z
    return edit


def importance(model, tokens, z, unit):
    """z.g of each token, g the gradient of the piece's summed loss by the head's z."""
    products = []
    for t in range(len(tokens)):
        def loss(factor):
            scaled = z[unit[0]][unit[1]].copy()
            scaled[t] *= factor
            return Pass(model, tokens, replaced(unit, scaled)).loss()
        # The step balances truncation (third derivative) against rounding in double: 1e-9 of a product.
        products.append((loss(1 + 1e-4) - loss(1 - 1e-4)) / 2e-4)
    return products


def direct_effects(model, clean):
    """Logits summed over predicted tokens: [layer, head], [layer] of the MLPs, and embeddings, biases, everything.

    Each part is the change of the logits when its output is taken out of the last residual stream, with the mean and the
    scale of ln_f held fixed.
    """
    x = clean.resid[:-1]
    scale = np.sqrt(x.var(-1, keepdims=True) + model["epsilon"])
    unembedding = model["wte.weight"].T

    def read(written):
        logits = (written - written.mean(-1, keepdims=True)) / scale * model["ln_f.weight"] @ unembedding
        return (logits[np.arange(len(x)), clean.tokens[1:]] - logits.mean(-1)).sum()

    constant = model["ln_f.bias"] @ unembedding
    constant = (constant[clean.tokens[1:]] - constant.mean()).sum()
    heads = [[read(head[:-1]) for head in layer] for layer in clean.head_output]
    mlps = [read(mlp[:-1]) for mlp in clean.mlp_output]
    b_O = sum(model[f"h.{layer}.attn.c_proj.bias"] for layer in range(model["n_layer"]))
    logits = clean.logits[:-1]
    everything = (logits[np.arange(len(x)), clean.tokens[1:]] - logits.mean(-1)).sum()
    parts = [read(clean.embedding[:-1]), read(np.tile(b_O, (len(x), 1))) + constant, everything]
    return np.array(heads), np.array(mlps), np.array(parts)


def ranks(values):
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def prunable_share(curve, tolerance, n_head_total):
    """The share of heads removed where an order's loss first exceeds that of the whole model by more than the tolerance."""
    limit = (1 + tolerance) * curve[0]
    over = np.flatnonzero(curve > limit)
    if len(over) == 0:
        return 1.0
    steps = slice(over[0] - 1, over[0] + 1)
    return np.interp(limit, curve[steps], (np.arange(11) * n_head_total // 10)[steps] / n_head_total)


def main(results_path, model_path, corpus_path, n_bootstrap, n_sampled, n_ablated):
    results = h5py.File(results_path)
    group, seed = results["pruning"], int(results.attrs["seed"])
    model = read_model(model_path)
    shape = (model["n_layer"], model["n_head"])
    units = list(np.ndindex(shape))
    documents = read_documents(corpus_path, model["n_ctx"])
    all_passes = {number: {index: Pass(model, tokens) for index, tokens in enumerate(pieces) if len(tokens) > 1}
                  for number, pieces in enumerate(documents)}
    n_resample = int(n_bootstrap)

    losses = np.array([[sum(clean.loss() for clean in pieces.values()), sum(len(clean.tokens) - 1 for clean in pieces.values())]
                       for pieces in all_passes.values()])
    left_out = without_each(len(documents)) @ losses
    compare("loss", losses[:, 0].sum() / losses[:, 1].sum(), group["loss"][()], LOSS_TOLERANCE)
    low, high = interval(left_out[:, 0] / left_out[:, 1], losses[:, 0].sum() / losses[:, 1].sum(), n_resample, seed)
    compare("loss_ci_low", low, group["loss_ci_low"][()], LOSS_TOLERANCE)
    compare("loss_ci_high", high, group["loss_ci_high"][()], LOSS_TOLERANCE)
    compare("n_document", len(documents), group["n_document"][()])

    sample = spread_sample(len(documents), int(n_sampled), CounterRandom(seed, 1 << 62))
    ablated_sample = [sample[i] for i in spread_sample(len(sample), int(n_ablated), CounterRandom(seed, (1 << 62) + 1))]
    passes = {number: all_passes[number] for number in ablated_sample if all_passes[number]}
    rest = {number: all_passes[number] for number in sample if number not in ablated_sample and all_passes[number]}
    compare("n_document_ablated", len(passes), group["n_document_ablated"][()])
    compare("n_document_first_order", len(passes) + len(rest), group["n_document_first_order"][()])
    n = np.array([sum(len(clean.tokens) - 1 for clean in pieces.values()) for pieces in passes.values()])
    baseline = np.array([sum(clean.loss() for clean in pieces.values()) for pieces in passes.values()])
    weights = without_each(len(passes))

    def mean(losses):
        """Mean over predicted tokens; axis 0 is documents."""
        return np.tensordot(np.ones(len(n)), losses, 1) / n.sum()

    def without_each_document(losses):
        return np.tensordot(weights, losses, 1) / (weights @ n).reshape((-1,) + (1,) * (losses.ndim - 1))

    everyone = list(passes.items()) + list(rest.items())
    mean_z = [np.concatenate([clean.z[layer][:, 1:] for _, pieces in everyone for clean in pieces.values()], axis=1)
              .mean(axis=1, keepdims=True) for layer in range(shape[0])]
    ablated = np.zeros((len(passes), 3) + shape)
    all_but_one = np.zeros((len(passes),) + shape)
    direct = [0, 0, 0]
    direct_heads = []
    donor_variance, donor_variance_of_sum = np.zeros(shape), 0.0
    for d, (number, pieces) in enumerate(passes.items()):
        heads = 0
        for index, clean in pieces.items():
            donor = donor_z(clean, passes, number, index, seed)
            resampled = np.zeros((len(donor),) + shape)
            for unit in units:
                losses = [Pass(model, clean.tokens, replaced(unit, z)).loss()
                          for z in (0, mean_z[unit[0]][unit[1]], *(layers[unit[0]][unit[1]] for layers in donor))]
                resampled[(slice(None),) + unit] = losses[2:]
                ablated[(d, slice(None)) + unit] += losses[:2] + [np.mean(losses[2:])]
                others = [(unit[0], head) for head in range(shape[1]) if head != unit[1]]
                all_but_one[(d,) + unit] += Pass(model, clean.tokens, without(others)).loss()
            donor_variance += resampled.var(0, ddof=1) / len(donor)
            donor_variance_of_sum += resampled.sum((1, 2)).var(ddof=1) / len(donor)
            effects = direct_effects(model, clean)
            direct = [a + b for a, b in zip(direct, effects)]
            heads = heads + effects[0]
        direct_heads.append(heads)
    predicted = np.zeros((len(everyone), 3) + shape)
    for d, (number, pieces) in enumerate(everyone):
        for index, clean in pieces.items():
            donor = donor_z(clean, passes, number, index, seed)
            for unit in units:
                new = (0, mean_z[unit[0]][unit[1]], np.mean([layers[unit[0]][unit[1]] for layers in donor], 0))
                predicted[(d, slice(None)) + unit] += [first_order(model, clean, unit, z) for z in new]
    exact = ablated - baseline[:, None, None, None]
    x, y = (values / n[:, None, None] for values in (predicted[:len(passes), 0], exact[:, 0]))
    moments = [np.tensordot(n / n.sum(), values, 1) for values in (x, y, x * x, x * y, y * y)]
    variation = [(squares - center ** 2) * (squares - center ** 2 > 1e-12 * squares)
                 for center, squares in ((moments[0], moments[2]), (moments[1], moments[4]))]
    variations = np.where(variation[0] * variation[1] > 0, variation[0] * variation[1], np.nan)
    compare("first_order_r2", (moments[3] - moments[0] * moments[1]) ** 2 / variations, group["first_order_r2"][()], LOSS_TOLERANCE)
    all_n, all_baseline = n, baseline
    donor_error = np.sqrt(donor_variance) / n.sum()
    compare("donor_error", donor_error, group["donor_error"][()], LOSS_TOLERANCE)
    compare("donor_error_sum", np.sqrt(donor_variance_of_sum) / n.sum(), group["donor_error_sum"][()], LOSS_TOLERANCE)
    low, high = interval(without_each_document(exact), mean(exact), n_resample, seed)
    n_gradient, n_corpus = len(passes) + len(rest), len(documents)
    squares = len(passes) / n_gradient * (1 - n_gradient / n_corpus) * ((high - low) / 2) ** 2
    if rest:
        other_n = np.array([sum(len(clean.tokens) - 1 for clean in pieces.values()) for pieces in rest.values()])
        other_baseline = np.array([sum(clean.loss() for clean in pieces.values()) for pieces in rest.values()])
        all_n, all_baseline = np.concatenate([n, other_n]), np.concatenate([baseline, other_baseline])
        phases = (predicted[:len(passes)], n, predicted[len(passes):], other_n)
        increase = regression_estimate(exact, *phases)
        left_out = [regression_estimate(exact, *phases, *np.split(kept, [len(passes)])) for kept in without_each(len(everyone))]
        low, high = interval(np.array(left_out), increase, n_resample, seed)
        kept = [np.delete(np.arange(len(passes)), d) for d in range(len(passes))]
        slopes_vary = np.array([regression_given(exact[rows], predicted[:len(passes)][rows], n[rows],
                                                 predicted.sum(0) / np.concatenate([n, other_n]).sum()) for rows in kept])
        bounds = interval(slopes_vary, increase, n_resample, seed)
        squares += (1 - len(passes) / n_gradient) * ((bounds[1] - bounds[0]) / 2) ** 2
        all_others = predicted[:, 0].sum(axis=2, keepdims=True) - predicted[:, 0]
        all_but_one_increase = regression_estimate(all_but_one - baseline[:, None, None], all_others[:len(passes)], n,
                                                   all_others[len(passes):], other_n)
    else:
        increase = mean(exact)
        low, high = interval(without_each_document(exact), increase, n_resample, seed)
        all_but_one_increase = mean(all_but_one - baseline[:, None, None])
    compare("loss_baseline", all_baseline.sum() / all_n.sum(), group["loss_baseline"][()], LOSS_TOLERANCE)
    compare("loss_increase", increase, group["loss_increase"][()], LOSS_TOLERANCE)
    compare("loss_increase_ci_low", low, group["loss_increase_ci_low"][()], LOSS_TOLERANCE)
    compare("loss_increase_ci_high", high, group["loss_increase_ci_high"][()], LOSS_TOLERANCE)
    half_width = np.sqrt(squares)
    half_width[2] = np.hypot(half_width[2], np.sqrt(len(passes) / n_corpus) * 1.959963984540054 * donor_error)
    compare("loss_increase_corpus_half_width", half_width, group["loss_increase_corpus_half_width"][()], LOSS_TOLERANCE)
    compare("loss_all_but_one", all_baseline.sum() / all_n.sum() + all_but_one_increase, group["loss_all_but_one"][()],
            LOSS_TOLERANCE)

    compare("direct_effect", direct[0] / n.sum(), group["direct_effect"][()], LOSS_TOLERANCE)
    low, high = interval(without_each_document(np.array(direct_heads)), direct[0] / n.sum(), n_resample, seed)
    compare("direct_effect_ci_low", low, group["direct_effect_ci_low"][()], LOSS_TOLERANCE)
    compare("direct_effect_ci_high", high, group["direct_effect_ci_high"][()], LOSS_TOLERANCE)
    compare("direct_effect_mlp", direct[1] / n.sum(), group["direct_effect_mlp"][()], LOSS_TOLERANCE)
    for value, name in zip(direct[2] / n.sum(), ("embedding", "bias", "total")):
        compare("direct_effect_" + name, value, group["direct_effect_" + name][()], LOSS_TOLERANCE)
    parts = group["direct_effect"][()].sum() + group["direct_effect_mlp"][()].sum() + sum(
        group["direct_effect_" + name][()] for name in ("embedding", "bias"))
    compare("direct effects add up", group["direct_effect_total"][()], parts, LOSS_TOLERANCE)

    scores = []
    for d, pieces in enumerate(passes.values()):
        products = np.array([[*itertools.chain(*(importance(model, clean.tokens, clean.z, unit) for clean in pieces.values()))]
                             for unit in units]) / n[d]
        scores.append([np.abs(products).sum(axis=1), np.abs(products.sum(axis=1)), -products.sum(axis=1)])
    scores_by_document = np.array(scores)
    scores = np.mean(scores, axis=0).reshape((3,) + shape)
    normalized = scores / np.linalg.norm(scores, axis=2, keepdims=True)
    compare("importance", scores, group["importance"][()], LOSS_TOLERANCE)
    compare("importance_normalized", normalized, group["importance_normalized"][()], LOSS_TOLERANCE)
    rho = np.corrcoef(ranks(scores[2].ravel()), ranks(increase[0].ravel()))[0, 1]
    compare("first_order_correlation", rho, group["first_order_correlation"][()])
    compare("importance_correlation", [np.corrcoef(ranks(score.ravel()), ranks(increase[0].ravel()))[0, 1] for score in scores],
            group["importance_correlation"][()])

    # Even documents make the orders, odd ones score them.
    odd = np.array([number % 2 == 1 for number in passes])
    even_increase = exact[~odd, 0].sum(axis=0)
    if rest:
        even_others = np.array([number % 2 == 0 for number in rest])
        even_increase = regression_estimate(exact[~odd, 0], predicted[:len(passes)][~odd, 0], n[~odd],
                                            predicted[len(passes):][even_others, 0], other_n[even_others])
    even_scores = scores_by_document[~odd, 1].mean(axis=0).reshape(shape)
    orders = [np.argsort(even_increase.ravel(), kind="stable"),
              np.argsort((even_scores / np.linalg.norm(even_scores, axis=1, keepdims=True)).ravel(), kind="stable")]
    orders += [random_permutation(len(units), CounterRandom(CounterRandom(seed).value(i))) for i in range(5)]
    losses, correct = np.zeros((2, len(passes), 7, 11))
    for d, pieces in enumerate(passes.values()):
        for clean, (o, order), step in itertools.product(pieces.values(), enumerate(orders), range(11)):
            pruned = Pass(model, clean.tokens, without([units[i] for i in order[:int(step / 10 * len(units) + 1e-9)]]))
            losses[d, o, step] += pruned.loss()
            correct[d, o, step] += pruned.n_correct()
    scored = odd / (n * odd).sum()
    curve, accuracy = np.tensordot(scored, losses, 1), np.tensordot(scored, correct, 1)
    compare("curve", [curve[0], curve[1], curve[2:].mean(axis=0)], group["curve"][()], LOSS_TOLERANCE)
    compare("curve_random_std", curve[2:].std(axis=0, ddof=1), group["curve_random_std"][()], LOSS_TOLERANCE)
    compare("curve_accuracy", [accuracy[0], accuracy[1], accuracy[2:].mean(axis=0)], group["curve_accuracy"][()])

    claims = results["claims"]
    texts = [name.decode() if isinstance(name, bytes) else name for name in claims["effect_name"][()]]
    for tolerance, name in ((0.01, "1 %"), (0.05, "5 %")):
        at, = (i for i, text in enumerate(texts) if f"within {name} " in text)
        even = np.tensordot(~odd / (n * ~odd).sum(), losses, 1)
        better = int(prunable_share(even[1], tolerance, len(units)) > prunable_share(even[0], tolerance, len(units)))
        left_out = np.tensordot(weights * odd, losses, 1) / (weights @ (n * odd))[:, None, None]
        shares = [prunable_share(curves[better], tolerance, len(units)) for curves in left_out]
        effect = prunable_share(curve[better], tolerance, len(units))
        found = [claims[column][at] for column in ("effect", "ci_low", "ci_high")]
        compare(f"claim: prunable within {name}", [effect, *interval(np.array(shares), effect, n_resample, seed, 0, 1)], found)
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
