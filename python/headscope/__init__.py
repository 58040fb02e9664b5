"""What the attention heads of a language model do: the results of Headscope in Python.

    import headscope as hs

    run = hs.load("out")            # the folder of a finished run
    run["pruning"]                  # a group of results as an xarray Dataset
    hs.heads(run)                   # a DataFrame, a row per head
    hs.head_view(run, ["L1H2"])     # lines between tokens
    hs.compare(run, other, "pruning", "loss_increase", ablation="zero")

The command `headscope`, installed with this package, makes the runs: `headscope run --output out`.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import (COLOURS, MAIN_COLUMNS, NotInRun, Run, compare, flag_names, grid, head_map, head_view, heads, layer_and_head, load,
                          model_name, shown, with_error, with_interval, words)

__all__ = ["COLOURS", "MAIN_COLUMNS", "NotInRun", "Run", "compare", "flag_names", "grid", "head_map", "head_view", "heads", "layer_and_head",
           "load", "model_name", "shown", "with_error", "with_interval", "words"]


def __getattr__(name: str) -> Any:
    # Loaded at first use: the command does not wait for pandas, xarray and matplotlib.
    if name in __all__:
        return getattr(importlib.import_module(".results", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
