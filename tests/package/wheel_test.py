#!/usr/bin/env python3
"""Install a wheel into a new virtual environment and use it there, with nothing else on the PATH: no compiler, no gnuplot.

Usage: tests/package/wheel_test.py WHEEL     takes the packages that the wheel depends on from the package index
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

PROJECT = pathlib.Path(__file__).resolve().parents[2]

PYTHON_SIDE = """
import headscope as hs
run = hs.load("out")
table = hs.heads(run)
assert len(table) == run.n_layer * run.n_head == 40, table
assert hs.compare(run, run, "pruning", "loss_increase", ablation="zero")["difference"].abs().max() == 0
assert hs.head_view(run, ["L1H2"]).lines
"""

NOTEBOOK = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
code = [cell for cell in book.cells if cell.cell_type == "code"]
assert all(cell.execution_count for cell in code) and any(cell.outputs for cell in code)
"""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    wheel = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv/bin"
        subprocess.run([programs / "pip", "install", "--quiet", wheel, "nbclient", "ipykernel"], check=True)
        alone = {"PATH": str(programs), "HOME": str(folder), "LANG": "C.UTF-8", "MPLBACKEND": "agg",
                 "HEADSCOPE_RESULTS": str(folder / "out")}

        def use(*words):
            done = subprocess.run([programs / words[0], *words[1:]], cwd=folder, env=alone, text=True, capture_output=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout + done.stderr

        version = use("headscope", "--version").split()[1]
        assert wheel.name.startswith(f"headscope-{version}-"), version
        said = use("headscope", "run", "--output", "out", "--max-documents", "24", "--nulls", "20", "--bootstrap", "50",
                   "--prune-documents", "2", "--analyses", "parameters,circuits,correlation,pruning,classification,attention")
        assert '"headscope report out" draws them' in said, said
        for name in ("report.html", "report.md", "tables/heads.csv"):
            assert (folder / "out" / name).stat().st_size > 0, name
        use("python", "-m", "headscope", "inspect", "out")
        use("python", "-c", PYTHON_SIDE)
        use("python", "-c", NOTEBOOK, PROJECT / "notebooks/01_start_here.ipynb")
    print(f"{wheel.name}: the command, import headscope and the first notebook run where only it is installed")


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main()
