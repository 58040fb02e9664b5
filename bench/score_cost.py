#!/usr/bin/python3
"""What models of the attention of all heads cost at GPT-2 small's shape.

    bench/score_cost.py HEADSCOPE_BINARY [--threads N] [--queries N]

A model of GPT-2 small's shape with random weights, queries and keys enlarged so that attention has something to explain, reads the
stories of data/, joined to documents of about 1,024 tokens. The time is that of a whole run of score_model without effects: features,
forward passes, and the fits of all steps and families of 144 heads; as wall time and as processor time, which other work on the machine
changes less. Compare with "zero ablation of all heads" in README.md, of one document of 1,024 tokens.
"""

import argparse
import os
import sys
import tempfile

from random_gpt2 import SHAPES, cost_of, write_corpus, write_model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--queries", default="4000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, corpus = os.path.join(folder, "model.h5"), os.path.join(folder, "corpus.conllu")
        write_model(model, SHAPES["small"])
        write_corpus(corpus)
        cost = cost_of([options.program, "run", "--model", model, "--corpus", corpus, "--threads", options.threads, "--bootstrap", "0",
                        "--quiet", "--analyses", "score_model", "--score-queries", options.queries, "--score-effect-documents", "0",
                        "--output", os.path.join(folder, "out")])
        print(f"score_model, all fits: {cost.wall:.1f} s, {cost.processor:.1f} s of processor time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
