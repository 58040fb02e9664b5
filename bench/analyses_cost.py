#!/usr/bin/python3
"""Time and peak memory of each analysis at a GPT-2's shape, beside the memory that `headscope inspect` states for it.

    bench/analyses_cost.py HEADSCOPE_BINARY [--shape small|medium|large|xl] [--context N] [--threads N] [--analyses NAME,...]

A model with random weights reads four documents as long as its context, with the options below, so that each part of every analysis runs,
on few documents and two pairs of one task. Times include the start and the loading of the model. The peak is that of the process; the
estimate is that of many documents and ten tasks, which bounds it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from random_gpt2 import DATA, SHAPES, cost_of, write_corpus, write_model

FEW = ["--max-documents", "4", "--prune-documents", "1", "--explain-documents", "1", "--score-queries", "1000", "--score-effect-documents", "0",
       "--task-pairs", "2", "--paths-pairs", "2", "--paths-repeated", "2", "--paths-exact", "10", "--bootstrap", "20", "--nulls", "2"]
ANALYSES = ["parameters", "circuits", "attention", "correlation", "classification", "score_model", "pruning", "tasks", "paths"]


def write_task(path):
    """The first of the shipped tasks alone."""
    lines = (DATA / "tasks.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    name = json.loads(lines[0])["task"]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line for line in lines if json.loads(line)["task"] == name)


def estimates(program, model, threads):
    """Memory in MiB by analysis, as `inspect` prints it."""
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    text = subprocess.run([program, "inspect", model], check=True, capture_output=True, text=True, env=environment).stdout
    found = re.findall(r"^    (\w+) +([0-9.]+) (M|G)iB$", text, re.MULTILINE)
    return {name: float(size) * (1024 if unit == "G" else 1) for name, size, unit in found}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shape", choices=SHAPES, default="medium")
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--analyses", type=lambda text: text.split(","), default=ANALYSES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, corpus, task = (os.path.join(folder, name) for name in ("model.h5", "corpus.conllu", "task.jsonl"))
        write_model(model, SHAPES[options.shape], options.context)
        write_corpus(corpus)
        write_task(task)
        estimate = estimates(options.program, model, options.threads)
        print("| analysis | wall, s | processor, s | peak, MiB | estimate, MiB |\n|---|--:|--:|--:|--:|")
        for analysis in options.analyses:
            cost = cost_of([options.program, "run", "--model", model, "--corpus", corpus, "--threads", options.threads, "--quiet", *FEW,
                            "--tasks", task, "--figures", "svg", "--analyses", analysis, "--output", os.path.join(folder, analysis)])
            stated = f"{estimate[analysis]:,.0f}" if analysis in estimate else "–"
            print(f"| `{analysis}` | {cost.wall:.0f} | {cost.processor:.0f} | {cost.peak:,.0f} | {stated} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
