#!/usr/bin/env python3
"""Measures one case of Hugging Face or TransformerLens and prints one line of JSON.

compare_huggingface.py starts one process per measurement, so that peak memory is that of the measurement.
Needs torch and transformers (and transformer_lens 2.x for `--peer transformerlens`).
"""

import argparse
import json
import os
import pathlib
import platform
import sys
import time

os.environ["USE_TF"] = "0"  # otherwise transformers imports TensorFlow if it is installed

import torch
import transformers
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel
from transformers.models.gpt2.modeling_gpt2 import eager_attention_forward


# By model_type: the layers, and in a layer the output projection, whose input is z.
OUTPUT_PROJECTIONS = {"gpt2": ("transformer.h", "attn.c_proj"), "gpt_neox": ("gpt_neox.layers", "attention.dense")} | {
    name: ("model.layers", "self_attn.o_proj") for name in ("llama", "mistral", "qwen2")}


def prepare(options):
    """A model of the given shape with random weights, and random tokens.

    Weights are larger than GPT-2's initialisation: attention is far from uniform, and every head matters to the loss.
    """
    generator = torch.Generator().manual_seed(options.seed)
    model = GPT2LMHeadModel(GPT2Config(
        n_layer=options.n_layer, n_head=options.n_head, n_embd=options.d_model, n_positions=options.n_token,
        vocab_size=options.d_vocab, bos_token_id=0, eos_token_id=0))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".ln_" in name:
                parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
            else:
                scale = 0.08 if ".wte." in name else 0.04
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    model.save_pretrained(options.folder)
    tokens = torch.randint(0, options.d_vocab, (options.n_token,), generator=generator)
    (options.folder / "tokens.json").write_text(json.dumps({"tokens": tokens.tolist()}))


def peak_rss_mb():
    """Highest resident memory since `forget_peak`, or since the start."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return None


def forget_peak():
    """So that loading the model, which is not measured, does not count."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")


class HuggingFace:
    """The model of a folder with forward hooks at the input of each layer's output projection, where z is."""

    version = f"transformers {transformers.__version__}"

    def __init__(self, folder, attention, autocast):
        self.autocast = autocast
        self.model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation=attention, dtype=torch.float32).eval()
        self.model.requires_grad_(False)
        config = self.model.config
        layers, projection = OUTPUT_PROJECTIONS[config.model_type]
        self.blocks = self.model.get_submodule(layers)
        self.projections = [block.get_submodule(projection) for block in self.blocks]
        self.n_layer, self.n_head = config.num_hidden_layers, config.num_attention_heads

    def loss(self, tokens):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            return self.model(tokens, labels=tokens, use_cache=False).loss

    def forward_patterns(self, tokens):
        output = self.model(tokens, labels=tokens, use_cache=False, output_attentions=True)
        return output.loss, [pattern[0] for pattern in output.attentions]

    def attention_inputs(self, tokens):
        """q, k, v of every layer of a GPT-2, [1, head, token, d_head]."""
        found = []

        def keep(_, __, qkv):
            found.append([x.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for x in qkv.chunk(3, dim=-1)])

        self.with_hooks([block.attn.c_attn.register_forward_hook(keep) for block in self.blocks],
                        lambda: self.loss(tokens))
        return found

    def attention(self, inputs):
        """From q, k, v to z and pattern, by Hugging Face's eager attention: all layers."""
        mask = None  # transformers 4 masks the future by itself
        if int(transformers.__version__.split(".")[0]) >= 5:
            n_token = inputs[0][0].shape[2]
            mask = torch.full((1, 1, n_token, n_token), torch.finfo(torch.float32).min).triu(1)
        return [eager_attention_forward(block.attn, *qkv, mask) for block, qkv in zip(self.blocks, inputs)]

    def loss_without(self, tokens, layer, head):
        def zero(_, inputs):
            z = inputs[0].unflatten(-1, (self.n_head, -1)).clone()
            z[:, :, head] = 0.0
            return (z.flatten(-2),)

        hook = self.projections[layer].register_forward_pre_hook(zero)
        return self.with_hooks([hook], lambda: self.loss(tokens))

    def loss_and_z(self, tokens):
        """The loss, ready for autograd, and z of every layer, [token, n_head * d_head]."""
        z = []

        def keep(_, inputs):
            value = inputs[0] if inputs[0].requires_grad else inputs[0].requires_grad_()
            z.append(value)

        hooks = [projection.register_forward_pre_hook(keep) for projection in self.projections]
        return self.with_hooks(hooks, lambda: self.loss(tokens)), z

    @staticmethod
    def with_hooks(hooks, run):
        try:
            return run()
        finally:
            for hook in hooks:
                hook.remove()


class TransformerLens:
    """HookedTransformer with the same weights, not folded or centred: run_with_cache and hook_z."""

    def __init__(self, folder, *_):
        import importlib.metadata
        from transformer_lens import HookedTransformer, HookedTransformerConfig
        from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights

        self.version = f"transformer_lens {importlib.metadata.version('transformer_lens')}"
        source = GPT2LMHeadModel.from_pretrained(folder)
        shape = source.config
        config = HookedTransformerConfig(
            n_layers=shape.n_layer, n_heads=shape.n_head, d_model=shape.n_embd, d_head=shape.n_embd // shape.n_head,
            n_ctx=shape.n_positions, d_vocab=shape.vocab_size, act_fn="gelu_new", normalization_type="LN",
            eps=shape.layer_norm_epsilon, device="cpu")
        self.model = HookedTransformer(config)
        self.model.load_state_dict(convert_gpt2_weights(source, config), strict=False)
        self.model.eval().requires_grad_(False)
        self.n_layer, self.n_head = shape.n_layer, shape.n_head

    def loss(self, tokens):
        return self.model(tokens, return_type="loss")

    def forward_patterns(self, tokens):
        loss, cache = self.model.run_with_cache(
            tokens, return_type="loss", names_filter=lambda name: name.endswith("hook_pattern"))
        return loss, [cache["pattern", layer][0] for layer in range(self.n_layer)]

    def loss_without(self, tokens, layer, head):
        def zero(z, hook):
            z[:, :, head] = 0.0
            return z

        return self.model.run_with_hooks(tokens, return_type="loss",
                                         fwd_hooks=[(f"blocks.{layer}.attn.hook_z", zero)])

    def loss_and_z(self, tokens):
        kept = []

        def keep(z, hook):
            kept.append(z if z.requires_grad else z.requires_grad_())
            return kept[-1]

        loss = self.model.run_with_hooks(
            tokens, return_type="loss", fwd_hooks=[(lambda name: name.endswith("hook_z"), keep)])
        return loss, kept


def timed(run, runs):
    """Seconds of each run after one that does not count, and what the last run gave."""
    run()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return seconds, result


@torch.no_grad()
def forward_patterns(peer, tokens, options):
    seconds, (loss, patterns) = timed(lambda: peer.forward_patterns(tokens), options.runs)
    return {"seconds": seconds, "peak_rss_mb": peak_rss_mb(), "loss": loss.item(), "pattern_square_sum": square_sums(patterns)}


@torch.no_grad()
def attention_patterns(peer, tokens, options):
    inputs = peer.attention_inputs(tokens)
    forget_peak()
    seconds, layers = timed(lambda: peer.attention(inputs), options.runs)
    return {"seconds": seconds, "peak_rss_mb": peak_rss_mb(),
            "pattern_square_sum": square_sums([pattern[0] for _, pattern in layers]),
            "z_square_sum": square_sums([z[0].transpose(0, 1) for z, _ in layers])}


@torch.no_grad()
def zero_ablation_all(peer, tokens, options):
    """Heads spread evenly over the model are measured; the time for all is in proportion, since each costs one full pass."""
    n_unit = peer.n_layer * peer.n_head
    count = min(options.heads, n_unit)
    heads = [divmod((2 * i + 1) * n_unit // (2 * count), peer.n_head) for i in range(count)]
    baseline = peer.loss(tokens).item()
    losses, per_head = [], []
    for layer, head in heads:
        start = time.perf_counter()
        losses.append(peer.loss_without(tokens, layer, head).item())
        per_head.append(time.perf_counter() - start)
    return {"seconds": [second * n_unit for second in per_head], "peak_rss_mb": peak_rss_mb(),
            "measured_heads": heads, "n_unit": n_unit, "loss_baseline": baseline, "loss": losses}


def importance(peer, tokens, options):
    def run():
        loss, z = peer.loss_and_z(tokens)
        return loss, z, torch.autograd.grad(loss, z)

    seconds, (loss, z, gradient) = timed(run, options.runs)
    peak = peak_rss_mb()
    products = [(a.detach().double() * g.double()).reshape(len(tokens[0]), peer.n_head, -1).sum(-1) for a, g in zip(z, gradient)]
    return {"seconds": seconds, "peak_rss_mb": peak, "loss": loss.item(),
            "importance_per_token": [p.abs().sum(0).tolist() for p in products],
            "importance_signed": [(-p.sum(0)).tolist() for p in products]}


def square_sums(layers):
    """[layer][head] sums of squares, in double."""
    return [[x.double().square().sum().item() for x in layer] for layer in layers]


CASES = {f.__name__: f for f in (forward_patterns, attention_patterns, zero_ablation_all, importance)}
PEERS = {"huggingface": HuggingFace, "transformerlens": TransformerLens}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--prepare", action="store_true", help="write the model and the tokens, and stop")
    for name, value in (("n-layer", 12), ("n-head", 12), ("d-model", 768), ("n-token", 1024), ("d-vocab", 50257), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--peer", choices=PEERS, default="huggingface")
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--attention", choices=("eager", "sdpa"), default="eager")
    parser.add_argument("--autocast", action="store_true", help="Hugging Face's products in bfloat16, where losses are asked for")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--heads", type=int, default=6)
    return parser.parse_args()


def main():
    options = arguments()
    if options.prepare:
        prepare(options)
        return
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(options.threads)
    peer = PEERS[options.peer](options.folder, options.attention, options.autocast)
    tokens = torch.tensor([json.loads((options.folder / "tokens.json").read_text())["tokens"]])
    forget_peak()
    measured = CASES[options.case](peer, tokens, options)
    versions = f"PyTorch {torch.__version__}, {peer.version}, Python {platform.python_version()}"
    print(json.dumps({"case": options.case, "versions": versions, **measured}))


if __name__ == "__main__":
    sys.exit(main())
