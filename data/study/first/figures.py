#!/usr/bin/python3
"""Draw the study's figures from results.h5; ../../notebooks/08_why_many_heads.ipynb shows them.

    figures.py --results results.h5 --output figures

A figure is left out where nothing of it was measured. A small dot is a seed; a large one with a bar the mean over seeds and its 95 % interval (Student's t).
"""

import argparse
import pathlib

import matplotlib

if __name__ == "__main__":
    matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}  # Student's t by degrees of freedom

COLOURS = {"random": "#0072B2", "equal": "#D55E00", "other": "#009E73"}  # Okabe and Ito's


def load(path):
    return xr.open_dataset(path, engine="h5netcdf")


def effects(study):
    """A row per effect: claim, verdict, effect, value and 95 % interval."""
    words = study["verdict"].attrs["flag_meanings"].split()
    word = {int(claim): words[int(number)].replace("_", " ") for claim, number in zip(study["claim"].values, study["verdict"].values)}
    claims = study["effect_claim"].values
    return pd.DataFrame({
        "claim": claims, "verdict": [word[int(claim)] for claim in claims], "effect": study["effect"].values,
        "value": study["effect_value"].values, "low": study["effect_value_ci_low"].values, "high": study["effect_value_ci_high"].values,
    })


def dots(axis, x, values, colour, label=None):
    """A variable by seed (last axis) at the places `x`: seeds, their mean and its interval."""
    values = np.asarray(values, dtype=float)
    known = np.isfinite(values).all(axis=tuple(range(values.ndim - 1)))
    values = values[..., known]
    count = values.shape[-1]
    if count > 1:
        mean, half = values.mean(axis=-1), T_975[count - 1] * values.std(axis=-1, ddof=1) / np.sqrt(count)
        axis.errorbar(x, mean, half, color=colour, marker="o", markersize=6, linewidth=1.4, elinewidth=1.2, capsize=3, label=label)
    axis.plot(np.repeat(x, count), values.ravel(), "o", color=colour, markersize=3, alpha=0.5, markeredgewidth=0)


def panels(count, width=3.5):
    return plt.subplots(1, count, figsize=(width * count, 3.1), layout="constrained", squeeze=False)


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


def loss_by_heads(study):
    figure, ((loss, against),) = panels(2)
    dots(loss, study["n_head"].values, study["loss"].transpose("n_head", "seed"), COLOURS["random"])
    loss.set_ylabel("loss, nats per token")
    differences = (study["loss"] - study["loss"].sel(n_head=[4, 8, 16]).mean("n_head")).transpose("n_head", "seed")
    dots(against, study["n_head"].values, differences, COLOURS["random"])
    against.axhline(0, color="0.5", linewidth=0.8)
    against.set_ylabel("loss − mean of 4, 8, 16 heads, nats")
    for axis in (loss, against):
        heads_axis(axis, study)
    return figure


def equal_start(study):
    figure, ((apart, alike, loss),) = panels(3)
    places = training_axis(apart, study)
    for start in ("random", "equal"):
        dots(apart, places, study["head_distance"].sel(start=start).transpose("percent", "seed"), COLOURS[start], f"{start} start")
    apart.set(ylabel="distance between a layer's heads", ylim=(-0.05, 1.05))
    apart.legend(frameon=False, loc="center")
    for axis, name, label in ((alike, "start_mean_abs_cosine", "mean |cosine| of heads' outputs"), (loss, "start_loss", "loss, nats per token")):
        for place, start in enumerate(("random", "equal")):
            dots(axis, [place], study[name].sel(start=[start]).transpose("start", "seed"), COLOURS[start])
        axis.set_xticks([0, 1], ["random", "equal"])
        axis.set(xlabel="start of the heads", ylabel=label, xlim=(-0.5, 1.5))
    alike.set_ylim(bottom=0)
    return figure


def growth(study):
    figure, ((typed, alike, kinds),) = panels(3)
    for axis, name, label in ((typed, "series_typed_share", "share of heads with a type"), (alike, "series_mean_abs_cosine", "mean |cosine| of heads' outputs")):
        dots(axis, training_axis(axis, study), study[name].transpose("percent", "seed"), COLOURS["random"])
        axis.set_ylabel(label)
    typed.set_ylim(bottom=0)
    share = study["series_type_share"].mean("seed")
    share = share.sel(head_type=share.max("percent") > 0)
    places = training_axis(kinds, study)
    colours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000"]
    for number, name in enumerate(share["head_type"].values):
        kinds.plot(places, share.sel(head_type=name), color=colours[number % len(colours)], marker="osD^vP"[number % 6], markersize=4,
                   linestyle=("-", "--")[number >= len(colours)], label=str(name).replace("_", " "))
    kinds.set_ylabel("share of heads, mean of seeds")
    kinds.legend(frameon=False, fontsize=7)
    return figure


def gradients(study):
    figure, ((norm, steps, seeds),) = panels(3)
    shades = plt.get_cmap("viridis")(np.linspace(0, 0.9, study.sizes["n_head"]))
    for n_head, shade in zip(study["n_head"].values, shades):
        norm.plot(study["step"], study["training_gradient_norm"].sel(n_head=n_head).mean("seed"), color=shade, linewidth=1, label=str(n_head))
    norm.set(xlabel="step", ylabel="norm of the gradient")
    norm.margins(y=0.25)
    norm.legend(frameon=False, fontsize=7, title="heads", title_fontsize=7, ncol=4, loc="upper right")
    dots(steps, study["n_head"].values, study["gradient_variation"].transpose("n_head", "seed"), COLOURS["random"])
    steps.set_ylabel("s.d. of ln(norm) over steps")
    value, low, high = (study["gradient_variation_over_seeds" + end] for end in ("", "_ci_low", "_ci_high"))
    seeds.errorbar(study["n_head"], value, np.abs(np.stack([value - low, high - value])), color=COLOURS["other"], marker="o", capsize=3)
    seeds.set_ylabel("s.d. of ln(norm) over seeds")
    for axis in (steps, seeds):
        heads_axis(axis, study)
    return figure


def noise(study):
    figure, axes = panels(2)
    places = np.arange(study.sizes["kept"])
    for axis, name, label in zip(axes[0], ("noise_added", "pruned_loss"), ("loss added by noise, nats", "loss without noise, nats")):
        dots(axis, places, study[name].transpose("kept", "seed"), COLOURS["random"])
        axis.set_xticks(places, [f"{100 * share:.0f}" for share in study["kept"].values])
        axis.set(xlabel="% of the heads kept (of 8 per layer)", ylabel=label)
    return figure


FIGURES = {loss_by_heads: "loss", equal_start: "head_distance", growth: "series_mean_abs_cosine", gradients: "gradient_variation", noise: "noise_added"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    study = load(arguments.results)
    arguments.output.mkdir(parents=True, exist_ok=True)
    for draw, variable in FIGURES.items():
        if study[variable].notnull().any():
            draw(study).savefig(arguments.output / f"{draw.__name__}.png", dpi=130)


if __name__ == "__main__":
    main()
