"""Recompute the comparison of a run of the default model with one of a pruned copy, from the two results files, with
NumPy and xarray.

    comparison_reference_test.py FOLDER

FOLDER holds the runs `whole` and `pruned` and their `comparison`. Needs Debian's python3-xarray, python3-h5netcdf and
python3-pandas.
"""

import functools
import pathlib
import sys
import unittest

import h5netcdf
import numpy as np
import pandas as pd
import xarray as xr

from plain_gpt2 import studentised_half_width

FOLDER = pathlib.Path(sys.argv.pop(1))
N_RESAMPLE = 1000
GROUPS = ["circuits", "correlation", "pruning", "classification", "control/correlation"]


@functools.cache
def dataset(folder, group):
    return xr.open_dataset(folder / "results.h5", group=group, engine="h5netcdf").load()


def removed_heads(run):
    """(layer, head) of every head that the run's model has lost."""
    with h5netcdf.File(run / "results.h5") as file:
        names = filter(None, file.attrs.get("pruned_heads", "").split(","))
        return [tuple(int(number) for number in name[1:].split("H")) for name in names]


def kept_heads(run, variable):
    """By the variable's layers and heads, whether the run's model has the head."""
    kept = xr.DataArray(np.ones((variable.sizes["layer"], variable.sizes["head"]), dtype=bool), dims=("layer", "head"))
    for head in removed_heads(run):
        kept[head] = False
    return kept


def primary_types(run):
    """The name of each head's primary type by layer and head; `removed` where the run's model has lost the head."""
    with h5netcdf.File(run / "results.h5") as file:
        primary = file["classification/primary"]
        types = np.array(primary.attrs["flag_meanings"].split())[primary[...]].astype(object)
    for head in removed_heads(run):
        types[head] = "removed"
    return types


def replicates(first, second, name, kind):
    """Those of both runs, [replicate, value], and for which values both have as many; None where a run lacks them."""
    if not all(f"{name}_{kind}" in run for run in (first, second)):
        return None
    dims = first[f"{name}_{kind}"].dims
    kept = [run[f"{name}_{kind}"].transpose(*dims).values.astype(float) for run in (first, second)]
    kept = [values.reshape(len(values), -1) for values in kept]
    counts = [(~np.isnan(values)).sum(axis=0) for values in kept]
    return *kept, (counts[0] == counts[1]) & (counts[0] > 0)


def apart(before, after, expected):
    """after - before, or `expected` where that is the same up to rounding of the two to float32."""
    difference = after - before
    rounded = np.abs(difference - expected) <= 2.0**-22 * np.maximum(np.abs(before), np.abs(after))
    return np.where(rounded, expected, difference)


def difference_intervals(first, second, name, difference):
    """(low, high): 95 % intervals of the values of second less first: studentised from differences of influences, else the central
    95 % of differences of resamples. NaN where there is none or it has no width, and where few parts decide (t above 10)."""
    value = difference.ravel()
    bounds = np.full((2, value.size), np.nan)
    if both := replicates(first, second, name, "resamples"):
        before, after, paired = both
        bounds[:, paired] = np.nanpercentile(apart(before, after, value)[:, paired], (2.5, 97.5), axis=0)
    if both := replicates(first, second, name, "influences"):
        before, after, paired = both
        for i in np.flatnonzero(paired):
            influences = apart(before, after, 0)[:, i]
            width = studentised_half_width(value[i], influences[~np.isnan(influences)], N_RESAMPLE, 0)
            bounds[:, i] = value[i] - width, value[i] + width
    bounds[:, np.isnan(value) | (bounds[0] == bounds[1])] = np.nan
    return bounds.reshape(2, *difference.shape)


class Comparison(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = [FOLDER / "whole", FOLDER / "pruned"]
        cls.found = dataset(FOLDER / "comparison", "comparison")

    def by_head(self):
        """(name in the comparison, the variable in each run), for all variables by layer and head that both runs have."""
        for group in GROUPS:
            first, second = (dataset(run, group) for run in self.runs)
            for name, variable in first.data_vars.items():
                if variable.dtype.kind not in "OU" and {"layer", "head"} <= set(variable.dims) and name in second and not name.endswith(("_ci_low", "_ci_high", "_resamples", "_influences")):
                    yield f"{group.replace('/', '_')}_{name}", first, second, name

    def test_every_variable_by_head_stands_side_by_side(self):
        names = set()
        for joined, first, second, name in self.by_head():
            found = self.found[joined]
            names.add(joined)
            self.assertEqual(found.dims[0], "run")
            for run, own in enumerate((first, second)):
                if joined == "classification_primary":
                    meanings = np.array(found.attrs["flag_meanings"].split())
                    np.testing.assert_array_equal(meanings[found.values[run]], primary_types(self.runs[run]))
                elif own[name].dtype == np.uint8:  # a flag
                    np.testing.assert_array_equal(found.values[run], own[name].values, joined)
                else:
                    kept = kept_heads(self.runs[run], own[name])
                    bounds = ("_ci_low", "_ci_high") if name + "_ci_low" in own else ()
                    for suffix in ("", *bounds):
                        np.testing.assert_array_equal(self.found[joined + suffix].values[run],
                                                      own[name + suffix].where(kept).transpose(*own[name].dims).values, joined)
        for expected in ("pruning_loss_increase", "classification_sink", "circuits_ov_copying", "correlation_output_share",
                         "classification_relation_accuracy", "circuits_position_only_share", "classification_type"):
            self.assertIn(expected, names)
        self.assertFalse([name for name in self.found if name.startswith("attention")])

    def test_differences_changes_and_rank_correlations(self):
        n_changed = n_paired = n_known = 0
        removed = removed_heads(self.runs[1])
        self.assertTrue(removed)
        for joined, first, second, name in self.by_head():
            is_name = first[name].dtype.kind == "i" and first[name].attrs["units"] != "count"
            if first[name].dtype == np.uint8 or is_name:
                for suffix in ("_difference", "_rank_correlation"):
                    self.assertNotIn(joined + suffix, self.found)
                continue
            lost = xr.zeros_like(first[name], dtype=bool)
            for layer, head in removed:
                lost.loc[{"layer": layer, "head": head}] = True
            difference = self.found[joined + "_difference"].values
            np.testing.assert_array_equal(difference[1], np.where(lost, np.nan, second[name].values - first[name].values))
            np.testing.assert_array_equal(np.nan_to_num(difference[0]), 0)
            self.assertEqual(joined + "_changed" in self.found, name + "_ci_low" in first)
            self.assertLessEqual(joined + "_changed_q" in self.found, joined + "_changed" in self.found)
            if name + "_ci_low" in first:
                apart = (second[name + "_ci_low"] > first[name + "_ci_high"]) | (second[name + "_ci_high"] < first[name + "_ci_low"])
                apart &= (first[name + "_ci_high"] > first[name + "_ci_low"]) | (second[name + "_ci_high"] > second[name + "_ci_low"])
                if joined + "_difference_ci_low" in self.found:  # in pairs
                    n_paired += 1
                    low, high = (self.found[joined + "_difference" + bound].values[1] for bound in ("_ci_low", "_ci_high"))
                    paired = ~np.isnan(low)
                    expected = difference_intervals(first, second, name, difference[1])
                    (first_low, first_high), (second_low, second_high) = (
                        [run[name + bound].values for bound in ("_ci_low", "_ci_high")] for run in (first, second))
                    has_width = (first_high > first_low) & (second_high > second_low)
                    expected = [np.where(has_width, np.clip(values, second_low - first_high, second_high - first_low), values) for values in expected]
                    known = ~np.isnan(expected[0])
                    self.assertTrue((paired | ~known).all(), joined)
                    for bound, values in zip((low, high), expected):
                        # Sums of float32 differences in double, in another order.
                        np.testing.assert_allclose(bound[known], values[known], rtol=1e-9, atol=1e-12, err_msg=joined)
                    n_known += known.sum()
                    apart = xr.where(paired, (low > 0) | (high < 0), apart)
                changed = self.found[joined + "_changed"].values
                np.testing.assert_array_equal(changed[1], apart.values & ~lost.values)
                self.assertEqual(changed[0].sum(), 0)
                n_changed += changed.sum()
            rho = self.found[joined + "_rank_correlation"]
            rest = [dim for dim in first[name].dims if dim not in ("layer", "head")]
            pairs = [own[name].transpose(*rest, "layer", "head").values.astype(float) for own in (first, second)]
            for head in removed:
                pairs[1][(..., *head)] = np.nan
            pairs = [values.reshape(-1, values.shape[-2] * values.shape[-1]) for values in pairs]
            for before, after, value in zip(*pairs, rho.values[1].reshape(-1)):
                both = ~np.isnan(before) & ~np.isnan(after)
                before, after = before[both], after[both]
                if len(before) < 2 or len(set(before)) < 2 or len(set(after)) < 2:
                    self.assertTrue(np.isnan(value), joined)
                else:
                    ranks = [pd.Series(each).rank() for each in (before, after)]
                    self.assertAlmostEqual(value, np.corrcoef(*ranks)[0, 1], places=12)  # sums of ranks in double
        self.assertGreater(n_changed, 0)
        self.assertGreater(n_paired, 10)
        self.assertGreater(n_known, 100)

    def test_the_loss_is_compared_in_pairs(self):
        runs = [dataset(run, "pruning") for run in self.runs]
        change = np.asarray(runs[1]["loss"].values - runs[0]["loss"].values)
        found = [self.found["loss_difference" + bound].values[1] for bound in ("_ci_low", "_ci_high")]
        np.testing.assert_allclose(found, difference_intervals(*runs, "loss", change), rtol=1e-9)  # as above

    def test_types_change_as_counted(self):
        meanings = [primary_types(run) for run in self.runs]
        transition = self.found["type_transition"]
        for run, after in enumerate(meanings):
            for before in transition["type_from"].values:
                for type_to in transition["type_to"].values:
                    expected = np.sum((meanings[0] == before) & (after == type_to))
                    self.assertEqual(transition[run].sel(type_from=before, type_to=type_to), expected)

    def test_removed_heads_are_flagged(self):
        for run, folder in enumerate(self.runs):
            self.assertEqual([tuple(head) for head in np.argwhere(self.found["head_removed"].values[run])], removed_heads(folder))
        for head in np.ndindex(self.found["removed_text"].shape):
            expected = "Removed in pruned." if head in removed_heads(self.runs[1]) else ""
            self.assertEqual(self.found["removed_text"].values[head], expected)

    def test_measures_are_those_of_the_runs(self):
        paired = []
        for run, folder in enumerate(self.runs):
            group = {name: dataset(folder, name) for name in GROUPS}
            classified = group["classification"][["type", "entropy", "sink"]]
            kept = xr.ones_like(classified["entropy"], dtype=bool)
            for head in removed_heads(folder):
                kept[head] = False
            classified = classified.where(kept)
            typed = classified["type"].mean(("layer", "head"))
            residual = group["correlation"].sel(space="residual")
            tested = ~np.isnan(self.found["type_share"].values[run])
            self.assertGreater(tested.sum(), 5)
            expected = {
                "loss": group["pruning"]["loss"],
                "prunable_share": group["pruning"]["prunable_share"],
                "mean_abs_cosine": residual["mean_abs_cosine"].mean("layer"),
                "mean_abs_cosine_difference": residual["mean_abs_cosine_difference"].mean("layer"),
                "disagreement": group["correlation"]["disagreement"].mean("layer"),
                "qk_rank90_median": group["circuits"]["qk_rank90"].where(group["circuits"]["qk_rank90"] > 0).median(),
                "entropy_median": classified["entropy"].median(),
                "sink_mean": classified["sink"].mean(),
            }
            # Means in double, in another order.
            for name, value in expected.items():
                np.testing.assert_allclose(self.found[name].values[run], value.values, rtol=1e-12, err_msg=name)
            np.testing.assert_allclose(self.found["type_share"].values[run][tested], typed.values[tested], rtol=1e-12)
            for name in ("loss", "prunable_share", "mean_abs_cosine", "mean_abs_cosine_difference", "entropy_median", "sink_mean"):
                low, high = (self.found[name + bound].values[run] for bound in ("_ci_low", "_ci_high"))
                found = self.found[name].values[run]
                # Few control documents give no interval: NaN.
                self.assertFalse(np.any(found < low) or np.any(found > high), name)
                change = name + ("_difference_from_first" if name == "mean_abs_cosine" else "_difference")
                if run and name != "mean_abs_cosine_difference" and f"{change}_ci_low" in self.found:
                    paired.append(name)
                    np.testing.assert_allclose(self.found[change].values[run], found - self.found[name].values[0], rtol=1e-12)
        self.assertLessEqual({"loss", "mean_abs_cosine"}, set(paired))
        self.assertEqual(list(self.found["run"].values), ["whole", "pruned"])
        self.assertGreater(self.found["loss"].values[1], self.found["loss"].values[0])


if __name__ == "__main__":
    unittest.main()
