"""The numbers of `headscope attend`, against `headscope run` and recomputed from its patterns in NumPy.

    attend_test.py HEADSCOPE_BINARY
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

BINARY = sys.argv.pop(1)
SENTENCE = "The cat sat on the mat. The cat sat"


def run(*arguments):
    return subprocess.run([BINARY, *arguments], check=True, capture_output=True, text=True).stdout


class Attend(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            page, corpus, out = (os.path.join(folder, name) for name in ("page.html", "sentence.txt", "out"))
            cls.summary = run("attend", SENTENCE, "--output", page)
            with open(page, encoding="utf-8") as file:
                cls.data = json.loads(re.search(r'id="head-data">(.*?)</script>', file.read()).group(1))
            with open(corpus, "w", encoding="utf-8") as file:
                file.write(SENTENCE + "\n")
            run("run", "--corpus", corpus, "--analyses", "attention", "--patterns", "1", "--figures", "svg", "--quiet",
                "--output", out)
            with h5py.File(os.path.join(out, "results.h5")) as results:
                group = results["attention/0"]
                cls.patterns = {name: group[name][()] for name in ("pattern", "value_weighted", "rollout")}
                cls.tokens = [text.decode() for text in group["token_text"][()]]
                cls.ids = group["tokens"][()]

    def score(self, name):
        """A score by head, as the page holds it."""
        values = next(score["values"] for score in self.data["scores"] if score["name"] == name)
        return np.array(values, float).reshape(self.patterns["pattern"].shape[:2])

    def test_the_page_has_the_patterns_of_a_run(self):
        self.assertEqual(len(self.data["documents"]), 1)
        document = self.data["documents"][0]
        self.assertEqual(document["tokens"], self.tokens)
        self.assertEqual([kind["title"] for kind in document["kinds"]], ["attention", "value-weighted", "rollout"])
        n = len(self.tokens)
        for kind, pattern in zip(document["kinds"], self.patterns.values()):
            matrices = pattern.reshape(-1, n, n)
            largest = np.array(kind["largest"] or [1] * len(matrices))
            shown = np.frombuffer(base64.b64decode(kind["bytes"]), np.uint8).reshape(len(matrices), -1)
            expected = np.stack([matrix[np.tril_indices(n)] for matrix in matrices])
            # A byte is a step of 1/255 of the square root; `largest` has 4 digits.
            error = np.abs(shown / 255 - np.sqrt(expected / largest[:, None]))
            self.assertLessEqual(error.max(), 0.5 / 255 + 1e-3 * bool(kind["largest"]) + 1e-6, kind["title"])

    def test_scores_are_those_of_the_patterns(self):
        pattern, n, ids = self.patterns["pattern"], len(self.ids), self.ids
        queries = np.arange(2, n)
        copies = {q: [k for k in range(1, q) if ids[k] == ids[q]] for q in queries}
        after = {q: [k + 1 for k in copies[q] if k + 1 < q] for q in queries}
        self.assertTrue(any(after.values()))

        def mean_mass(keys):
            return np.mean([pattern[:, :, q, keys[q]].sum(-1) for q in queries if keys[q]], axis=0)

        expected = {
            "previous_token": pattern[:, :, queries, queries - 1].mean(-1),
            "current_token": pattern[:, :, np.arange(1, n), np.arange(1, n)][:, :, 1:].mean(-1),
            "sink": pattern[:, :, 1:, 0].mean(-1),
            "duplicate_token": mean_mass(copies),
            "induction_like": mean_mass(after),
            "last_token_weight": pattern[:, :, -1, 1:].max(-1),
        }
        for name, values in expected.items():
            # The page rounds to 4 digits.
            np.testing.assert_allclose(self.score(name), values, rtol=1e-3, atol=1e-4, err_msg=name)

    def test_the_summary_names_the_largest(self):
        score = self.score("previous_token")
        layer, head = np.unravel_index(score.argmax(), score.shape)
        self.assertRegex(self.summary, rf"Previous token +L{layer}H{head} {score.max():.2f}")
        self.assertEqual(self.data["opened"], score.argmax(), "the page opens with the head named first")
        last = self.score("last_token_weight")
        layer, head = np.unravel_index(last.argmax(), last.shape)
        key = self.patterns["pattern"][layer, head, -1, 1:].argmax() + 1
        token = self.tokens[key].strip()
        self.assertRegex(self.summary, rf"From “sat” +L{layer}H{head} to “{re.escape(token)}” \({key}\) {last.max():.2f}")


if __name__ == "__main__":
    unittest.main()
