"""The study's committed results agree with themselves and with its README, and its measures measure what they say.

    python3 -m unittest discover -s tests/data_scripts
"""

import pathlib
import re
import sys
import tempfile
import unittest

import h5py
import numpy as np
import xarray as xr

STUDY = pathlib.Path(__file__).resolve().parents[2] / "data" / "study"

sys.path.insert(0, str(STUDY))
import family  # noqa: E402
import losses  # noqa: E402
import summarise  # noqa: E402

RESULTS = xr.open_dataset(STUDY / "results.h5", engine="h5netcdf")
STUDENT_T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # 97.5 % point by number of seeds


def interval(values):
    values = np.asarray(values)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return [np.nan] * 3
    half = STUDENT_T[len(values)] * np.std(values, ddof=1) / len(values) ** 0.5
    return [values.mean(), values.mean() - half, values.mean() + half]


class Results(unittest.TestCase):
    def setUp(self):
        self.effects = {str(name): i for i, name in enumerate(RESULTS["effect"].values)}

    def stored(self, beginning, claim):
        names = [name for name, i in self.effects.items() if name.startswith(beginning) and RESULTS["effect_claim"][i] == claim]
        self.assertEqual(len(names), 1, beginning)
        return [float(RESULTS["effect_value" + end][self.effects[names[0]]]) for end in ("", "_ci_low", "_ci_high")]

    def test_are_small_and_whole(self):
        self.assertLess((STUDY / "results.h5").stat().st_size, 500_000)
        self.assertGreaterEqual(RESULTS.sizes["seed"], 3)
        self.assertEqual(list(RESULTS["n_head"].values), family.N_HEAD)
        for name in ("loss", "gradient_variation", "head_distance", "long_loss"):
            self.assertTrue(np.isfinite(RESULTS[name].values).all(), name)

    def test_verdicts_follow_from_the_intervals(self):
        words = RESULTS["verdict"].attrs["flag_meanings"].split()
        for claim, verdict in zip(RESULTS["claim"].values, RESULTS["verdict"].values):
            decides = (RESULTS["effect_claim"].values == claim) & (RESULTS["effect_decides"].values == 1)
            self.assertTrue(decides.any())
            sides = RESULTS["effect_expected"].values[decides]
            ends = np.stack([RESULTS["effect_value_ci_low"].values, RESULTS["effect_value_ci_high"].values])[:, decides]
            ends = (ends - RESULTS["effect_bound"].values[decides]) * sides
            expected = "holds" if ends.min() > 0 else "does_not_hold" if (ends.max(axis=0) < 0).any() else "undecided"
            self.assertEqual(words[int(verdict)], expected, int(claim))

    def test_effects_follow_from_the_seeds(self):
        loss = RESULTS["loss"].transpose("n_head", "seed")
        middle = (loss.sel(n_head=4) + loss.sel(n_head=8) + loss.sel(n_head=16)).values / 3
        np.testing.assert_allclose(self.stored("loss with one head", 12), interval(loss.sel(n_head=1).values - middle), rtol=1e-9)
        np.testing.assert_allclose(self.stored("loss with 128 heads", 12), interval(loss.sel(n_head=128).values - middle), rtol=1e-9)
        apart = RESULTS["head_distance"].sel(start="equal", percent=100).values
        np.testing.assert_allclose(self.stored("distance between heads", 13), interval(apart), rtol=1e-9)
        for name, beginning in (("start_mean_abs_cosine", "mean absolute cosine"), ("start_loss", "loss after training")):
            difference = RESULTS[name].sel(start="equal") - RESULTS[name].sel(start="random")
            np.testing.assert_allclose(self.stored(beginning, 13), interval(difference.values), rtol=1e-9)
        for name, beginning in (("series_typed_share", "share of heads with a type"), ("series_mean_abs_cosine", "mean absolute cosine")):
            grown = RESULTS[name].sel(percent=100) - RESULTS[name].sel(percent=0)
            np.testing.assert_allclose(self.stored(beginning, 14), interval(grown.values), rtol=1e-9)
        steps = RESULTS["gradient_variation"].transpose("n_head", "seed")
        difference = steps.sel(n_head=1).values - steps.sel(n_head=[4, 8, 16]).values.mean(axis=0)
        np.testing.assert_allclose(self.stored("variation of the gradient norm over steps", 15), interval(difference), rtol=1e-9)
        added = RESULTS["noise_added"].transpose("kept", "seed").values
        for row, kept in enumerate((90, 70, 50), 1):
            np.testing.assert_allclose(self.stored(f"loss added by noise, {kept} %", 16), interval(added[row] - added[0]), rtol=1e-9)

    def test_every_estimate_lies_in_its_interval(self):
        for name in RESULTS.data_vars:
            if name + "_ci_low" in RESULTS:
                value, low, high = (RESULTS[name + end].values for end in ("", "_ci_low", "_ci_high"))
                known = ~np.isnan(low)
                self.assertTrue((low <= value + 1e-9)[known].all() and (value <= high + 1e-9)[known].all(), name)

    def test_the_readme_states_the_numbers_of_the_file(self):
        text = (STUDY / "README.md").read_text(encoding="utf-8")
        stated = [line.strip("| ").split(" | ") for line in re.search(r"\| claim .*?\n\n", text, re.S).group().strip().split("\n")[2:]]
        self.assertEqual(len(stated), RESULTS.sizes["effect"])
        words = RESULTS["verdict"].attrs["flag_meanings"].split()
        verdicts = {int(claim): words[int(verdict)].replace("_", " ") for claim, verdict in zip(RESULTS["claim"], RESULTS["verdict"])}
        for i, (claim, verdict, effect, value, *ends) in enumerate(stated):
            self.assertEqual((int(claim), verdict), (int(RESULTS["effect_claim"][i]), verdicts[int(claim)]))
            self.assertEqual(effect, str(RESULTS["effect"].values[i]))
            if value == "not measured":
                self.assertTrue(np.isnan(RESULTS["effect_value"][i]))
                continue
            numbers = [float(number.replace("−", "-")) for number in [value, *ends[0].strip("[]").split(", ")]]
            for number, end in zip(numbers, ("", "_ci_low", "_ci_high")):
                self.assertAlmostEqual(number, float(RESULTS["effect_value" + end][i]), delta=0.000501)


class Measures(unittest.TestCase):
    def test_the_distance_is_zero_of_equal_heads_and_of_chance_near_one(self):
        rng = np.random.default_rng(0)
        d, n_head = 64, 8
        w = rng.normal(size=(d, 3, n_head, d // n_head)), rng.normal(size=(n_head, d // n_head, d))
        with tempfile.TemporaryDirectory() as folder:
            for equal in (False, True):
                path = pathlib.Path(folder) / f"{equal}.h5"
                c_attn, c_proj = (np.repeat(part.take([0], axis), n_head, axis) if equal else part for part, axis in zip(w, (2, 0)))
                with h5py.File(path, "w") as file:
                    file.attrs.update({"n_layer": 1, "n_head": n_head})
                    file["h.0.attn.c_attn.weight"], file["h.0.attn.c_proj.weight"] = c_attn.reshape(d, -1), c_proj.reshape(-1, d)
                self.assertAlmostEqual(summarise.head_distance(path), 0 if equal else np.sqrt(1 - 1 / n_head), delta=1e-9 if equal else 0.02)

    def test_noise_replaces_a_tenth_of_the_tokens_by_other_choices(self):
        document = [3] * 20_000
        self.assertEqual(losses.replaced(document, 0, 5, [7, 8]).tolist(), document)
        noisy = losses.replaced(document, 1, 5, [7, 8])
        self.assertAlmostEqual(np.mean(noisy != 3), 0.1, delta=0.01)
        self.assertEqual(set(noisy.tolist()), {3, 7, 8})
        self.assertEqual(noisy.tolist(), losses.replaced(document, 1, 5, [7, 8]).tolist())
        self.assertNotEqual(noisy.tolist(), losses.replaced(document, 2, 5, [7, 8]).tolist())

    def test_a_verdict_needs_every_interval_on_its_side(self):
        above, below, across = (1, 0.5, 1.5, 1, 0), (-1, -1.5, -0.5, 1, 0), (0, -1, 1, 1, 0)
        self.assertEqual([summarise.verdict(effects) for effects in ([above, above], [above, across], [above, below])], [1, 0, 2])
        self.assertEqual(summarise.verdict([(0, 0, 0, -1, 0.01)]), 1)


if __name__ == "__main__":
    unittest.main()
