#!/usr/bin/python3
"""Sum the study up by the design in README.md: from trainings/*.json to results.h5 with effects, intervals and verdicts.

    summarise.py --trainings trainings --output results.h5

Trainings that are not finished are missing values; what rests on fewer than two seeds is undecided.
"""

import argparse
import json
import math
import pathlib
import re
import sys

import numpy as np
import scipy.stats
import xarray as xr

import family
from measure import BIN

LEVEL = 0.99  # 5 % shared by five claims
VERDICTS = ["undecided", "holds", "does_not_hold", "equivalent"]
UNDECIDED, HOLDS, DOES_NOT_HOLD, EQUIVALENT = range(4)
CLAIMS = {
    12: "at equal width and cost a middle number of heads has the lowest loss; one head, or heads of width 1, do worse",
    13: "heads specialise from random differences: heads that start equal stay equal, and a small difference at the start grows",
    14: "specialization (share of heads with a type, 1 - CKA of outputs) grows from 3 % of training to its end",
    15: "several heads make training steadier: variation of the gradient norm over steps and over seeds",
    16: "keeping more heads is more robust to noise in the input, at equal clean loss",
}
MOST_SEEDS = 10_000


def over_seeds(values):
    """Mean over the seeds that were measured, its interval of LEVEL by Student's t, and their number; NaN of fewer than two."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return np.nan, np.nan, np.nan, len(values)
    half = half_width(values.std(ddof=1), len(values))
    return values.mean(), values.mean() - half, values.mean() + half, len(values)


def half_width(spread, count):
    return scipy.stats.t.ppf(0.5 + LEVEL / 2, count - 1) * spread / math.sqrt(count)


def verdict_of_part(low, high, bound):
    """Equivalent within +-bound, else the side of zero on which the interval lies wholly."""
    if -bound < low and high < bound:
        return EQUIVALENT
    return HOLDS if low > 0 else DOES_NOT_HOLD if high < 0 else UNDECIDED


def verdict_of_claim(parts):
    """`parts`: verdicts of the claim's parts."""
    for verdict in (HOLDS, EQUIVALENT):
        if all(part == verdict for part in parts):
            return verdict
    return DOES_NOT_HOLD if any(part in (DOES_NOT_HOLD, EQUIVALENT) for part in parts) else UNDECIDED


def seeds_to_decide(values, bound):
    """The fewest seeds at which an interval of the same centre and spread would decide; NaN of fewer than two values, or if none would."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return np.nan
    for count in range(2, MOST_SEEDS):
        half = half_width(values.std(ddof=1), count)
        if verdict_of_part(values.mean() - half, values.mean() + half, bound) != UNDECIDED:
            return count
    return np.nan


def from_mean_of_others(curves):
    """Root mean square, over bins, of each seed's difference from the mean of the other seeds; curves [seed, bin], NaN where a seed is missing."""
    curves = np.asarray(curves, dtype=float)
    known = np.isfinite(curves).all(axis=1)
    values = np.full(len(curves), np.nan)
    count = known.sum()
    if count > 1:
        difference = (curves - curves[known].mean(axis=0)) * count / (count - 1)
        values = np.sqrt((difference**2).mean(axis=1))
    return values


class Trainings:
    """The files of a folder by name; a missing one has NaN everywhere."""

    def __init__(self, folder, design):
        self.design = design
        self.read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
        for key, values in (("stories", {numbers["stories_sha256"] for numbers in self.read.values()}), ("Headscope", self.commits())):
            if len(values) > 1:
                sys.exit(f"{folder}: expected trainings of one version of {key}, got {sorted(values)}")

    def commits(self):
        return {numbers["looked"]["headscope_commit"] for numbers in self.read.values() if "looked" in numbers}

    def number(self, name, key):
        value = self.read.get(name, {}).get(key)
        return np.nan if value is None else value

    def curve(self, name, key, length):
        values = self.read.get(name, {}).get(key)
        return np.full(length, np.nan) if values is None else np.array(values, dtype=float)

    def looked(self, name, key, percent=100):
        """A value of Headscope's at a checkpoint; key may be (type_share, TYPE)."""
        looked = self.read.get(name, {}).get("looked")
        if looked is None or percent not in looked["percent"]:
            return np.nan
        values = looked[key[0]][key[1]] if isinstance(key, tuple) else looked[key]
        value = values[looked["percent"].index(percent)]
        return np.nan if value is None else value

    def types(self):
        return next((list(numbers["looked"]["type_share"]) for numbers in self.read.values() if "looked" in numbers), [])


class Results:
    """Variables of the file, each with what it is."""

    def __init__(self):
        self.variables = {}

    def add(self, name, dims, values, long_name, units="1"):
        self.variables[name] = (dims, np.asarray(values), {"long_name": long_name, "units": units})
        return self.variables[name][1]


def add_family(results, trainings, seeds):
    """Models by number of heads; parts of claims 12 and 15."""
    design, dims = trainings.design, ("n_head", "seed")
    heads = sorted(design.seeds)

    def by_model(function):
        return [[function(family.random_start(n_head, seed)) for seed in seeds] for n_head in heads]

    loss = results.add("loss", dims, by_model(lambda name: trainings.number(name, "held_out_loss")), "loss on held-out stories", "nats")
    for key, long_name in (("typed_share", "share of heads with a type other than sink and long_range"),
                           ("unlikeness", "1 - CKA of the outputs of two heads of a layer, mean over pairs and layers"),
                           ("mean_abs_cosine", "mean |cosine| of the outputs of two heads of a layer, residual space")):
        results.add(key, dims, by_model(lambda name: trainings.looked(name, key)), long_name)
    results.add("entropy_median", dims, by_model(lambda name: trainings.looked(name, "entropy_median")), "median over heads of the entropy of attention", "nats")
    results.add("type_share", (*dims, "head_type"), by_model(lambda name: [trainings.looked(name, ("type_share", kind)) for kind in trainings.types()]),
                "share of heads of each type")
    results.add("seconds", dims, by_model(lambda name: trainings.number(name, "seconds")), "processor time of training", "s")
    results.add("peak_rate", dims, by_model(lambda name: trainings.number(name, "peak_rate")), "peak of the learning rate")
    results.add("clipped_share", dims, by_model(lambda name: trainings.number(name, "clipped_share")), "share of steps whose gradient was clipped")
    results.add("largest_gradient_norm", dims, by_model(lambda name: trainings.number(name, "largest_gradient_norm")), "largest norm of the gradient before clipping")
    results.add("training_loss", (*dims, "step"), by_model(lambda name: trainings.curve(name, "training_loss", design.steps // BIN)),
                f"training loss, mean of {BIN} steps", "nats")
    norms = results.add("ln_gradient_norm", (*dims, "step"), by_model(lambda name: trainings.curve(name, "ln_gradient_norm", design.steps // BIN)),
                        f"ln of the gradient's norm before clipping, mean of {BIN} steps")
    over_steps = results.add("variation_over_steps", dims, by_model(lambda name: trainings.number(name, "gradient_variation")),
                             "standard deviation over steps of ln(gradient norm) less its running mean")
    warm_up = np.array(by_model(lambda name: trainings.number(name, "warm_up")))
    after = math.ceil(np.nanmax(warm_up, initial=0) / BIN)
    between_seeds = results.add("variation_over_seeds", dims, [from_mean_of_others(row[:, after:]) for row in norms],
                                "root mean square over steps of the difference of ln(gradient norm) from the mean of the other seeds")
    one, middle, narrow = (heads.index(n_head) for n_head in (family.ONE, family.MIDDLE, family.NARROW))
    parts = [
        (12, "loss with 1 head − with 8", loss[one] - loss[middle], 0.02),
        (12, "loss with 128 heads of width 1 − with 8", loss[narrow] - loss[middle], 0.02),
    ]
    steadier = [
        (15, "ln(variation of the gradient norm over steps with 1 head / with 8)", np.log(over_steps[one] / over_steps[middle]), math.log(1.25)),
        (15, "ln(variation of the gradient norm over seeds with 1 head / with 8)", np.log(between_seeds[one] / between_seeds[middle]), math.log(1.25)),
    ]
    others = [(12, f"loss with {n_head} heads − with 8", loss[row] - loss[middle], 0.02)
              for row, n_head in enumerate(heads) if n_head not in (family.ONE, family.MIDDLE, family.NARROW)]
    return parts, steadier, others


def add_rates(results, trainings):
    heads = sorted(trainings.design.seeds)
    results.add("validation_loss", ("n_head", "rate"),
                [[trainings.number(training.name, "validation_loss") for training in family.rate_trainings(trainings.design, n_head)] for n_head in heads],
                "loss on validation stories after the short training that chooses the rate", "nats")


def add_starts(results, trainings, seeds):
    """Heads that start equal, plus noise; parts of claim 13. The first start is exactly equal, the last random."""
    noises = (0.0, *trainings.design.noise)

    def names(seed):
        return [*(family.equal_start(noise, seed) for noise in noises), family.random_start(family.MIDDLE, seed)]

    def by_start(function):
        return [[function(name) for name in row] for row in zip(*(names(seed) for seed in seeds))]

    distance = results.add("head_distance", ("start", "seed", "percent_of_training"), by_start(lambda name: trainings.curve(name, "head_distance", 101)),
                           "how far a layer's heads lie apart in W_Q, W_K, W_V, W_O: root of (sum of squares around their mean / sum of squares)")
    results.add("start_loss", ("start", "seed"), by_start(lambda name: trainings.number(name, "held_out_loss")), "loss on held-out stories after training", "nats")
    unlike = results.add("start_unlikeness", ("start", "seed"), by_start(lambda name: trainings.looked(name, "unlikeness")),
                         "1 - CKA of the outputs of two heads of a layer after training, mean over pairs and layers")
    parts, reached = [], []
    for row, noise in enumerate(noises[1:], 1):
        parts.append((13, f"ln(distance of heads at the end / at the start), equal up to {noise:g}", np.log(distance[row, :, -1] / distance[row, :, 0]), math.log(2)))
        reached.append((13, f"unlikeness of heads at the end, equal up to {noise:g} / random start", unlike[row] / unlike[-1], np.nan))
    exact = [bool(trainings.read[name]["heads_equal"]) for name in names_of_exact(trainings.design) if name in trainings.read]
    verdict = UNDECIDED if len(exact) < len(trainings.design.exact_seeds) else HOLDS if all(exact) else DOES_NOT_HOLD
    results.add("exactly_equal", (), int(verdict == HOLDS), "1: heads that started equal were equal in every bit after training, in every seed")
    return verdict, parts, reached


def names_of_exact(design):
    return [family.equal_start(0.0, seed) for seed in design.exact_seeds]


def add_growth(results, trainings, seeds):
    """Models of family.MIDDLE heads during training; parts of claim 14."""
    percents = list(trainings.design.percents)
    dims = ("seed", "percent")

    def by_checkpoint(key):
        return np.array([[trainings.looked(family.random_start(family.MIDDLE, seed), key, percent) for percent in percents] for seed in seeds], dtype=float)

    typed = results.add("growth_typed_share", dims, by_checkpoint("typed_share"), "share of heads with a type other than sink and long_range")
    unlike = results.add("growth_unlikeness", dims, by_checkpoint("unlikeness"), "1 - CKA of the outputs of two heads of a layer, mean over pairs and layers")
    results.add("growth_mean_abs_cosine", dims, by_checkpoint("mean_abs_cosine"), "mean |cosine| of the outputs of two heads of a layer, residual space")
    results.add("growth_type_share", (*dims, "head_type"), np.stack([by_checkpoint(("type_share", kind)) for kind in trainings.types()], axis=-1)
                if trainings.types() else np.zeros((len(seeds), len(percents), 0)), "share of heads of each type")
    heads, seed = sorted(trainings.design.seeds), trainings.design.long_seed
    for key, long_name in (("typed_share", "share of heads with a type other than sink and long_range"), ("unlikeness", "1 - CKA of the outputs of two heads of a layer")):
        results.add(f"along_{key}", ("n_head", "percent"), [[trainings.looked(family.random_start(n_head, seed), key, percent) for percent in percents] for n_head in heads],
                    f"{long_name}, by number of heads, seed {seed}")
    first = percents.index(family.GROWTH_FROM)
    return [(14, f"{what}, end − {family.GROWTH_FROM} % of training", values[:, -1] - values[:, first], 0.05)
            for what, values in (("share of heads with a type", typed), ("1 − CKA of heads' outputs", unlike))]


def add_noise(results, trainings, seeds):
    """Retrained models of family.MIDDLE heads; parts of claim 16. A model that did not reach the whole one's loss has no added loss."""
    design, dims = trainings.design, ("kept", "seed")

    def by_model(function):
        return np.array([[function(family.pruned(kept, seed)) for seed in seeds] for kept in design.kept], dtype=float)

    reached = results.add("retraining_reached", dims, by_model(lambda name: trainings.number(name, "reached")), "1: retraining reached the loss of the whole model")
    results.add("retraining_steps", dims, by_model(lambda name: trainings.number(name, "steps")), "steps of retraining")
    clean = results.add("retrained_loss", dims, by_model(lambda name: trainings.number(name, "held_out_loss")), "loss on held-out stories after retraining", "nats")
    noisy = by_model(lambda name: np.mean(trainings.number(name, "noisy_loss")))
    added = results.add("noise_added", dims, np.where(reached == 1, noisy - clean, np.nan),
                        "loss added by replacing 10 % of input tokens at random, retrained to equal clean loss", "nats")
    rows = list(enumerate(design.kept))[1:]
    parts = [(16, f"loss added by noise, {kept} % of heads kept − all", added[row] - added[0], 0.01) for row, kept in rows]
    others = [(16, f"clean loss, {kept} % of heads kept − all", np.where(reached[row] + reached[0] == 2, clean[row] - clean[0], np.nan), np.nan) for row, kept in rows]
    return parts, others


def add_long(results, trainings):
    heads = sorted(trainings.design.seeds)
    results.add("long_loss", ("n_head",), [trainings.number(family.long_training(n_head, trainings.design.long_seed), "held_out_loss") for n_head in heads],
                f"loss on held-out stories after the longer training, seed {trainings.design.long_seed}", "nats")


def add_effects(results, parts, others, exact):
    """Effects, their intervals and verdicts; parts decide, others do not."""
    effects = [*((*part, 1) for part in parts), *((*other, 0) for other in others)]
    intervals = np.array([over_seeds(values) for _, _, values, _, _ in effects])
    bounds = np.array([bound for _, _, _, bound, _ in effects])
    verdicts = [verdict_of_part(low, high, bound) if np.isfinite(low) else UNDECIDED for (_, low, high, _), bound in zip(intervals, bounds)]
    to_decide = [seeds_to_decide(values, bound) if verdict == UNDECIDED and decides else np.nan for (_, _, values, bound, decides), verdict in zip(effects, verdicts)]
    results.add("effect_claim", ("effect",), [effect[0] for effect in effects], "number of the claim")
    results.add("effect_decides", ("effect",), [effect[4] for effect in effects], "1: the verdict rests on it")
    for column, (end, long_name) in enumerate((("", "mean over seeds"), ("_ci_low", f"lower end of its {LEVEL:.0%} interval"), ("_ci_high", f"upper end of its {LEVEL:.0%} interval"))):
        results.add("effect_value" + end, ("effect",), intervals[:, column], f"effect: {long_name}; Student's t over seeds, paired by seed")
    results.add("effect_n_seed", ("effect",), intervals[:, 3].astype(int), "seeds that were measured")
    results.add("effect_bound", ("effect",), bounds, "equivalence bound: effects within +- it count as none")
    results.add("effect_verdict", ("effect",), verdicts, "equivalent: the interval lies within the bound; else holds: above 0; does_not_hold: below 0; else undecided")
    results.add("effect_seeds_to_decide", ("effect",), to_decide, "of an undecided part: seeds at which an interval of the same centre and spread would decide")
    claims = []
    for claim in CLAIMS:
        of_claim = [verdict for verdict, effect in zip(verdicts, effects) if effect[0] == claim and effect[4]]
        claims.append(verdict_of_claim([exact, *of_claim] if claim == 13 else of_claim))
    results.add("verdict", ("claim",), claims, "holds, equivalent: all parts are; does_not_hold: a part does not hold or is equivalent, but not all are; else undecided")
    results.add("claim_text", ("claim",), np.array(list(CLAIMS.values()), dtype=object), "the claim")
    return [effect[1] for effect in effects]


def effects_table(dataset):
    """Lines of a table in Markdown: a row per effect."""
    words = [word.replace("_", " ") for word in VERDICTS]
    lines = [f"| claim | verdict | effect | value | {LEVEL:.0%} interval | bound | seeds | to decide |", "|---:|---|---|---:|---|---:|---:|---:|"]
    for i in range(dataset.sizes["effect"]):
        value, low, high, bound, to_decide = (float(dataset[name][i]) for name in ("effect_value", "effect_value_ci_low", "effect_value_ci_high", "effect_bound",
                                                                                  "effect_seeds_to_decide"))
        decides = int(dataset["effect_decides"][i])
        numbers = [f"{number:.4f}".replace("-", "−") if np.isfinite(number) else "" for number in (value, low, high)]
        cells = [str(int(dataset["effect_claim"][i])), words[int(dataset["effect_verdict"][i])] if decides else "", str(dataset["effect"].values[i]), numbers[0],
                 f"[{numbers[1]}, {numbers[2]}]" if numbers[1] else "", f"{bound:.3g}" if np.isfinite(bound) else "", str(int(dataset["effect_n_seed"][i])),
                 str(int(to_decide)) if np.isfinite(to_decide) else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def summarise(folder, design):
    """The dataset of results.h5."""
    trainings, results = Trainings(folder, design), Results()
    seeds = list(max(design.seeds.values(), key=len))
    better, steadier, others = add_family(results, trainings, seeds)
    add_rates(results, trainings)
    exact, grown, reached = add_starts(results, trainings, seeds)
    robust, clean = add_noise(results, trainings, seeds)
    parts = [*better, *grown, *add_growth(results, trainings, seeds), *steadier, *robust]
    add_long(results, trainings)
    names = add_effects(results, parts, [*others, *reached, *clean], exact)
    wanted = family.every_training(design)
    heads = sorted(design.seeds)
    coordinates = {
        "n_head": heads, "seed": seeds, "rate": list(design.rates), "start": ["exactly equal", *(f"equal up to {noise:g}" for noise in design.noise), "random"],
        "percent_of_training": np.arange(101), "percent": list(design.percents), "head_type": trainings.types(), "kept": list(design.kept),
        "step": np.arange(BIN / 2, design.steps // BIN * BIN, BIN), "claim": list(CLAIMS), "effect": names,
    }
    one = next(iter(trainings.read.values()), {})
    dataset = xr.Dataset(results.variables, coordinates, {
        "title": "Why many heads: small GPT-2s of one width and cost, by number of heads", "training_steps": design.steps,
        "n_training": len(wanted), "n_finished": sum(training.name in trainings.read for training in wanted),
        "level": LEVEL, "stories_sha256": one.get("stories_sha256", ""), "headscope_commit": next(iter(trainings.commits()), ""),
    })
    for name in ("verdict", "effect_verdict"):
        dataset[name].attrs |= {"flag_values": np.arange(len(VERDICTS)), "flag_meanings": " ".join(VERDICTS)}
    return dataset


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trainings", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--readme", type=pathlib.Path, help="whose table of effects to write again")
    parser.add_argument("--tiny", action="store_true", help="trainings that run_study.py --tiny made")
    arguments = parser.parse_args()
    dataset = summarise(arguments.trainings, family.TINY if arguments.tiny else family.FULL)
    dataset.to_netcdf(arguments.output, engine="h5netcdf",
                      encoding={name: {"zlib": True} for name, variable in dataset.data_vars.items() if variable.size > 50 and variable.dtype.kind == "f"})
    table = effects_table(dataset)
    if arguments.readme:
        text = arguments.readme.read_text(encoding="utf-8")
        arguments.readme.write_text(re.sub(r"\| claim \| verdict .*?\n\n", lambda _: table + "\n", text, count=1, flags=re.S), encoding="utf-8")
    print(table, end="")


if __name__ == "__main__":
    main()
