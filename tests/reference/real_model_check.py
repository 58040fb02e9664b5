"""Compare what `headscope run` says of a real model with Hugging Face's own code in double precision.

    python3 real_model_check.py PROGRAM MODEL_FOLDER TEXT [N_DOCUMENT]

MODEL_FOLDER is a model as on the hub, of an architecture of make_architectures.py. The documents are the first N_DOCUMENT (3)
paragraphs of TEXT with 30 to 60 words. Compared are the tokens, the loss, all patterns, zero and mean ablation of two heads in
each of four layers, the importance and the direct effects of all heads. Beside the program's error stands that of Hugging Face's code in
float32. Needs torch, transformers and h5py. Exits 1 if a number differs by more than 1e-5 in the measure of the tests of small models
(architectures_golden_test.cpp): of importance and direct effects relative to the layer's largest, of an ablation to 0.1 nats plus itself.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "data"))
from make_architectures import compute_in_double, direct_effects, losses, replaced, run

TOLERANCE = 1e-5
FAILED = []


def paragraphs(path, count):
    blocks = (" ".join(block.split()) for block in pathlib.Path(path).read_text(encoding="utf-8").split("\n\n"))
    return [block for block in blocks if 30 <= len(block.split()) <= 60][:count]


def difference(expected, got):
    """Largest difference, and the largest of a value relative to itself plus a typical value."""
    typical = np.median(np.abs(expected)) if expected.size > 1 else 0
    apart = np.abs(expected - got)
    return apart.max(), (apart / (np.abs(expected) + typical)).max()


def measured_as_small_models(name, expected, got):
    """The largest difference in the measure of the tests of small models."""
    apart = np.abs(expected - got)
    if name == "loss":
        return apart / (1 + expected)
    if name.endswith("ablation"):
        return (apart / (0.1 + np.abs(expected))).max()
    return (apart.max(-1) / np.abs(expected).max(-1)).max()  # by layer


def results_of(program, folder, documents, work):
    corpus = work / "corpus.txt"
    corpus.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    subprocess.run([program, "run", "--model", folder, "--corpus", corpus, "--analyses", "pruning,attention", "--patterns",
                    str(len(documents)), "--pattern-tokens", "0", "--engine", "float32", "--figures", "svg",
                    "--output", work / "out"], check=True)
    return h5py.File(work / "out" / "results.h5")


def main(program, folder, text, n_document="3"):
    compute_in_double()
    documents = paragraphs(text, int(n_document))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    tokenizer = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    first = json.loads((pathlib.Path(folder) / "config.json").read_text())["bos_token_id"]
    tokens = [torch.tensor([first] + tokenizer.encode(document, add_special_tokens=False).ids) for document in documents]
    with tempfile.TemporaryDirectory() as work:
        results = results_of(program, folder, documents, pathlib.Path(work))
        compare(results, model, tokens)
    for name in FAILED:
        print("FAILED", name)
    return 1 if FAILED else 0


def numbers_of(model, tokens):
    """Patterns by document, and what the analysis pruning gives, by name, from Hugging Face's code."""
    n_layer, n_head = model.config.num_hidden_layers, model.config.num_attention_heads
    nll, zs, scores, patterns, effects = [], [], [], [], []
    for document in tokens:
        logits, z, pattern, final = run(model, document)
        loss = losses(logits, document)
        gradients = torch.autograd.grad(loss.mean(), z)
        products = torch.stack([(each[0] * g[0]).detach().reshape(len(document), n_head, -1).sum(-1) for each, g in zip(z, gradients)])
        scores.append(torch.stack([products.abs().sum(1), products.sum(1).abs(), -products.sum(1)]))
        nll.append(loss.detach())
        zs.append([each[0].detach().reshape(len(document), n_head, -1) for each in z])
        patterns.append(torch.stack(pattern).detach().numpy())
        effects.append(direct_effects(model, z, final, document))
    numbers = {"loss": torch.cat(nll).mean(), "importance": torch.stack(scores).mean(0), "direct effect": torch.cat(effects, -1).mean(-1)}
    mean_z = torch.stack([torch.cat([z[layer][1:] for z in zs]).mean(0) for layer in range(n_layer)])
    with torch.no_grad():
        for name, value in (("zero", torch.zeros_like(mean_z)), ("mean", mean_z)):
            without = lambda at, document: losses(run(model, document, replaced(*at, value))[0], document)
            numbers[f"{name} ablation"] = torch.stack([
                torch.cat([without(at, document) - clean for document, clean in zip(tokens, nll)]).mean()
                for at in ablated_heads(n_layer, n_head)])
    return patterns, {name: values.numpy().astype(float) for name, values in numbers.items()}


def ablated_heads(n_layer, n_head):
    return [(int(layer), head) for layer in np.linspace(0, n_layer - 1, 4).astype(int) for head in (0, n_head // 2)]


def compare(results, model, tokens):
    pruning, (patterns, exact) = results["pruning"], numbers_of(model, tokens)
    _, single = numbers_of(model.float(), tokens)
    heads = ablated_heads(model.config.num_hidden_layers, model.config.num_attention_heads)
    found = {"loss": pruning["loss"][()], "importance": pruning["importance"][()], "direct effect": pruning["direct_effect"][()]}
    for place, name in enumerate(("zero", "mean")):
        found[f"{name} ablation"] = np.array([pruning["loss_increase"][(place, *at)] for at in heads])
    for index, document in enumerate(tokens):
        if results[f"attention/{index}/tokens"][()].tolist() != document.tolist():
            FAILED.append(f"tokens of document {index}")
    apart = np.max([np.abs(pattern - results[f"attention/{index}/pattern"][()]).max() for index, pattern in enumerate(patterns)])
    print(f"{sum(map(len, tokens))} tokens in {len(tokens)} documents; attention patterns of all heads: largest difference {apart:.2e}")
    if not apart <= TOLERANCE:
        FAILED.append("patterns")
    for name, expected in exact.items():
        (largest, relative), (_, of_single) = difference(expected, found[name]), difference(expected, single[name])
        measured = measured_as_small_models(name, expected, found[name])
        print(f"{name:15s} {expected.size:5d} values, typical {np.median(np.abs(expected)):9.3g}, largest difference {largest:.1e}, "
              f"relative {relative:.1e}; Hugging Face in float32: relative {of_single:.1e}; "
              f"as small models are measured {measured:.1e}", flush=True)
        if not measured <= TOLERANCE:
            FAILED.append(name)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
