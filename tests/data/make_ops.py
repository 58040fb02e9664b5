"""ops_golden.h5: single operations in double precision, on ordinary and extreme inputs, with their gradients."""

import torch
from transformers.activations import ACT2FN

import golden_file

SEED = 11


def main():
    generator = torch.Generator().manual_seed(SEED)

    def random(*shape, scale=1.0, shift=0.0):
        """Float32 numbers stored as float64, so that a float32 reader reads the inputs exactly."""
        return (scale * torch.randn(*shape, generator=generator) + shift).float().double()

    def put_with_gradient(group, function, x):
        """input, output, and the gradient of sum(output * output_gradient) at the input."""
        x = x.clone().requires_grad_()
        y = function(x)
        dy = random(*y.shape)
        golden_file.put(group, "input", x)
        golden_file.put(group, "output", y)
        golden_file.put(group, "output_gradient", dy)
        golden_file.put(group, "input_gradient", torch.autograd.grad(y, x, dy)[0])

    with golden_file.create("ops_golden.h5", SEED, "layer norm, activations, softmax, loss in float64") as file:
        points = torch.cat([torch.linspace(-12, 12, 97).float().double(), random(64, scale=2.0),
                            torch.tensor([0.0, -0.0, 1e-30, -1e-30, 1e-4, -1e-4, 50, -50, 1e4, -1e4]).double()])
        for name in ("gelu_new", "gelu", "relu"):
            put_with_gradient(file.create_group(name), ACT2FN[name], points)

        n_feature = 24
        gamma, beta = random(n_feature, scale=0.3, shift=1.0), random(n_feature, scale=0.2)
        layer_norm_inputs = {
            "ordinary": random(5, n_feature),
            "large_epsilon": random(3, n_feature, scale=0.1),
            "large": random(3, n_feature, scale=1e6),
            "tiny": random(3, n_feature, scale=1e-6),
            "far_from_zero": random(3, n_feature, shift=1e4),
            "one_outlier": random(3, n_feature) + 3e3 * torch.eye(n_feature)[:3].double(),
            "all_equal": torch.tensor([[0.0], [1.5], [-3e5]]).double().expand(3, n_feature)}
        for name, x in layer_norm_inputs.items():
            epsilon = 1e-2 if name == "large_epsilon" else 1e-5
            group = file.create_group(f"layer_norm/{name}")
            group.attrs["epsilon"] = epsilon
            put_with_gradient(group, lambda x: torch.nn.functional.layer_norm(x, (n_feature,), gamma, beta, epsilon), x)
        golden_file.put(file, "layer_norm/gamma", gamma)
        golden_file.put(file, "layer_norm/beta", beta)

        softmax_inputs = {
            "ordinary": random(5, 37, scale=2.0),
            "large": random(3, 37, scale=1e4),
            "far_from_zero": random(3, 37, shift=-1e5),
            "all_equal": torch.tensor([[0.0], [88.5], [-1e30]]).double().expand(3, 9),
            "one_dominates": torch.zeros(2, 9).double().index_fill(1, torch.tensor([4]), 200.0),
            "single": torch.tensor([[0.0], [3e4], [-3e4]]).double()}
        for name, x in softmax_inputs.items():
            put_with_gradient(file.create_group(f"softmax/{name}"), lambda x: x.softmax(-1), x)

        loss_inputs = {"ordinary": random(6, 61, scale=3.0), "large": random(6, 61, scale=1e4),
                       "far_from_zero": random(6, 61, shift=1e5), "all_equal": torch.full((2, 61), 7.0).double()}
        for name, logits in loss_inputs.items():
            target = torch.randint(0, 61, (len(logits),), generator=generator)
            group = file.create_group(f"loss/{name}")
            golden_file.put(group, "target", target)
            put_with_gradient(group, lambda x: torch.nn.functional.cross_entropy(x, target, reduction="none"), logits)

        for name in ("silu", "quick_gelu"):
            put_with_gradient(file.create_group(name), ACT2FN[name], points)
