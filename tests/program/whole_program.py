#!/usr/bin/env python3
"""Every command on a small run of the default model: for a program built with a sanitizer, which ends it at its first finding.

Usage: tests/program/whole_program.py HEADSCOPE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ["--max-documents", "4", "--prune-documents", "2", "--explain-documents", "1", "--score-queries", "100",
         "--score-effect-documents", "1", "--task-pairs", "2", "--paths-pairs", "2", "--paths-repeated", "2", "--paths-exact", "2",
         "--nulls", "2", "--bootstrap", "10", "--figures", "svg"]
FEATURE = '{"name": "after a comma", "key": {"form": "^,$"}}\n'


class Program:
    """The program under test, whose commands must all succeed."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def start(self, *arguments):
        print("+ headscope", *arguments, flush=True)
        return subprocess.Popen([self.path, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __call__(self, *arguments):
        return self.end(self.start(*arguments))

    @staticmethod
    def end(process):
        output, errors = process.communicate()
        if process.returncode:
            sys.exit(f"exit code {process.returncode}\n{output}\n{errors}")
        return output


def run_everything(headscope, folder):
    (folder / "features.jsonl").write_text(FEATURE, encoding="utf-8")
    run = ["run", *SMALL, "--quiet", "--features", "features.jsonl"]
    headscope(*run, "--control", "random", "--control-documents", "2", "--output", "whole")
    for precision in ("high", "fast"):
        headscope(*run, "--precision", precision, "--ablate-documents", "1", "--analyses", "pruning", "--output", precision)
    shards = [headscope.start(*run, "--shard", f"{shard}/2", "--wait", "--output", "shards") for shard in (1, 2)]
    for shard in shards:
        headscope.end(shard)
    headscope("merge", "shards", "--output", "merged")
    headscope("report", "whole", "--figures", "svg,png", "--pattern-tables")
    headscope("prune", PROJECT / "data/default-model.h5", "pruned.h5", "--heads", "L0H1,L3H3")
    headscope(*run, "--model", "pruned.h5", "--output", "pruned")
    headscope("compare", "whole", "pruned", "merged", "--output", "compared")
    headscope("convert", PROJECT / "data/default-model.h5", "converted.h5")
    headscope("inspect", "converted.h5", "whole/results.h5", PROJECT / "data/tasks.jsonl", "--arrays")
    headscope("attend", "Mary went home . Tom saw Mary .", "--output", "attend.html")
    pairs = headscope("tasks", "gendered_pronoun", "--pairs", "4")
    (folder / "pairs.jsonl").write_text(pairs, encoding="utf-8")
    headscope("run", *SMALL, "--quiet", "--tasks", "pairs.jsonl", "--analyses", "tasks,paths", "--output", "pairs")
    headscope("list")
    headscope("--version")
    for made in ("whole/report.html", "merged/results.h5", "compared/report.html", "attend.html", "pairs/results.h5"):
        assert (folder / made).stat().st_size > 0, f"{made} was not written"


def main():
    os.environ.pop("OPENBLAS_CORETYPE", None)
    with tempfile.TemporaryDirectory() as folder:
        run_everything(Program(pathlib.Path(sys.argv[1]).resolve(strict=True), pathlib.Path(folder)), pathlib.Path(folder))
    print("every command succeeded")


if __name__ == "__main__":
    main()
