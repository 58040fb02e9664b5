"""Recompute self-repair and backup heads of `headscope run --analyses tasks` from the definitions, in float64 NumPy, and compare.

    python3 tasks_check.py results.h5 model.h5 tasks.jsonl tokenizer

Whole forward passes of the prefix that both sides share, with z of one head set to zero. Checked are direct_effect of every head,
self_repair of every fourth, and self_repair and backup_change with its q-values of the heads whose backup the results have. Exits 1 if a
number differs by more than its tolerance.
"""

import json
import pathlib
import sys

import h5py
import numpy as np

from classification_check import adjusted
from plain_bpe import Tokenizer
from plain_gpt2 import Pass, compare, layer_norm, read_model, report_failures, t_upper_tail

FLOAT32_ROUNDING = 2.0 ** -23  # relative

# Differences of logits in the program's float32.
TOLERANCE = 1e-5


def read_pairs(path, tokenizer, end_of_text):
    """By task: (shared tokens, the first good token that differs, the first bad one)."""
    tasks = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        good, bad = ([end_of_text] + tokenizer.encode(pair["prefix"]) + tokenizer.encode(pair[side]) for side in ("good", "bad"))
        shared = next(i for i, (a, b) in enumerate(zip(good, bad)) if a != b)
        tasks.setdefault(pair["task"], []).append((good[:shared], good[shared], bad[shared]))
    return tasks


def without(head):
    def edit(layer, z):
        if head is None or layer != head[0]:
            return z
        changed = z.copy()
        changed[head[1]] = 0
        return changed
    return edit


class Pair:
    def __init__(self, model, pair):
        self.model, (self.tokens, self.good, self.bad) = model, pair
        whole = self.run(None)
        x = whole.resid[-1]
        u = model["ln_f.weight"] * (model["wte.weight"][self.good] - model["wte.weight"][self.bad])
        self.direction = (u - u.mean()) / np.sqrt(x.var() + model["epsilon"])

    def run(self, head):
        return Pass(self.model, self.tokens, without(head))

    def values(self, head=None):
        """Difference of logits, and the direct effects of all heads, by the whole model's final scale."""
        result = self.run(head)
        direct = np.concatenate([outputs[:, -1] @ self.direction for outputs in result.head_output])
        last = layer_norm(self.model, result.resid[-1:], "ln_f")[0]
        return last @ (self.model["wte.weight"][self.good] - self.model["wte.weight"][self.bad]), direct


def check_task(model, pairs, group, place):
    pairs = [Pair(model, pair) for pair in pairs]
    n_head = model["n_head"]
    heads = [(layer, head) for layer in range(model["n_layer"]) for head in range(n_head)]
    whole = [pair.values() for pair in pairs]
    direct = np.array([values for _, values in whole])
    got = group["backup_change"][place]
    repaired = [unit for unit in range(len(heads)) if np.isfinite(got[unit]).any()]
    chosen = sorted({*range(0, len(heads), 4), *repaired})
    ablated = {unit: [pair.values(heads[unit]) for pair in pairs] for unit in chosen}
    change = np.array([[logit - before for (logit, _), (before, _) in zip(ablated[unit], whole)] for unit in chosen]).T
    compare("direct effect", direct.mean(0), group["direct_effect"][place].ravel(), TOLERANCE)
    compare(f"self-repair of {len(chosen)} heads", (direct[:, chosen] + change).mean(0), group["self_repair"][place].ravel()[chosen],
            TOLERANCE, finite=1)
    expected, p = np.full(got.shape, np.nan), np.full(got.shape, np.nan)
    for unit in repaired:
        grown = np.array([values for _, values in ablated[unit]]) - direct
        later = np.arange(len(heads)) // n_head > unit // n_head
        expected[unit, later] = grown.mean(0)[later]
        n, mean = len(pairs), grown.mean(0)[later]
        squares = (grown[:, later] ** 2).sum(0) + n * (FLOAT32_ROUNDING * group["margin"][place]) ** 2
        t = mean / np.sqrt((squares - n * mean ** 2) / (n - 1) / n)
        p[unit, later] = [2 * t_upper_tail(abs(each), len(pairs) - 1) for each in t]
    compare(f"backup, {len(repaired)} heads", expected, got, TOLERANCE)
    compare("backup q", adjusted(p), group["backup_change_q"][place], 1e-3)
    return len(repaired)


def main():
    results, model_path, tasks, folder = sys.argv[1:]
    model = read_model(model_path)
    vocabulary = json.loads((pathlib.Path(folder) / "vocab.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer(vocabulary, (pathlib.Path(folder) / "merges.txt").read_text(encoding="utf-8"))
    pairs = read_pairs(tasks, tokenizer, vocabulary["<|endoftext|>"])
    n_repaired = 0
    with h5py.File(results) as file:
        group = file["tasks"]
        for place, name in enumerate(str(name, "utf-8") for name in group["task"]):
            print(name)
            n_repaired += check_task(model, pairs[name], group, place)
    print(n_repaired, "heads with repair")
    return report_failures()


if __name__ == "__main__":
    sys.exit(main())
