"""Execute every notebook on a fresh results file, check what it shows, and that the committed copies have been executed.

HEADSCOPE_RESULTS is the folder of the run, HEADSCOPE_COMPARISON that of a comparison, HEADSCOPE_IOI that of a run of a task,
HEADSCOPE_NOTEBOOKS that of the notebooks, HEADSCOPE_PROGRAM the program.
"""
import contextlib
import functools
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import h5py
import matplotlib.pyplot
import nbformat
import numpy as np
import pandas as pd
import xarray as xr
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = pathlib.Path(os.environ["HEADSCOPE_NOTEBOOKS"])
RESULTS = pathlib.Path(os.environ["HEADSCOPE_RESULTS"]) / "results.h5"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
HAS_HUGGING_FACE = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))

os.environ["MPLBACKEND"] = "agg"  # of kernels
matplotlib.use("agg")
sys.path.insert(0, str(FOLDER))
import headscope as hs

load_once = functools.cache(hs.load)  # reading all groups takes seconds

def load(path):
    """hs.load, but of a file that was loaded before, the same run."""
    path = pathlib.Path(path)
    return load_once(path / "results.h5" if path.is_dir() else path)


@contextlib.contextmanager
def changed_run(change=lambda file: None, **attributes):
    """A copy of the run after `change(file)`, with these attributes of the root; notebooks read the copy. Gives its path."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, HEADSCOPE_RESULTS=folder, HEADSCOPE_IOI=folder):
        copy = pathlib.Path(shutil.copy(RESULTS, folder))
        with h5py.File(copy, "a") as file:
            file.attrs.update(attributes)
            change(file)
        yield copy


class Stopped(Exception):
    """A cell failed; the text is what the notebook shows of it."""


@contextlib.contextmanager
def hidden(names):
    """Lets imports of these modules fail."""
    loaded = {name: sys.modules[name] for name in names if name in sys.modules}
    sys.modules.update(dict.fromkeys(names))
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
        sys.modules.update(loaded)


def execute(path):
    """Runs the code cells in this process as a kernel would; returns what they print."""
    # The study and Hugging Face need more than the packages that pyproject.toml lists.
    unlisted = () if path.name[:2] in ("08", "09") else ("jinja2", "scipy", "scipy.stats")
    shell = InteractiveShell(user_ns={"__name__": "__main__"}, config=Config(HistoryManager={"enabled": False}))
    shown = ""
    with contextlib.chdir(FOLDER), mock.patch.object(hs, "load", load), hidden(unlisted):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            with capture_output() as captured:
                result = shell.run_cell(cell.source)
                matplotlib.pyplot.close("all")
            if not result.success:
                raise Stopped(captured.stdout)
            shown += captured.stdout
    return shown


THOROUGH = "HEADSCOPE_THOROUGH" in os.environ
HUGGING_FACE = "09_in_hugging_face.ipynb"


class Module(unittest.TestCase):
    def test_the_table_of_heads_holds_the_values_of_the_file(self):
        run = load(RESULTS)
        table = hs.heads(run, columns="all")
        self.assertEqual(len(table), run.n_layer * run.n_head)
        main = hs.heads(run)
        self.assertEqual(list(table.columns[:len(main.columns)]), list(main.columns))
        self.assertEqual(main.columns[0], "type")
        self.assertTrue(15 <= len(main.columns) <= 22, main.columns)
        self.assertEqual(list(hs.heads(run, columns=["pruning.direct_effect"]).columns), ["pruning.direct_effect"])
        with h5py.File(RESULTS) as file:
            zero = [str(name, "utf-8") for name in file["pruning/ablation"]].index("zero")
            expected = file["pruning/loss_increase"][zero, 1, 2]
            entropy = file["classification/entropy"][()]
        self.assertEqual(table.loc["L1H2", "pruning.loss_increase[zero]"], expected)
        np.testing.assert_array_equal(table["classification.entropy"], entropy.ravel())
        self.assertTrue(set(table["classification.primary"]) <= set(run["classification"]["primary"].attrs["flag_meanings"].split()))

    def test_the_table_of_heads_holds_the_values_of_heads_csv(self):
        table = hs.heads(load(RESULTS), columns="all")
        csv = pd.read_csv(RESULTS.parent / "tables" / "heads.csv", index_col="name")
        pd.testing.assert_series_equal(table["type"], csv["primary_type"], check_names=False)
        shared = [name for name in table if name in csv]
        self.assertGreater(len(shared), 30)
        pd.testing.assert_frame_equal(table[shared], csv[shared], check_dtype=False, check_names=False)

    def test_removed_heads_have_no_values_and_stand_last(self):
        with changed_run(pruned_heads="L0H4,L3H5") as copy:
            pruned, run = hs.load(copy), load(RESULTS)
            table, before = hs.heads(pruned), hs.heads(run)
            self.assertEqual(list(table.index[table["type"] == "removed"]), ["L0H4", "L3H5"])
            self.assertFalse(table.loc[["L0H4", "L3H5"]].drop(columns="type").notna().any(axis=None))
            pd.testing.assert_frame_equal(table.drop(["L0H4", "L3H5"]), before.drop(["L0H4", "L3H5"]), check_dtype=False)
            for first, second in ((run, pruned), (pruned, run)):
                compared = hs.compare(first, second, "classification", "entropy")
                self.assertEqual(set(compared.index[-2:]), {"L0H4", "L3H5"})
                self.assertEqual(compared["difference"].isna().sum(), 2)
            for group in ("pruning", "classification", "score_model", "attention/0"):
                for name, variable in pruned[group].data_vars.items():
                    if {"layer", "head"} <= set(variable.dims) and variable.dtype.kind not in "OU":
                        self.assertTrue(variable.sel(layer=3, head=5).isnull().all(), name)
                        xr.testing.assert_equal(variable.sel(layer=1), run[group][name].sel(layer=1))
            self.assertEqual(hs.words(pruned["classification"]["primary"]).sel(layer=0, head=4), "removed")
            with self.assertRaisesRegex(hs.NotInRun, "L0H4 has been removed from the model"):
                hs.head_view(pruned, ["L0H4"])

    def test_a_run_says_what_it_is(self):
        text = repr(hs.load(RESULTS))
        for part in ("default-model.h5", "5 layers of 8 heads", "20 documents", "pruning", "circuits"):
            self.assertIn(part, text)

    def test_models_of_the_hub_are_named_by_their_folder(self):
        for path, name in (("a/smollm2/model.safetensors", "smollm2"), ("a/gpt2/tf_model.h5", "gpt2"), ("../tf_model.h5", "tf_model.h5"),
                           ("model.safetensors", "model.safetensors"), ("data/default-model.h5", "default-model.h5")):
            self.assertEqual(hs.model_name(path), name)
        with changed_run(model_path="hub/smollm2/model.safetensors") as copy:
            self.assertIn("results.h5: smollm2, 5 layers", repr(hs.load(copy)))
            self.assertRegex(execute(FOLDER / "01_start_here.ipynb"), "model_path +smollm2\n")

    def test_dimensions_of_heads_have_their_names(self):
        run = load(RESULTS)
        with h5py.File(RESULTS) as file:
            value = file["circuits/composition"][1, 2 * run.n_head + 2, 3 * run.n_head + 3]
        self.assertEqual(float(run["circuits"]["composition"].sel(kind="k", unit_from="L2H2", unit_to="L3H3")), value)

    def test_errors_are_one_line(self):
        run = load(RESULTS)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        cut = pathlib.Path(folder.name) / "cut.h5"
        cut.write_bytes(RESULTS.read_bytes()[:100_000])
        place = f"{RESULTS}: pruning/loss_increase"
        axes = r"ablation \(zero, mean, resample\), layer \(0, 1, 2, 3, 4\), head \(0, 1, 2, 3, 4, 5, 6, 7\)"
        for wrong, text in ((lambda: hs.head_view(run, ["L9H9"]), "no head L9H9; the heads are L0H0 to L4H7"),
                            (lambda: hs.head_view(run, ["9.9"]), "expected a head such as L1H2"),
                            (lambda: hs.head_view(run, []), "expected names of heads such as L1H2, found none"),
                            (lambda: hs.head_view(run, "L1H2", document=77), "no patterns of document 77; the run keeps those of 0"),
                            (lambda: hs.head_view(run, "L1H2", weights="norm"), "results.h5: attention/0/norm: no such variable"),
                            (lambda: hs.compare(run, run, "pruning", "loss_increase"), f"{place}: expected a variable by layer and head, found one by {axes}"),
                            (lambda: hs.compare(run, run, "pruning", "loss_increase", ablation="zer"), f"{place}: expected labels of {axes}, found ablation='zer'"),
                            (lambda: hs.compare(run, run, "pruning", "loss"), "pruning/loss: expected a variable by layer and head, found one by no axis"),
                            (lambda: hs.with_error(run["pruning"], "nope"), f"{RESULTS}: pruning/nope: no such variable"),
                            (lambda: hs.head_map(run["pruning"]["loss_increase"], ""), f"loss_increase: expected .* found one by {axes}"),
                            (lambda: hs.load(__file__), "expected a results file in HDF5, found another kind"),
                            (lambda: hs.load(FOLDER.parent / "data/default-model.h5"), "expected the results of a run, found HDF5 without format"),
                            (lambda: hs.load(cut), "cut.h5: expected a results file in HDF5, found one that cannot be read"),
                            (lambda: hs.heads(run, columns="most"), 'expected "main", "all"'),
                            (lambda: hs.heads(run, columns=["no"]), "no column no")):
            with self.assertRaisesRegex(hs.NotInRun, text) as caught:
                wrong()
            self.assertNotIn("\n", str(caught.exception))

    def test_a_file_that_another_run_replaces_is_not_mixed_with_it(self):
        with changed_run(lambda file: file["pruning/loss_baseline"].__setitem__((), -1)) as new, changed_run() as copy:
            run = hs.load(copy)
            opened = run["pruning"]
            os.replace(new, copy)
            with self.assertRaisesRegex(hs.NotInRun, "results.h5: the file has changed since it was loaded. Load it again"):
                run["classification"]
            self.assertGreater(float(opened["loss_baseline"]), 0)

    def test_a_value_is_written_with_its_interval(self):
        values = xr.Dataset({"x": 0.304, "x_ci_low": 0.25, "x_ci_high": 0.354, "y": 0.5, "y_ci_low": np.nan, "y_ci_high": np.nan})
        self.assertEqual([hs.with_interval(values, "x"), hs.with_interval(values, "x", ".0%")], ["0.30 [0.25, 0.35]", "30% [25%, 35%]"])
        self.assertEqual([hs.with_interval(values, "y"), hs.with_interval(values * np.nan, "x")], ["0.50", "–"])

    def test_labels_join_what_continues_a_word(self):
        self.assertEqual(hs.shown(["<|im_start|>", "Tom", "ing", " <", "b", "’", "\n"]), ["<|im_start|>", "Tom", "‿ing", "<", "‿b", "’", "↵"])

    def test_a_map_has_whole_numbers_on_its_axes_and_is_centred_where_values_have_both_signs(self):
        axis = hs.head_map(xr.DataArray([[0.1], [0.2]], dims=("layer", "head")), "")
        axis.figure.canvas.draw()
        self.assertTrue(all(float(tick).is_integer() for tick in (*axis.get_xticks(), *axis.get_yticks())))
        self.assertEqual(axis.images[0].get_clim(), (0.1, 0.2))
        self.assertEqual(hs.head_map(xr.DataArray([[-0.1], [0.3]], dims=("layer", "head")), "").images[0].get_clim(), (-0.3, 0.3))

    def test_nothing_warns(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = hs.load(RESULTS)
            for group in run.groups():
                run[group].load()
            hs.heads(run)

    def test_a_run_compared_with_itself_differs_nowhere(self):
        run = load(RESULTS)
        table = hs.compare(run, run, "pruning", "loss_increase", ablation="zero")
        self.assertEqual(table["difference"].abs().max(), 0)
        self.assertEqual(table.loc["L1H2", "first"], hs.heads(run).loc["L1H2", "pruning.loss_increase[zero]"])

    def test_runs_of_one_shape_are_compared_by_numbers(self):
        def run_of(name, flags, meanings):
            path = pathlib.Path(folder) / name
            with h5py.File(path, "w") as file:
                file.attrs["format"] = "headscope results 3"
                file.attrs["n_layer"], file.attrs["n_head"] = np.shape(flags)
            attributes = {"flag_values": np.arange(len(meanings.split()), dtype=np.uint8), "flag_meanings": meanings}
            dataset = xr.Dataset({"flag": (("layer", "head"), np.array(flags, dtype=np.uint8), attributes)})
            dataset.to_netcdf(path, mode="a", group="found", engine="h5netcdf")
            return hs.load(path)

        with tempfile.TemporaryDirectory() as folder:
            first, second = run_of("a.h5", [[1, 0], [1, 1], [0, 0], [0, 0]], "no yes"), run_of("b.h5", [[0, 1]] + [[0, 0]] * 3, "no yes")
            table = hs.compare(first, second, "found", "flag")
            self.assertEqual(table["difference"].to_dict(),
                             {"L0H0": -1, "L0H1": 1, "L1H0": -1, "L1H1": -1, "L2H0": 0, "L2H1": 0, "L3H0": 0, "L3H1": 0})
            wide = run_of("c.h5", [[0] * 4] * 2, "no yes")
            with self.assertRaisesRegex(hs.NotInRun, "a.h5 has 4 layers of 2 heads, .*c.h5 has 2 layers of 4 heads: heads can only"):
                hs.compare(first, wide, "found", "flag")
            words = run_of("d.h5", [[0, 2]], "none sink rare")
            with self.assertRaisesRegex(hs.NotInRun, "flag has words, none sink rare, which have no difference"):
                hs.compare(words, words, "found", "flag")

    def test_the_head_view_draws_a_line_per_weight(self):
        run = load(RESULTS)
        weight = run["attention/0"]["pattern"].values[1, 2, :12, :12]
        axis = hs.head_view(run, ["L1H2"], tokens=slice(0, 12), least=0.05)
        self.assertEqual(sum(len(line.get_xdata()) == 2 for line in axis.lines), int((weight >= 0.05).sum()))

    def test_the_head_view_draws_dollar_signs_as_they_are(self):
        kept = load(RESULTS)["attention/0"].copy(deep=True)
        kept["token_text"].values[1] = r"$\x$"
        run = mock.MagicMock(**{"__getitem__.return_value": kept, "n_layer": 2, "n_head": 4})
        axis = hs.head_view(run, ["L1H2"], tokens=slice(0, 12))
        axis.figure.canvas.draw()


class Notebooks(unittest.TestCase):
    def test_there_are_notebooks(self):
        self.assertGreaterEqual(len(NOTEBOOKS), 7)

    def test_each_runs_without_error(self):
        for path in NOTEBOOKS:
            if path.name != HUGGING_FACE or HAS_HUGGING_FACE:
                with self.subTest(path.name):
                    execute(path)

    def test_runs_in_a_kernel(self):
        for path in NOTEBOOKS if THOROUGH else NOTEBOOKS[:1]:
            if path.name != HUGGING_FACE or HAS_HUGGING_FACE:
                with self.subTest(path.name):
                    NotebookClient(nbformat.read(path, as_version=4), timeout=300, kernel_name="python3",
                                   resources={"metadata": {"path": str(FOLDER)}}).execute()

    def test_patterns_are_shown_with_the_text_of_their_tokens(self):
        text = "".join(str(token) for token in load(RESULTS)["attention/0"]["token_text"].values)
        shown = execute(FOLDER / "06_attention_patterns.ipynb")
        self.assertIn(text[:300], shown)
        self.assertIn("each row sums to 1: True", shown)

    def test_without_hugging_face_its_notebook_stops_with_one_line(self):
        if HAS_HUGGING_FACE:
            self.skipTest("PyTorch and transformers are installed")
        with self.assertRaises(Stopped) as stopped:
            execute(FOLDER / HUGGING_FACE)
        self.assertRegex(str(stopped.exception), r"(torch|transformers) is not installed: nothing to compare with")

    def test_hugging_face_is_given_a_model_file_in_hdf5(self):
        with mock.patch.dict(sys.modules, torch=mock.MagicMock(), transformers=mock.MagicMock()), \
                mock.patch.dict(os.environ, HEADSCOPE_MODEL="no/model.h5"), self.assertRaises(Stopped) as stopped:
            execute(FOLDER / HUGGING_FACE)
        self.assertIn("no/model.h5: expected a model file in HDF5, found none", str(stopped.exception))

    def test_a_missing_group_is_named(self):
        with changed_run(lambda file: file.pop("pruning")) as copy:
            with self.assertRaises(hs.NotInRun) as stopped:
                hs.load(copy)["pruning"]
            self.assertIn(f'{copy}: no group "pruning"', str(stopped.exception))
            self.assertNotIn("pruning.loss_all_but_one", hs.heads(hs.load(copy)))
            with self.assertRaises(Stopped) as stopped:
                execute(FOLDER / "04_pruning.ipynb")
            self.assertIn('no group "pruning"', str(stopped.exception))
            self.assertNotIn("Traceback", str(stopped.exception))

    def test_removed_heads_are_not_counted(self):
        with changed_run(pruned_heads="L0H4,L3H5"):
            for name, text in (("04_pruning", "Of 38 heads"), ("05_classification", "of 38 heads have a type"), ("06_attention_patterns", "of 38 heads put; sums to 1: True"),
                               ("10_tasks", ""), ("11_circuits", ""), ("13_your_analysis", "of 38 heads have an interval"),
                               ("14_published_numbers", ""), ("16_what_a_head_attends_by", ""), ("17_which_heads_move_a_name", "")):
                with self.subTest(name):
                    shown = execute(FOLDER / f"{name}.ipynb")
                    self.assertEqual([part for part in text.split("; ") if part not in shown], [])

    def test_without_intervals_no_head_is_certain(self):
        def clear(name, item):
            if name.endswith(("_ci_low", "_ci_high")):
                item[...] = np.nan

        with changed_run(lambda file: file.visititems(clear)):
            for name in ("04_pruning", "13_your_analysis"):
                shown = execute(FOLDER / f"{name}.ipynb")
                self.assertIn("This run has no intervals", shown)
                self.assertNotIn("cannot be told from zero", shown)
                self.assertNotIn("nan", shown)

    def test_chance_follows_the_heads_that_share_keys_and_values(self):
        with changed_run(n_kv_head=2):
            shown = execute(FOLDER / "02_parameters_and_blocks.ipynb")
        for name, chance in (("Q", "12.5%"), ("K", "50.0%"), ("V", "50.0%"), ("O", "12.5%")):
            self.assertRegex(shown, f"W_{name}: .* chance is {chance}")

    def test_one_head_a_layer_gives_no_p_value(self):
        with changed_run(pruned_heads=",".join(f"L{layer}H{head}" for layer in range(5) for head in range(1, 8))):
            shown = execute(FOLDER / "13_your_analysis.ipynb")
        self.assertIn("There is no p-value", shown)
        self.assertNotIn("p = ", shown)

    def test_without_the_classification_patterns_name_the_head(self):
        before = np.diagonal(load(RESULTS)["attention/0"]["pattern"], -1, 2, 3)[..., 1:].mean(axis=-1)
        layer, head = np.unravel_index(before.argmax(), before.shape)
        with changed_run(lambda file: file.pop("classification")):
            shown = execute(FOLDER / "06_attention_patterns.ipynb")
        self.assertIn(f"L{layer}H{head} looks at the token before most of all heads in this document; the analysis `classification` finds", shown)

    def test_your_model_is_run_or_named(self):
        with mock.patch.dict(os.environ, HEADSCOPE=os.environ["HEADSCOPE_PROGRAM"]):
            self.assertIn("4 documents, 116 tokens", execute(FOLDER / "12_your_model_and_text.ipynb"))
            with mock.patch.dict(os.environ, HEADSCOPE_MODEL="no/model.h5"), self.assertRaises(Stopped) as stopped:
                execute(FOLDER / "12_your_model_and_text.ipynb")
        self.assertIn("no/model.h5: no such file. Set HEADSCOPE_MODEL", str(stopped.exception))
        committed = nbformat.read(FOLDER / "12_your_model_and_text.ipynb", as_version=4)
        self.assertIn("4 documents, 116 tokens", str([cell.get("outputs") for cell in committed.cells]))

    def test_a_run_of_plain_text_is_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "my_text.txt"
            text.write_text("Tom saw a boat. Anna saw the boat too.\n\n" * 3)
            subprocess.run([os.environ["HEADSCOPE_PROGRAM"], "run", "--corpus", text, "--analyses", "classification,attention",
                            "--explain-documents", "1", "--figures", "svg", "--quiet", "--output", f"{folder}/mine"], check=True)
            shown = {}
            with mock.patch.dict(os.environ, HEADSCOPE_RESULTS=f"{folder}/mine"):
                for name in ("01_start_here", "05_classification", "14_published_numbers"):
                    with self.subTest(name):
                        shown[name] = execute(FOLDER / f"{name}.ipynb")
        self.assertIn("'classification'", shown["01_start_here"])
        self.assertIn("No relation was tested", shown["05_classification"])

    def test_a_comparison_of_models_of_several_shapes_is_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            comparison = xr.load_dataset(f"{os.environ['HEADSCOPE_COMPARISON']}/results.h5", group="comparison", engine="h5netcdf")
            comparison.drop_dims("layer").to_netcdf(f"{folder}/results.h5", group="comparison", engine="h5netcdf")
            with mock.patch.dict(os.environ, HEADSCOPE_COMPARISON=folder):
                self.assertIn("No variable is compared head by head", execute(FOLDER / "07_comparing_runs.ipynb"))

    def test_a_folder_without_a_run_is_named(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(hs.NotInRun) as stopped:
            hs.load(folder)
        self.assertIn(f"{folder}/results.h5: no such file", str(stopped.exception))

    def test_committed_copies_are_executed_and_small(self):
        for path in NOTEBOOKS:
            with self.subTest(path.name):
                self.assertLess(path.stat().st_size, 400_000)
                code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
                self.assertTrue(all(cell.execution_count for cell in code))
                self.assertRegex(code[0].source, "(RESULTS|COMPARISON|STUDY) = ")
                self.assertTrue(any(cell.outputs for cell in code))
                self.assertFalse([output for cell in code for output in cell.outputs if output.output_type == "error"])


if __name__ == "__main__":
    unittest.main()
