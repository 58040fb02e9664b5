"""The numbers of `headscope attend`, against `headscope run` and recomputed from its patterns in NumPy.

    attend_test.py HEADSCOPE_BINARY
"""

import base64
import json
import os
import re
import sys
import tempfile
import unittest

import h5py
import numpy as np

BINARY = sys.argv.pop(1)
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = os.path.join(os.path.dirname(FOLDER), "data", "default-model.h5")
sys.path[:0] = [os.path.join(FOLDER, folder) for folder in ("reference", "support")]
import children
import plain_gpt2
SENTENCE = "The cat sat on the mat. The cat sat"


def run(*arguments):
    return children.run([BINARY, *arguments], check=True, capture_output=True, text=True).stdout


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
        self.assertEqual([kind["title"] for kind in document["kinds"]], ["attention", "value weighted", "rollout"])
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
            np.testing.assert_allclose(self.score(name), values, rtol=6e-4, atol=1e-6, err_msg=name)

    def test_predictions_and_direct_effects_are_the_models(self):
        model = plain_gpt2.read_model(MODEL)
        clean = plain_gpt2.Pass(model, self.ids)
        predictions, n = self.data["predictions"], len(self.ids)
        probability = np.array(predictions["probability"], float).reshape(n, -1)
        expected = np.exp(clean.logits - clean.logits.max(-1, keepdims=True))
        expected /= expected.sum(-1, keepdims=True)
        # The page rounds to 4 digits; float32 is exact to about 1e-5.
        np.testing.assert_allclose(probability[:, :5], -np.sort(-expected, axis=1)[:, :5], rtol=6e-4)
        np.testing.assert_allclose(probability[:-1, 5], expected[np.arange(n - 1), self.ids[1:]], rtol=6e-4)
        self.assertTrue(np.isnan(probability[-1, 5]), "nothing follows the last token")
        scale = np.sqrt(clean.resid.var(-1) + model["epsilon"])
        directions = (model["wte.weight"] - model["wte.weight"].mean(0)) * model["ln_f.weight"]
        directions -= directions.mean(-1, keepdims=True)
        chosen = np.stack([*np.argsort(-expected, axis=1)[:, :5].T, np.append(self.ids[1:], 0)], axis=1)
        effects = np.stack([np.einsum("htd,tcd->tch", outputs, directions[chosen]) for outputs in clean.head_output], axis=2)
        effects = effects / scale[:, None, None, None]
        packed = predictions["effect"]
        codes = np.frombuffer(base64.b64decode(packed["bytes"]), "<u2").astype(float)
        shown = np.where(codes == 0, np.nan, packed["low"] + (packed["high"] - packed["low"]) * (codes - 1) / 65534)
        effects[-1, 5] = np.nan
        # A step is 1/65534 of the range, and the ends of the range have 6 digits.
        np.testing.assert_allclose(shown.reshape(effects.shape), effects, atol=1e-3)

    def test_a_word_to_follow_is_counted_too(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            summary = run("attend", "The cat sat on the mat. The", "--next", "cat", "--output", page)
            with open(page, encoding="utf-8") as file:
                predictions = json.loads(re.search(r'id="head-data">(.*?)</script>', file.read()).group(1))["predictions"]
        self.assertEqual(predictions["labels"][-1], "cat")
        self.assertRegex(summary, "“cat” raised +L")
        self.assertRegex(summary, r"Next token +“\S+” [\d.]+ %")

    def test_the_summary_names_the_largest(self):
        score = self.score("previous_token")
        layer, head = np.unravel_index(score.argmax(), score.shape)
        self.assertRegex(self.summary, rf"Previous token +L{layer}H{head} {score.max():.2f}")
        last = self.score("last_token_weight")
        self.assertEqual(self.data["opened"], last.argmax(), "the page opens with the head named first from the last token")
        layer, head = np.unravel_index(last.argmax(), last.shape)
        key = self.patterns["pattern"][layer, head, -1, 1:].argmax() + 1
        token = self.tokens[key].strip()
        self.assertRegex(self.summary, rf"From “sat” +L{layer}H{head} to “{re.escape(token)}” \({key}\) {last.max():.2f}")


if __name__ == "__main__":
    unittest.main()
