#!/usr/bin/env python3
"""Compares the speed of N shards on N cores with that of one process.

    python3 bench/shard_scaling.py --headscope build/headscope --output scaling

Runs the same analyses of the same corpus alternately, for several rounds: as one process with one thread, as one process with N
threads, and as N shards side by side with one thread each, merged. Prints a Markdown table of medians. The work
done once per process (loading the model, figures, the report) is measured by a run of N documents, one per shard, and
subtracted for the ratio "documents alone". Needs only Python and idle cores.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time


def seconds_of(commands):
    """Seconds until all of the commands, started together, have ended well."""
    start = time.monotonic()
    running = [subprocess.Popen(command) for command in commands]
    codes = [process.wait() for process in running]
    if any(codes):
        sys.exit(f"shard_scaling: a run failed: exit {codes}, {' '.join(map(str, commands[0]))}")
    return time.monotonic() - start


class Runs:
    def __init__(self, options, n_document):
        self.options = options
        self.run = [options.headscope, "run", "--quiet", "--max-documents", str(n_document),
                    "--prune-documents", str(n_document)]
        if options.analyses:
            self.run += ["--analyses", options.analyses]
        if options.model:
            self.run += ["--model", options.model, "--corpus", *options.corpus]
        self.folder = pathlib.Path(options.output)

    def fresh(self, name):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def one_process(self, n_thread):
        return seconds_of([[*self.run, "--threads", str(n_thread), "--output", self.fresh("one")]])

    def shards(self):
        n = self.options.shards
        folder = self.fresh("shards")
        spent = seconds_of([[*self.run, "--threads", "1", "--wait", "--shard", f"{k}/{n}", "--output", folder]
                            for k in range(1, n + 1)])
        return spent + seconds_of([[self.options.headscope, "merge", "--quiet", folder, "--output", self.fresh("merged")]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headscope", required=True, help="the program")
    parser.add_argument("--output", required=True, help="folder for the runs, overwritten")
    parser.add_argument("--model", help="default: the model and corpus that come with the program")
    parser.add_argument("--corpus", nargs="+", default=[])
    parser.add_argument("--analyses", help="default: all")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--shards", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    n = options.shards
    whole, least = Runs(options, options.documents), Runs(options, n)
    cases = {"one process, 1 thread": lambda runs: runs.one_process(1),
             f"one process, {n} threads": lambda runs: runs.one_process(n),
             f"{n} shards, 1 thread each, and merge": lambda runs: runs.shards()}
    spent = {name: [] for name in cases}
    once = {name: [] for name in cases}
    for _ in range(options.rounds):
        for name, work in cases.items():
            spent[name].append(work(whole))
            once[name].append(work(least))
    total = {name: statistics.median(values) for name, values in spent.items()}
    alone = {name: total[name] - statistics.median(once[name]) for name in cases}
    first = next(iter(cases))
    print(f"| {options.documents} documents | s | ratio | documents alone, s | ratio |\n|---|--:|--:|--:|--:|")
    for name in cases:
        print(f"| {name} | {total[name]:.1f} | {total[first] / total[name]:.2f} | "
              f"{alone[name]:.1f} | {alone[first] / alone[name]:.2f} |")


if __name__ == "__main__":
    main()
