"""Execute every notebook on a fresh results file, and check that the committed copies have been executed.

HEADSCOPE_RESULTS is the folder of the run, HEADSCOPE_COMPARISON that of a comparison, HEADSCOPE_NOTEBOOKS that of the notebooks.
"""
import os
import pathlib
import tempfile
import unittest

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted(pathlib.Path(os.environ["HEADSCOPE_NOTEBOOKS"]).glob("*.ipynb"))


class Notebooks(unittest.TestCase):
    def test_there_are_notebooks(self):
        self.assertGreaterEqual(len(NOTEBOOKS), 7)

    def test_each_runs_without_error(self):
        for path in NOTEBOOKS:
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                book = nbformat.read(path, as_version=4)
                NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()

    def test_committed_copies_are_executed_and_small(self):
        for path in NOTEBOOKS:
            with self.subTest(path.name):
                self.assertLess(path.stat().st_size, 400_000)
                code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
                self.assertTrue(all(cell.execution_count for cell in code))
                self.assertTrue(any(cell.outputs for cell in code))
                self.assertFalse([output for cell in code for output in cell.outputs if output.output_type == "error"])


if __name__ == "__main__":
    unittest.main()
