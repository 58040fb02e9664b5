"""The study's design, measures and verdicts do what its README says, its committed numbers follow it, and it runs whole.

What trains needs PyTorch: in this Python, or in the one that the environment variable HEADSCOPE_TORCH_PYTHON names. The whole study also
needs the program, which HEADSCOPE_PROGRAM names. Both are skipped where they are missing.

    python3 -m unittest discover -s tests/data_scripts
"""

import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

import numpy as np
import xarray as xr

STUDY = pathlib.Path(__file__).resolve().parents[2] / "data" / "study"

sys.path[:0] = [str(STUDY), str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import children  # noqa: E402
import family  # noqa: E402
import losses  # noqa: E402
import measure  # noqa: E402
import summarise  # noqa: E402

FIRST = xr.open_dataset(STUDY / "first" / "results.h5", engine="h5netcdf")
ROUNDING = 1e-12  # relative, of sums over ten seeds in double
STUDENT_T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # 97.5 % point by number of seeds
TORCH_PYTHON = os.environ.get("HEADSCOPE_TORCH_PYTHON") or (sys.executable if importlib.util.find_spec("torch") else None)
PROGRAM = os.environ.get("HEADSCOPE_PROGRAM")


def interval(values):
    values = np.asarray(values)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return [np.nan] * 3
    half = STUDENT_T[len(values)] * np.std(values, ddof=1) / len(values) ** 0.5
    return [values.mean(), values.mean() - half, values.mean() + half]


class FirstStudy(unittest.TestCase):
    """The published results agree with themselves and with their README."""

    def setUp(self):
        self.effects = {str(name): i for i, name in enumerate(FIRST["effect"].values)}

    def stored(self, beginning, claim):
        names = [name for name, i in self.effects.items() if name.startswith(beginning) and FIRST["effect_claim"][i] == claim]
        self.assertEqual(len(names), 1, beginning)
        return [float(FIRST["effect_value" + end][self.effects[names[0]]]) for end in ("", "_ci_low", "_ci_high")]

    def test_are_small_and_whole(self):
        self.assertLess((STUDY / "first" / "results.h5").stat().st_size, 500_000)
        self.assertGreaterEqual(FIRST.sizes["seed"], 3)
        self.assertEqual(sorted(FIRST["n_head"].values), sorted(family.FULL.seeds))
        for name in ("loss", "gradient_variation", "head_distance", "long_loss"):
            self.assertTrue(np.isfinite(FIRST[name].values).all(), name)

    def test_verdicts_follow_from_the_intervals(self):
        words = FIRST["verdict"].attrs["flag_meanings"].split()
        for claim, verdict in zip(FIRST["claim"].values, FIRST["verdict"].values):
            decides = (FIRST["effect_claim"].values == claim) & (FIRST["effect_decides"].values == 1)
            self.assertTrue(decides.any())
            sides = FIRST["effect_expected"].values[decides]
            ends = np.stack([FIRST["effect_value_ci_low"].values, FIRST["effect_value_ci_high"].values])[:, decides]
            ends = (ends - FIRST["effect_bound"].values[decides]) * sides
            expected = "holds" if ends.min() > 0 else "does_not_hold" if (ends.max(axis=0) < 0).any() else "undecided"
            self.assertEqual(words[int(verdict)], expected, int(claim))

    def test_effects_follow_from_the_seeds(self):
        loss = FIRST["loss"].transpose("n_head", "seed")
        middle = (loss.sel(n_head=4) + loss.sel(n_head=8) + loss.sel(n_head=16)).values / 3
        np.testing.assert_allclose(self.stored("loss with one head", 12), interval(loss.sel(n_head=1).values - middle), rtol=ROUNDING)
        np.testing.assert_allclose(self.stored("loss with 128 heads", 12), interval(loss.sel(n_head=128).values - middle), rtol=ROUNDING)
        apart = FIRST["head_distance"].sel(start="equal", percent=100).values
        np.testing.assert_allclose(self.stored("distance between heads", 13), interval(apart), rtol=ROUNDING)
        for name, beginning in (("start_mean_abs_cosine", "mean absolute cosine"), ("start_loss", "loss after training")):
            difference = FIRST[name].sel(start="equal") - FIRST[name].sel(start="random")
            np.testing.assert_allclose(self.stored(beginning, 13), interval(difference.values), rtol=ROUNDING)
        for name, beginning in (("series_typed_share", "share of heads with a type"), ("series_mean_abs_cosine", "mean absolute cosine")):
            grown = FIRST[name].sel(percent=100) - FIRST[name].sel(percent=0)
            np.testing.assert_allclose(self.stored(beginning, 14), interval(grown.values), rtol=ROUNDING)
        steps = FIRST["gradient_variation"].transpose("n_head", "seed")
        difference = steps.sel(n_head=1).values - steps.sel(n_head=[4, 8, 16]).values.mean(axis=0)
        np.testing.assert_allclose(self.stored("variation of the gradient norm over steps", 15), interval(difference), rtol=ROUNDING)
        added = FIRST["noise_added"].transpose("kept", "seed").values
        for row, kept in enumerate((90, 70, 50), 1):
            np.testing.assert_allclose(self.stored(f"loss added by noise, {kept} %", 16), interval(added[row] - added[0]), rtol=ROUNDING)

    def test_every_estimate_lies_in_its_interval(self):
        for name in FIRST.data_vars:
            if name + "_ci_low" in FIRST:
                value, low, high = (FIRST[name + end].values for end in ("", "_ci_low", "_ci_high"))
                known = ~np.isnan(low)
                self.assertTrue((low <= value + ROUNDING)[known].all() and (value <= high + ROUNDING)[known].all(), name)

    def test_the_readme_states_the_numbers_of_the_file(self):
        text = (STUDY / "first" / "README.md").read_text(encoding="utf-8")
        stated = [line.strip("| ").split(" | ") for line in re.search(r"\| claim .*?\n\n", text, re.S).group().strip().split("\n")[2:]]
        self.assertEqual(len(stated), FIRST.sizes["effect"])
        words = FIRST["verdict"].attrs["flag_meanings"].split()
        verdicts = {int(claim): words[int(verdict)].replace("_", " ") for claim, verdict in zip(FIRST["claim"], FIRST["verdict"])}
        for i, (claim, verdict, effect, value, *ends) in enumerate(stated):
            self.assertEqual((int(claim), verdict), (int(FIRST["effect_claim"][i]), verdicts[int(claim)]))
            self.assertEqual(effect, str(FIRST["effect"].values[i]))
            if value == "not measured":
                self.assertTrue(np.isnan(FIRST["effect_value"][i]))
                continue
            numbers = [float(number.replace("−", "-")) for number in [value, *ends[0].strip("[]").split(", ")]]
            for number, end in zip(numbers, ("", "_ci_low", "_ci_high")):
                self.assertAlmostEqual(number, float(FIRST["effect_value" + end][i]), delta=0.000501)  # three decimals


def effect_of(seed):
    """A spread over seeds of 0.004 around 0, the same at every call."""
    return 0.004 * np.random.default_rng(seed).normal()


def synthetic(training, loss_by_heads, grows, steadier, noise_by_kept):
    """Numbers of a training as run_study.py writes them, with effects put in by hand."""
    heads, seed = training.n_head, training.seed
    rng = np.random.default_rng([heads, seed, len(training.name)])
    numbers = {"name": training.name, "kind": training.kind, "n_head": heads, "seed": seed, "steps": training.steps, "stories_sha256": "0", "peak_rate": training.peak or 0.004,
               "warm_up": 150, "seconds": 1.0, "validation_loss": 2.0 + abs((training.peak or 0.004) - 0.004), "held_out_loss": 2 + effect_of(seed)}
    if training.kind == "rate":
        return numbers
    if training.kind == "kept":
        return numbers | {"reached": 1, "steps": 100, "noisy_loss": [2.5 + effect_of(seed) + noise_by_kept[training.kept] + 0.1 * effect_of(seed + training.kept)]}
    numbers["held_out_loss"] += loss_by_heads.get(heads, 0) + 0.2 * effect_of(1000 + seed + heads)
    spread = 0.2 * (steadier if heads == 1 else 1)
    count = training.steps // measure.BIN
    numbers |= {"gradient_variation": spread * (1 + 0.02 * rng.normal()), "clipped_share": 0.1, "largest_gradient_norm": 3.0, "training_loss": [3.0] * count,
                "ln_gradient_norm": list(spread * rng.normal(size=count)), "heads_equal": int(training.noise == 0)}
    start = training.noise if training.kind == "equal" else 0.94
    numbers["head_distance"] = [start * (10 if grows else 1) ** (percent / 100 * (training.kind == "equal")) * (1 + 0.01 * effect_of(seed)) for percent in range(101)]
    percents = family.looked_at(family.FULL, training)
    growth = [0.3 * (percent / 100) * grows + 0.1 * effect_of(seed + percent) for percent in percents]
    numbers["looked"] = {"headscope_commit": "c", "percent": percents, "typed_share": growth, "unlikeness": [0.3 + value for value in growth],
                         "mean_abs_cosine": growth, "entropy_median": growth, "loss": growth, "type_share": {"positional": growth}}
    return numbers


def run_notebook(results):
    """Runs the code of the study's notebook on a results file; returns what went wrong, or an empty text."""
    notebooks = STUDY.parents[1] / "notebooks"
    cells = json.loads((notebooks / "08_why_many_heads.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    done = children.run([sys.executable, "-W", "ignore::RuntimeWarning", "-c", code], cwd=notebooks, capture_output=True, text=True,
                          env=os.environ | {"MPLBACKEND": "agg", "HEADSCOPE_STUDY": str(results)})
    return done.stderr if done.returncode else ""


class Verdicts(unittest.TestCase):
    def summarised(self, left_out=(), **planted):
        with tempfile.TemporaryDirectory() as folder:
            for training in family.every_training(family.FULL):
                if training.kind not in left_out:
                    measure.write_numbers(pathlib.Path(folder) / f"{training.name}.json", synthetic(training, **planted))
            return summarise.summarise(pathlib.Path(folder), family.FULL)

    def verdicts(self, dataset):
        return dict(zip(dataset["claim"].values.tolist(), (summarise.VERDICTS[int(number)] for number in dataset["verdict"])))

    def test_effects_that_are_put_in_hold(self):
        dataset = self.summarised(loss_by_heads={1: 0.1, 128: 0.1}, grows=1, steadier=3, noise_by_kept={100: 0, 90: 0.03, 70: 0.04, 50: 0.05})
        self.assertEqual(self.verdicts(dataset), dict.fromkeys(range(12, 17), "holds"))
        # The interval's width is that of Student's t with nine degrees of freedom at 99 %: 3.2498.
        loss = dataset["loss"].transpose("seed", "n_head")
        values = (loss.sel(n_head=1) - loss.sel(n_head=8)).values
        half = 3.2498 * values.std(ddof=1) / 10**0.5
        self.assertAlmostEqual(float(dataset["effect_value_ci_high"][0]), values.mean() + half, places=6)  # five digits of t times 0.001
        self.assertEqual(dataset.attrs["n_finished"], dataset.attrs["n_training"])
        with tempfile.TemporaryDirectory() as folder:
            dataset.to_netcdf(pathlib.Path(folder) / "results.h5", engine="h5netcdf")
            self.assertEqual(run_notebook(pathlib.Path(folder) / "results.h5"), "")

    def test_no_effect_is_equivalent(self):
        dataset = self.summarised(loss_by_heads={}, grows=0, steadier=1, noise_by_kept=dict.fromkeys((100, 90, 70, 50), 0))
        verdicts = self.verdicts(dataset)
        self.assertEqual([verdicts[claim] for claim in (12, 14, 15, 16)], ["equivalent"] * 4)
        # The exact symmetry holds, but what starts a little apart does not grow.
        self.assertEqual(verdicts[13], "does_not_hold")

    def test_effects_the_other_way_do_not_hold(self):
        verdicts = self.verdicts(self.summarised(loss_by_heads={1: -0.1}, grows=-1, steadier=0.3, noise_by_kept={100: 0, 90: -0.03, 70: -0.04, 50: -0.05}))
        self.assertEqual([verdicts[claim] for claim in (12, 14, 15, 16)], ["does_not_hold"] * 4)

    def test_what_was_not_trained_is_undecided(self):
        verdicts = self.verdicts(self.summarised(left_out=("random", "equal", "kept", "long"), loss_by_heads={}, grows=0, steadier=1, noise_by_kept={}))
        self.assertEqual(set(verdicts.values()), {"undecided"})

    def test_a_part_is_equivalent_only_within_its_bound(self):
        parts = [summarise.verdict_of_part(low, high, 0.02) for low, high in ((0.001, 0.019), (0.001, 0.021), (-0.021, 0.001), (-0.03, -0.001))]
        self.assertEqual([summarise.VERDICTS[part] for part in parts], ["equivalent", "holds", "undecided", "does_not_hold"])

    def test_a_claim_holds_only_if_all_its_parts_do(self):
        holds, fails, same, open_ = summarise.HOLDS, summarise.DOES_NOT_HOLD, summarise.EQUIVALENT, summarise.UNDECIDED
        cases = {(holds, holds): holds, (holds, same): fails, (same, same): same, (holds, open_): open_, (open_, fails): fails, (open_, same): fails}
        for parts, expected in cases.items():
            self.assertEqual(summarise.verdict_of_claim(parts), expected, parts)

    def test_the_seeds_to_decide_decide(self):
        values = [0.02, -0.01, 0.03, 0.0, 0.01]
        count = summarise.seeds_to_decide(values, 0.005)
        spread, centre = np.std(values, ddof=1), np.mean(values)
        for seeds, undecided in ((count, False), (count - 1, True)):
            half = summarise.half_width(spread, seeds)
            self.assertEqual(summarise.verdict_of_part(centre - half, centre + half, 0.005) == summarise.UNDECIDED, undecided)

    def test_chance_seldom_decides(self):
        rng = np.random.default_rng(0)
        decided = 0
        for _ in range(1000):
            _, low, high, _ = summarise.over_seeds(rng.normal(size=10))
            decided += summarise.verdict_of_part(low, high, 1e-6) != summarise.UNDECIDED
        # 1 % of the intervals leave out zero: 10 of 1,000, and 25 are nearly five standard deviations more.
        self.assertLess(decided, 25)


class CommittedTrainings(unittest.TestCase):
    """What is in trainings/ was made by the design."""

    def setUp(self):
        self.design = {training.name: training for training in family.every_training(family.FULL)}
        self.read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (STUDY / "trainings").glob("*.json")}
        if not self.read:
            self.skipTest("no training is finished")

    def test_are_those_of_the_design(self):
        for name, numbers in self.read.items():
            training = self.design[name]
            self.assertEqual([numbers[key] for key in ("kind", "n_head", "seed", "noise", "kept")], [training.kind, training.n_head, training.seed, training.noise, training.kept])
            if training.kind != "kept":
                self.assertEqual((numbers["steps"], numbers["tokens"]), (training.steps, training.steps * 8 * 128), name)
                self.assertGreaterEqual(numbers["warm_up"], max(60, 0.05 * training.steps), name)
        self.assertEqual(len({numbers["stories_sha256"] for numbers in self.read.values()}), 1)

    def test_use_the_best_of_four_rates(self):
        best = {}
        for n_head in family.FULL.seeds:
            tried = [self.read.get(training.name) for training in family.rate_trainings(family.FULL, n_head)]
            if all(tried):
                best[n_head] = min((numbers["validation_loss"], numbers["peak_rate"]) for numbers in tried)[1]
        for name, numbers in self.read.items():
            if numbers["kind"] != "rate":
                self.assertEqual(numbers["peak_rate"], best[numbers["n_head"]] / (4 if numbers["kind"] == "kept" else 1), name)

    def test_are_summed_up_in_the_published_results(self):
        dataset = summarise.summarise(STUDY / "trainings", family.FULL)
        self.assertEqual(dataset.attrs["n_finished"], len(self.read))
        with xr.open_dataset(STUDY / "results.h5", engine="h5netcdf") as published:
            xr.testing.assert_allclose(published.drop_vars(("claim_text", "effect")), dataset.drop_vars(("claim_text", "effect")), rtol=ROUNDING)
            self.assertEqual(published["effect"].values.tolist(), dataset["effect"].values.tolist())
        self.assertIn(summarise.effects_table(dataset), (STUDY / "README.md").read_text(encoding="utf-8"))


class Measures(unittest.TestCase):
    def test_noise_replaces_a_tenth_of_the_tokens_by_other_choices(self):
        document = [3] * 20_000
        self.assertEqual(losses.replaced(document, 0, 5, [7, 8]).tolist(), document)
        noisy = losses.replaced(document, 1, 5, [7, 8])
        self.assertAlmostEqual(np.mean(noisy != 3), 0.1, delta=0.01)  # five standard errors
        self.assertEqual(set(noisy.tolist()), {3, 7, 8})
        self.assertEqual(noisy.tolist(), losses.replaced(document, 1, 5, [7, 8]).tolist())
        self.assertNotEqual(noisy.tolist(), losses.replaced(document, 2, 5, [7, 8]).tolist())

    def test_variation_over_steps_is_that_of_the_noise_and_not_of_the_trend(self):
        trend = np.linspace(1, -1, 3000)
        noise = 0.3 * np.random.default_rng(0).normal(size=3000)
        # A running mean of 51 steps takes 1/51 of the variance away; 2,850 steps give the deviation to 1.3 %.
        self.assertAlmostEqual(measure.variation(trend + noise, 150), 0.3, delta=0.02)
        self.assertLess(measure.variation(trend, 150), 0.001)  # a straight line is its own running mean

    def test_variation_over_seeds_is_the_distance_from_the_other_seeds(self):
        values = summarise.from_mean_of_others([[0, 0], [0, 0], [3, 3], [np.nan, np.nan]])
        np.testing.assert_allclose(values, [1.5, 1.5, 3, np.nan])

    def test_the_order_of_training_gives_every_model_its_rate_and_its_whole(self):
        names = [training.name for training in family.every_training(family.FULL)]
        self.assertEqual(len(names), len(set(names)))
        for training in family.every_training(family.FULL):
            if training.kind != "rate":
                self.assertTrue(all(names.index(rate.name) < names.index(training.name) for rate in family.rate_trainings(family.FULL, training.n_head)))
            if training.kind == "kept":
                self.assertLess(names.index(family.random_start(family.MIDDLE, training.seed)), names.index(training.name))


@unittest.skipUnless(TORCH_PYTHON, "PyTorch is not installed: nothing is trained")
class Training(unittest.TestCase):
    def test_kernels_steps_and_resuming(self):
        done = children.run([TORCH_PYTHON, "-m", "unittest", "-q", "check_training"], capture_output=True, text=True, cwd=pathlib.Path(__file__).parent)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(PROGRAM, "HEADSCOPE_PROGRAM is not set: the study is not run")
    def test_the_study_runs_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            command = [sys.executable, str(STUDY / "run_study.py"), "--tiny", "--work", folder, "--headscope", PROGRAM, "--torch-python", TORCH_PYTHON,
                       "--trainings", str(work / "trainings"), "--jobs", "2"]
            done = children.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted = {training.name for training in family.every_training(family.TINY)}
            self.assertEqual({path.stem for path in (work / "trainings").glob("*.json")}, wanted)
            dataset = xr.open_dataset(work / "results.h5", engine="h5netcdf")
            for name in ("loss", "variation_over_seeds", "growth_unlikeness", "growth_typed_share", "long_loss", "validation_loss", "retraining_steps"):
                self.assertTrue(np.isfinite(dataset[name].values).all(), name)
            self.assertEqual(int(dataset["exactly_equal"]), 1)
            self.assertEqual({path.stem for path in (work / "figures").glob("*.png")} & {"effects_and_bounds", "loss_by_heads", "equal_start", "growth"},
                             {"effects_and_bounds", "loss_by_heads", "equal_start", "growth"})
            # A second start makes nothing again: the models are gone and are not missed.
            before = {path.name: path.stat().st_mtime_ns for path in (work / "trainings").iterdir()}
            (work / "models").rename(work / "models-away")
            done = children.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(before, {path.name: path.stat().st_mtime_ns for path in (work / "trainings").iterdir()})
            self.assertFalse((work / "models").exists())


if __name__ == "__main__":
    unittest.main()
