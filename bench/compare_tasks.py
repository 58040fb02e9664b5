#!/usr/bin/env python3
"""Margins of minimal pairs without each head: Headscope against a hooked Hugging Face forward per head, in one run.

    python3 bench/compare_tasks.py --headscope build-bench/bench/bench_tasks --pairs anaphor_gender_agreement.jsonl \\
        --tokenizer FOLDER

needs torch, transformers 4.x or 5.x and tokenizers. It makes a model of GPT-2 small's shape with random weights (seed 0),
takes pairs of a BLiMP file, and sets every head to zero in turn, float32. The peer runs both sides of `--batch` pairs as
one batch padded to its longest sentence, with a hook on the head's layer, for `--heads` heads spread over the model; its
time is extrapolated to all heads, each of which costs it the same. Sides alternate for `--rounds`. Checks that the mean
margins agree, and prints both times and their ratio.

bench_tasks --model FILE --pairs FILE.json --threads N prints {"seconds": ..., "margin": [mean by layer and head]}.
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
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel


def read_pairs(path, folder, count):
    names = next((v, m) for v, m in (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")) if (folder / v).exists())
    tokenizer = ByteLevelBPETokenizer(*(str(folder / name) for name in names))
    end = tokenizer.token_to_id("<|endoftext|>")
    lines = path.read_text(encoding="utf-8").splitlines()[:count]
    return [{side: [end] + tokenizer.encode(pair[f"sentence_{side}"]).ids for side in ("good", "bad")} for pair in map(json.loads, lines)]


@torch.no_grad()
def mean_margin(model, pairs, n_batch, layer, head):
    """As users do it: pad, run, gather, with z of the head set to zero where it enters c_proj."""
    d_head = model.config.n_embd // model.config.n_head

    def zero(_, inputs):
        z = inputs[0].clone()
        z[..., head * d_head:(head + 1) * d_head] = 0
        return (z,)

    hook = model.transformer.h[layer].attn.c_proj.register_forward_pre_hook(zero)
    total = 0.0
    for first in range(0, len(pairs), n_batch):
        sequences = [pair[side] for pair in pairs[first:first + n_batch] for side in ("good", "bad")]
        longest = max(map(len, sequences))
        tokens = torch.tensor([s + [0] * (longest - len(s)) for s in sequences])
        mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in sequences])
        log_p = model(tokens, attention_mask=mask).logits[:, :-1].log_softmax(-1).gather(2, tokens[:, 1:, None])[..., 0]
        sums = (log_p * mask[:, 1:]).sum(1)
        total += float((sums[0::2] - sums[1::2]).sum())
    hook.remove()
    return total / len(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--headscope", required=True)
    parser.add_argument("--pairs", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=32, help="pairs the peer runs at once")
    parser.add_argument("--heads", type=int, default=4, help="heads the peer is measured for")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="float32", help="of Headscope")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config()).eval()
    n_layer, n_head = model.config.n_layer, model.config.n_head
    pairs = read_pairs(options.pairs, options.tokenizer, options.count)
    heads = [(i * n_layer // options.heads, i * 5 % n_head) for i in range(options.heads)]
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        (pathlib.Path(folder) / "pairs.json").write_text(json.dumps(pairs), encoding="utf-8")
        mean_margin(model, pairs[:4], 4, 0, 0)  # warm up
        for _ in range(options.rounds):
            finished = subprocess.run([options.headscope, "--model", f"{folder}/model.safetensors", "--pairs", f"{folder}/pairs.json",
                                       "--threads", str(options.threads), "--precision", options.precision], stdout=subprocess.PIPE, check=True)
            measured = json.loads(finished.stdout)
            ours.append(measured["seconds"])
            start = time.perf_counter()
            margins = [mean_margin(model, pairs, options.batch, *head) for head in heads]
            theirs.append((time.perf_counter() - start) / len(heads) * n_layer * n_head)
            for (layer, head), margin in zip(heads, margins):
                got = measured["margin"][layer * n_head + head]
                if abs(got - margin) > 1e-3:
                    sys.exit(f"L{layer}H{head}: margin {got} here, {margin} there")
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{len(pairs)} pairs, {n_layer * n_head} heads: Headscope {a:.1f} s, Hugging Face {b:.1f} s, ratio {b / a:.2f}")


if __name__ == "__main__":
    main()
