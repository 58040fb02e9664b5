#!/usr/bin/python3
"""What models of the attention of all heads cost at GPT-2 small's shape, and beside it an exact ablation of all heads.

    bench/score_cost.py HEADSCOPE_BINARY BENCH_COMPARE_BINARY [--threads N] [--queries N]

A model of GPT-2 small's shape with random weights, queries and keys enlarged so that attention has something to explain, reads the
stories of data/, joined to documents of about 1,024 tokens. The time is that of a whole run of score_model without effects: features,
forward passes, and the fits of all steps and families of 144 heads. Beside it stands the zero ablation of each head in float32, one
document of 1,024 tokens and GPT-2's vocabulary. Processor time changes less than wall time with other work on the machine.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

from random_gpt2 import GPT2_VOCABULARY, SHAPES, cost_of, write_corpus, write_model


def cost_of_score_model(folder, options):
    model, corpus = os.path.join(folder, "model.h5"), os.path.join(folder, "corpus.conllu")
    write_model(model, SHAPES["small"])
    write_corpus(corpus)
    return cost_of([options.program, "run", "--model", model, "--corpus", corpus, "--threads", options.threads, "--bootstrap", "0", "--quiet",
                    "--analyses", "score_model", "--score-queries", options.queries, "--score-effect-documents", "0",
                    "--output", os.path.join(folder, "out")])


def cost_of_ablation(folder, options):
    model, tokens = os.path.join(folder, "gpt2.h5"), os.path.join(folder, "tokens.json")
    write_model(model, SHAPES["small"], n_vocab=GPT2_VOCABULARY)
    with open(tokens, "w", encoding="utf-8") as file:
        json.dump({"tokens": np.random.default_rng(0).integers(0, GPT2_VOCABULARY, 1024).tolist()}, file)
    return cost_of([options.bench_compare, "--model", model, "--tokens", tokens, "--case", "zero_ablation_all", "--precision", "float32",
                    "--threads", options.threads, "--runs", "1"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("bench_compare")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--queries", default="4000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, cost in (("zero ablation of 144 heads", cost_of_ablation(folder, options)),
                           ("score_model, all fits", cost_of_score_model(folder, options))):
            print(f"{name}: {cost.wall:.1f} s, {cost.processor:.1f} s of processor time", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
