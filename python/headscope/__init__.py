"""Results of Headscope: what the attention heads of a GPT-2 model do.

    import headscope as hs

    run = hs.load("out")            # the folder of a finished run
    run["pruning"]                  # a group of results as an xarray Dataset
    hs.heads(run)                   # a DataFrame, a row per head
    hs.head_view(run, ["L1H2"])     # lines between tokens
    hs.compare(run, other, "pruning", "loss_increase", ablation="zero")

The command `headscope`, installed with this package, makes the runs: `headscope run --output out`.
"""
from importlib.metadata import PackageNotFoundError, version

from .results import (COLOURS, NotInRun, Run, compare, flag_names, grid, head_map, head_view, heads, layer_and_head, load,
                      shown, with_error)

__all__ = ["COLOURS", "NotInRun", "Run", "compare", "flag_names", "grid", "head_map", "head_view", "heads",
           "layer_and_head", "load", "shown", "with_error"]
try:
    __version__ = version("headscope")
except PackageNotFoundError:
    __version__ = "unknown"
