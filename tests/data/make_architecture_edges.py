"""architecture_edges_golden.h5: effects of edges and margins of circuits of the models in architectures/, by Hugging Face's modules and
automatic differentiation.

As make_paths.py, whose functions it uses: hooks give every port a residual stream of its own. Heads that share keys and values share the
ports of both.
"""

import contextlib
import functools

import numpy
import torch
from transformers import AutoModelForCausalLM

import golden_file
from make_architectures import FOLDER, MODELS, VOCABULARY, compute_in_double
from make_paths import PASSES, by_gradients, keeping, mean_margin, mean_outputs, mean_token, towards, without

SEED = 20261126
CIRCUITS = (0, 1, 16, 64)
SHARED_TOKENS = (6, 3)


def random_pairs():
    """Pairs of sides of other lengths that differ from the first token after the shared ones on."""
    generator = numpy.random.default_rng(SEED)
    pairs = []
    for n_shared in SHARED_TOKENS:
        good = generator.integers(0, VOCABULARY, n_shared + 4).tolist()
        bad = good[:n_shared] + [(good[n_shared] + 1) % VOCABULARY, good[n_shared + 1]]
        pairs.append((good, bad))
    return pairs


class Parts:
    """A model's modules by what they do, whatever their names."""

    def __init__(self, model):
        config = model.config
        self.is_neox = hasattr(model, "gpt_neox")
        self.is_parallel = self.is_neox and config.use_parallel_residual
        base = model.gpt_neox if self.is_neox else model.model
        self.layers = base.layers
        self.embedding, self.final_norm = model.get_input_embeddings(), base.final_layer_norm if self.is_neox else base.norm
        self.n_head = config.num_attention_heads
        self.n_group = self.n_head if self.is_neox else config.num_key_value_heads
        self.n_port = self.n_head + 2 * self.n_group

    def output(self, layer):
        return layer.attention.dense if self.is_neox else layer.self_attn.o_proj

    def last_of_mlp(self, layer):
        return layer.mlp.dense_4h_to_h if self.is_neox else layer.mlp.down_proj

    def projections(self, layer):
        """(module, the ports of its parts in order): queries' ports first, then those of keys, then those of values."""
        queries, keys, values = (range(self.n_head), range(self.n_head, self.n_head + self.n_group),
                                 range(self.n_head + self.n_group, self.n_port))
        if self.is_neox:
            return [(layer.attention.query_key_value, [port for head in zip(queries, keys, values) for port in head])]
        return [(layer.self_attn.q_proj, queries), (layer.self_attn.k_proj, keys), (layer.self_attn.v_proj, values)]


def nodes_and_ports(model):
    """Number of nodes, and (kind, number of nodes that it can read) of each port."""
    parts = Parts(model)
    n_node, ports = 1, []
    for _ in parts.layers:
        ports += [(kind, n_node) for kind, count in (("q", parts.n_head), ("k", parts.n_group), ("v", parts.n_group))
                  for _ in range(count)]
        ports.append(("mlp", n_node + (0 if parts.is_parallel else parts.n_head)))
        n_node += parts.n_head + 1
    return n_node, ports + [("logits", n_node)]


def log_probabilities(model, tokens, change, embed=lambda tokens: tokens):
    """As make_paths.log_probabilities."""
    parts = Parts(model)
    written, stream = [], []

    def read(port):
        return lambda _, inputs: (inputs[0] + change(port, written),)

    def project(layer, ports):
        def hook(projection, _, output):
            norm, seen = layer.input_layernorm, []
            for part, port in enumerate(ports):
                size = projection.out_features // len(ports)
                own = slice(part * size, (part + 1) * size)
                bias = 0 if projection.bias is None else projection.bias[own]
                seen.append(norm.forward(stream[-1] + change(port, written)) @ projection.weight[own].T + bias)
            return torch.cat(seen, -1)
        return hook

    def write_heads(output, inputs):
        size = output.in_features // parts.n_head
        for head in range(parts.n_head):
            own = slice(head * size, (head + 1) * size)
            written.append((inputs[0][..., own] @ output.weight[:, own].T)[0])

    def write_mlp(last, _, output):
        written.append((output - (0 if last.bias is None else last.bias))[0])

    with contextlib.ExitStack() as hooks:
        def hook(handle):
            hooks.callback(handle.remove)

        def embedded(_, __, output):
            written.append(embed(output)[0])
            return written[0][None]
        hook(parts.embedding.register_forward_hook(embedded))
        for index, layer in enumerate(parts.layers):
            first = index * (parts.n_port + 1)
            hook(layer.input_layernorm.register_forward_pre_hook(lambda _, inputs: stream.append(inputs[0])))
            for projection, ports in parts.projections(layer):
                hook(projection.register_forward_hook(project(layer, [first + port for port in ports])))
            hook(parts.output(layer).register_forward_pre_hook(write_heads))
            hook(layer.post_attention_layernorm.register_forward_pre_hook(read(first + parts.n_port)))
            hook(parts.last_of_mlp(layer).register_forward_hook(write_mlp))
        hook(parts.final_norm.register_forward_pre_hook(read(len(parts.layers) * (parts.n_port + 1))))
        logits = model(torch.tensor(tokens)[None]).logits[0]
    return logits.log_softmax(-1)[:-1].gather(1, torch.tensor(tokens)[1:, None])[:, 0], written


def put_effects(group, model, pairs):
    run = functools.partial(log_probabilities, model)
    n_node, ports = nodes_and_ports(model)
    edges = [(node, port) for port, (_, n_read) in enumerate(ports) for node in range(n_read)]
    replacement = mean_outputs(run, pairs).float().double()
    assert len(replacement) == n_node
    effects = by_gradients(run, pairs, replacement, ports)
    mean = mean_token(model.get_input_embeddings().weight, pairs).float().double()
    integrated = sum(by_gradients(run, pairs, replacement, ports, towards(mean, step / PASSES)) for step in range(1, PASSES + 1)) / PASSES
    order = numpy.argsort(-numpy.abs(effects), kind="stable")
    whole = mean_margin(run, pairs, lambda *_: 0)
    sizes = [*(n for n in CIRCUITS if n < len(edges)), len(edges)]
    golden_file.put(group, "margin", numpy.array(whole))
    golden_file.put(group, "replacement", replacement.float())
    golden_file.put(group, "first_order", effects)
    golden_file.put(group, "mean_token", mean.float())
    golden_file.put(group, "integrated", integrated)
    golden_file.put(group, "exact_edge", numpy.arange(len(edges)))
    golden_file.put(group, "exact_change", numpy.array([mean_margin(run, pairs, without(edge, replacement)) - whole for edge in edges]))
    golden_file.put(group, "circuit_size", numpy.array(sizes))
    golden_file.put(group, "circuit_margin", numpy.array(
        [mean_margin(run, pairs, keeping({edges[i] for i in order[:n]}, replacement, ports)) for n in sizes]))
    return len(edges), whole


def main():
    compute_in_double()
    pairs = random_pairs()
    description = "effects of edges on margins of pairs, and circuits, of tiny models of every architecture in float64"
    with golden_file.create("architecture_edges_golden.h5", SEED, description) as file:
        for i, (good, bad) in enumerate(pairs):
            golden_file.put(file, f"pairs/{i}/good", numpy.array(good))
            golden_file.put(file, f"pairs/{i}/bad", numpy.array(bad))
            golden_file.put(file, f"pairs/{i}/n_shared", numpy.array(SHARED_TOKENS[i]))
        for name in MODELS:
            model = AutoModelForCausalLM.from_pretrained(FOLDER / name, dtype=torch.float64, attn_implementation="eager")
            n_edge, whole = put_effects(file.create_group(name), model.eval().requires_grad_(False), pairs)
            print(f"{name}: {n_edge} edges, margin {whole:.4f}")


if __name__ == "__main__":
    main()
