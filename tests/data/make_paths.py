"""paths_golden.h5: effects of edges between heads, and margins of circuits, by Hugging Face and automatic differentiation.

Hooks give every port a residual stream of its own: the queries, keys and values of each head, each MLP and the logits. Four pairs of
data/tasks.jsonl on the default model, each side run by itself.
"""

import contextlib
import functools

import numpy
import torch
from tokenizers import ByteLevelBPETokenizer

import golden_file
from make_tasks import PROJECT, n_shared, read_model, read_pairs

TASKS = ("recurring_name", "agreement_one_attractor")
PAIRS_OF_TASK = 2
EDGES_OF_KIND = 20
CIRCUITS = (0, 1, 64, 512)
PASSES = 5


def nodes_and_ports(model):
    """Names of nodes in the order in which they write, and (name, number of nodes that it can read) of each port."""
    nodes, ports = ["embed"], []
    for layer in range(model.config.n_layer):
        heads = [f"L{layer}H{head}" for head in range(model.config.n_head)]
        ports += [(f"{head}.{kind}", len(nodes)) for kind in "qkv" for head in heads]
        nodes += heads
        ports.append((f"MLP{layer}", len(nodes)))
        nodes.append(f"MLP{layer}")
    return nodes, ports + [("logits", len(nodes))]


def log_probabilities(model, tokens, change, embed=lambda tokens: tokens):
    """Of all tokens after the first, with the nodes' outputs. `change(port, written)` is added to the stream that the port reads;
    `embed(token embeddings)` takes their place."""
    transformer, n_head = model.transformer, model.config.n_head
    d_model = model.config.n_embd
    d_head = d_model // n_head
    written, stream, ports = [], [], iter(range(10**6))

    def read(_, inputs):
        return (inputs[0] + change(next(ports), written),)

    def read_heads(block):
        def qkv(c_attn, _, output):
            # All queries, then all keys, then all values, of one head after the other.
            parts = []
            for i in range(3 * n_head):
                own = slice(i * d_head, (i + 1) * d_head)
                seen = block.ln_1.forward(stream[-1] + change(next(ports), written))
                parts.append(seen @ c_attn.weight[:, own] + c_attn.bias[own])
            return torch.cat(parts, -1)
        return qkv

    def write_heads(c_proj, inputs):
        for head in range(n_head):
            own = slice(head * d_head, (head + 1) * d_head)
            written.append((inputs[0][..., own] @ c_proj.weight[own])[0])

    with contextlib.ExitStack() as hooks:
        def hook(handle):
            hooks.callback(handle.remove)
        hook(transformer.wte.register_forward_hook(lambda _, __, output: embed(output)))
        hook(transformer.drop.register_forward_hook(lambda _, __, output: written.append(output[0])))
        for block in transformer.h:
            hook(block.ln_1.register_forward_pre_hook(lambda _, inputs: stream.append(inputs[0])))
            hook(block.attn.c_attn.register_forward_hook(read_heads(block)))
            hook(block.attn.c_proj.register_forward_pre_hook(write_heads))
            hook(block.ln_2.register_forward_pre_hook(read))
            hook(block.mlp.c_proj.register_forward_hook(lambda c_proj, _, output: written.append((output - c_proj.bias)[0])))
        hook(transformer.ln_f.register_forward_pre_hook(read))
        logits = model(torch.tensor(tokens)[None]).logits[0]
    return logits.log_softmax(-1)[:-1].gather(1, torch.tensor(tokens)[1:, None])[:, 0], written


def margin(run, pair, change):
    """`run(tokens, change, embed)` is log_probabilities of a model, as in the functions below."""
    return run(pair[0], change)[0].sum() - run(pair[1], change)[0].sum()


@torch.no_grad()
def mean_outputs(run, pairs):
    """What each node writes, mean over the tokens of all sides after position 0: [node, d_model]."""
    sides = [run(tokens, lambda *_: 0)[1] for pair in pairs for tokens in pair]
    return torch.stack([torch.cat([written[node][1:] for written in sides]).mean(0) for node in range(len(sides[0]))])


def mean_token(embeddings, pairs):
    """Mean token embedding over the tokens of all sides after position 0."""
    return embeddings[[token for pair in pairs for tokens in pair for token in tokens[1:]]].mean(0)


def towards(mean, share):
    """Moves token embeddings after position 0 to their mean, of the difference from which a share is left."""
    return lambda tokens: torch.cat([tokens[:, :1], mean + share * (tokens[:, 1:] - mean)], 1)


def by_gradients(run, pairs, replacement, ports, embed=lambda tokens: tokens):
    """By edge, port after port: gradients of the margin by zeros added to what each port reads, ports cut apart, in a pass with these
    token embeddings, times the change of what the node writes in the pass of the model."""
    total = [torch.zeros(n_read, dtype=torch.float64) for _, n_read in ports]
    for pair in pairs:
        for sign, tokens in ((1, pair[0]), (-1, pair[1])):
            added = [torch.zeros(len(tokens), replacement.shape[1], dtype=torch.float64, requires_grad=True) for _ in ports]
            with torch.no_grad():
                written = run(tokens, lambda *_: 0)[1]
            log_p = run(tokens, lambda port, _, added=added: added[port], embed)[0]
            gradients = torch.autograd.grad(sign * log_p.sum(), added)
            for port, (_, n_read) in enumerate(ports):
                for node in range(n_read):
                    total[port][node] += ((replacement[node] - written[node]) * gradients[port]).sum().detach()
    return torch.cat(total).numpy() / len(pairs)


@torch.no_grad()
def mean_margin(run, pairs, change):
    return float(sum(margin(run, pair, change) for pair in pairs)) / len(pairs)


def without(edge, replacement):
    node, port = edge
    return lambda reader, written: replacement[node] - written[node] if reader == port else 0


def keeping(kept, replacement, ports):
    """All edges ablated but those of the set."""
    def change(port, written):
        return sum((replacement[node] - written[node] for node in range(ports[port][1]) if (node, port) not in kept),
                   torch.zeros(1, dtype=torch.float64))
    return change


def main():
    model = read_model(PROJECT / "data/default-model.h5").requires_grad_(False)
    tokenizer = ByteLevelBPETokenizer(str(PROJECT / "data/tokenizer/vocab.json"), str(PROJECT / "data/tokenizer/merges.txt"))
    lines = (PROJECT / "data/tasks.jsonl").read_text(encoding="utf-8").splitlines()
    chosen = [line for task in TASKS for line in [each for each in lines if f'"{task}"' in each][:PAIRS_OF_TASK]]
    assert len(chosen) == len(TASKS) * PAIRS_OF_TASK
    pairs = read_pairs(chosen, tokenizer)
    run = functools.partial(log_probabilities, model)
    nodes, ports = nodes_and_ports(model)
    edges = [(node, port) for port, (_, n_read) in enumerate(ports) for node in range(n_read)]
    replacement = mean_outputs(run, pairs).float().double()
    effects = by_gradients(run, pairs, replacement, ports)
    mean = mean_token(model.transformer.wte.weight, pairs).float().double()
    integrated = sum(by_gradients(run, pairs, replacement, ports, towards(mean, step / PASSES)) for step in range(1, PASSES + 1)) / PASSES
    order = numpy.argsort(-numpy.abs(effects), kind="stable")
    exact = []
    for kind in (".q", ".k", ".v", "MLP", "logits"):
        of_kind = [i for i in order if kind in ports[edges[i][1]][0]]
        half = EDGES_OF_KIND // 2
        exact += of_kind[:half] + of_kind[half::(len(of_kind) - half) // half][:half]
    whole = mean_margin(run, pairs, lambda *_: 0)
    sizes = (*CIRCUITS, len(edges))
    with golden_file.create("paths_golden.h5", 0, "effects of edges on margins of minimal pairs, and circuits, in float64") as file:
        for i, (good, bad) in enumerate(pairs):
            golden_file.put(file, f"pairs/{i}/good", numpy.array(good))
            golden_file.put(file, f"pairs/{i}/bad", numpy.array(bad))
            golden_file.put(file, f"pairs/{i}/n_shared", numpy.array(n_shared(good, bad)))
        golden_file.put(file, "margin", numpy.array(whole))
        golden_file.put(file, "replacement", replacement.float())
        golden_file.put(file, "first_order", effects)
        golden_file.put(file, "mean_token", mean.float())
        golden_file.put(file, "integrated", integrated)
        golden_file.put(file, "exact_edge", numpy.array(exact))
        golden_file.put(file, "exact_change", numpy.array(
            [mean_margin(run, pairs, without(edges[i], replacement)) - whole for i in exact]))
        golden_file.put(file, "circuit_size", numpy.array(sizes))
        golden_file.put(file, "circuit_margin", numpy.array(
            [mean_margin(run, pairs, keeping({edges[i] for i in order[:n]}, replacement, ports)) for n in sizes]))
    print(f"{len(nodes)} nodes, {len(edges)} edges, margin {whole:.4f}")


if __name__ == "__main__":
    main()
