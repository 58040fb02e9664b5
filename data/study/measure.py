"""The numbers of a finished training, as trainings/NAME.json keeps them: of its record, of Headscope's runs, and under noise."""

import json
import os

import h5py
import numpy as np

NOT_SPECIALISED = {"sink", "long_range"}  # say where attention rests, not what it looks for; an untrained head may have them
BIN, SMOOTH = 20, 51  # steps


def rounded(value):
    """Floats to seven digits, which float32 has; NaN as None."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [rounded(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.7g}") if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def write_numbers(path, numbers):
    """One key a line, so that differences of versions can be read."""
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(rounded(value))}" for key, value in numbers.items())
    partial = path.with_suffix(".partial")
    partial.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    os.replace(partial, path)


def binned(values):
    """Means of whole bins of BIN steps."""
    return values[: len(values) // BIN * BIN].reshape(-1, BIN).mean(axis=1)


def variation(log_norm, warm_up):
    """Standard deviation, over the steps after the warm-up, of ln(gradient norm) less its running mean of SMOOTH steps."""
    padded = np.pad(log_norm, SMOOTH // 2, mode="reflect")
    smooth = np.convolve(padded, np.full(SMOOTH, 1 / SMOOTH), mode="valid")
    return (log_norm - smooth)[warm_up:].std() if len(log_norm) > warm_up else np.nan


def of_record(path):
    """What train_family.py or retrain.py wrote: attributes as they are; losses and gradient norms in bins of BIN steps."""
    with h5py.File(path) as file:
        numbers = dict(file.attrs)
        if "gradient_norm" in file:
            log_norm = np.log(file["gradient_norm"][()])
            warm_up = int(numbers["warm_up"])
            numbers |= {
                "gradient_variation": variation(log_norm, warm_up),
                "clipped_share": float((log_norm > 0).mean()),
                "largest_gradient_norm": float(np.exp(log_norm.max())),
                "training_loss": binned(file["loss"][()]),
                "ln_gradient_norm": binned(log_norm),
                "head_distance": file["head_distance"][()],
            }
    return numbers


def labels(values):
    return [value.decode() for value in values]


def of_run(path):
    """What Headscope says of a model: means over its heads, layers, and pairs of heads of a layer. `loss` only where heads were ablated."""
    with h5py.File(path) as file:
        types = labels(file["classification/head_type"][()])
        flags = file["classification/type"][()].astype(bool)
        wanted = [name not in NOT_SPECIALISED for name in types]
        cka = file["correlation/cka"][()]
        pairs = ~np.eye(cka.shape[-1], dtype=bool)
        residual = labels(file["correlation/space"][()]).index("residual")
        several = cka.shape[-1] > 1
        return {
            "headscope_commit": str(file.attrs["git_commit"]),
            "typed_share": flags[wanted].any(axis=0).mean(),
            "type_share": dict(zip(types, flags.mean(axis=(1, 2)))),
            "unlikeness": 1 - cka[:, pairs].mean() if several else np.nan,
            "mean_abs_cosine": file["correlation/mean_abs_cosine"][residual].mean() if several else np.nan,
            "entropy_median": float(file["classification/entropy_median"][()]),
            "loss": float(file["pruning/loss"][()]) if "pruning" in file else np.nan,
        }


def of_runs(percents, paths):
    """Lists over the checkpoints; the commit once."""
    runs = [of_run(path) for path in paths]
    commits = {run.pop("headscope_commit") for run in runs}
    if len(commits) != 1:
        raise SystemExit(f"{paths[0]}: expected runs of one commit of Headscope, got {sorted(commits)}")
    shares = [run.pop("type_share") for run in runs]
    lists = {key: [run[key] for run in runs] for key in runs[0]}
    return {"headscope_commit": commits.pop(), "percent": percents, **lists, "type_share": {name: [share[name] for share in shares] for name in shares[0]}}


def heads_to_remove(path, percent_kept):
    """The heads whose zero-ablation costs least, as retrain.py takes them: so many that this percentage is kept."""
    with h5py.File(path) as file:
        increase = file["pruning/loss_increase"][labels(file["pruning/ablation"][()]).index("zero")]
    count = increase.size * (100 - percent_kept) // 100
    return [f"L{unit // increase.shape[1]}H{unit % increase.shape[1]}" for unit in sorted(np.argsort(increase, axis=None)[:count])]
