#!/usr/bin/env python3
"""Edges between heads on minimal pairs: Headscope against hooked Hugging Face forwards, in one run.

    python3 bench/compare_paths.py --headscope build-bench/bench/bench_paths --pairs anaphor_gender_agreement.jsonl \\
        --tokenizer FOLDER

needs torch, transformers 4.x or 5.x and tokenizers. It makes a model of GPT-2 small's shape with random weights (seed 0) and takes
pairs of a BLiMP file. Headscope takes the first-order effect of every edge, and the one by integrated gradients of five passes. Both are
compared with one forward and one backward pass over the same pairs (of its own, and of the peer by autograd), and the first with the peer's
effects of all edges, from hooks on what nodes write and on the gradients of what ports compute. Headscope ablates `--edges` edges exactly, spread over kinds and layers: the
reader's port sees the residual stream without the writer's output. The peer ablates `--measured` of them, a forward each with hooks
on the writer and on the reader's LayerNorm, both sides of `--batch` pairs padded to the longest; its time is extrapolated. Sides
alternate for `--rounds`. A check of the pruning of a circuit is a forward of all pairs that keeps a tenth of all edges, those of the largest
first-order effects; the peer's computes each port from the nodes that it keeps, in hooks. Checks that the first-order effects of these edges,
the changes of the mean margin and the margin of the circuit agree.

bench_paths --model FILE --pairs FILE.json --edges FILE.json --threads N prints {"forward_backward": s, "first_order": s, "integrated": s,
"largest_integrated": nats of a pair, "exact": s, "check": s, "circuit": {port: [node]}, "circuit_margin": nats per pair, "n_edge": edges to
first order, "predicted" and "change": [nats per pair, by edge]}.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from compare_tasks import read_pairs


def chosen_edges(n_layer, n_head, count):
    """[node, port] names: writers and readers step through layers, heads and kinds of port."""
    edges = []
    for i in range(count):
        reader = 1 + (5 * i) % (n_layer - 1)
        writer = (3 * i) % reader
        node = ("embed", f"L{writer}H{(7 * i) % n_head}", f"MLP{writer}")[(i // 5) % 3]
        port = [f"L{reader}H{(11 * i) % n_head}.{kind}" for kind in "qkv"] + [f"MLP{reader}", "logits"]
        edges.append([node, port[i % 5]])
    return edges


class EdgeHooks:
    """Without one edge: the reader's LayerNorm sees the stream without the writer's output."""

    def __init__(self, model, node, port):
        self.model, self.handles, self.written, self.resid = model, [], None, None
        blocks, d_model = model.transformer.h, model.config.n_embd
        d_head = d_model // model.config.n_head
        if node == "embed":
            self.hook(model.transformer.drop, lambda _, inputs, output: self.write(output))
        elif node.startswith("MLP"):
            c_proj = blocks[int(node[3:])].mlp.c_proj
            self.hook(c_proj, lambda _, inputs, output: self.write(output - c_proj.bias))
        else:
            layer, head = map(int, node[1:].split("H"))
            c_proj, own = blocks[layer].attn.c_proj, slice(head * d_head, (head + 1) * d_head)
            self.hook(c_proj, lambda _, inputs, output: self.write(inputs[0][..., own] @ c_proj.weight[own]))
        if port == "logits":
            self.before(model.transformer.ln_f, self.without)
        elif port.startswith("MLP"):
            self.before(blocks[int(port[3:])].ln_2, self.without)
        else:
            name, kind = port.split(".")
            layer, head = map(int, name[1:].split("H"))
            block, first = blocks[layer], "qkv".index(kind) * d_model + head * d_head
            self.before(block.ln_1, self.keep)
            self.hook(block.attn.c_attn, lambda module, inputs, output: self.replaced(block.ln_1, module, output,
                                                                                      slice(first, first + d_head)))

    def hook(self, module, function):
        self.handles.append(module.register_forward_hook(function))

    def before(self, module, function):
        self.handles.append(module.register_forward_pre_hook(function))

    def write(self, output):
        self.written = output

    def keep(self, _, inputs):
        self.resid = inputs[0]

    def without(self, _, inputs):
        return (inputs[0] - self.written,)

    def replaced(self, norm, c_attn, output, own):
        output = output.clone()
        stream = torch.nn.functional.layer_norm(self.resid - self.written, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        output[..., own] = stream @ c_attn.weight[:, own] + c_attn.bias[own]
        return output

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


class CircuitHooks:
    """Only some edges kept: each port reads the biases and the nodes that it keeps. @param kept: {port: [node]}"""

    def __init__(self, model, kept):
        self.handles, self.nodes, self.biases = [], [], 0
        transformer, n_head = model.transformer, model.config.n_head
        self.hook(transformer.drop, lambda _, inputs, output: self.begin(output))
        for l, block in enumerate(transformer.h):
            of_ports = self.mask(kept, [f"L{l}H{h}.{kind}" for kind in "qkv" for h in range(n_head)], 1 + l * (n_head + 1))
            self.hook(block.attn.c_attn, lambda module, inputs, output, block=block, mask=of_ports: self.projected(block.ln_1, module, mask))
            self.hook(block.attn.c_proj, lambda module, inputs, output: self.write_heads(module, inputs[0], n_head))
            self.read_by(block.ln_2, self.mask(kept, [f"MLP{l}"], 1 + l * (n_head + 1) + n_head))
            self.hook(block.mlp.c_proj, lambda module, inputs, output: self.write([output - module.bias], module.bias))
        self.read_by(transformer.ln_f, self.mask(kept, ["logits"], 1 + len(transformer.h) * (n_head + 1)))

    @staticmethod
    def mask(kept, ports, n_node):
        mask = torch.zeros(len(ports), n_node)
        for i, port in enumerate(ports):
            mask[i, kept.get(port, [])] = 1
        return mask

    def hook(self, module, function):
        self.handles.append(module.register_forward_hook(function))

    def read_by(self, norm, mask):
        self.handles.append(norm.register_forward_pre_hook(lambda _, inputs: (self.streams(mask)[0],)))

    def begin(self, output):
        self.nodes, self.biases = [output], 0

    def write(self, outputs, bias):
        self.nodes += outputs
        self.biases = self.biases + bias

    def write_heads(self, c_proj, z, n_head):
        W_O = c_proj.weight.view(n_head, -1, c_proj.weight.shape[1])
        self.write([z_h @ W for z_h, W in zip(z.unflatten(-1, (n_head, -1)).unbind(-2), W_O)], c_proj.bias)

    def streams(self, mask):
        return torch.einsum("pn,nbtd->pbtd", mask, torch.stack(self.nodes)) + self.biases

    def projected(self, norm, c_attn, mask):
        W = c_attn.weight.unflatten(-1, (len(mask), -1))
        streams = torch.nn.functional.layer_norm(self.streams(mask), norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        return torch.einsum("pbtd,dpe->btpe", streams, W).flatten(-2) + c_attn.bias

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


def margin_sum(model, pairs):
    sequences = [pair[side] for pair in pairs for side in ("good", "bad")]
    longest = max(map(len, sequences))
    tokens = torch.tensor([s + [0] * (longest - len(s)) for s in sequences])
    mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in sequences])
    log_p = model(tokens, attention_mask=mask).logits[:, :-1].log_softmax(-1).gather(2, tokens[:, 1:, None])[..., 0]
    sums = (log_p * mask[:, 1:]).sum(1)
    return (sums[0::2] - sums[1::2]).sum()


@torch.no_grad()
def mean_margin(model, pairs, n_batch):
    return sum(float(margin_sum(model, pairs[first:first + n_batch])) for first in range(0, len(pairs), n_batch)) / len(pairs)


def forward_backward(model, pairs, n_batch):
    """With the gradient at activations alone."""
    keep = model.transformer.drop.register_forward_hook(lambda _, inputs, output: output.requires_grad_())
    for first in range(0, len(pairs), n_batch):
        margin_sum(model, pairs[first:first + n_batch]).backward()
    keep.remove()


class EdgeGradients:
    """Effects of all edges to first order, by ablation to zero: hooks keep what nodes write and what ports read, and the gradients of
    queries, keys, values and of the outputs of other norms, from which those of each port's residual stream follow."""

    def __init__(self, model):
        self.model, self.kept, self.handles = model, {}, []
        model_, blocks = model.transformer, model.transformer.h
        self.hook(model_.drop, lambda _, inputs, output: self.keep("embed", output.requires_grad_()))
        for l, block in enumerate(blocks):
            for name, module in (("ln_1", block.ln_1), ("qkv", block.attn.c_attn), ("z", block.attn.c_proj), ("ln_2", block.ln_2),
                                 ("mlp", block.mlp.c_proj)):
                self.hook(module, lambda _, inputs, output, key=(name, l): self.keep(key, (inputs[0], output)))
        self.hook(model_.ln_f, lambda _, inputs, output: self.keep("ln_f", (inputs[0], output)))

    def hook(self, module, function):
        self.handles.append(module.register_forward_hook(function))

    def keep(self, key, value):
        self.kept[key] = value
        output = value[1] if isinstance(value, tuple) else value
        if output.requires_grad:
            output.retain_grad()

    def close(self):
        for handle in self.handles:
            handle.remove()

    @staticmethod
    def through_norm(norm, x, gradient):
        """Gradient of what the norm reads, from that of what it writes: [..., token, d_model]."""
        x = x - x.mean(-1, keepdim=True)
        scale = (x.square().mean(-1, keepdim=True) + norm.eps).sqrt()
        x, gradient = x / scale, gradient * norm.weight
        return (gradient - gradient.mean(-1, keepdim=True) - x * (gradient * x).mean(-1, keepdim=True)) / scale

    @torch.no_grad()
    def effects(self):
        """{port: [node], for the nodes before it in their order} summed over the batch of the last backward pass."""
        config, blocks = self.model.config, self.model.transformer.h
        d_model, n_head = config.n_embd, config.n_head
        nodes, found = [self.kept["embed"]], {}

        def against(gradients):
            return -torch.stack([torch.einsum("btd,pbtd->p", node, gradients) for node in nodes], 1)

        for l, block in enumerate(blocks):
            x, qkv = self.kept["ln_1", l][0], self.kept["qkv", l][1]
            gradients = torch.einsum("btpe,dpe->pbtd", qkv.grad.unflatten(-1, (3 * n_head, -1)),
                                     block.attn.c_attn.weight.unflatten(-1, (3 * n_head, -1)))
            by_port = against(self.through_norm(block.ln_1, x, gradients))
            for i, effects in enumerate(by_port):
                found[f"L{l}H{i % n_head}.{'qkv'[i // n_head]}"] = effects
            z = self.kept["z", l][0].unflatten(-1, (n_head, -1))
            W_O = block.attn.c_proj.weight.view(n_head, -1, d_model)
            nodes += [z[..., h, :] @ W_O[h] for h in range(n_head)]
            x, read = self.kept["ln_2", l]
            found[f"MLP{l}"] = against(self.through_norm(block.ln_2, x, read.grad)[None])[0]
            nodes.append(self.kept["mlp", l][1] - block.mlp.c_proj.bias)
        x, read = self.kept["ln_f"]
        found["logits"] = against(self.through_norm(self.model.transformer.ln_f, x, read.grad)[None])[0]
        return found


def edge_effects(model, pairs, n_batch):
    """Effect of every edge, nats per pair: {port: [node]}."""
    hooks, totals = EdgeGradients(model), {}
    for first in range(0, len(pairs), n_batch):
        margin_sum(model, pairs[first:first + n_batch]).backward()
        for port, effects in hooks.effects().items():
            totals[port] = totals.get(port, 0) + effects / len(pairs)
    hooks.close()
    return totals


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--headscope", required=True)
    parser.add_argument("--pairs", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32, help="pairs the peer runs at once")
    parser.add_argument("--edges", type=int, default=50)
    parser.add_argument("--measured", type=int, default=10, help="edges the peer is measured for")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config()).eval().requires_grad_(False)
    pairs = read_pairs(options.pairs, options.tokenizer, options.count)
    edges = chosen_edges(model.config.n_layer, model.config.n_head, options.edges)
    measured = range(0, options.edges, max(1, options.edges // options.measured))
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        for name, value in (("pairs", pairs), ("edges", edges)):
            (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
        whole = mean_margin(model, pairs, options.batch)  # warms up
        for _ in range(options.rounds):
            finished = subprocess.run([options.headscope, "--model", f"{folder}/model.safetensors", "--pairs", f"{folder}/pairs.json",
                                       "--edges", f"{folder}/edges.json", "--threads", str(options.threads)],
                                      stdout=subprocess.PIPE, check=True)
            ours = json.loads(finished.stdout)
            changes, seconds = {}, 0.0
            for i in measured:
                with EdgeHooks(model, *edges[i]):
                    start = time.perf_counter()
                    changes[i] = mean_margin(model, pairs, options.batch) - whole
                    seconds += time.perf_counter() - start
            attributed = {}
            theirs = {"exact": seconds / len(changes) * options.edges,
                      "first_order": timed(lambda: attributed.update(edge_effects(model, pairs, options.batch))),
                      "forward_backward": timed(lambda: forward_backward(model, pairs, options.batch))}
            with CircuitHooks(model, ours["circuit"]):
                start = time.perf_counter()
                circuit_margin = mean_margin(model, pairs, options.batch)
                theirs["check"] = time.perf_counter() - start
            if abs(circuit_margin - ours["circuit_margin"]) > 1e-3:
                sys.exit(f"a tenth of the edges: margin {ours['circuit_margin']} here, {circuit_margin} there")
            rounds.append((ours, theirs))
            n_head = model.config.n_head
            for (node, port), predicted in zip(edges, ours["predicted"]):
                layer = int(node[1:].split("H")[0]) if node.startswith("L") else 0
                place = (0 if node == "embed" else (int(node[3:]) + 1) * (n_head + 1) if node.startswith("MLP")
                         else 1 + layer * (n_head + 1) + int(node.split("H")[1]))
                if abs(float(attributed[port][place]) - predicted) > 1e-3:
                    sys.exit(f"{node} {port}: first-order effect {predicted} here, {float(attributed[port][place])} there")
            for i, change in changes.items():
                if abs(ours["change"][i] - change) > 1e-3:
                    sys.exit(f"{edges[i]}: change {ours['change'][i]} here, {change} there")
    ours, theirs = ({name: statistics.median(each[side][name] for each in rounds) for name in rounds[0][side]
                     if isinstance(rounds[0][side][name], (int, float))} for side in (0, 1))
    print(f"{len(pairs)} pairs, {int(ours['n_edge'])} edges to first order: {ours['first_order']:.2f} s, "
          f"{ours['first_order'] / ours['forward_backward']:.2f} times a forward and backward pass ({ours['forward_backward']:.2f} s); "
          f"Hugging Face's forward and backward pass {theirs['forward_backward']:.2f} s, all its edges {theirs['first_order']:.2f} s, "
          f"ratio {theirs['first_order'] / ours['first_order']:.2f}")
    print(f"by integrated gradients of five passes: {ours['integrated']:.2f} s, "
          f"{ours['integrated'] / ours['forward_backward']:.2f} times a forward and backward pass (at most 5.5 wanted)")
    print(f"{options.edges} edges exactly: Headscope {ours['exact']:.1f} s, Hugging Face {theirs['exact']:.1f} s, "
          f"ratio {theirs['exact'] / ours['exact']:.2f}; changes of the margin up to {max(map(abs, rounds[0][0]['change'])):.3f} nats")
    print(f"a check of a circuit of a tenth of the edges: Headscope {ours['check']:.2f} s, Hugging Face {theirs['check']:.2f} s, "
          f"ratio {theirs['check'] / ours['check']:.2f}; its margin is {ours['circuit_margin']:.4f} nats")


if __name__ == "__main__":
    main()
