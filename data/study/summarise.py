#!/usr/bin/python3
"""Sum the study up: from records, models, runs, comparisons and noise to results.h5 with effects, intervals and verdicts.

    summarise.py --work out/study --output results.h5 --readme README.md
"""

import argparse
import hashlib
import pathlib
import re
import sys

import h5py
import numpy as np
import xarray as xr

import family

T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}  # Student's t by degrees of freedom
NOT_SPECIALISED = {"sink", "long_range"}  # say where attention rests, not what it looks for; an untrained head may have them
SMOOTH, BIN, BLOCK = 51, 20, 50  # steps
WARM_UP = 0.05
DRAWS, SEED = 1000, 0
SAME = 0.01  # heads at most this far apart count as equal
VERDICTS = ["undecided", "holds", "does_not_hold"]
CLAIMS = {
    12: "at equal width and cost a middle number of heads has the lowest loss; one head, or heads of width 1, do worse",
    13: "heads specialise from random differences: heads that start equal stay equal",
    14: "specialization (heads with a type, unlikeness of outputs) grows in training",
    15: "several heads make training steadier: variation of the gradient norm over steps and seeds",
    16: "keeping more heads is more robust to noise in the input",
}


def over_seeds(values):
    """Mean over the seeds that were measured and its 95 % interval by Student's t; NaN of fewer than two."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return np.nan, np.nan, np.nan
    half = T_975[len(values) - 1] * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean(), values.mean() - half, values.mean() + half


def verdict(effects):
    """1 where every interval lies on the side of its bound that the claim expects, 2 where one lies wholly on the other, else 0."""
    ahead = [expected * (low - bound) > 0 and expected * (high - bound) > 0 for _, low, high, expected, bound in effects]
    behind = [expected * (low - bound) < 0 and expected * (high - bound) < 0 for _, low, high, expected, bound in effects]
    return 1 if all(ahead) else 2 if any(behind) else 0


def text_array(values):
    return [value.decode() for value in values]


class Compared:
    """A comparison's variables by the label of the run; NaN, shaped as in `other`, where it was not made or has no such run."""

    def __init__(self, work, name, other=None):
        path = work / "comparison" / name / "results.h5"
        if not path.exists():
            self.runs, self.values = [], other.values
            return
        with h5py.File(path) as file:
            group = file["comparison"]
            self.runs = text_array(group["run"][()])
            self.types, self.kinds = text_array(group["type"][()]), text_array(group["kind"][()])
            self.values = {key: group[key][()] for key in group if key.startswith(("loss", "mean_abs_cosine", "disagreement", "type_share", "entropy_median"))}
            self.version = text_array(group["version"][()])[0]

    def get(self, name, run):
        if str(run) not in self.runs:
            return np.full(self.values[name].shape[1:], np.nan)
        return self.values[name][self.runs.index(str(run))]


class Losses:
    """Losses by document that losses.py wrote; intervals by resampling the documents, the same ones for all models."""

    def __init__(self, work):
        self.folder = work / "losses"
        self.drawn = None

    def estimate(self, name, noise=False):
        """[value, low, high] of the loss per token, or of the loss that noise adds."""
        with h5py.File(self.folder / f"{name}.h5") as file:
            loss, n_target = file["loss"][()], file["n_target"][()]
        row = loss[1:].mean(axis=0) - loss[0] if noise else loss[0]
        if self.drawn is None:
            self.drawn = np.random.default_rng(SEED).integers(len(row), size=(DRAWS, len(row)))
        low, high = np.percentile(row[self.drawn].sum(axis=1) / n_target[self.drawn].sum(axis=1), [2.5, 97.5])
        return [row.sum() / n_target.sum(), low, high]


def check_losses(work, losses):
    """Headscope's loss and that of losses.py are of the same forward pass."""
    for model in family.every_model():
        results = family.run_folder(work, model.name) / "results.h5"
        if results.exists():
            with h5py.File(results) as file:
                expected, got = float(file["pruning/loss"][()]), losses.estimate(model.name)[0]
            if abs(got - expected) > 1e-4:
                sys.exit(f"{model.name}: expected Headscope's loss {expected}, got {got}")


def typed_share(work, name, percent=100):
    """Share of heads with at least one type that says what they look for."""
    path = family.run_folder(work, name, percent) / "results.h5"
    if not path.exists():
        return np.nan
    with h5py.File(path) as file:
        group = file["classification"]
        wanted = [label not in NOT_SPECIALISED for label in text_array(group["head_type"][()])]
        return group["type"][()][wanted].any(axis=0).mean()


def head_distance(path):
    """How far the heads of a layer lie apart in W_Q, W_K, W_V and W_O: √(Σ|w_h − mean of w|² / Σ|w_h|²). 0: equal; √(1 − 1/h): unrelated."""
    apart = total = 0.0
    with h5py.File(path) as file:
        n_head = int(file.attrs["n_head"])
        for i in range(int(file.attrs["n_layer"])):
            c_attn, c_proj = (file[f"h.{i}.attn.{name}.weight"][()].astype(float) for name in ("c_attn", "c_proj"))
            d = len(c_proj)
            w = np.concatenate([c_attn.reshape(d, 3, n_head, -1).transpose(2, 0, 1, 3).reshape(n_head, -1), c_proj.reshape(n_head, -1)], axis=1)
            apart += ((w - w.mean(axis=0)) ** 2).sum()
            total += (w**2).sum()
    return np.sqrt(apart / total)


class Results:
    """Variables of the file, each with what it is."""

    def __init__(self):
        self.variables = {}

    def add(self, name, dims, values, long_name, units="1"):
        self.variables[name] = (dims, np.asarray(values), {"long_name": long_name, "units": units})

    def add_with_interval(self, name, dims, values, long_name, units="1"):
        """`values` end in an axis of estimate, low, high."""
        values = np.asarray(values)
        for i, end in enumerate(("", "_ci_low", "_ci_high")):
            self.add(name + end, dims, values[..., i], long_name + (", end of its 95 % interval" if end else ""), units)


def estimate(compared, name, run):
    return [compared.get(name + end, run) for end in ("", "_ci_low", "_ci_high")]


def add_family(results, work, compared, losses):
    """Trained models by number of heads."""
    names = [[family.random_start(n_head, seed) for seed in family.SEEDS] for n_head in family.N_HEAD]
    dims = ("n_head", "seed")

    def by_model(function):
        return [[function(name) for name in row] for row in names]

    documents = "; interval: documents resampled"
    results.add_with_interval("loss", dims, by_model(losses.estimate), "loss on held-out stories" + documents, "nats")
    results.add_with_interval("mean_abs_cosine", dims, by_model(lambda name: estimate(compared, "mean_abs_cosine", name)),
                              "mean |cosine| of the outputs of two heads of a layer, residual space" + documents)
    results.add("disagreement", (*dims, "kind"), by_model(lambda name: compared.get("disagreement", name)), "disagreement of a layer's heads (Li et al. 2018)")
    results.add("type_share", (*dims, "head_type"), by_model(lambda name: compared.get("type_share", name)), "share of heads of each type")
    results.add("typed_share", dims, by_model(lambda name: typed_share(work, name)), "share of heads with a type other than sink and long_range")
    results.add("entropy_median", dims, by_model(lambda name: compared.get("entropy_median", name)), "median over heads of the entropy of attention", "nats")


def add_training(results, work):
    """Gradient norms by step: how they vary over steps and over seeds."""
    records = {}
    for row, n_head in enumerate(family.N_HEAD):
        for column, seed in enumerate(family.SEEDS):
            with h5py.File(work / "models" / family.random_start(n_head, seed) / "record.h5") as file:
                for name in ("loss", "gradient_norm"):
                    records.setdefault(name, np.zeros((len(family.N_HEAD), len(family.SEEDS), family.STEPS)))[row, column] = file[name][()]
                records.setdefault("seconds", np.zeros((len(family.N_HEAD), len(family.SEEDS))))[row, column] = file.attrs["seconds"]
    dims = ("n_head", "seed")
    for name, long_name, units in (("loss", "training loss", "nats"), ("gradient_norm", "norm of the gradient", "nats")):
        binned = np.median(records[name].reshape(*records[name].shape[:2], -1, BIN), axis=-1)
        results.add("training_" + name, (*dims, "step"), binned, f"{long_name}, median of {BIN} steps", units)
    results.add("training_seconds", dims, records["seconds"], "processor time of training", "s")

    log = np.log(records["gradient_norm"])
    padded = np.pad(log, ((0, 0), (0, 0), (SMOOTH // 2, SMOOTH // 2)), mode="reflect")
    smooth = np.apply_along_axis(lambda row: np.convolve(row, np.full(SMOOTH, 1 / SMOOTH), mode="valid"), -1, padded)
    late = slice(round(WARM_UP * family.STEPS), None)
    over_steps = (log - smooth)[..., late].std(axis=-1)
    results.add("gradient_variation", dims, over_steps, f"standard deviation over steps of ln(gradient norm), less its running mean of {SMOOTH} steps")
    apart = log[..., late].std(axis=1, ddof=1)
    middle = [family.N_HEAD.index(n_head) for n_head in family.MIDDLE]
    one = family.N_HEAD.index(1)
    difference = apart[one] - apart[middle].mean(axis=0)
    blocks = np.arange(apart.shape[1] // BLOCK)
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(DRAWS):
        steps = (rng.choice(blocks, len(blocks))[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        drawn.append([*apart[:, steps].mean(axis=1), difference[steps].mean()])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    results.add_with_interval("gradient_variation_over_seeds", ("n_head",), np.stack([apart.mean(axis=1), low[:-1], high[:-1]], axis=-1),
                              f"mean over steps of the standard deviation over seeds of ln(gradient norm); interval: blocks of {BLOCK} steps resampled")
    return over_steps[one] - over_steps[middle].mean(axis=0), (difference.mean(), low[-1], high[-1])


def add_starts(results, work, compared, losses):
    """Models of family.SERIES_HEADS heads from random and from equal heads."""
    names = [[family.started(start, seed) for seed in family.SEEDS] for start in family.STARTS]
    documents = "; interval: documents resampled"
    dims = ("start", "seed")
    results.add_with_interval("start_loss", dims, [[losses.estimate(name) for name in row] for row in names],
                              "loss on held-out stories after training" + documents, "nats")
    results.add_with_interval("start_mean_abs_cosine", dims, [[estimate(compared, "mean_abs_cosine", name) for name in row] for row in names],
                              "mean |cosine| of the outputs of two heads of a layer after training, residual space" + documents)
    distances = [[[head_distance(family.model_file(work, name, percent)) for percent in family.PERCENTS] for name in row] for row in names]
    results.add("head_distance", (*dims, "percent"), distances,
                "how far a layer's heads lie apart in W_Q, W_K, W_V, W_O: root of (sum of squares around their mean / sum of squares)")


def add_series(results, work, overall):
    """Models of family.SERIES_HEADS heads during the longer training."""
    names = [family.long_training(family.SERIES_HEADS, seed) for seed in family.SEEDS]
    compared = {name: Compared(work, name, overall) for name in names}
    dims = ("seed", "percent")

    def by_model(function):
        return [[function(name, percent) for percent in family.PERCENTS] for name in names]

    documents = "; interval: documents resampled"
    results.add_with_interval("series_loss", dims, by_model(lambda name, percent: estimate(compared[name], "loss", percent)),
                              "loss on held-out stories" + documents, "nats")
    results.add_with_interval("series_mean_abs_cosine", dims, by_model(lambda name, percent: estimate(compared[name], "mean_abs_cosine", percent)),
                              "mean |cosine| of the outputs of two heads of a layer, residual space" + documents)
    results.add("series_disagreement", (*dims, "kind"), by_model(lambda name, percent: compared[name].get("disagreement", percent)),
                "disagreement of a layer's heads (Li et al. 2018)")
    results.add("series_type_share", (*dims, "head_type"), by_model(lambda name, percent: compared[name].get("type_share", percent)), "share of heads of each type")
    results.add("series_typed_share", dims, by_model(lambda name, percent: typed_share(work, name, percent)),
                "share of heads with a type other than sink and long_range")


def add_long(results, losses):
    """Models of the first seed that were trained for longer."""
    values = [losses.estimate(family.long_training(n_head, family.SEEDS[0])) for n_head in family.LONG_HEADS]
    results.add_with_interval("long_loss", ("long_n_head",), values, "loss on held-out stories after the longer training, first seed; interval: documents resampled",
                              "nats")


def add_noise(results, work, losses):
    """Loss added by noise in the input, pruned and whole; NaN where nothing was pruned."""
    def values(kept, seed, noise):
        name = family.pruned_name(seed, kept)
        return losses.estimate(name, noise) if (losses.folder / f"{name}.h5").exists() else [np.nan] * 3

    for name, noise, long_name in (("noise_added", True, "loss added by replacing 10 % of input tokens at random"), ("pruned_loss", False, "loss on held-out stories")):
        results.add_with_interval(name, ("kept", "seed"), [[values(kept, seed, noise) for seed in family.SEEDS] for kept in family.KEPT],
                                  long_name + "; interval: documents resampled", "nats")


def write_table(readme, effects, decided):
    """Puts the table of effects into the README where its old one stands."""
    verdicts = dict(zip(CLAIMS, (VERDICTS[number].replace("_", " ") for number in decided)))
    rows = ["| claim | verdict | effect | value | 95 % interval |", "|---:|---|---|---:|---|"]
    for claim, name, value, *_ in effects:
        numbers = [f"{number:.3f}".replace("-", "−") for number in value]
        measured = f"{numbers[0]} | [{numbers[1]}, {numbers[2]}]" if np.isfinite(value[0]) else "not measured | "
        rows.append(f"| {claim} | {verdicts[claim]} | {name} | {measured} |")
    text = readme.read_text(encoding="utf-8")
    readme.write_text(re.sub(r"\| claim .*?\n\n", "\n".join(rows) + "\n\n", text, count=1, flags=re.S), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--readme", type=pathlib.Path, help="whose table of effects to write again")
    arguments = parser.parse_args()
    work = arguments.work
    results, compared, losses = Results(), Compared(work, "heads"), Losses(work)
    check_losses(work, losses)
    add_family(results, work, compared, losses)
    steps_effect, seeds_effect = add_training(results, work)
    add_starts(results, work, compared, losses)
    add_series(results, work, compared)
    add_long(results, losses)
    add_noise(results, work, losses)

    value = {name: xr.DataArray(values, dims=dims) for name, (dims, values, _) in results.variables.items()}
    one, widthless = family.N_HEAD.index(1), family.N_HEAD.index(128)
    middle = value["loss"][[family.N_HEAD.index(n_head) for n_head in family.MIDDLE]].mean("n_head")
    random, equal = (family.STARTS.index(start) for start in ("random", "equal"))
    grown = {name: value[name][:, -1] - value[name][:, 0] for name in ("series_typed_share", "series_mean_abs_cosine")}
    apart = {name: value[name][equal] - value[name][random] for name in ("start_loss", "start_mean_abs_cosine")}
    by_middle = f"mean of {', '.join(map(str, family.MIDDLE))} heads"
    # claim, what, (value, low, high), expected side (+1 above, -1 below) of the bound, bound, whether the verdict rests on it
    effects = [
        (12, f"loss with one head − {by_middle}", over_seeds(value["loss"][one] - middle), 1, 0, 1),
        (12, f"loss with 128 heads of width 1 − {by_middle}", over_seeds(value["loss"][widthless] - middle), 1, 0, 1),
        (13, "distance between heads that started equal, after training", over_seeds(value["head_distance"][equal, :, -1]), -1, SAME, 1),
        (13, "mean absolute cosine of outputs after training, equal − random start", over_seeds(apart["start_mean_abs_cosine"]), 1, 0, 0),
        (13, "loss after training, equal − random start", over_seeds(apart["start_loss"]), 1, 0, 0),
        (14, "share of heads with a type, end − start of training", over_seeds(grown["series_typed_share"]), 1, 0, 1),
        (14, "mean absolute cosine of outputs, end − start of training", over_seeds(grown["series_mean_abs_cosine"]), -1, 0, 1),
        (15, f"variation of the gradient norm over steps, one head − {by_middle}", over_seeds(steps_effect), 1, 0, 1),
        (15, f"variation of the gradient norm over seeds, one head − {by_middle}", seeds_effect, 1, 0, 1),
    ]
    for row, kept in enumerate(family.KEPT[1:], 1):
        effects.append((16, f"loss added by noise, {round(100 * kept)} % of heads kept − whole",
                        over_seeds(value["noise_added"][row] - value["noise_added"][0]), 1, 0, 1))
    results.add("effect_claim", ("effect",), np.array([effect[0] for effect in effects], dtype=np.int64), "number of the claim")
    results.add_with_interval("effect_value", ("effect",), [effect[2] for effect in effects],
                              "effect; interval: Student's t over seeds, paired by seed; of the variation over seeds, blocks of steps resampled")
    results.add("effect_expected", ("effect",), np.array([effect[3] for effect in effects], dtype=np.int64), "1: the claim expects values above the bound, -1: below")
    results.add("effect_bound", ("effect",), np.array([effect[4] for effect in effects], dtype=float), "bound that the interval is held against")
    results.add("effect_decides", ("effect",), np.array([effect[5] for effect in effects], dtype=np.int64), "1: the verdict rests on it")
    decided = [verdict([(*effect[2], effect[3], effect[4]) for effect in effects if effect[0] == claim and effect[5]]) for claim in CLAIMS]
    results.add("verdict", ("claim",), np.array(decided, dtype=np.int64), "holds: every interval that decides lies on the expected side of its bound; "
                "does_not_hold: one lies wholly on the other side; else undecided")
    results.add("claim_text", ("claim",), np.array(list(CLAIMS.values()), dtype=object), "the claim")

    coordinates = {"n_head": family.N_HEAD, "seed": family.SEEDS, "kind": compared.kinds, "head_type": compared.types, "start": family.STARTS,
                   "percent": family.PERCENTS, "long_n_head": family.LONG_HEADS, "kept": family.KEPT, "step": np.arange(BIN / 2, family.STEPS, BIN), "claim": list(CLAIMS),
                   "effect": [effect[1] for effect in effects]}
    stories = np.load(work / "stories.npy")
    with h5py.File(work / "models" / family.random_start(1, 0) / "record.h5") as file:
        trained = dict(file.attrs)
    dataset = xr.Dataset(results.variables, coordinates, {
        "title": "Why many heads: small GPT-2s of one width and cost, by number of heads", "training_steps": family.STEPS, "long_training_steps": family.LONG_STEPS,
        "training_tokens": int(trained["tokens"]), "pytorch_version": trained["pytorch_version"], "headscope_version": compared.version,
        "stories_sha256": hashlib.sha256(stories.tobytes()).hexdigest(),
    })
    dataset["verdict"].attrs |= {"flag_values": np.arange(len(VERDICTS)), "flag_meanings": " ".join(VERDICTS)}
    dataset.to_netcdf(arguments.output, engine="h5netcdf",
                      encoding={name: {"zlib": True} for name, variable in dataset.data_vars.items() if variable.size > 50 and variable.dtype.kind == "f"})
    if arguments.readme:
        write_table(arguments.readme, effects, decided)


if __name__ == "__main__":
    main()
