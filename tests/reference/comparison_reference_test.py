"""Compare a small run of the default model with one of a pruned copy, and recompute the comparison from the two results
files with NumPy and xarray.

    comparison_reference_test.py HEADSCOPE_BINARY

HEADSCOPE_RESULTS is the folder of the small run. Needs Debian's python3-xarray, python3-h5netcdf and python3-pandas.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5netcdf
import numpy as np
import pandas as pd
import xarray as xr

BINARY = sys.argv.pop(1)
BASE = pathlib.Path(os.environ["HEADSCOPE_RESULTS"])
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
PRUNED = ["L0H0", "L2H3"]
GROUPS = ["circuits", "correlation", "pruning", "classification", "control/correlation"]


def headscope(*arguments):
    subprocess.run([BINARY, *map(str, arguments)], check=True)


def dataset(folder, group):
    return xr.open_dataset(folder / "results.h5", group=group, engine="h5netcdf").load()


def compare(*runs, output):
    headscope("compare", *runs, "--output", output, "--figures", "svg", "--quiet")
    return dataset(output, "comparison")


class Comparison(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        model = folder / "pruned.h5"
        headscope("prune", DATA / "default-model.h5", model, "--heads", ",".join(PRUNED))
        headscope("run", "--model", model, "--corpus", DATA / "stories.conllu", "--control", "random", "--max-documents", 12,
                  "--prune-documents", 3, "--patterns", 1, "--bootstrap", 200, "--figures", "svg", "--output", folder / "pruned",
                  "--quiet")
        cls.runs = [BASE, folder / "pruned"]
        cls.found = compare(*cls.runs, output=folder / "out")
        cls.same = compare(BASE, BASE, output=folder / "same")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def by_head(self):
        """(name in the comparison, the variable in each run), for all variables by layer and head that both runs have."""
        for group in GROUPS:
            first, second = (dataset(run, group) for run in self.runs)
            for name, variable in first.data_vars.items():
                if {"layer", "head"} <= set(variable.dims) and name in second and not name.endswith(("_ci_low", "_ci_high")):
                    yield f"{group.replace('/', '_')}_{name}", first, second, name

    def test_every_variable_by_head_stands_side_by_side(self):
        names = set()
        for joined, first, second, name in self.by_head():
            found = self.found[joined]
            names.add(joined)
            self.assertEqual(found.dims[0], "run")
            for run, own in enumerate((first, second)):
                np.testing.assert_array_equal(found.values[run], own[name].values, joined)
                if name + "_ci_low" in own:
                    for bound in ("_ci_low", "_ci_high"):
                        np.testing.assert_array_equal(self.found[joined + bound].values[run], own[name + bound].values)
        for expected in ("pruning_loss_increase", "classification_sink", "circuits_ov_copying", "correlation_output_share",
                         "classification_relation_accuracy", "circuits_position_only_share", "classification_type"):
            self.assertIn(expected, names)
        self.assertFalse([name for name in self.found if name.startswith("attention")])

    def test_differences_changes_and_rank_correlations(self):
        n_changed = 0
        for joined, first, second, name in self.by_head():
            if first[name].dtype == np.uint8:
                self.assertNotIn(joined + "_difference", self.found)
                continue
            difference = self.found[joined + "_difference"].values
            np.testing.assert_array_equal(difference[1], second[name].values - first[name].values)
            np.testing.assert_array_equal(np.nan_to_num(difference[0]), 0)
            self.assertEqual(joined + "_changed" in self.found, name + "_ci_low" in first)
            if name + "_ci_low" in first:
                apart = (second[name + "_ci_low"] > first[name + "_ci_high"]) | (second[name + "_ci_high"] < first[name + "_ci_low"])
                changed = self.found[joined + "_changed"].values
                np.testing.assert_array_equal(changed[1], apart.values)
                self.assertEqual(changed[0].sum(), 0)
                n_changed += changed.sum()
            rho = self.found[joined + "_rank_correlation"]
            rest = [dim for dim in first[name].dims if dim not in ("layer", "head")]
            pairs = [own[name].transpose(*rest, "layer", "head").values for own in (first, second)]
            pairs = [values.reshape(-1, values.shape[-2] * values.shape[-1]) for values in pairs]
            for before, after, value in zip(*pairs, rho.values[1].reshape(-1)):
                both = ~np.isnan(before) & ~np.isnan(after)
                before, after = before[both], after[both]
                if len(before) < 2 or len(set(before)) < 2 or len(set(after)) < 2:
                    self.assertTrue(np.isnan(value), joined)
                else:
                    ranks = [pd.Series(each).rank() for each in (before, after)]
                    self.assertAlmostEqual(value, np.corrcoef(*ranks)[0, 1], places=12)
        self.assertGreater(n_changed, 0)

    def test_types_change_as_counted(self):
        meanings = []
        for run in self.runs:
            with h5netcdf.File(run / "results.h5") as file:
                primary = file["classification/primary"]
                meanings.append(np.array(primary.attrs["flag_meanings"].split())[primary[...]].reshape(-1))
        transition = self.found["type_transition"]
        for run, after in enumerate(meanings):
            for before in transition["type_from"].values:
                for type_to in transition["type_to"].values:
                    expected = np.sum((meanings[0] == before) & (after == type_to))
                    self.assertEqual(transition[run].sel(type_from=before, type_to=type_to), expected)

    def test_measures_are_those_of_the_runs(self):
        for run, folder in enumerate(self.runs):
            group = {name: dataset(folder, name) for name in GROUPS}
            typed = group["classification"]["type"].mean(("layer", "head"))
            residual = group["correlation"].sel(space="residual")
            tested = ~np.isnan(self.found["type_share"].values[run])
            self.assertGreater(tested.sum(), 5)
            expected = {
                "loss": group["pruning"]["loss_baseline"],
                "prunable_share": group["pruning"]["prunable_share"],
                "mean_abs_cosine": residual["mean_abs_cosine"].mean("layer"),
                "mean_abs_cosine_difference": residual["mean_abs_cosine_difference"].mean("layer"),
                "disagreement": group["correlation"]["disagreement"].mean("layer"),
                "qk_rank90_median": group["circuits"]["qk_rank90"].median(),
                "entropy_median": group["classification"]["entropy"].median(),
                "sink_mean": group["classification"]["sink"].mean(),
            }
            for name, value in expected.items():
                np.testing.assert_allclose(self.found[name].values[run], value.values, rtol=1e-12, err_msg=name)
            np.testing.assert_allclose(self.found["type_share"].values[run][tested], typed.values[tested], rtol=1e-12)
            for name in ("loss", "prunable_share", "mean_abs_cosine", "mean_abs_cosine_difference", "entropy_median", "sink_mean"):
                low, high = (self.found[name + bound].values[run] for bound in ("_ci_low", "_ci_high"))
                self.assertTrue(np.all(low <= self.found[name].values[run]) and np.all(self.found[name].values[run] <= high), name)
        self.assertEqual(list(self.found["run"].values), [BASE.name, "pruned"])
        self.assertGreater(self.found["loss"].values[1], self.found["loss"].values[0])

    def test_a_run_is_equal_to_itself(self):
        for name, variable in self.same.data_vars.items():
            if name.endswith(("_difference", "_changed")) and name != "mean_abs_cosine_difference":
                np.testing.assert_array_equal(np.nan_to_num(variable.values), 0, name)
            elif name.endswith("_rank_correlation"):
                np.testing.assert_allclose(variable.values[~np.isnan(variable.values)], 1, rtol=1e-12, err_msg=name)
        off_diagonal = self.same["type_transition"].values * (1 - np.eye(self.same.sizes["type_from"], dtype=int))
        self.assertEqual(off_diagonal.sum(), 0)


if __name__ == "__main__":
    unittest.main()
