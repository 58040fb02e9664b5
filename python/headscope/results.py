"""Reading a finished run, a table of its heads, a head view, and comparing two runs."""
from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"]


class NotInRun(Exception):
    """Something the run does not hold. A notebook stops with the message alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Run:
    """A results file.

    path: of the file. attrs: the attributes of its root, such as "model_path". n_layer, n_head: the model's.
    `run[group]` is a group as an xarray Dataset; `group in run` says whether the file has it.
    """

    path: Path
    attrs: dict[str, Any]
    n_layer: int
    n_head: int

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            self.path = self.path / "results.h5"
        if not self.path.is_file():
            raise NotInRun(f"{self.path}: no such file. `headscope run --output DIR` makes a run; give its folder.")
        with xr.open_dataset(self.path, engine="h5netcdf") as root:
            self.attrs = root.attrs
        self.n_layer, self.n_head = int(self.attrs["n_layer"]), int(self.attrs["n_head"])

    def groups(self) -> list[str]:
        """Names of the groups in the file, such as "pruning" and "attention/0"."""
        names: list[str] = []
        with h5py.File(self.path) as file:
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Group) else None)
        return names

    def __contains__(self, group: object) -> bool:
        return group in self.groups()

    def __getitem__(self, group: str) -> xr.Dataset:
        """A group as a Dataset. Raises NotInRun if the file has no such group."""
        if group not in self:
            raise NotInRun(f"{self.path}: no group \"{group}\". Run the analysis that writes it; "
                           f"the file has {', '.join(name for name in self.groups() if '/' not in name)}.")
        return xr.open_dataset(self.path, group=group, engine="h5netcdf")


def load(path: str | os.PathLike[str]) -> Run:
    """The run in a folder or results file. Raises NotInRun if there is none."""
    return Run(path)


def flag_names(variable: xr.DataArray, values: np.ndarray | None = None) -> list[str]:
    """The words for the numbers of a variable with flags, such as a verdict; or for other `values` of it."""
    words = variable.attrs["flag_meanings"].split()
    number = {int(value): word for value, word in zip(np.atleast_1d(variable.attrs["flag_values"]), words)}
    return [number[int(value)] for value in (variable.values if values is None else values).ravel()]


def words(variable: xr.DataArray) -> xr.DataArray:
    """A variable of flags with the words that its numbers stand for; any other variable as it is."""
    if "flag_meanings" not in variable.attrs:
        return variable
    return variable.copy(data=np.array(flag_names(variable), dtype=object).reshape(variable.shape))


def heads(run: Run) -> pd.DataFrame:
    """A row per head ("L1H2"), a column per variable by layer and head, of all groups ("pruning.loss_all_but_one").

    Flags are words. Variables with one further axis have a column per label ("pruning.loss_increase[zero]"). Intervals are left out.
    """
    names = [f"L{layer}H{head}" for layer in range(run.n_layer) for head in range(run.n_head)]
    columns: dict[str, Any] = {}
    for group in run.groups():
        if "/" in group:
            continue
        dataset = run[group]
        for name, variable in dataset.data_vars.items():
            if name.endswith(("_ci_low", "_ci_high", "_resamples")) or variable.dtype.kind in "OU":
                continue
            further = [axis for axis in variable.dims if axis not in ("layer", "head")]
            if len(further) > 1 or not {"layer", "head"} <= set(variable.dims):
                continue
            if "flag_meanings" in variable.attrs and not further:
                columns[f"{group}.{name}"] = flag_names(variable)
                continue
            for label in dataset[further[0]].values if further else [None]:
                key = f"{group}.{name}" if label is None else f"{group}.{name}[{label}]"
                values = variable if label is None else variable.sel({further[0]: label})
                columns[key] = values.transpose("layer", "head").values.ravel()
    return pd.DataFrame(columns, index=pd.Index(names, name="head"))


def with_error(dataset: xr.Dataset, name: str, **labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """A variable at these labels and the lengths of its error bars, as `plt.errorbar(x, *with_error(...))` takes them."""
    value, low, high = (dataset[name + end].sel(labels) for end in ("", "_ci_low", "_ci_high"))
    return value.values, np.abs(np.stack([value - low, high - value]))


def grid(count: int, width: float = 2.6, height: float = 2.6, columns: int = 6,
         **options: Any) -> tuple[plt.Figure, list[plt.Axes]]:
    """A figure and `count` axes in rows of at most `columns`, so that 24 layers are as readable as 4.

    width, height: of each, in inches. options: of `plt.subplots`.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False,
                                layout="constrained", **options)
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, list(axes.flat[:count])


def head_map(values: xr.DataArray, label: str, axis: plt.Axes | None = None) -> plt.Axes:
    """A layer-by-head map of a variable; `label` is written beside its colours."""
    axis = axis or plt.subplots(figsize=(1.8 + 0.4 * values.sizes["head"], 1.2 + 0.4 * values.sizes["layer"]),
                                layout="constrained")[1]
    image = axis.imshow(values.transpose("layer", "head"), cmap="viridis")
    axis.set(xlabel="head", ylabel="layer")
    for ticks in (axis.xaxis, axis.yaxis):
        ticks.get_major_locator().set_params(integer=True)
    axis.figure.colorbar(image, ax=axis, label=label)
    return axis


def shown(tokens: Iterable[str]) -> list[str]:
    """Tokens as they can be read, as the report shows them: `‿ing` continues the word before; blanks alone are `␣` or `↵`."""
    tokens, labels = list(tokens), []
    for number, token in enumerate(tokens):
        text, before = token.strip(), tokens[number - 1] if number else ""
        apart = token[:1].isspace() or before in ("", "<|endoftext|>") or before[-1:].isspace()
        word = text[:1].isalnum() or (text[:1] == "'" and text[1:2].isalnum())
        labels.append(("‿" if word and not apart else "") + text if text else "↵" if "\n" in token else "␣")
    return labels


def layer_and_head(name: str) -> tuple[int, int]:
    """(1, 2) of "L1H2"."""
    layer, head = name[1:].split("H")
    return int(layer), int(head)


def head_view(run: Run, names: list[str], document: int = 0, tokens: slice = slice(0, 24), weights: str = "pattern",
              least: float = 0.05) -> plt.Axes:
    """Lines from each token to those it attends to; the wider, the more weight. A colour per head.

    document: number of the sample document, whose patterns the run keeps in the group "attention/NUMBER".
    weights: "pattern" (probability) or "value_weighted" (the norm of what is moved, by its largest).
    tokens: the part of the document that is drawn. Weights below `least` are left out.
    """
    kept = run[f"attention/{document}"]
    text = shown([str(token) for token in kept["token_text"].values])[tokens]
    figure, axis = plt.subplots(figsize=(6, 0.24 * len(text) + 0.8), layout="constrained")
    for number, name in enumerate(names):
        layer, head = layer_and_head(name)
        weight = kept[weights].isel(layer=layer, head=head, query=tokens, key=tokens).values
        weight = weight / (np.nanmax(weight) if weights == "value_weighted" else 1)
        for query, key in zip(*np.nonzero(weight >= least)):
            axis.plot([0, 1], [query, key], color=COLOURS[number % len(COLOURS)], alpha=float(weight[query, key]),
                      linewidth=2.5 * weight[query, key], solid_capstyle="round")
        axis.plot([], [], color=COLOURS[number % len(COLOURS)], linewidth=2.5, label=name)
    for row, token in enumerate(text):
        axis.text(-0.02, row, token, ha="right", va="center", fontsize=8)
        axis.text(1.02, row, token, ha="left", va="center", fontsize=8)
    axis.set(xlim=(-0.35, 1.35), ylim=(len(text), -1.5))
    axis.axis("off")
    axis.text(-0.02, -1, "from", ha="right", color="0.4", fontsize=8)
    axis.text(1.02, -1, "to", ha="left", color="0.4", fontsize=8)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=min(len(names), 6), frameon=False)
    return axis


def compare(first: Run, second: Run, group: str, variable: str, **labels: Any) -> pd.DataFrame:
    """A variable by layer and head in two runs of one shape, a row per head, largest difference first.

    labels: the places on the variable's further axes, as in `ablation="zero"`.
    Columns: first, second, difference (second minus first). Raises NotInRun if the models differ in shape.
    """
    values = {}
    for label, run in (("first", first), ("second", second)):
        table = run[group][variable].sel(labels).transpose("layer", "head")
        values[label] = table.to_series()
    if len(values["first"]) != len(values["second"]):
        raise NotInRun(f"{first.path} has {len(values['first'])} heads, {second.path} has {len(values['second'])}: "
                       "heads can only be compared between models of one shape.")
    table = pd.DataFrame(values)
    table.index = [f"L{layer}H{head}" for layer, head in table.index]
    table["difference"] = table["second"] - table["first"]
    return table.sort_values("difference", key=np.abs, ascending=False)
