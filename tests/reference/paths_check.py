"""Recompute the results of `headscope run --analyses paths` from the definitions, in float64 NumPy, and compare.

    python3 paths_check.py results.h5 model.h5 tasks.jsonl tokenizer mean|zero|position_mean [task]

Every port reads a residual stream of its own in whole forward passes; effects by gradients come from central differences along the
change that ablating the edge makes. Checked are some edges into queries, keys, values, MLPs and logits each to first order and by
integrated gradients, the edges ablated exactly with p and q and rank correlations, circuits of no, some and all edges, and that one edge
less than `circuit_edges_90` is too few, and what pruning leaves. The run needs five steps and `--paths-pairs 0`. Exits 1 if a number differs by more than its tolerance.
"""

import json
import math
import pathlib
import sys

import h5py
import numpy as np

from classification_check import adjusted
from plain_bpe import Tokenizer
from plain_gpt2 import CounterRandom, compare, gelu_new, layer_norm, read_model, report_failures, spread_sample, t_upper_tail

# Margins of up to about 70 nats in the program's float32; differences along small steps in float64. The gradient of a saturated softmax
# is a difference of nearly equal numbers, which float32 gives to five digits.
TOLERANCE, FIRST_ORDER_TOLERANCE = 2e-6, 5e-5
LARGEST_OF_KIND, OTHERS_OF_KIND, STEP = 1, 1, 1e-5
PASSES = 5


def nodes_and_ports(model):
    """Names of nodes in the order in which they write, and of ports with the number of nodes that each reads."""
    nodes, ports = ["embed"], []
    heads = range(model["n_head"])
    for layer in range(model["n_layer"]):
        for kind in "qkv":
            ports += [(f"L{layer}H{head}.{kind}", len(nodes)) for head in heads]
        nodes += [f"L{layer}H{head}" for head in heads]
        ports.append((f"MLP{layer}", len(nodes)))
        nodes.append(f"MLP{layer}")
    return nodes, ports + [("logits", len(nodes))]


def log_probabilities(model, tokens, first, read, share=1, mean_token=0):
    """Sum of ln p of tokens first .. T-1, [side], and what nodes write, [node][side, T, d_model]. `read(port, outputs, bias, stream)`
    returns what a port reads, of the nodes' outputs so far or of their sum with the biases, the stream. Of the difference of token embeddings after position 0 from their mean a share is left."""
    T, n_head = tokens.shape[1], model["n_head"]
    embedded = model["wte.weight"][tokens]
    embedded[:, 1:] = mean_token + share * (embedded[:, 1:] - mean_token)
    outputs, bias = [embedded + model["wpe.weight"][:T]], np.zeros(model["wte.weight"].shape[1])
    stream = outputs[0]
    mask = np.triu(np.ones((T, T), bool), 1)

    def read_normalized(port, of_stream, norm):
        x = read(port, outputs, bias, stream)
        return of_stream if x is stream else layer_norm(model, x, norm)

    for layer in range(model["n_layer"]):
        name, new = f"h.{layer}.", []
        weights = np.split(model[name + "attn.c_attn.weight"], 3, axis=1)
        biases = np.split(model[name + "attn.c_attn.bias"], 3)
        d_head = weights[0].shape[1] // n_head
        of_stream = layer_norm(model, stream, name + "ln_1")
        for head in range(n_head):
            rows = slice(head * d_head, (head + 1) * d_head)
            q, k, v = (read_normalized(f"L{layer}H{head}.{kind}", of_stream, name + "ln_1") @ W[:, rows] + b[rows]
                       for kind, W, b in zip("qkv", weights, biases))
            scores = np.where(mask, -np.inf, q @ k.swapaxes(1, 2) / math.sqrt(d_head))
            pattern = np.exp(scores - scores.max(-1, keepdims=True))
            new.append(pattern / pattern.sum(-1, keepdims=True) @ v @ model[name + "attn.c_proj.weight"][rows])
        outputs, bias = outputs + new, bias + model[name + "attn.c_proj.bias"]
        stream = sum(new, stream) + model[name + "attn.c_proj.bias"]
        hidden = read_normalized(f"MLP{layer}", layer_norm(model, stream, name + "ln_2"), name + "ln_2") \
            @ model[name + "mlp.c_fc.weight"] + model[name + "mlp.c_fc.bias"]
        outputs, bias = outputs + [gelu_new(hidden) @ model[name + "mlp.c_proj.weight"]], bias + model[name + "mlp.c_proj.bias"]
        stream = stream + outputs[-1] + model[name + "mlp.c_proj.bias"]
    logits = layer_norm(model, read("logits", outputs, bias, stream)[:, first - 1:-1], "ln_f") @ model["wte.weight"].T
    logits -= logits.max(-1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.take_along_axis(logits, tokens[:, first:, None], -1).sum((1, 2)), outputs


def read_all(_, outputs, bias, stream):
    return stream


class Task:
    """Sides of one length go through a pass together; sides are numbered good, bad, good, ... of the pairs. Tokens before the first at
    which the sides of some pair differ are left out of margins, in which they cancel."""

    def __init__(self, model, pairs):
        self.model, self.nodes = model, nodes_and_ports(model)[0]
        sides = [side for pair in pairs for side in pair]
        self.n_side = len(sides)
        self.first = min(next(i for i, (a, b) in enumerate(zip(*pair)) if a != b) for pair in pairs)
        self.mean_token = np.concatenate([model["wte.weight"][side[1:]] for side in sides]).mean(0)
        lengths = np.array([len(side) for side in sides])
        self.batches = [(np.flatnonzero(lengths == length), np.array([side for side in sides if len(side) == length]))
                        for length in np.unique(lengths)]
        self.written = [log_probabilities(model, tokens, self.first, read_all)[1] for _, tokens in self.batches]

    def margins(self, read):
        """By pair."""
        log_p = np.empty(self.n_side)
        for places, tokens in self.batches:
            log_p[places] = log_probabilities(self.model, tokens, self.first, read)[0]
        return log_p[0::2] - log_p[1::2]

    def margin(self, read):
        return self.margins(read).mean()

    def slope(self, edge, replacement, share):
        """Of the margin, along the change of what the edge's port reads by ablating it, in a pass with this share of the token embeddings."""
        node, port = self.nodes.index(edge[0]), edge[1]
        total = 0
        for (places, tokens), written in zip(self.batches, self.written):
            change, sign = replacement[node] - written[node], np.where(places % 2 == 0, 1, -1)
            for step in (STEP, -STEP):
                def read(reader, outputs, bias, stream, step=step, change=change):
                    return stream + step * change if reader == port else stream
                log_p = log_probabilities(self.model, tokens, self.first, read, share, self.mean_token)[0]
                total += (sign * log_p).sum() / (2 * step) / (self.n_side / 2)
        return total

    def means(self):
        """Mean of what each node writes over the tokens of both sides after position 0."""
        sums = sum(np.stack([output[:, 1:].sum((0, 1)) for output in written]) for written in self.written)
        return sums / sum(tokens[:, 1:].size for _, tokens in self.batches)

    def means_by_position(self):
        """Mean of what each node writes over both sides, which are all as long: [node][position, d_model]."""
        (written,) = self.written
        return np.stack([output.mean(0) for output in written])


def changed(edge, replacement, nodes, share):
    """All ports read the whole stream, but for one that reads `share` of the change by ablating the edge in addition."""
    node, port = nodes.index(edge[0]), edge[1]

    def read(reader, outputs, bias, stream):
        return stream + share * (replacement[node] - outputs[node]) if reader == port else stream

    return read


def circuit(kept, replacement, nodes):
    """Ports read the nodes of kept edges, and what replaces the others."""
    def read(port, outputs, bias, stream):
        return bias + sum(output if (nodes[i], port) in kept else np.broadcast_to(replacement[i], output.shape)
                          for i, output in enumerate(outputs))

    return read


def read_pairs(path, tokenizer, end_of_text, name):
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        if pair["task"] == name:
            prefix = [end_of_text] + tokenizer.encode(pair["prefix"])
            yield prefix + tokenizer.encode(pair["good"]), prefix + tokenizer.encode(pair["bad"])


def ranks(values):
    """Mean ranks of equal values."""
    values = np.asarray(values)
    return np.array([np.mean(np.flatnonzero(np.sort(values) == value)) for value in values])


def check_task(task, replacement, group, place, steps):
    names = {axis: [str(name, "utf-8") for name in group[axis]] for axis in ("node", "port")}
    first_order, integrated = group["edge_first_order"][place], group["edge_integrated"][place]
    assert names["node"] == task.nodes
    whole = task.margins(read_all)
    margin = whole.mean()
    compare("margin", margin, group["margin"][place], TOLERANCE)
    edges = [(abs(integrated[i, j]), (node, port)) for j, port in enumerate(names["port"])
             for i, node in enumerate(names["node"]) if np.isfinite(integrated[i, j])]
    order = [edge for _, edge in sorted(edges, key=lambda each: -each[0])]
    compare("all edges", len(edges), steps[-1], 0)
    p, q = (group["edge_" + name][place][np.isfinite(integrated)] for name in "pq")
    compare("log q of all edges", *(np.log(np.maximum(each, 1e-300)) for each in (adjusted(p), q)), 10 * TOLERANCE, finite=1)
    for kind in (".q", ".k", ".v", "MLP", "logits"):
        chosen = [edge for edge in order if kind in edge[1]]
        chosen = chosen[:LARGEST_OF_KIND] + chosen[LARGEST_OF_KIND::max(1, len(chosen) // OTHERS_OF_KIND)][:OTHERS_OF_KIND]
        slopes = np.array([[task.slope(edge, replacement, k / PASSES) for k in range(1, PASSES + 1)] for edge in chosen])
        for name, got, expected in (("first order", first_order, slopes[:, -1]), ("integrated", integrated, slopes.mean(axis=1))):
            compare(f"{name}, {len(chosen)} into {kind}", expected,
                    [got[names["node"].index(node), names["port"].index(port)] for node, port in chosen], FIRST_ORDER_TOLERANCE)
    exact = [(str(node, "utf-8"), str(port, "utf-8")) for node, port in
             zip(group["edge_node"][place], group["edge_port"][place])]
    n_exact = sum(1 for node, _ in exact if node)
    changes = np.array([task.margins(changed(edge, replacement, task.nodes, 1)) - whole for edge in exact[:n_exact]])
    compare(f"exact, {n_exact} edges", changes.mean(axis=1), group["edge_change"][place][:n_exact], TOLERANCE)
    # The variance of a pair includes float32's rounding of the margin.
    n = len(whole)
    variance = (changes**2 + (np.finfo(np.float32).eps * margin)**2 - changes.mean(axis=1, keepdims=True)**2).sum(axis=1) / (n - 1)
    p = np.array([2 * t_upper_tail(t, n - 1) for t in np.abs(changes.mean(axis=1)) / np.sqrt(variance / n)])
    # Logarithms, as most p are tiny; a change's relative error counts as often as there are pairs.
    for name, expected in (("p", p), ("q", adjusted(p))):
        compare("log " + name, *(np.log(np.maximum(each, 1e-300)) for each in (expected, group["edge_change_" + name][place][:n_exact])),
                10 * TOLERANCE, finite=1)

    # Of the file's numbers: effects that are equal but for rounding have other ranks here.
    exact_ranks = ranks(group["edge_change"][place][:n_exact])
    for name, got, correlation in zip(("first order", "integrated"), (first_order, integrated), group["edge_rank_correlation"][place]):
        estimated = ranks([got[names["node"].index(node), names["port"].index(port)] for node, port in exact[:n_exact]])
        compare(f"rank correlation, {name}", np.corrcoef(estimated, exact_ranks)[0, 1], correlation, TOLERANCE)

    def faithfulness(n_edge):
        return (task.margin(circuit(set(order[:n_edge]), replacement, task.nodes)) - none) / (margin - none)

    of_no_edge = task.margins(circuit(set(), replacement, task.nodes))
    none = of_no_edge.mean()
    for step, got in zip(steps, group["faithfulness"][place][0]):
        if np.isfinite(got) and step in (0, 4, 16, 256, steps[-1]):
            # A quotient of differences of margins.
            compare(f"faithfulness of {int(step)} edges", faithfulness(int(step)), got, 2 * TOLERANCE)
    fewest = group["circuit_edges_90"][place]
    if np.isfinite(fewest):
        compare("fewest edges", [faithfulness(int(fewest)) >= 0.9, faithfulness(int(fewest) - 1) >= 0.9], [True, False], 0)
        check_pruned(task, replacement, group, place, whole, of_no_edge)


def check_pruned(task, replacement, group, place, whole, of_no_edge):
    """The pruned circuit on the pairs that judge and, if it has at most ten edges, that none can go on the pairs that prune. `whole` and
    `of_no_edge` are the margins with all edges and with none."""
    in_circuit = group["edge_in_circuit"][place]
    names = {axis: [str(name, "utf-8") for name in group[axis]] for axis in ("node", "port")}
    kept = {(names["node"][i], names["port"][j]) for i, j in np.argwhere(in_circuit == 1)}
    compare("pruned edges", len(kept), group["circuit_edges_pruned"][place], 0)

    judges = np.zeros(len(whole), dtype=bool)
    seed = int(group.file.attrs["seed"])
    judges[spread_sample(len(whole), len(whole) // 2, CounterRandom(seed, (7 << 60) + place))] = True

    def by_half(margins):
        return np.array([margins[~judges].sum(), margins[judges].sum()])

    def sums(edges):
        return by_half(task.margins(circuit(edges, replacement, task.nodes)))

    none, left, all_edges = by_half(of_no_edge), sums(kept), by_half(whole)
    shares = (left - none) / (all_edges - none)
    compare("pruned faithfulness", shares[1], group["faithfulness_pruned"][place], 2 * TOLERANCE)
    if len(kept) <= 10:
        without_one = [((sums(kept - {edge}) - none) / (all_edges - none))[0] for edge in sorted(kept)]
        compare("edges that can go", sum(share >= max(shares[0] - 0.01, 0.9) for share in without_one), 0, 0)


def main():
    results, model_path, tasks, folder, kind, *only = sys.argv[1:]
    model = read_model(model_path)
    vocabulary = json.loads((pathlib.Path(folder) / "vocab.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer(vocabulary, (pathlib.Path(folder) / "merges.txt").read_text(encoding="utf-8"))
    with h5py.File(results) as file:
        group = file["paths"]
        steps = group["step"][()]
        for place, name in enumerate(str(name, "utf-8") for name in group["task"]):
            if name == "repeated_random_tokens" or (only and name not in only):
                continue
            n_pair = int(group["n_pair"][place])
            if int(group["n_pair_exact"][place]) != n_pair:
                raise SystemExit("expected a run with --paths-pairs 0")
            task = Task(model, list(read_pairs(tasks, tokenizer, vocabulary["<|endoftext|>"], name))[:n_pair])
            means = task.means_by_position() if kind == "position_mean" else task.means()
            print(name)
            check_task(task, np.zeros_like(means) if kind == "zero" else means, group, place, steps)
    return report_failures()


if __name__ == "__main__":
    sys.exit(main())
