"""The results file as a researcher opens it: in xarray, with both of its HDF5 engines, and in pandas.

Expected values are those of tests/support/results_sample.cpp.
"""

import os
import sys
import unittest
import warnings

import numpy as np
import pandas as pd
import xarray as xr

FOLDER = os.environ["HEADSCOPE_RESULTS_SAMPLE"]
FILE = os.path.join(FOLDER, "results.h5")
HOSTILE = "<script>alert('x')</script> & \"quoted\" | `tick` é · $x_1$"
ENGINES = ("h5netcdf", "netcdf4")
GROUPS = ("pruning", "control/pruning", "claims")


def open_group(group, engine):
    """The group in memory; any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The packages warn about each other and NumPy.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message="numpy.ndarray size changed")
        with xr.open_dataset(FILE, group=group, engine=engine) as dataset:
            return dataset.load()


class Xarray(unittest.TestCase):
    def each_engine(self, group):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                yield open_group(group, engine)

    def test_every_group_opens_and_engines_agree(self):
        for group in GROUPS:
            first, second = (open_group(group, engine) for engine in ENGINES)
            self.assertGreater(len(first.data_vars), 0)
            self.assertEqual(set(first.variables), set(second.variables))
            for name in first.variables:
                self.assertEqual(first[name].dims, second[name].dims)
                self.assertTrue((first[name].isnull() == second[name].isnull()).all(), name)
                equal = (first[name] == second[name]) | first[name].isnull()
                self.assertTrue(bool(equal.all()), name)

    def test_every_axis_has_a_named_coordinate(self):
        for group in GROUPS:
            for dataset in self.each_engine(group):
                for name, variable in dataset.variables.items():
                    for dimension in variable.dims:
                        self.assertIn(dimension, dataset.coords, name)
                        self.assertFalse(dimension.startswith("phony_dim"), name)

    def test_every_variable_says_what_it_is(self):
        for group in GROUPS:
            for dataset in self.each_engine(group):
                for name, variable in dataset.data_vars.items():
                    for attribute in ("long_name", "units", "references"):
                        self.assertIsInstance(variable.attrs.get(attribute), str, name)

    def test_reals_have_their_dimensions_values_and_gaps(self):
        for dataset in self.each_engine("pruning"):
            increase = dataset["loss_increase"]
            self.assertEqual(increase.dims, ("ablation", "layer", "head"))
            self.assertEqual(increase.shape, (2, 2, 3))
            self.assertEqual(increase.dtype, np.float64)
            self.assertEqual(float(increase.sel(ablation="zero", layer=1, head=2)), 2.5)
            self.assertTrue(np.isnan(increase.sel(ablation="mean", layer=0, head=0)))
            self.assertEqual(int(increase.isnull().sum()), 1)
            above = (dataset["loss_increase_ci_high"] - increase).values
            np.testing.assert_allclose(above[~np.isnan(above)], 0.1, rtol=1e-13)  # the difference of two doubles of about 2.5
            self.assertEqual(int(np.isnan(above).sum()), 1)
            self.assertEqual(increase.attrs["long_name"], "Definition of loss_increase")
            bounds = increase.attrs["ancillary_variables"].split()
            self.assertEqual(bounds, ["loss_increase_ci_low", "loss_increase_ci_high"])
            self.assertEqual(dataset[bounds[0]].attrs["long_name"],
                             "lower bound of the 95 % interval of loss_increase, documents resampled, "
                             + HOSTILE)
            self.assertEqual(increase.attrs["units"], "nats")
            self.assertEqual(increase.attrs["references"], "Michel et al. 2019")

    def test_coordinates_are_words_whole_numbers_or_reals(self):
        for dataset in self.each_engine("pruning"):
            self.assertEqual(list(dataset["ablation"].values), ["zero", "mean"])
            self.assertEqual(list(dataset["type"].values), ["none", "positional", "größer"])
            self.assertEqual(dataset["head"].dtype, np.int64)
            self.assertEqual(list(dataset["head"].values), [0, 1, 2])
            self.assertEqual(list(dataset["fraction"].values), [0, 0.1, 0.25, 1])

    def test_scalars_have_no_dimension(self):
        for dataset in self.each_engine("pruning"):
            self.assertEqual(dataset["loss_baseline"].dims, ())

    def test_integers_are_exact(self):
        for dataset in self.each_engine("pruning"):
            self.assertEqual(dataset["documents"].dtype, np.int64)
            self.assertEqual(list(dataset["documents"].values), [9007199254740991, -3])

    def test_flags_are_bytes_with_meanings(self):
        for dataset in self.each_engine("pruning"):
            primary = dataset["primary"]
            self.assertEqual(primary.dtype, np.uint8)
            self.assertEqual(primary.values.tolist(), [[0, 1, 2], [2, 1, 0]])
            self.assertEqual(np.asarray(primary.attrs["flag_values"]).tolist(), [0, 1, 2])
            self.assertEqual(np.asarray(primary.attrs["flag_values"]).dtype, np.uint8)
            self.assertEqual(primary.attrs["flag_meanings"].split(),
                             ["none", "positional", "not_measured"])

    def test_text_is_text(self):
        for dataset in self.each_engine("pruning"):
            self.assertEqual(list(dataset["example"].values),
                             ["", 'line one\nline two, "quoted"', HOSTILE])

    def test_groups_have_title_and_summary(self):
        for dataset in self.each_engine("pruning"):
            self.assertEqual(dataset.attrs["title"], "Pruning heads")
            self.assertTrue(dataset.attrs["summary"].startswith("Removing L1H2 costs most.\n"))

    def test_root_attributes_say_what_made_the_file(self):
        for dataset in self.each_engine(None):
            self.assertEqual(dataset.attrs["version"], "0.1.0")
            self.assertEqual(dataset.attrs["seed"], 20240229)
            self.assertEqual(dataset.attrs["threshold"], 0.1)
            self.assertEqual(dataset.attrs["command_line"], "headscope run --output " + HOSTILE)
            self.assertEqual(list(dataset.attrs["groups"]),
                             ["pruning", "control/pruning", "classification", "classification/examples",
                              "correlation", "attention/0"])

    def test_claims_are_a_group(self):
        for dataset in self.each_engine("claims"):
            self.assertEqual(dataset["number"].dims, ("claim",))
            self.assertEqual(list(dataset["number"].values), [2, 6, 9, 9])
            self.assertEqual(list(dataset["verdict"].values), [1, 2, 0, 2])
            self.assertEqual(dataset["verdict"].attrs["flag_meanings"],
                             "holds does_not_hold undecided")
            self.assertEqual(dataset["statement"].values[3], HOSTILE)
            self.assertEqual(list(dataset["effect"].values[[0, 2]]), [2359296, 0.4])
            self.assertTrue(np.isnan(dataset["ci_low"].values[0]))
            self.assertEqual(list(dataset["exact"].values), [1, 0, 0, 0])
            self.assertEqual(set(dataset["group"].values), {"pruning"})

    def test_numbers_are_checked_by_fletcher32(self):
        import h5py
        with h5py.File(FILE) as file:
            for name in ("loss_increase", "primary", "documents", "layer", "fraction"):
                self.assertTrue(file["pruning"][name].fletcher32, name)


class Pandas(unittest.TestCase):
    def test_tables_hold_the_same_numbers(self):
        dataset = open_group("pruning", "h5netcdf")
        table = pd.read_csv(os.path.join(FOLDER, "tables", "pruning.loss_increase.csv"),
                            float_precision="round_trip")
        self.assertEqual(list(table.columns),
                         ["ablation", "layer", "head", "loss_increase", "ci_low", "ci_high"])
        indexed = table.set_index(["ablation", "layer", "head"]).to_xarray()
        np.testing.assert_array_equal(
            indexed["loss_increase"].sel(ablation=["zero", "mean"]).values,
            dataset["loss_increase"].values)
        np.testing.assert_array_equal(
            indexed["ci_low"].sel(ablation=["zero", "mean"]).values,
            dataset["loss_increase_ci_low"].values)

    def test_text_survives_the_comma(self):
        table = pd.read_csv(os.path.join(FOLDER, "tables", "pruning.example.csv"),
                            keep_default_na=False)
        self.assertEqual(list(table["example"]), ["", 'line one\nline two, "quoted"', HOSTILE])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
