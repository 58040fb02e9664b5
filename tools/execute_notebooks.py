#!/usr/bin/python3
"""Executes the notebooks in place on a finished run and a comparison, so that they can be committed with outputs.

Usage: tools/execute_notebooks.py RUN_DIR COMPARISON_DIR [IOI_DIR]

RUN_DIR is such as out/demo, which tools/demo.sh makes; notebook 07 says how the comparison is made, notebook 17 how IOI_DIR is.
Notebook 12 runs the program: build/headscope, or the one that the environment variable HEADSCOPE names.

The notebook of Hugging Face is left as it is where PyTorch or the transformers package is missing, notebook 17 without IOI_DIR.
"""
import base64
import importlib.util
import io
import os
import pathlib
import sys

import nbformat
from nbclient import NotebookClient
from PIL import Image

NOTEBOOKS = pathlib.Path(__file__).resolve().parent.parent / "notebooks"


def shrink_pictures(book):
    """Gives each picture a palette of 256 colours: a third of the bytes, and no difference to see in lines, bars and maps."""
    for output in (output for cell in book.cells for output in cell.get("outputs", ())):
        data = output.get("data", {})
        if "image/png" in data:
            png = io.BytesIO()
            Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(png, "png", optimize=True)
            data["image/png"] = base64.b64encode(png.getvalue()).decode()


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    for name, folder in zip(("HEADSCOPE_RESULTS", "HEADSCOPE_COMPARISON", "HEADSCOPE_IOI"), sys.argv[1:]):
        os.environ[name] = str(pathlib.Path(folder).resolve())
    program = NOTEBOOKS.parent / "build/headscope"
    if program.is_file():
        os.environ.setdefault("HEADSCOPE", str(program))
    has_hugging_face = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if path.stem.endswith("hugging_face") and not has_hugging_face:
            print(f"{path.name}: left as it is; PyTorch and transformers are not installed")
            continue
        if path.stem.startswith("17_") and "HEADSCOPE_IOI" not in os.environ:
            print(f"{path.name}: left as it is; no folder of its run")
            continue
        book = nbformat.read(path, as_version=4)
        NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
        for cell in book.cells:
            cell.metadata.pop("execution", None)
        shrink_pictures(book)
        nbformat.write(book, path)
        print(path.name)


if __name__ == "__main__":
    main()
