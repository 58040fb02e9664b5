"""Reading a finished run, a table of its heads, a head view, and comparing two runs."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.colors import CenteredNorm

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"]


# The columns of `heads` that say most about a head; a run has those of its analyses.
MAIN_COLUMNS = [
    "score_model.attends_by", "pruning.loss_increase[zero]", "pruning.loss_increase[mean]", "pruning.loss_all_but_one",
    "pruning.importance[per_example]", "pruning.direct_effect", "classification.sink", "classification.entropy",
    "classification.distance", "classification.previous_token", "classification.duplicate_token", "classification.induction",
    "classification.delimiter", "classification.dependency_alignment", "classification.coreference", "classification.semantic",
    "classification.copy_effect", "classification.suppression_effect", "correlation.output_share", "circuits.ov_copying",
    "circuits.qk_rank90",
]


class NotInRun(Exception):
    """Something the run does not hold. A notebook stops with the message alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Run:
    """A results file.

    path: of the file. attrs: the attributes of its root, such as "model_path". n_layer, n_head: the model's.
    `run[group]` is a group as an xarray Dataset, in which removed heads are NaN; `group in run` says whether the file has it.
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
        if not h5py.is_hdf5(self.path):
            raise NotInRun(f"{self.path}: expected a results file in HDF5, found another kind of file. Give the folder of a run.")
        self._identity = file_identity(self.path)
        try:
            with h5py.File(self.path) as root:
                missing = {"format", "n_layer", "n_head"} - set(root.attrs)
                self._groups: list[str] = []
                root.visititems(lambda name, item: self._groups.append(name) if isinstance(item, h5py.Group) else None)
        except OSError as error:
            raise NotInRun(f"{self.path}: expected a results file in HDF5, found one that cannot be read: {error}.") from None
        if missing:
            raise NotInRun(f"{self.path}: expected the results of a run, found HDF5 without {' and '.join(sorted(missing))}.")
        with xr.open_dataset(self.path, engine="h5netcdf", decode_times=False) as root:
            self.attrs = root.attrs
        self.n_layer, self.n_head = int(self.attrs["n_layer"]), int(self.attrs["n_head"])
        self._opened: dict[str, xr.Dataset] = {}

    def __repr__(self) -> str:
        model = model_name(str(self.attrs.get("model_path", "a model")))
        read = f", {self.attrs['n_document']} documents" if "n_document" in self.attrs else ""
        corpus = Path(str(self.attrs["corpus_path"]).split(", ")[0]).name if "corpus_path" in self.attrs else "no corpus"
        groups = ", ".join(name for name in self.groups() if "/" not in name)
        return f"<Run {self.path}: {model}, {self.n_layer} layers of {self.n_head} heads; {corpus}{read}; groups {groups}>"

    def groups(self) -> list[str]:
        """Names of the groups in the file, such as "pruning" and "attention/0"."""
        return list(self._groups)

    def __contains__(self, group: object) -> bool:
        return group in self.groups()

    def __getitem__(self, group: str) -> xr.Dataset:
        """A group as a Dataset, opened once and read as it is used; of a pruned model, numbers by layer and head are read at once.

        Dimensions of heads, such as "unit_from", have the heads' names as labels: `dataset.sel(unit_from="L2H2")`. Numbers of heads
        that `headscope prune` has removed are NaN. Raises NotInRun if the file has no such group or is not the one that was loaded.
        """
        if group not in self:
            raise NotInRun(f"{self.path}: no group \"{group}\". Run the analysis that writes it; "
                           f"the file has {', '.join(name for name in self.groups() if '/' not in name)}.")
        if group not in self._opened:
            if file_identity(self.path) != self._identity:
                raise NotInRun(f"{self.path}: the file has changed since it was loaded. Load it again.")
            dataset = without_removed_heads(
                self, xr.open_dataset(self.path, group=group, engine="h5netcdf", decode_times=False))
            names = head_names(self)
            units = [axis for axis, size in dataset.sizes.items() if str(axis).startswith("unit") and size == len(names)]
            dataset = dataset.assign_coords({axis: (axis, names, dataset[axis].attrs) for axis in units})
            dataset.encoding["place"] = f"{self.path}: {group}/"
            self._opened[group] = dataset
        return self._opened[group].copy()


def file_identity(path: Path) -> tuple[int, int] | None:
    """Inode and modification time, which change when another file takes the path; None without a file."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.is_file() else None


def model_name(path: str | os.PathLike[str]) -> str:
    """A model's name: that of its file, or of its folder if the file has a name that many models on the hub share."""
    file = Path(path)
    usual = file.name in ("model.safetensors", "model.safetensors.index.json", "tf_model.h5")
    return file.parent.name if usual and file.parent.name not in ("", "..") else file.name


def head_names(run: Run) -> list[str]:
    """L0H0, L0H1, ..., in the order of every table of heads."""
    return [f"L{layer}H{head}" for layer in range(run.n_layer) for head in range(run.n_head)]


def removed_heads(run: Run) -> np.ndarray:
    """Whether `headscope prune` has removed a head from the run's model, in the order of every table of heads."""
    return np.isin(head_names(run), str(run.attrs.get("pruned_heads", "")).split(","))


def without_removed_heads(run: Run, dataset: xr.Dataset) -> xr.Dataset:
    """The numbers of removed heads as NaN, wherever the axes are layer and head. Variables by other axes have NaN in the file."""
    removed = removed_heads(run)
    if not removed.any():
        return dataset
    left = xr.DataArray(~removed.reshape(run.n_layer, run.n_head), dims=("layer", "head"))
    return dataset.assign({name: variable.where(left) for name, variable in dataset.data_vars.items()
                           if {"layer", "head"} <= set(variable.dims) and variable.dtype.kind not in "OU"})


def load(path: str | os.PathLike[str]) -> Run:
    """The run in a folder or results file. Raises NotInRun if there is none."""
    return Run(path)


def flag_names(variable: xr.DataArray, values: np.ndarray | None = None) -> list[str]:
    """The words for the numbers of a variable with flags, such as a verdict; or for other `values` of it. NaN is "removed"."""
    words = variable.attrs["flag_meanings"].split()
    number = {int(value): word for value, word in zip(np.atleast_1d(variable.attrs["flag_values"]), words)}
    return ["removed" if np.isnan(value) else number[int(value)] for value in (variable.values if values is None else values).ravel()]


def words(variable: xr.DataArray) -> xr.DataArray:
    """A variable of flags with the words that its numbers stand for; any other variable as it is."""
    if "flag_meanings" not in variable.attrs:
        return variable
    return variable.copy(data=np.array(flag_names(variable), dtype=object).reshape(variable.shape))


def heads(run: Run, columns: str | list[str] = "main") -> pd.DataFrame:
    """A row per head ("L1H2"): its type and the numbers that say most about it.

    columns: "main" (type and MAIN_COLUMNS); "all" (these, then every other variable by layer and head, by group, such as
    "circuits.position_only_share[0]"); or a list of columns. Flags are words; with a further axis they are the numbers that the
    variable's `flag_meanings` count from 0. Intervals, texts and variables with two further axes are left out. A removed head has
    the type "removed" and NaN.
    """
    known = ["type", *MAIN_COLUMNS]
    wanted = known if columns == "main" else columns if isinstance(columns, list) else None
    # Groups that hold none of the wanted columns are not opened.
    groups = None if wanted is None else {"classification"} | {name.split(".")[0] for name in wanted}
    table: dict[str, Any] = {}
    for group in run.groups():
        if "/" not in group and (groups is None or group in groups):
            table.update(head_columns(run[group], group))
    if "classification.primary" in table:
        table = {"type": table["classification.primary"]} | table
    first = [name for name in known if name in table]
    chosen = columns
    if columns == "main":
        chosen = first
    elif columns == "all":
        chosen = first + [name for name in table if name not in known]
    elif isinstance(columns, str):
        raise NotInRun(f'columns="{columns}": expected "main", "all" or a list of names.')
    missing = [name for name in chosen if name not in table]
    if missing:
        raise NotInRun(f"{run.path}: no column {missing[0]}; `heads(run, columns=\"all\")` has all there are.")
    frame = pd.DataFrame({name: table[name] for name in chosen}, index=pd.Index(head_names(run), name="head"))
    frame = frame.mask(np.repeat(removed_heads(run)[:, np.newaxis], len(chosen), axis=1))
    return frame.fillna({"type": "removed"})


def head_columns(dataset: xr.Dataset, group: str) -> dict[str, Any]:
    """The variables by layer and head of a group, by head; those with one further axis have a column per label."""
    columns: dict[str, Any] = {}
    for name, variable in dataset.data_vars.items():
        if str(name).endswith(("_ci_low", "_ci_high", "_resamples", "_influences")) or variable.dtype.kind in "OU":
            continue
        further = [axis for axis in variable.dims if axis not in ("layer", "head")]
        if len(further) > 1 or not {"layer", "head"} <= set(variable.dims):
            continue
        if "flag_meanings" in variable.attrs and not further:
            columns[f"{group}.{name}"] = flag_names(variable.transpose("layer", "head"))
            continue
        values = variable.transpose(*further, "layer", "head").values
        if not further:
            columns[f"{group}.{name}"] = values.ravel()
            continue
        for label, by_head in zip(dataset[further[0]].values, values):
            columns[f"{group}.{name}[{label}]"] = by_head.ravel()
    return columns


def axes_text(values: xr.DataArray) -> str:
    """The axes of a variable with their first labels: "ablation (zero, mean, resample), layer (0, 1)"."""
    return ", ".join(f"{axis} ({', '.join(str(label) for label in values[axis].values[:12])})" for axis in values.dims) or "no axis"


def variable_at(dataset: xr.Dataset, name: str, labels: dict[str, Any]) -> xr.DataArray:
    """A variable of `run[group]` at these labels. Raises NotInRun, which says what there is, if there is no such place."""
    place = dataset.encoding.get("place", "") + name
    if name not in dataset.data_vars:
        raise NotInRun(f"{place}: no such variable. `list(run[group])` names all there are.")
    try:
        return dataset[name].sel(labels)
    except (KeyError, ValueError):
        given = ", ".join(f"{axis}={label!r}" for axis, label in labels.items())
        raise NotInRun(f"{place}: expected labels of {axes_text(dataset[name])}, found {given}.") from None


def by_layer_and_head(values: xr.DataArray, place: str) -> xr.DataArray:
    """The variable as layer x head. Raises NotInRun if it has other axes."""
    if set(values.dims) != {"layer", "head"}:
        raise NotInRun(f"{place}: expected a variable by layer and head, found one by {axes_text(values)}.")
    return values.transpose("layer", "head")


def estimate(dataset: xr.Dataset, name: str, **labels: Any) -> list[xr.DataArray]:
    """A variable at these labels, and both ends of its interval."""
    return [variable_at(dataset, name + end, labels) for end in ("", "_ci_low", "_ci_high")]


def with_error(dataset: xr.Dataset, name: str, **labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """A variable at these labels and the lengths of its error bars, as `plt.errorbar(x, *with_error(...))` takes them."""
    value, low, high = estimate(dataset, name, **labels)
    return value.values, np.abs(np.stack([value - low, high - value]))


def with_interval(dataset: xr.Dataset, name: str, form: str = ".2f", **labels: Any) -> str:
    """A value with its interval, "0.30 [0.26, 0.35]"; the value alone where there is no interval; "–" where there is no value."""
    ends = estimate(dataset, name, **labels)
    if ends[0].dims:
        raise NotInRun(f"{dataset.encoding.get('place', '')}{name}: expected labels of {axes_text(ends[0])}, found none.")
    value, low, high = (format(float(end), form) if end.notnull() else "–" for end in ends)
    return f"{value} [{low}, {high}]" if low != "–" else value


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
    """A layer-by-head map of a variable; `label` is written beside its colours, which are centred on 0 where values have both signs.
    Removed heads are white."""
    values = by_layer_and_head(values, str(values.name))
    axis = axis or plt.subplots(figsize=(1.8 + 0.4 * values.sizes["head"], 1.2 + 0.4 * values.sizes["layer"]),
                                layout="constrained")[1]
    signed = bool((values < 0).any() and (values > 0).any())
    image = axis.imshow(values, cmap="RdBu_r" if signed else "viridis", norm=CenteredNorm() if signed else None)
    axis.set(xlabel="head", ylabel="layer")
    for ticks in (axis.xaxis, axis.yaxis):
        ticks.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axis.figure.colorbar(image, ax=axis, label=label)
    return axis


def shown(tokens: Iterable[str]) -> list[str]:
    """Tokens as they can be read, as the report shows them: `‿ing` continues the word before; blanks alone are `␣` or `↵`."""
    tokens, labels = list(tokens), []
    for number, token in enumerate(tokens):
        text, before = token.strip(), tokens[number - 1] if number else ""
        special = (before.startswith("<|") and before.endswith("|>")) or before in ("<s>", "<bos>")
        apart = token[:1].isspace() or not before or special or before[-1:].isspace()
        word = text[:1].isalnum() or (text[:1] == "'" and text[1:2].isalnum())
        labels.append(("‿" if word and not apart else "") + text if text else "↵" if "\n" in token else "␣")
    return labels


def layer_and_head(name: str) -> tuple[int, int]:
    """(1, 2) of "L1H2". Raises NotInRun for any other text."""
    found = re.fullmatch(r"L(\d+)H(\d+)", name)
    if not found:
        raise NotInRun(f"expected a head such as L1H2, got {name!r}.")
    return int(found[1]), int(found[2])


def kept_head(run: Run, name: str) -> tuple[int, int]:
    """(1, 2) of "L1H2". Raises NotInRun for a head that the model does not have."""
    layer, head = layer_and_head(name)
    if layer >= run.n_layer or head >= run.n_head:
        raise NotInRun(f"{run.path}: no head {name}; the heads are L0H0 to L{run.n_layer - 1}H{run.n_head - 1}.")
    if removed_heads(run)[layer * run.n_head + head]:
        raise NotInRun(f"{run.path}: {name} has been removed from the model.")
    return layer, head


def head_view(run: Run, names: str | list[str], document: int = 0, tokens: slice = slice(0, 24), weights: str = "pattern",
              least: float = 0.05) -> plt.Axes:
    """Lines from each token to those it attends to; the wider, the more weight. A colour per head.

    document: number of the sample document, whose patterns the run keeps in the group "attention/NUMBER".
    weights: "pattern" (probability) or "value_weighted" (the norm of what is moved, by its largest).
    tokens: the part of the document that is drawn. Weights below `least` are left out.
    Raises NotInRun for heads that the model does not have, and for documents and weights that the run has not kept.
    """
    documents = [name.removeprefix("attention/") for name in run.groups() if name.startswith("attention/")]
    if documents and str(document) not in documents:
        raise NotInRun(f"{run.path}: no patterns of document {document}; the run keeps those of {', '.join(documents)}. "
                       "`--patterns N` keeps more.")
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise NotInRun("expected names of heads such as L1H2, found none.")
    places = [kept_head(run, name) for name in names]
    kept = run[f"attention/{document}"]
    all_weights = variable_at(kept, weights, {})
    text = shown([str(token) for token in kept["token_text"].values])[tokens]
    figure, axis = plt.subplots(figsize=(6, 0.24 * len(text) + 0.8), layout="constrained")
    for number, (name, (layer, head)) in enumerate(zip(names, places)):
        weight = all_weights.isel(layer=layer, head=head, query=tokens, key=tokens).values
        weight = weight / (np.nanmax(weight) if weights == "value_weighted" else 1)
        for query, key in zip(*np.nonzero(weight >= least)):
            axis.plot([0, 1], [query, key], color=COLOURS[number % len(COLOURS)], alpha=float(weight[query, key]),
                      linewidth=2.5 * weight[query, key], solid_capstyle="round")
        axis.plot([], [], color=COLOURS[number % len(COLOURS)], linewidth=2.5, label=name)
    for row, token in enumerate(text):
        axis.text(-0.02, row, token, ha="right", va="center", fontsize=8, parse_math=False)
        axis.text(1.02, row, token, ha="left", va="center", fontsize=8, parse_math=False)
    axis.set(xlim=(-0.35, 1.35), ylim=(len(text), -1.5))
    axis.axis("off")
    axis.text(-0.02, -1, "from", ha="right", color="0.4", fontsize=8)
    axis.text(1.02, -1, "to", ha="left", color="0.4", fontsize=8)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=min(len(names), 6), frameon=False)
    return axis


def compare(first: Run, second: Run, group: str, variable: str, **labels: Any) -> pd.DataFrame:
    """A variable by layer and head in two runs of one shape, a row per head, largest difference first.

    labels: the places on the variable's further axes, as in `ablation="zero"`.
    Columns: first, second, difference (second minus first). Flags are compared as numbers, 1 for yes. Heads removed from either
    model have NaN and stand last. Raises NotInRun if the models differ in shape, if a run lacks the variable or a label, or if the
    variable is a flag of more than two words.
    """
    shapes = [f"{run.n_layer} layers of {run.n_head} heads" for run in (first, second)]
    if shapes[0] != shapes[1]:
        raise NotInRun(f"{first.path} has {shapes[0]}, {second.path} has {shapes[1]}: "
                       "heads can only be compared between models of one shape.")
    values = {}
    for label, run in (("first", first), ("second", second)):
        table = by_layer_and_head(variable_at(run[group], variable, labels), f"{run.path}: {group}/{variable}")
        if len(table.attrs.get("flag_meanings", "").split()) > 2:
            raise NotInRun(f"{variable} has words, {table.attrs['flag_meanings']}, which have no difference; "
                           "`heads(run)` shows them.")
        values[label] = table.to_series().astype(float)
    table = pd.DataFrame(values)
    table.index = [f"L{layer}H{head}" for layer, head in table.index]
    table["difference"] = table["second"] - table["first"]
    return table.sort_values("difference", key=np.abs, ascending=False)
