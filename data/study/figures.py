#!/usr/bin/python3
"""Draw the study's figures from results.h5.

    figures.py --results results.h5 --output figures

A figure is left out where nothing of it was measured. A small dot is a seed; a large one with a bar, to the right of the seeds, the mean over
seeds and its interval (Student's t, of the level of the study).
"""

import argparse
import pathlib

import matplotlib

if __name__ == "__main__":
    matplotlib.use("agg")

import matplotlib.pyplot as plt
import matplotlib.transforms
import numpy as np
import pandas as pd
import xarray as xr

from summarise import DOES_NOT_HOLD, EQUIVALENT, HOLDS, UNDECIDED, over_seeds

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "0.5"  # Okabe and Ito's
SHARE = (0, 1)  # bounds of a share, and of 1 - CKA
VERDICT_COLOURS = {HOLDS: BLUE, DOES_NOT_HOLD: ORANGE, EQUIVALENT: GREEN, UNDECIDED: GREY}


def load(path):
    return xr.open_dataset(path, engine="h5netcdf")


def words(study, name):
    """The verdicts of a variable in words."""
    meanings = study[name].attrs["flag_meanings"].split()
    return [meanings[int(number)].replace("_", " ") for number in study[name].values]


def effects(study, decides=1):
    """A row per effect: claim, verdict of the part, effect, value, interval, bound, seeds, and seeds that would decide."""
    chosen = study["effect_decides"].values == decides
    columns = {"claim": study["effect_claim"].values, "part": words(study, "effect_verdict"), "effect": study["effect"].values}
    columns |= {name: study["effect_" + variable].values for name, variable in (
        ("value", "value"), ("low", "value_ci_low"), ("high", "value_ci_high"), ("bound", "bound"), ("seeds", "n_seed"), ("to decide", "seeds_to_decide"))}
    return pd.DataFrame(columns)[chosen].reset_index(drop=True)


def claims(study):
    """A row per claim: its text and verdict."""
    return pd.DataFrame({"claim": study["claim_text"].values, "verdict": words(study, "verdict")}, index=study["claim"].values)


def dots(axis, x, values, colour, within=(-np.inf, np.inf)):
    """A variable [place, seed] at the places `x`: seeds, their mean and its interval, which is cut at the bounds of possible values, `within`."""
    values = np.asarray(values, dtype=float)
    summary = np.array([over_seeds(row)[:3] for row in values])
    measured = np.isfinite(summary[:, 0])
    if measured.any():
        mean, low, high = summary[measured].T
        low, high = np.maximum(low, within[0]), np.minimum(high, within[1])
        axis.errorbar(np.asarray(x)[measured], mean, np.maximum([mean - low, high - mean], 0), color=colour, marker="o", markersize=5, linewidth=1.2, elinewidth=1.2, capsize=3)
    beside = matplotlib.transforms.ScaledTranslation(-6 / 72, 0, axis.figure.dpi_scale_trans)
    axis.plot(np.repeat(x, values.shape[1]), values.ravel(), "o", color="0.35", markersize=3, alpha=0.6, markeredgewidth=0, transform=axis.transData + beside)


def in_words(name):
    """Powers of ten as 1e-06 as people write them."""
    for noise, power in (("1e-06", "10⁻⁶"), ("0.0001", "10⁻⁴"), ("0.01", "10⁻²")):
        name = name.replace(f"equal up to {noise}", f"equal up to {power}")
    return name


def panels(count, width=3.5, height=3.1):
    return plt.subplots(1, count, figsize=(width * count, height), layout="constrained", squeeze=False)


def bound_band(axis, bound):
    axis.axhspan(-bound, bound, color="0.9", zorder=0)
    axis.axhline(0, color="0.5", linewidth=0.8)


def heads_axis(axis, study):
    axis.set_xscale("log", base=2)
    axis.set_xticks(study["n_head"].values, [str(n_head) for n_head in study["n_head"].values])
    axis.minorticks_off()
    axis.set_xlabel("heads per layer")


def training_axis(axis, study):
    """Percents of the training evenly spaced: 0 has no logarithm."""
    places = np.arange(study.sizes["percent"])
    axis.set_xticks(places, [str(percent) for percent in study["percent"].values])
    axis.set_xlabel("% of training")
    return places


def shades(study):
    return plt.get_cmap("viridis")(np.linspace(0, 0.9, study.sizes["n_head"]))


def effects_and_bounds(study):
    """Every part in units of its bound; the grey band counts as no effect."""
    table = effects(study)
    table = table[np.isfinite(table["value"])]
    figure, axis = plt.subplots(figsize=(9, 0.42 * len(table) + 1.1), layout="constrained")
    verdicts = {word: number for number, word in enumerate(("undecided", "holds", "does not hold", "equivalent"))}
    axis.axvspan(-1, 1, color="0.9", zorder=0)
    axis.axvline(0, color="0.5", linewidth=0.8)
    for place, (_, row) in enumerate(table.iterrows()):
        value, low, high = (row[name] / row["bound"] for name in ("value", "low", "high"))
        axis.errorbar(value, -place, xerr=[[value - low], [high - value]], color=VERDICT_COLOURS[verdicts[row["part"]]], marker="o", capsize=3)
    axis.set_yticks(-np.arange(len(table)), [f"{row['claim']}  {in_words(row['effect'])}: {row['part']}" for _, row in table.iterrows()], fontsize=8)
    axis.set_xscale("symlog", linthresh=2)
    lowest, highest = (max(2, np.nanmax(sign * table[end].values / table["bound"].values)) for sign, end in ((-1, "low"), (1, "high")))
    ticks = [-tick for tick in (10, 5, 2, 1) if tick <= lowest] + [0] + [tick for tick in (1, 2, 5, 10, 20, 50, 100) if tick <= highest]
    axis.set_xticks(ticks, [str(tick).replace("-", "−") for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(-1.2 * lowest, 1.2 * highest)
    axis.set_xlabel("effect / equivalence bound")
    return figure


def loss_by_heads(study):
    figure, ((loss, against),) = panels(2)
    values = study["loss"].transpose("n_head", "seed")
    dots(loss, study["n_head"].values, values, BLUE)
    loss.set_ylabel("loss, nats per token")
    if np.isfinite(study["long_loss"]).any():
        loss.plot(study["n_head"], study["long_loss"], "s", color=ORANGE, markersize=5, label="7 times as long, one seed")
        loss.legend(frameon=False, fontsize=7)
    bound_band(against, float(study["effect_bound"].values[0]))
    dots(against, study["n_head"].values, values - values.sel(n_head=8), BLUE)
    against.set_ylabel("loss − loss with 8 heads, nats")
    for axis in (loss, against):
        heads_axis(axis, study)
    return figure


def rates(study):
    figure, ((axis,),) = panels(1, width=4.5)
    for n_head, shade in zip(study["n_head"].values, shades(study)):
        loss = study["validation_loss"].sel(n_head=n_head)
        if np.isfinite(loss).any():
            axis.plot(study["rate"], loss, "o-", color=shade, markersize=4, linewidth=1, label=str(n_head))
    axis.set_xscale("log", base=2)
    axis.set_xticks(study["rate"].values, [f"{rate:g}" for rate in study["rate"].values])
    axis.minorticks_off()
    axis.set(xlabel="peak of the learning rate", ylabel="validation loss, nats")
    axis.legend(frameon=False, fontsize=7, title="heads", title_fontsize=7, ncol=2)
    return figure


def learning_curves(study):
    figure, ((loss, norm),) = panels(2, width=4.5)
    for n_head, shade in zip(study["n_head"].values, shades(study)):
        for axis, name in ((loss, "training_loss"), (norm, "ln_gradient_norm")):
            curves = study[name].sel(n_head=n_head).transpose("seed", "step").values
            curves = curves[np.isfinite(curves).all(axis=1)]
            if len(curves):
                axis.plot(study["step"], curves.T, color=shade, linewidth=0.4, alpha=0.35)
                axis.plot(study["step"], curves.mean(axis=0), color=shade, linewidth=1.3, label=str(n_head))
    loss.set(ylabel="training loss, nats", xlabel="step")
    loss.set_ylim(top=5)
    norm.set(ylabel="ln(norm of the gradient)", xlabel="step")
    norm.axhline(0, color="0.5", linewidth=0.8)
    norm.annotate("clipped above", (0.99, 0), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7, color="0.4")
    loss.legend(frameon=False, fontsize=7, title="heads", title_fontsize=7, ncol=2)
    return figure


def accident(first, study):
    """The first study's training losses beside this one's, seeds of one number of heads in one colour."""
    figure, axes = panels(2, width=4.5)
    for axis, data, title in ((axes[0][0], first, "first study: no clipping, warm-up of 25 steps"), (axes[0][1], study, "this study")):
        for n_head, colour in ((1, ORANGE), (8, BLUE)):
            curves = data["training_loss"].sel(n_head=n_head).transpose("seed", "step").values
            curves = curves[np.isfinite(curves).all(axis=1)]
            if len(curves):
                lines = axis.plot(data["step"], curves.T, color=colour, linewidth=0.9, alpha=0.7)
                lines[0].set_label(f"{n_head} head" + "s" * (n_head > 1))
        axis.set(title=title, xlabel="step", ylabel="training loss, nats", xlim=(0, 500), ylim=(2, 8))
        axis.title.set_fontsize(9)
        if axis.lines:
            axis.legend(frameon=False, fontsize=8)
    return figure


def equal_start(study):
    figure, ((apart, near, alike),) = panels(3, width=3.8)
    colours = [GREY, BLUE, GREEN, PURPLE, ORANGE][-study.sizes["start"]:]
    names = study["start"].values
    for name, colour in zip(names, colours):
        curves = study["head_distance"].sel(start=name).transpose("seed", "percent_of_training").values
        curves = curves[np.isfinite(curves).all(axis=1)]
        if not len(curves):
            continue
        for axis in (apart, near):
            if axis is apart or curves.min() > 0:
                axis.plot(study["percent_of_training"], curves.T, color=colour, linewidth=0.9, alpha=0.7)
                axis.lines[-1].set_label(in_words(name))
    for axis in (apart, near):
        axis.set(xlabel="% of training", ylabel="distance between a layer's heads")
    near.set_yscale("log")
    if apart.lines:
        apart.legend(frameon=False, fontsize=7)
    for place, (name, colour) in enumerate(zip(names, colours)):
        dots(alike, [place], study["start_unlikeness"].sel(start=[name]).transpose("start", "seed"), colour, SHARE)
    alike.set_xticks(range(len(names)), [in_words(name).replace("equal ", "equal\n") for name in names], fontsize=7)
    alike.set(ylabel="1 − CKA of outputs at the end", ylim=(-0.03, 1.03))
    return figure


def growth(study):
    figure, ((typed, unlike, kinds),) = panels(3)
    for axis, name, label in ((typed, "growth_typed_share", "share of heads with a type"), (unlike, "growth_unlikeness", "1 − CKA of heads' outputs")):
        dots(axis, training_axis(axis, study), study[name].transpose("percent", "seed"), BLUE, SHARE)
        axis.set(ylabel=label, ylim=(-0.03, 1.03))
    share = study["growth_type_share"].mean("seed")
    share = share.sel(head_type=share.max("percent") > 0)
    places = training_axis(kinds, study)
    colours = [BLUE, "#E69F00", GREEN, PURPLE, ORANGE, "#56B4E9", "#000000"]
    for number, name in enumerate(share["head_type"].values):
        kinds.plot(places, share.sel(head_type=name), color=colours[number % len(colours)], marker="osD^vP"[number % 6], markersize=4,
                   linestyle=("-", "--")[number >= len(colours)], label=str(name).replace("_", " "))
    kinds.set_ylabel("share of heads, mean of seeds")
    if kinds.lines:
        kinds.legend(frameon=False, fontsize=7)
    return figure


def what_heads_buy(study):
    """Types and unlikeness by number of heads: at the end over seeds, and along the training of one seed."""
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for row, (name, label) in enumerate((("typed_share", "share of heads with a type"), ("unlikeness", "1 − CKA of heads' outputs"))):
        dots(axes[row][0], study["n_head"].values, study[name].transpose("n_head", "seed"), BLUE, SHARE)
        heads_axis(axes[row][0], study)
        places = training_axis(axes[row][1], study)
        for n_head, shade in zip(study["n_head"].values, shades(study)):
            along = study["along_" + name].sel(n_head=n_head)
            if np.isfinite(along).any():
                axes[row][1].plot(places, along, "o-", color=shade, markersize=3, linewidth=1, label=str(n_head))
        for axis in axes[row]:
            axis.set(ylabel=label, ylim=(-0.03, 1.03))
    if axes[0][1].lines:
        axes[0][1].legend(frameon=False, fontsize=7, title="heads, one seed", title_fontsize=7, ncol=2)
    return figure


def gradients(study):
    figure, axes = panels(2)
    for axis, name, label in zip(axes[0], ("variation_over_steps", "variation_over_seeds"), ("steps", "seeds")):
        dots(axis, study["n_head"].values, study[name].transpose("n_head", "seed"), BLUE, (0, np.inf))
        axis.set(ylabel=f"variation over {label}", ylim=(0, None))
        heads_axis(axis, study)
    return figure


def noise(study):
    """Differences from the whole model of the same seed, which is retrained too."""
    figure, axes = panels(2)
    places = np.arange(1, study.sizes["kept"])
    bound = float(study["effect_bound"].values[study["effect_claim"].values == 16][0])
    for axis, name, label in zip(axes[0], ("noise_added", "retrained_loss"), ("loss added by noise", "loss without noise")):
        values = study[name].transpose("kept", "seed").where(study["retraining_reached"].transpose("kept", "seed") == 1)
        bound_band(axis, bound if name == "noise_added" else 0)
        dots(axis, places, values[1:] - values[0].values, BLUE)
        axis.set_xticks(places, [str(percent) for percent in study["kept"].values[1:]])
        axis.set_xlim(0.4, places[-1] + 0.6)
        axis.set(xlabel="% of the heads kept (of 8 per layer)", ylabel=f"{label}\n− with all heads, nats")
    return figure


FIGURES = {effects_and_bounds: "effect_value", loss_by_heads: "loss", rates: "validation_loss", learning_curves: "training_loss", equal_start: "head_distance",
           growth: "growth_unlikeness", what_heads_buy: "unlikeness", gradients: "variation_over_steps", noise: "noise_added"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    study = load(arguments.results)
    arguments.output.mkdir(parents=True, exist_ok=True)
    for draw, variable in FIGURES.items():
        if study[variable].notnull().any():
            figure = draw(study)
            figure.savefig(arguments.output / f"{draw.__name__}.png", dpi=130)
            plt.close(figure)


if __name__ == "__main__":
    main()
