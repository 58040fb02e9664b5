"""multihead_golden.h5: PyTorch's nn.MultiheadAttention in double precision."""

import torch

import golden_file

SEED = 7
D_MODEL = 40
HEAD_COUNTS = [1, 2, 5, 8]
N_QUERY, N_KEY = 7, 11


def main():
    generator = torch.Generator().manual_seed(SEED)

    def random(*shape, scale=1.0):
        """Float32 numbers, so that a float32 reader reads the inputs exactly."""
        return (scale * torch.randn(*shape, generator=generator)).float()

    weights = {f"W_{p}": random(D_MODEL, D_MODEL, scale=0.25) for p in "QKVO"}
    weights |= {f"b_{p}": random(D_MODEL, scale=0.5) for p in "QKVO"}
    inputs = {"query": random(N_QUERY, D_MODEL), "context": random(N_KEY, D_MODEL)}
    masks = {"self_custom": random_mask(N_QUERY, N_QUERY, generator),
             "self_causal": torch.ones(N_QUERY, N_QUERY, dtype=torch.bool).tril(),
             "cross_custom": random_mask(N_QUERY, N_KEY, generator)}

    with golden_file.create("multihead_golden.h5", SEED, "torch.nn.MultiheadAttention in float64") as file:
        for name, value in (weights | inputs).items():
            golden_file.put(file, name, value)
        for name, mask in masks.items():
            golden_file.put(file, f"mask_{name}", mask.byte())
        for n_head in HEAD_COUNTS:
            for bias in (True, False):
                layer = attention(weights, n_head, bias)
                cases = ("self", "self_causal", "self_custom", "cross", "cross_custom")
                for case in cases if bias else ("self_causal", "cross"):
                    context = inputs["context" if case.startswith("cross") else "query"].double()
                    blocked = ~masks[case] if case in masks else None
                    output, pattern = layer(inputs["query"].double(), context, context,
                                            attn_mask=blocked, average_attn_weights=False)
                    group = file.create_group(f"heads_{n_head}/{'bias' if bias else 'no_bias'}/{case}")
                    golden_file.put(group, "pattern", pattern)
                    golden_file.put(group, "output", output)


def attention(weights, n_head, bias):
    """The attention module from the file's [in, out] weights, GPT-2's layout; PyTorch's are [out, in]."""
    layer = torch.nn.MultiheadAttention(D_MODEL, n_head, bias=bias, dtype=torch.float64)
    state = {"in_proj_weight": torch.cat([weights[f"W_{p}"].T for p in "QKV"]), "out_proj.weight": weights["W_O"].T}
    if bias:
        state |= {"in_proj_bias": torch.cat([weights[f"b_{p}"] for p in "QKV"]), "out_proj.bias": weights["b_O"]}
    layer.load_state_dict(state)
    return layer.eval()


def random_mask(n_query, n_key, generator):
    """True where a query may attend; every query has at least one such key."""
    mask = torch.rand(n_query, n_key, generator=generator) < 0.5
    mask[torch.arange(n_query), torch.arange(n_query)] = True
    return mask
