"""multihead_golden.h5: PyTorch's nn.MultiheadAttention with a causal mask, in double precision."""

import torch

import golden_file

SEED = 7
D_MODEL = 40
HEAD_COUNTS = [1, 2, 5, 8]
N_TOKEN = 7


def main():
    generator = torch.Generator().manual_seed(SEED)

    def random(*shape, scale=1.0):
        """Float32 numbers, so that a float32 reader reads the inputs exactly."""
        return (scale * torch.randn(*shape, generator=generator)).float()

    weights = {f"W_{p}": random(D_MODEL, D_MODEL, scale=0.25) for p in "QKVO"}
    weights |= {f"b_{p}": random(D_MODEL, scale=0.5) for p in "QKVO"}
    query = random(N_TOKEN, D_MODEL)
    blocked = ~torch.ones(N_TOKEN, N_TOKEN, dtype=torch.bool).tril()

    with golden_file.create("multihead_golden.h5", SEED, "torch.nn.MultiheadAttention in float64") as file:
        for name, value in (weights | {"query": query}).items():
            golden_file.put(file, name, value)
        for n_head in HEAD_COUNTS:
            for bias in (True, False):
                layer = attention(weights, n_head, bias)
                output, pattern = layer(query.double(), query.double(), query.double(), attn_mask=blocked,
                                        average_attn_weights=False)
                group = file.create_group(f"heads_{n_head}/{'bias' if bias else 'no_bias'}/self_causal")
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
