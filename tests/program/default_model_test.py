"""The default model has heads of the kinds that data/README.md names, by the classification of its stories.

    default_model_test.py HEADSCOPE_BINARY
"""

import os
import subprocess
import sys
import tempfile
import unittest

import h5py

BINARY = sys.argv.pop(1)


class DefaultModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BINARY, "run", "--analyses", "classification", "--bootstrap", "20", "--figures", "svg", "--quiet",
                            "--output", folder], check=True)
            with h5py.File(os.path.join(folder, "results.h5")) as results:
                group = results["classification"]
                kinds = [kind.decode() for kind in group["head_type"][()]]
                cls.n_head = {kind: int(flags.sum()) for kind, flags in zip(kinds, group["type"][()])}
                cls.induction = group["induction"][()]

    def test_has_heads_of_every_kind_that_its_readme_counts(self):
        for kind, least in {"positional": 1, "syntactic": 8, "coreference": 1, "delimiter": 1, "induction": 3}.items():
            self.assertGreaterEqual(self.n_head[kind], least, kind)

    def test_has_a_clear_induction_head(self):
        self.assertGreater(self.induction.max(), 0.5)


if __name__ == "__main__":
    unittest.main()
