"""The program's error rates on a few stories with few seeds: bounds that a test gone wrong would break.

    calibration_test.py HEADSCOPE_BINARY

calibration.py measures them closely; docs/calibration.md has its table.
"""

import os
import re
import sys
import tempfile
import unittest

import numpy as np

sys.dont_write_bytecode = True
import calibration  # noqa: E402
import score_truth  # noqa: E402

DATA = calibration.DATA
BINARY = sys.argv.pop(1)
THOROUGH = "HEADSCOPE_THOROUGH" in os.environ
N_DOCUMENT = 40

thorough = unittest.skipUnless(THOROUGH, "minutes: runs with HEADSCOPE_THOROUGH")


class Options:
    program, tokenizer, threads = BINARY, None, 0
    model = os.path.join(DATA, "default-model.h5")


class Calibration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runs = calibration.Runs(Options, folder.name)
        documents, self.fields = calibration.read_documents([os.path.join(DATA, "stories.conllu")])
        self.documents = documents[:N_DOCUMENT]

    def test_shuffled_words_and_random_labels_have_hardly_a_syntactic_or_coreference_head(self):
        for make in (calibration.shuffled_words, calibration.random_labels):
            found = calibration.false_labels(self.runs, make, self.documents, self.fields, seeds=2 if THOROUGH else 1)
            # Of 80 heads. One run in twenty may have false ones by q < 0.05, more than two of them hardly ever.
            for kind in ("syntactic", "coreference"):
                self.assertLessEqual(int(found[f"{kind} heads"].split()[0]), 2, found)
            # Heads without the labels' knowledge are worse than the best offset, so that p is rarely small.
            self.assertLess(float(found["relation_p < 0.05"].split()[0]), 0.05, found)

    def test_the_true_labels_have_syntactic_heads(self):
        found = calibration.false_labels(self.runs, lambda documents, rng: documents, self.documents, self.fields, seeds=1)
        self.assertGreater(int(found["syntactic heads"].split()[0]), 0, found)

    @thorough
    def test_untrained_heads_find_nothing(self):
        for name, found in calibration.untrained_types(self.runs, self.documents, self.fields, seeds=1).items():
            for kind in ("syntactic", "coreference", "long_range", "induction", "positional", "semantic"):
                self.assertNotRegex(found, rf"\b{kind}\b", name)

    def test_words_shuffled_over_trees_gain_nothing_by_syntax_and_coreference(self):
        found = score_truth.gains(self.runs, calibration.shuffled_words, self.documents, self.fields, 2 if THOROUGH else 1, 400)
        for family in ("syntax", "coreference"):
            above, n_head = map(int, re.match(r"(\d+) of (\d+),", found[f"{family} gain above {score_truth.LARGEST_GAIN}"]).groups())
            self.assertLessEqual(above, n_head / 20, found)

    @thorough
    def test_untrained_heads_attend_by_no_family(self):
        for shape, said in score_truth.untrained(self.runs, self.documents, self.fields, 1, 400).items():
            self.assertIn("none attends by a family", said, shape)

    @thorough
    def test_p_values_are_uniform_where_head_and_baseline_change_places(self):
        found = calibration.swapped_tests(self.runs, self.documents, self.fields, seeds=20)
        # Heads and relations of a seed swap together: the share of 20 seeds varies by about 0.02, 0.03 and 0.04.
        for level, allowed in ((0.05, 0.04), (0.2, 0.08), (0.5, 0.1)):
            self.assertLess(abs(float(found[f"p < {level}"].split()[0]) - level), allowed, found)

    @thorough
    def test_p_values_of_effects_are_those_of_the_program_and_uniform_where_effect_and_null_change_places(self):
        found = calibration.effect_tests(self.runs, self.documents[:20], self.fields, 50, [os.path.join(DATA, "tasks.jsonl")], 20)
        # Heads of a seed swap together: the share of 50 seeds varies by about a third of that of 50 tests.
        for level, allowed in ((0.05, 0.05), (0.2, 0.1), (0.5, 0.15)):
            for effect in ("copy_effect_p", "suppression_effect_p", "margin_change_p"):
                self.assertLess(abs(float(found[f"{effect} < {level}"].split()[0]) - level), allowed, found)

    @thorough
    def test_intervals_made_from_documents_are_those_of_the_program(self):
        increases, _, n_token = calibration.increases_by_document(self.runs, self.documents[:20], self.fields)
        weights = np.concatenate([np.ones((1, 20)), 1 - np.eye(20)])
        path = os.path.join(self.runs.folder, "corpus.conllu")
        with self.runs.run(path, "pruning") as results:
            group = results["pruning"]
            for row, values in enumerate(increases):
                ratio, *left_out = calibration.ratio(weights, values, n_token)
                half_width = calibration.half_width(ratio, np.array(left_out), np.random.default_rng(0))
                value, low, high = (group["loss_increase" + end][row].ravel() for end in ("", "_ci_low", "_ci_high"))
                np.testing.assert_allclose(ratio, value, rtol=1e-9, atol=1e-12)  # sums in another order, from losses of about 1000
                # Two sets of 1000 resamples: their 95th percentiles are a few per cent apart, of heads whose effect is in few
                # documents up to 20.
                ratios = half_width / ((high - low) / 2)
                self.assertLess(np.abs(np.median(ratios) - 1), 0.05)
                np.testing.assert_allclose(ratios, 1, atol=0.4)

    @thorough
    def test_intervals_of_samples_hold_the_whole(self):
        found = calibration.coverage_of_documents(self.runs, self.documents, self.fields, 3, "classification", 30, explain_documents=1)
        shares = [float(text.split()[0]) for kind, text in found.items() if kind.endswith("of a head")]
        # The heads of a sample fail together: the mean over kinds and three samples varies by about 0.05.
        self.assertGreater(sum(shares) / len(shares), 0.8, found)

    @thorough
    def test_intervals_of_differences_between_runs_hold_those_on_all_documents(self):
        found = calibration.coverage_of_differences(self.runs, self.documents, self.fields, 3, 30)
        shares = [float(text.split()[0]) for text in found.values()]
        self.assertGreaterEqual(len(shares), 8)
        # As above.
        self.assertGreater(sum(shares) / len(shares), 0.85, found)


class TwoHalvesOfACorpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        documents, fields = calibration.read_documents([os.path.join(DATA, "stories.conllu")])
        with tempfile.TemporaryDirectory() as folder:
            cls.halves = score_truth.of_halves(calibration.Runs(Options, folder), documents[:2 * N_DOCUMENT], fields, 500, bootstrap=100)

    def test_agree_on_families(self):
        found = score_truth.agreement(*(by for by, _ in self.halves))
        for agreement in found.values():
            same, of = map(int, agreement.split(" of "))
            self.assertGreaterEqual(of, 30, found)
            self.assertGreaterEqual(same, 0.85 * of, found)

    def test_gain_more_by_word_class_than_shuffled_words_may_by_syntax(self):
        for _, gain in self.halves:
            self.assertGreater((gain["word_class"] > score_truth.LARGEST_GAIN).mean(), 0.25)


if __name__ == "__main__":
    unittest.main()
